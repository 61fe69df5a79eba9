"""Facts about processes of this machine, asked of psutil. The only place that imports it; knows no GPU and no job.

Errors are OSError with an errno, as a file's would be: ESRCH a process that is not there, EACCES one that may not be looked at.
"""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from exporter.catalog.jobs import CGROUP_SIZE_BYTES

if TYPE_CHECKING:
    import psutil


class PsutilProcesses:
    """Processes as the procfs at `procfs_root` shows them; in a container without the host's process numbers that is a mount of the host's
    own /proc.

    An environment is read through the process's memory: that waits for ever if the process hangs in the kernel while it changes its memory
    map, as one stuck in a GPU driver may; the caller runs where a read that does not come back is flagged. The other files do not wait.
    """

    def __init__(self, procfs_root: str = "/proc") -> None:
        import psutil  # noqa: PLC0415  # 20 ms and 4 MB that a site without this source does not pay [M]

        self._psutil = psutil
        self._root = procfs_root

    def identity(self, pid: int) -> object:
        """Equal to what an earlier call gave if it is the same process still: number and start time. Raises OSError.

        psutil compares start times as the kernel counts them, in ticks since boot: in Unix time they would move with the clock, and each
        would cost a read of all of /proc/stat."""
        with self._as_os_error(pid):
            return self._process(pid)

    def cgroup(self, pid: int) -> str:
        """The text of /proc/PID/cgroup, as far as the bound. Raises OSError."""
        with self._as_os_error(pid), open(f"{self._root}/{pid}/cgroup", "rb") as file:
            return file.read(CGROUP_SIZE_BYTES).decode("utf-8", "replace")

    def environ(self, pid: int) -> Mapping[str, str]:
        """The environment the process was started with: as large as the kernel allows, six megabytes. Raises OSError."""
        with self._as_os_error(pid):
            return self._process(pid).environ()

    def username(self, pid: int) -> str:
        """The name of its user, or the number where this machine (or container) knows no name. Raises OSError."""
        with self._as_os_error(pid):
            return self._process(pid).username()

    def _process(self, pid: int) -> "psutil.Process":
        self._psutil.PROCFS_PATH = self._root  # psutil knows one root for all of its process; nobody else here uses it
        return self._psutil.Process(pid)

    @contextmanager
    def _as_os_error(self, pid: int) -> Iterator[None]:
        try:
            yield
        except (self._psutil.NoSuchProcess, FileNotFoundError) as error:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH), pid) from error
        except self._psutil.AccessDenied as error:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), pid) from error
        except (ValueError, IndexError, RuntimeError) as error:
            raise OSError(errno.EBADMSG, f"not what the kernel writes: {error}", pid) from error
