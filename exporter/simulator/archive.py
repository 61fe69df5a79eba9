"""A file tree as one readable text (`.tree`), so that a machine is one reviewable file.

    # a remark
    Path: class/infiniband/mlx5_0/ports/1/rate      the next line says what is there
    Lines: 1                                        a file of that many lines, each ending in a newline
    400 Gb/sec (4X NDR)
    Path: class/infiniband/mlx5_0/node_guid
    Lines: 1 no-newline                             the last line has no newline
    a088:c203:0010:0001
    Path: class/infiniband/mlx5_0/device
    Symlink: ../../../devices/pci0000:15/…          a link; it may dangle
    Path: class/infiniband/mlx5_0/ports/1/counters/VL15_dropped
    Errno: EINVAL                                   a file whose read fails; `Errno: EACCES open` if the open does
    Directory: bus/pci/drivers/mlx5_core            a folder with nothing in it

Knows the format and how to write it out as real files; knows no file's meaning. Other bytes than UTF-8 travel as surrogate escapes.
"""

import errno
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

_LINES = re.compile(r"([0-9]{1,7})( no-newline)?")
_ERRNO = re.compile(r"(E[A-Z0-9]+)( open)?")
_UNWRITABLE = re.compile(r"[\n\0]")


class ArchiveError(ValueError):
    """A text is not a tree, or a tree cannot be said in the format. `line` counts from 1; 0 where there is no text yet."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.line = line
        self.problem = problem


@dataclass(frozen=True, slots=True)
class File:
    """A readable file and its bytes."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Symlink:
    """A link; `target` is relative to the link's folder and may be missing."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class Directory:
    """An empty folder; folders with something in them need no entry."""

    path: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that is listed but whose read fails with errno `code`; `at_open` if the open fails already."""

    path: str
    code: int
    at_open: bool = False


Entry: TypeAlias = File | Symlink | Directory | Refusal


def parse_archive(text: str) -> tuple[Entry, ...]:
    """The entries in the text's order; remarks are dropped. Raises ArchiveError, which names the line and what is wrong with it."""
    _check_encodable(text)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    entries: list[Entry] = []
    holders: dict[str, bool] = {}
    for number, entry in _entries(iter(enumerate(lines, 1))):
        problem = _path_problem(entry.path) or _place_problem(entry.path, holders)
        if problem:
            raise ArchiveError(number, problem)
        holders.update(dict.fromkeys(_folders_above(entry.path), True))
        holders[entry.path] = False
        entries.append(entry)
    return tuple(entries)


def _check_encodable(text: str) -> None:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ArchiveError(text.count("\n", 0, error.start) + 1, error.reason) from error


def _entries(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, Entry]]:
    """Each entry with the line its path stands on."""
    named: tuple[int, str] | None = None
    for number, line in lines:
        if not line or line.startswith("#"):
            continue
        key, colon, value = line.partition(": ")
        if named is not None:
            yield named[0], _entry(named[1], number, key, value, lines)
            named = None
        elif key == "Directory":
            yield number, Directory(value)
        elif key == "Path":
            named = (number, value)
        else:
            raise ArchiveError(number, f"Path: or Directory: expected, not {key + colon!r}")
    if named is not None:
        raise ArchiveError(named[0], f"the text ends before saying what {named[1]} is")


def _entry(path: str, number: int, key: str, value: str, lines: Iterator[tuple[int, str]]) -> Entry:
    """What the line after `Path:` says is there."""
    if key == "Symlink" and value and "\0" not in value:
        return Symlink(path, value)
    if key == "Errno" and (refused := _ERRNO.fullmatch(value)):
        return Refusal(path, _errno_named(number, refused[1]), bool(refused[2]))
    if key == "Lines" and (counted := _LINES.fullmatch(value)):
        return File(path, _content(number, int(counted[1]), counted[2] or "", lines))
    raise ArchiveError(number, f"Lines: N [no-newline], Symlink: TARGET or Errno: NAME [open] expected, not {key}: {value}")


def _content(number: int, count: int, no_newline: str, lines: Iterator[tuple[int, str]]) -> bytes:
    taken = [line for _, (_, line) in zip(range(count), lines, strict=False)]
    if len(taken) < count:
        raise ArchiveError(number, f"{count} lines announced, {len(taken)} left in the text")
    end = "" if no_newline or not count else "\n"
    return ("\n".join(taken) + end).encode("utf-8", "surrogateescape")


def _errno_named(number: int, name: str) -> int:
    code = getattr(errno, name, None)
    if not isinstance(code, int):
        raise ArchiveError(number, f"no errno is called {name}")
    return code


def _path_problem(path: str) -> str | None:
    if path.startswith("/") or ".." in path.split("/"):
        return f"path leaves the tree: {path}"
    if not path or path == "." or posixpath.normpath(path) != path or _UNWRITABLE.search(path):
        return f"path is not plain: {path!r}"
    return None


def _folders_above(path: str) -> Iterator[str]:
    """`a`, `a/b` for `a/b/c`."""
    return accumulate(path.split("/")[:-1], "{}/{}".format)


def _place_problem(path: str, holders: Mapping[str, bool]) -> str | None:
    """Why this path cannot stand beside those before it. `holders`: path → is it a folder with something in it? Nothing may lie below
    a link, or a tree could write outside itself.
    """
    if path in holders:
        return f"{path} is there already"
    blocking = next((above for above in _folders_above(path) if not holders.get(above, True)), None)
    return f"{blocking} cannot hold {path}" if blocking else None


def format_archive(entries: Iterable[Entry]) -> str:
    """The text that parses to these entries. Raises ArchiveError for a name or target the format cannot hold (a newline in it)."""
    lines: list[str] = []
    for entry in entries:
        problem = _path_problem(entry.path)
        if problem:
            raise ArchiveError(0, problem)
        lines += [f"Directory: {entry.path}"] if isinstance(entry, Directory) else [f"Path: {entry.path}", *_said(entry)]
    return "".join(f"{line}\n" for line in lines)


def _said(entry: File | Symlink | Refusal) -> list[str]:
    """The lines after `Path:`."""
    if isinstance(entry, Symlink):
        if not entry.target or _UNWRITABLE.search(entry.target):
            raise ArchiveError(0, f"target is not plain: {entry.target!r}")
        return [f"Symlink: {entry.target}"]
    if isinstance(entry, Refusal):
        if entry.code not in errno.errorcode:
            raise ArchiveError(0, f"{entry.code} is no errno")
        return [f"Errno: {errno.errorcode[entry.code]}" + (" open" if entry.at_open else "")]
    if not entry.content:
        return ["Lines: 0"]
    lines = entry.content.decode("utf-8", "surrogateescape").split("\n")
    if lines[-1]:
        return [f"Lines: {len(lines)} no-newline", *lines]
    return [f"Lines: {len(lines) - 1}", *lines[:-1]]


def read_archive(path: str | os.PathLike[str]) -> tuple[Entry, ...]:
    """The entries of a file. Raises OSError, or ArchiveError."""
    return parse_archive(Path(path).read_bytes().decode("utf-8", "surrogateescape"))


def unpack(entries: Iterable[Entry], folder: str | os.PathLike[str]) -> tuple[str, ...]:
    """Write the tree below `folder` (made if missing). Returns the paths of refusals: a plain folder cannot show them, they are left out.

    Raises ArchiveError for a path that leaves the folder, FileExistsError where a link is there already, or another OSError.
    """
    skipped: list[str] = []
    links: list[Symlink] = []
    Path(folder).mkdir(parents=True, exist_ok=True)
    for entry in entries:
        problem = _path_problem(entry.path)
        if problem:
            raise ArchiveError(0, problem)
        place = Path(folder, entry.path)
        (place if isinstance(entry, Directory) else place.parent).mkdir(parents=True, exist_ok=True)
        if isinstance(entry, File):
            place.write_bytes(entry.content)
        elif isinstance(entry, Symlink):
            links.append(entry)
        elif isinstance(entry, Refusal):
            skipped.append(entry.path)
    for link in links:  # last, so that no file is ever written through a link to somewhere else
        Path(folder, link.path).symlink_to(link.target)
    return tuple(skipped)
