"""values.yaml as a table: each value's path, default and description. Pure but for `read`.

A description is the comment that begins with `# --` right above a key. The default is what the file says there.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

CHART = Path(__file__).parent / "fabric-exporter"
"""The chart's folder."""
_KEY = re.compile(r"( *)([A-Za-z][A-Za-z0-9]*):(?: |$)")
_MARK = "# -- "


class Value(NamedTuple):
    """One value: its path from the top, its default as YAML reads it, and what it is for ("" where its name says it)."""

    path: tuple[str, ...]
    default: object
    description: str


def read() -> str:
    """The text of values.yaml."""
    return (CHART / "values.yaml").read_text(encoding="utf-8")


def values(text: str) -> tuple[Value, ...]:
    """Every key of the file, maps included, in its order."""
    told = dict(_descriptions(text))
    return tuple(Value(path, default, told.get(path, "")) for path, default in _walk((), yaml.safe_load(text)))


def _walk(path: tuple[str, ...], tree: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in tree.items():
        yield (*path, key), value
        if isinstance(value, dict):
            yield from _walk((*path, key), value)


def _descriptions(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Path → the marked comment above it, its lines joined."""
    above: list[str] = []
    path: list[str] = []
    for line in text.splitlines():
        comment = line.strip()
        if comment.startswith(_MARK):
            above = [comment.removeprefix(_MARK)]
        elif comment.startswith("# ") and above:
            above.append(comment.removeprefix("# "))
        elif match := _KEY.match(line):
            path = [*path[: len(match[1]) // 2], match[2]]
            if above:
                yield tuple(path), " ".join(above)
            above = []
        else:
            above = []
