"""The state directory: what is learned and must survive a restart. Not writable is survivable: said once and shown as a gauge."""

import contextlib
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
