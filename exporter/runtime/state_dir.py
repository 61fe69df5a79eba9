"""The state directory: what is learned and must survive a restart. Not writable is survivable: said once and shown as a gauge. Two daemons
in one directory are not: each would undo what the other learned."""

import contextlib
import errno
import fcntl
import os
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StateDir:
    """`problem` is None if the directory can be written, else one line that says why not and what to do."""

    path: str
    problem: str | None

    @property
    def writable(self) -> bool:
        """Whether anything learned can be kept."""
        return self.problem is None


def open_state_dir(path: str) -> StateDir:
    """Make the directory if it is missing and try to write in it. Never raises."""
    try:
        os.makedirs(path, mode=0o750, exist_ok=True)
        handle, probe = tempfile.mkstemp(prefix=".writable-", dir=path)
        os.close(handle)
        with contextlib.suppress(OSError):
            os.unlink(probe)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return StateDir(path, f"state directory {path}: {why}; what is learned is lost at a restart. Set state.dir or make it writable")
    return StateDir(path, None)


LOCK = "lock"
"""The file that the daemon holds locked; it stays when the daemon is gone, its lock does not."""


class StateInUseError(Exception):
    """Another process has the directory; the text says which, and what to do."""


class StateLock:
    """The directory is this process's until `release` or its end, however that comes. A child that was started meanwhile has no part in it:
    one that the kernel holds must not keep the next daemon out."""

    def __init__(self, folder: str, handle: int) -> None:
        self.folder = folder
        self._handle = handle

    def release(self) -> None:
        """Let another one have it."""
        with contextlib.suppress(OSError):
            os.close(self._handle)


def lock_state_dir(folder: str) -> StateLock | None:
    """Take the directory; None where nothing can be written or locked (some network file systems): then nobody is kept out. Raises
    StateInUseError."""
    try:
        handle = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except (OSError, ValueError):
        return None
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not flock, which a child would inherit
        os.ftruncate(handle, 0)
        os.write(handle, b"%d\n" % os.getpid())
    except OSError as error:
        is_taken = error.errno in (errno.EACCES, errno.EAGAIN)
        whose = os.read(handle, 20).decode("ascii", "replace").strip() if is_taken else ""
        os.close(handle)
        if not is_taken:
            return None
        by = f"process {whose}" if whose.isdigit() else "another process"
        raise StateInUseError(f"{folder} is in use by {by}: stop that daemon, or give this one a directory of its own") from None
    return StateLock(folder, handle)
