"""A tree of attribute files in memory, of the shape of `exporter.sources.sysfs.Files`, that a test or simulator changes under a reader.

Behaves as sysfs does: a kept handle gives fresh bytes at each pread; once its file is removed it answers ENODEV for ever, also when a
device of the same name returns, while a new open works. Knows no file's meaning, no clock and no traffic.
"""

import errno
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable

from exporter.simulator.archive import Entry
from exporter.simulator.node_table import FileNode, FolderNode, NodeTable, as_kind, node_of, tree_error

_FIRST_HANDLE = 1 << 20
"""Above any descriptor of this process: a handle given to os.close by mistake closes nothing."""


class MemoryTree:
    """Paths are relative to the root; "" is the root. Links are followed in every component and may not leave the root (ENOENT).

    For tests: `opened` counts open calls by path as the reader spelt it, failed ones included; `preads`, `listdirs`, `closes` count the
    other calls; `before_read`, if set, is called with that path before each pread and may wait. Safe for several threads.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.opened: Counter[str] = Counter()
        self.preads = 0
        self.listdirs = 0
        self.closes = 0
        self.before_read: Callable[[str], None] | None = None
        self._lock = threading.RLock()
        self._table = NodeTable()
        self._handles: dict[int, tuple[FileNode | FolderNode, str]] = {}
        self._next_handle = _FIRST_HANDLE
        self.add(entries)

    # What a reader does (Files).

    def open(self, path: str) -> int:
        """A handle for pread; also of a folder, as on Linux. Raises OSError."""
        with self._lock:
            self.opened[path] += 1
            node = self._entered(path)
            handle, self._next_handle = self._next_handle, self._next_handle + 1
            self._handles[handle] = (node, path)
            return handle

    def pread(self, handle: int, size: int, offset: int, /) -> bytes:
        """What the file says now. Raises OSError: EBADF, EISDIR, ENODEV once the file was removed, or its mark."""
        with self._lock:
            self.preads += 1
            opened = self._handles.get(handle)
        if opened is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        node, path = opened
        if self.before_read is not None:
            self.before_read(path)
        if isinstance(node, FolderNode):
            raise tree_error(errno.EISDIR, path)
        if node.read_error is not None:
            raise tree_error(node.read_error, path)
        return node.content[offset : offset + size]

    def close(self, handle: int) -> None:
        """Give a handle back. Raises OSError EBADF for one that is not open."""
        with self._lock:
            self.closes += 1
            if self._handles.pop(handle, None) is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def listdir(self, path: str) -> list[str]:
        """Names in a folder, in the order they came. Raises OSError."""
        with self._lock:
            self.listdirs += 1
            return list(as_kind(self._entered(path), FolderNode, errno.ENOTDIR, path).names)

    def resolve(self, path: str) -> str:
        """The path with all links followed, "." for the root. Raises OSError if it dangles or leaves the root."""
        with self._lock:
            return self._table.canonical(path) or "."

    # What a test or the simulator does.

    @property
    def opens(self) -> int:
        """Open calls so far, failed ones included."""
        return self.opened.total()

    @property
    def handles_open(self) -> int:
        """Handles given out and not yet closed."""
        return len(self._handles)

    def exists(self, path: str) -> bool:
        """True if something is there, links followed."""
        with self._lock:
            return self._table.found(path) is not None

    def write(self, path: str, content: bytes) -> None:
        """Make the file say `content`; kept handles see it. A missing file is made, with its folders. Raises OSError."""
        with self._lock:
            if self._table.found(path) is None:
                self._table.place(path, FileNode(content))
            else:
                as_kind(self._table.node(path), FileNode, errno.EISDIR, path).content = content

    def rewrite(self, path: str, content: bytes) -> bool:
        """Make a file that is there say `content`; kept handles see it. False, and nothing done, for a path with no file."""
        with self._lock:
            node = self._table.file_at(path)
            if node is not None:
                node.content = content
            return node is not None

    def content(self, path: str) -> bytes | None:
        """What the file says, or would say if it did not fail; None if there is none. Counts as no call."""
        with self._lock:
            node = self._table.file_at(path)
            return None if node is None else node.content

    def fail(self, path: str, code: int | None) -> None:
        """From now on reads of the file fail with errno `code`; None ends it. Raises OSError if there is no such file."""
        with self._lock:
            as_kind(self._table.node(path), FileNode, errno.EISDIR, path).read_error = code

    def fail_open(self, path: str, code: int | None) -> None:
        """From now on opening the file, or opening or listing the folder, fails with errno `code`; None ends it. Raises OSError."""
        with self._lock:
            self._table.node(path).open_error = code

    def remove(self, path: str) -> tuple[Entry, ...]:
        """Take away what `path` leads to, all below it and every link that leads into it, as the kernel does when a device goes.

        Returns the entries that went, for `add` to bring back. A dangling link goes alone. Raises OSError if nothing is there.
        """
        with self._lock:
            places = self._table.leaving(path)
            gone = tuple(entry for place in places for entry in self._table.entries_at(place))
            for place in reversed(places):
                self._table.drop(place)
            return gone

    def add(self, entries: Iterable[Entry]) -> None:
        """Put entries in place, with their folders. Raises OSError EEXIST for one that is there already."""
        with self._lock:
            for entry in entries:
                self._table.place(entry.path, node_of(entry))

    def entries(self) -> tuple[Entry, ...]:
        """The whole tree, for an archive or for real files. A failing file is a Refusal: what it would say is left out."""
        with self._lock:
            return tuple(self._table.entries_at(""))

    def _entered(self, path: str) -> FileNode | FolderNode:
        """The node a reader gets at `path`."""
        node = self._table.node(path)
        if node.open_error is not None:
            raise tree_error(node.open_error, path)
        return node
