"""The tree of a simulated node as real files below a folder: what is done to the tree in memory is done to the files as well.

Plain files cannot do all that sysfs does: a file whose reads should fail is emptied, and a handle that was kept of a removed file reads
nothing instead of failing with ENODEV. Knows no file's meaning.
"""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from exporter.simulator.archive import Entry, File, Symlink, unpack
from exporter.simulator.memory_tree import MemoryTree


class DiskTree:
    """`folder` must not hold such a tree yet. Written by one thread. Raises OSError."""

    def __init__(self, entries: Iterable[Entry], folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        listed = tuple(entries)
        self._memory = MemoryTree(listed)
        unpack(listed, self._folder)

    def rewrite(self, path: str, content: bytes) -> bool:
        """Make a file that is there say `content`, in place. False for a path with no file. Raises OSError."""
        self._memory.rewrite(path, content)
        return rewrite(self._folder / path, content)

    def content(self, path: str) -> bytes | None:
        """What the file says, or would say if it did not fail; None if there is none."""
        return self._memory.content(path)

    def fail(self, path: str, code: int | None) -> None:
        """From now on the file says nothing; None lets it speak again. Raises OSError."""
        rewrite(self._folder / path, b"" if code is not None else self._memory.content(path) or b"")

    def resolve(self, path: str) -> str:
        """The path with all links followed. Raises OSError."""
        return self._memory.resolve(path)

    def remove(self, path: str) -> tuple[Entry, ...]:
        """Take away what is there, all below it and every link that leads into it. Returns what went, for `add`. Raises OSError."""
        top = self._folder / self._memory.resolve(path)
        gone = self._memory.remove(path)
        for entry in gone:
            if isinstance(entry, File):
                with suppress(OSError):
                    os.truncate(self._folder / entry.path, 0)
        shutil.rmtree(top, ignore_errors=True)
        for entry in gone:
            if isinstance(entry, Symlink):
                (self._folder / entry.path).unlink(missing_ok=True)
        return gone

    def add(self, entries: Iterable[Entry]) -> None:
        """Put entries in place, with their folders. Raises OSError."""
        listed = tuple(entries)
        self._memory.add(listed)
        unpack(listed, self._folder)


def rewrite(path: Path, content: bytes) -> bool:
    """Give a file new content in the same inode, in one write; False for a file that is not there, which is left alone. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        old_size = os.fstat(descriptor).st_size
        # Blank out a longer old text in the same write: a reader in between finds `5` and empty lines, never `5` and old digits.
        os.pwrite(descriptor, content.ljust(old_size, b"\n"), 0)
        if old_size > len(content):
            os.ftruncate(descriptor, len(content))
    finally:
        os.close(descriptor)
    return True
