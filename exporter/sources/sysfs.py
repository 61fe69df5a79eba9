"""The one seam to sysfs: a root, kept-open files, one bounded read each, errno → Reason.

Knows how kernel attribute files are opened, read and fail; knows no file's meaning. `RealFiles` reads the machine;
`exporter.simulator.memory_tree.MemoryTree` is the shipped fake of the same shape.
"""

import errno
import os
import threading
from collections.abc import Callable
from typing import Protocol

from exporter.model.fault import Reason

_REASONS = {
    errno.EINVAL: Reason.UNSUPPORTED,  # mlx5 folds every failed PerfMgmt MAD into EINVAL (drivers/infiniband/core/sysfs.c)
    errno.ENOSYS: Reason.UNSUPPORTED,
    errno.EOPNOTSUPP: Reason.UNSUPPORTED,
    errno.EPERM: Reason.DENIED,
    errno.EACCES: Reason.DENIED,
    errno.ENODEV: Reason.LOST,
    errno.ENXIO: Reason.LOST,
    errno.ENOENT: Reason.LOST,
    errno.ENOTDIR: Reason.PARSE,
    errno.EISDIR: Reason.PARSE,
    errno.ESPIPE: Reason.PARSE,
    errno.ELOOP: Reason.PARSE,
    errno.EMFILE: Reason.EXHAUSTED,
    errno.ENFILE: Reason.EXHAUSTED,
    errno.ENOMEM: Reason.EXHAUSTED,
}

OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""O_NONBLOCK so that a pipe put in a file's place cannot hang the open."""


FOLDERS_MIN = 8
"""Folders kept open for files that are not, at least; else a quarter of the files that are kept."""


class Files(Protocol):
    """A tree of attribute files. Paths are relative to its root ("" is the root itself). Errors are OSError with an errno."""

    def open(self, path: str) -> int:
        """A handle for pread. Raises OSError."""
        ...

    @property
    def pread(self) -> Callable[[int, int, int], bytes]:
        """(handle, size, offset) → up to size bytes, fresh from the kernel at each call. Take it anew after each open: it may change.
        Raises OSError (ENODEV for ever once the device is gone)."""
        ...

    def close(self, handle: int) -> None:
        """Give a handle back."""
        ...

    def listdir(self, path: str) -> list[str]:
        """Names in a folder, in any order. Raises OSError."""
        ...

    def resolve(self, path: str) -> str:
        """The path with all links followed, relative to the root. Raises OSError if it dangles or leaves the root."""
        ...


class RealFiles:
    """A real tree below `root` ("/sys"). Files stay open; once handles run short, further ones are opened for each read.

    `keep` bounds the files kept open, and with them their folders (the caller sets it from the soft limit of the process).
    """

    def __init__(self, root: str, keep: int) -> None:
        self.root = os.path.realpath(root)
        self._keep = keep
        self._folders_max = max(FOLDERS_MIN, keep // 4)
        self._lock = threading.Lock()
        self._kept = 0
        self._transient: dict[int, tuple[int | None, str]] = {}
        self._folders: dict[str, tuple[int, int]] = {}
        self._next = -2
        self.pread: Callable[[int, int, int], bytes] = os.pread
        """The bare system call while every file is kept open; see _open_transient."""

    def open(self, path: str) -> int:
        """A kept handle (≥ 0), or a negative one that opens its file relative to a kept folder at each read. The lock guards the books
        only: an open that hangs in the kernel must not hold up other devices'."""
        with self._lock:
            keeps = self._kept < self._keep
            self._kept += keeps
        if not keeps:
            return self._open_transient(path)
        try:
            return os.open(os.path.join(self.root, path), OPEN_FLAGS)
        except OSError:
            with self._lock:
                self._kept -= 1
            raise

    def _open_transient(self, path: str) -> int:
        folder_fd = self._folder_of(path)
        try:
            os.close(self._open_now(path, folder_fd))
        except OSError:
            self._leave_folder(path, folder_fd)
            raise
        with self._lock:
            handle, self._next = self._next, self._next - 1
            self._transient[handle] = (folder_fd, path)
            self.pread = self._pread_any
        return handle

    def _folder_of(self, path: str) -> int | None:
        """A kept handle of the file's folder, which makes each later open cheaper; None once there are enough of them. Raises OSError."""
        folder = os.path.dirname(path)
        with self._lock:
            known = self._folders.get(folder)
            if known is not None:
                self._folders[folder] = (known[0], known[1] + 1)
                return known[0]
            if len(self._folders) >= self._folders_max:
                return None
        opened = os.open(os.path.join(self.root, folder), OPEN_FLAGS | os.O_DIRECTORY)
        with self._lock:
            folder_fd, users = self._folders.setdefault(folder, (opened, 0))
            self._folders[folder] = (folder_fd, users + 1)
        if folder_fd != opened:
            os.close(opened)
        return folder_fd

    def _leave_folder(self, path: str, folder_fd: int | None) -> None:
        """One file less needs the folder; the last one closes it."""
        if folder_fd is None:
            return
        folder = os.path.dirname(path)
        with self._lock:
            _, users = self._folders[folder]
            if users > 1:
                self._folders[folder] = (folder_fd, users - 1)
                return
            del self._folders[folder]
        os.close(folder_fd)

    def _open_now(self, path: str, folder_fd: int | None) -> int:
        if folder_fd is None:
            return os.open(os.path.join(self.root, path), OPEN_FLAGS)
        return os.open(os.path.basename(path), OPEN_FLAGS, dir_fd=folder_fd)

    def _pread_any(self, handle: int, size: int, offset: int, /) -> bytes:
        if handle >= 0:
            return os.pread(handle, size, offset)
        folder_fd, path = self._transient[handle]
        fd = self._open_now(path, folder_fd)
        try:
            return os.pread(fd, size, offset)
        finally:
            os.close(fd)

    def close(self, handle: int) -> None:
        """Give a handle back; the folder of the last transient one is closed with it."""
        if handle >= 0:
            os.close(handle)
            with self._lock:
                self._kept -= 1
            return
        with self._lock:
            folder_fd, path = self._transient.pop(handle)
        self._leave_folder(path, folder_fd)

    def listdir(self, path: str) -> list[str]:
        """Names in a folder."""
        return os.listdir(os.path.join(self.root, path))

    def resolve(self, path: str) -> str:
        """Links followed; ENOENT if the target is missing or outside the root."""
        real = os.path.realpath(os.path.join(self.root, path), strict=True)
        if real != self.root and not real.startswith(self.root.rstrip("/") + "/"):
            raise FileNotFoundError(errno.ENOENT, "link leaves the root", path)
        return os.path.relpath(real, self.root)


def reason_of(error: OSError) -> Reason:
    """The Reason for an errno; IO for those the table does not name."""
    return _REASONS.get(error.errno or 0, Reason.IO)


def read_once(files: Files, path: str, size: int) -> bytes:
    """One file, opened, read and closed. Raises OSError."""
    handle = files.open(path)
    try:
        return files.pread(handle, size, 0)
    finally:
        files.close(handle)
