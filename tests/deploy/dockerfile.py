"""A Dockerfile as its instructions: continued lines joined, comments left out, ARGs of the file put in where a test wants them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "Dockerfile"


class Instruction(NamedTuple):
    """`word` in capitals, and the rest of its line."""

    word: str
    rest: str


def instructions(text: str) -> list[Instruction]:
    """All of them, in order."""
    joined = re.sub(r"\\\n\s*", " ", "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#")))
    lines = [line.strip() for line in joined.splitlines() if line.strip()]
    return [Instruction(word.upper(), rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def stages(text: str) -> list[list[Instruction]]:
    """The instructions of each stage, FROM first; what stands before the first FROM is in none."""
    found: list[list[Instruction]] = []
    for instruction in instructions(text):
        if instruction.word == "FROM":
            found.append([])
        if found:
            found[-1].append(instruction)
    return found


def final() -> list[Instruction]:
    """The stage that becomes the image."""
    return stages(DOCKERFILE.read_text(encoding="utf-8"))[-1]


def only(word: str, among: Sequence[Instruction]) -> str:
    """The rest of the one instruction of that word."""
    (rest,) = [instruction.rest for instruction in among if instruction.word == word]
    return rest


def argv(word: str) -> list[str]:
    """An instruction of the image in its JSON form; a shell form has no list and raises ValueError."""
    words = json.loads(only(word, final()))
    assert isinstance(words, list)
    return words


def pairs(word: str) -> Mapping[str, str]:
    """NAME=VALUE of all instructions of that word in the image."""
    found: dict[str, str] = {}
    for instruction in final():
        if instruction.word == word:
            found |= {name: value.strip('"') for name, value in re.findall(r'([\w.]+)=("[^"]*"|\S+)', instruction.rest)}
    return found
