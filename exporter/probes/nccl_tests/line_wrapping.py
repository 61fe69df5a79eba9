"""What launchers, collectors and terminals put around the lines of a program, taken off again. Knows nothing of what the lines say."""

import re
from typing import NamedTuple

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Colours and titles (ECMA-48)."""

_PREFIXES = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) (?:(?:stdout|stderr) [FP] )?",  # kubectl, CRI
        r"\[pod/[^\]\s]{1,500}\] ",  # kubectl logs --prefix
        r"\[\d{1,9}(?:,\d{1,6}){1,2}\]<(?:stdout|stderr|stddiag)>: ?",  # mpirun --tag-output
        r" {0,5}\d{1,6}: ",  # srun --label
        r"\[\d{1,6}\](?: (?=#)|(?= {2}))",  # torchrun-like wrappers
        r"[A-Za-z][\w.-]{0,253}: (?=#|\s{2,}\d)",  # pdsh, mpirun --map-by host
        r"[\w.-]{1,253}\s{0,60}\| (?=#|\s*\d)",  # docker compose
    )
)
_TAGS = re.compile(r"\[\d{1,9}(?:,\d{1,6}){1,2}\]<(?:stdout|stderr|stddiag)>: ?", re.ASCII)
_RANK_TAG = re.compile(r"(?<=\s)\[\d{1,6}\](?=\s|$)|(?<=\d)\[\d{1,6}\](?=\s|$)", re.ASCII)
PREFIXES_MAX = 4
"""How deep prefixes are nested: srun below kubectl makes two."""


class Line(NamedTuple):
    """A line without its wrapping. `tag` is what was taken off its front but for times: it tells whose line it is; "" if nothing was."""

    tag: str
    text: str


def unwrap(line: str) -> Line:
    """The line as the program wrote it, so far as that can be told. Blanks at its front stay: columns are told by their places."""
    text = _ESCAPES.sub("", line) if "\x1b" in line else line
    tags = []
    for _ in range(PREFIXES_MAX):
        match = next(filter(None, (prefix.match(text) for prefix in _PREFIXES)), None)
        if match is None:
            break
        text = text[match.end() :]
        if not match[0][:4].isdigit() or match[0].rstrip().endswith(":"):
            tags.append(match[0].strip())
    if "]<std" in text:
        text = _TAGS.sub("", text)
    return Line(" ".join(tags), text)


def without_rank_tags(text: str) -> str:
    """The line without `[0]` in its middle, which wrappers put before each write of a rank."""
    return _RANK_TAG.sub("", text) if "[" in text else text
