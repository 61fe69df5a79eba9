"""Where files, folders and links of a tree in memory lie, and how a path finds them. Knows no handle, no reader and no lock."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from exporter.simulator.archive import Directory, Entry, File, Refusal, Symlink

LINKS_MAX = 40
"""Links followed in one path before ELOOP (MAXSYMLINKS, torvalds/linux include/linux/namei.h)."""
FOLLOWED_MAX = 100_000
"""Paths remembered; a reader that makes up others must not fill the memory."""


@dataclass(slots=True, eq=False)
class FileNode:
    """A file; a handle keeps the node itself, so it outlives its place. Errors are errno values, None for a file that works."""

    content: bytes
    read_error: int | None = None
    open_error: int | None = None


@dataclass(slots=True, eq=False)
class FolderNode:
    """A folder and the names in it, in the order they came."""

    names: dict[str, None] = field(default_factory=dict)
    open_error: int | None = None


Node: TypeAlias = FileNode | FolderNode | Symlink
_Kind = TypeVar("_Kind", FileNode, FolderNode)


def tree_error(code: int, path: str) -> OSError:
    """The OSError a system call on `path` would raise."""
    return OSError(code, os.strerror(code), path)


def as_kind(node: Node, kind: type[_Kind], code: int, path: str) -> _Kind:
    """The node, if it is of that kind; else raises OSError with errno `code`."""
    if not isinstance(node, kind):
        raise tree_error(code, path)
    return node


class NodeTable:
    """Nodes by canonical path (no link in it; "" is the root), so that a plain path is one look-up. Every error is an OSError."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {"": FolderNode()}
        self._followed: dict[str, str] = {}
        """Where paths with links in them lead, until anything comes or goes."""

    def node(self, path: str) -> FileNode | FolderNode:
        """What `path` leads to. Raises OSError: ENOENT, ENOTDIR, ELOOP."""
        node = self._nodes[self.canonical(path)]
        assert not isinstance(node, Symlink)  # noqa: S101 - a canonical path ends in no link
        return node

    def file_at(self, path: str) -> FileNode | None:
        """The file that `path` leads to; None if there is none."""
        node = self._nodes.get(path)  # nearly always a canonical path
        if isinstance(node, FileNode):
            return node
        place = self.found(path)
        node = self._nodes[place] if place is not None else None
        return node if isinstance(node, FileNode) else None

    def leaving(self, path: str) -> tuple[str, ...]:
        """The places that go when a device goes: what `path` leads to and each link that leads into it; a dangling link alone.

        Raises OSError if nothing is there, EBUSY for the root.
        """
        top = self.found(path)
        if top is None:
            top = self._own_place(path)
        if not top:
            raise tree_error(errno.EBUSY, path)
        return (top, *(key for key, node in self._nodes.items() if isinstance(node, Symlink) and self._leads_into(key, top)))

    def canonical(self, path: str) -> str:
        """`path` without links. Raises OSError: ENOENT, ENOTDIR, ELOOP."""
        if not isinstance(self._nodes.get(path), Symlink | None):
            return path
        known = self._followed.get(path)
        if known is None:
            if len(self._followed) > FOLLOWED_MAX:
                self._followed.clear()
            known = self._followed[path] = self._follow(path)
        return known

    def _follow(self, path: str) -> str:
        here, ahead, followed = "", path.split("/")[::-1], 0
        while ahead:
            name = ahead.pop()
            if not isinstance(self._nodes[here], FolderNode):
                raise tree_error(errno.ENOTDIR, path)
            if name in {"", "."}:
                continue
            if name == "..":
                if not here:
                    raise tree_error(errno.ENOENT, path)
                here = here.rpartition("/")[0]
                continue
            there = f"{here}/{name}" if here else name
            node = self._nodes.get(there)
            if node is None or (isinstance(node, Symlink) and node.target.startswith("/")):
                raise tree_error(errno.ENOENT, path)
            if isinstance(node, Symlink):
                followed += 1
                if followed > LINKS_MAX:
                    raise tree_error(errno.ELOOP, path)
                ahead += node.target.split("/")[::-1]
            else:
                here = there
        return here

    def found(self, path: str) -> str | None:
        """The canonical path, None if it leads nowhere."""
        try:
            return self.canonical(path)
        except OSError:
            return None

    def _leads_into(self, link: str, top: str) -> bool:
        """True if a link from outside of `top` ends there or below."""
        target = self.found(link)
        return target is not None and f"{target}/".startswith(f"{top}/") and not link.startswith(f"{top}/")

    def _own_place(self, path: str) -> str:
        """Where `path` itself lies, its last component not followed. Raises OSError if nothing is there."""
        folder, _, name = path.rpartition("/")
        above = self.canonical(folder)
        place = f"{above}/{name}" if above else name
        if place not in self._nodes:
            raise tree_error(errno.ENOENT, path)
        return place

    def place(self, path: str, node: Node) -> str:
        """Put a node at `path`, making the folders above; returns its canonical path. A folder may meet a folder there."""
        above, _, name = path.rpartition("/")
        folder = self.found(above)
        if folder is None:
            folder = self.place(above, FolderNode())
        place = f"{folder}/{name}" if folder else name
        if isinstance(node, FolderNode) and isinstance(self._nodes.get(place), FolderNode):
            return place
        if name in {"", ".", ".."} or place in self._nodes:
            raise tree_error(errno.EEXIST, path)
        self._followed.clear()
        as_kind(self._nodes[folder], FolderNode, errno.ENOTDIR, path).names[name] = None
        self._nodes[place] = node
        return place

    def drop(self, place: str) -> None:
        """Remove a canonical path and all below it; handles kept of the files are dead from now on."""
        self._followed.clear()
        above, _, name = place.rpartition("/")
        folder = self._nodes[above]
        if isinstance(folder, FolderNode):
            del folder.names[name]
        for key in list(self._below(place)):
            node = self._nodes.pop(key)
            if isinstance(node, FileNode):
                node.read_error = errno.ENODEV

    def _below(self, place: str) -> Iterator[str]:
        """A canonical path and all canonical paths under it, parents first."""
        yield place
        node = self._nodes[place]
        if isinstance(node, FolderNode):
            for name in node.names:
                yield from self._below(f"{place}/{name}" if place else name)

    def entries_at(self, place: str) -> Iterator[Entry]:
        """The entries that make up a canonical path and all below it; nothing for an empty root."""
        for key in self._below(place):
            node = self._nodes[key]
            if isinstance(node, Symlink):
                yield Symlink(key, node.target)
            elif isinstance(node, FolderNode):
                if key and not node.names:
                    yield Directory(key)
            elif node.open_error is not None:
                yield Refusal(key, node.open_error, at_open=True)
            elif node.read_error is not None:
                yield Refusal(key, node.read_error)
            else:
                yield File(key, node.content)


def node_of(entry: Entry) -> Node:
    """The node an archive entry stands for."""
    match entry:
        case File(content=content):
            return FileNode(content)
        case Directory():
            return FolderNode()
        case Refusal(code=code, at_open=True):
            return FileNode(b"", open_error=code)
        case Refusal(code=code):
            return FileNode(b"", read_error=code)
        case Symlink():
            return entry
