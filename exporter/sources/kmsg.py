"""The one seam to the kernel log: records of /dev/kmsg, each once, without waiting. Knows their frame, not what they say.

Frame: torvalds/linux Documentation/ABI/testing/dev-kmsg. `DevKmsg` reads the machine's;
`exporter.simulator.memory_kernel_log.MemoryKernelLog` is the shipped fake of the same shape.
"""

import errno
import os
import re
import stat
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from exporter.catalog.xid import KMSG_RECORD_BYTES, KMSG_RECORDS_MAX

PATH = "/dev/kmsg"
DEVICE = os.makedev(1, 11)
"""torvalds/linux Documentation/admin-guide/devices.txt."""
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_HEAD = re.compile(rb"([0-9]{1,6}),([0-9]{1,20}),([0-9]{1,20}),[^;\n]{0,200};([^\n]*)")
_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")


class Record(NamedTuple):
    """One record. `usec` is microseconds since boot on the kernel's own clock, `priority` facility × 8 + level. `text` may hold line ends;
    what was no UTF-8 is a replacement character."""

    sequence: int
    usec: int
    priority: int
    text: str

    @property
    def is_kernels(self) -> bool:
        """False for what a program wrote to /dev/kmsg: the kernel never lets one pass for facility 0."""
        return self.priority >> 3 == 0


class Records(NamedTuple):
    """What one look at the log brought, oldest first. `is_drained` is False if there may be more right now. Sequence numbers that are
    missing between two records were overwritten, or could not be read."""

    records: tuple[Record, ...]
    is_drained: bool


class KernelLog(Protocol):
    """A log read from its oldest record on, once it is open."""

    def open(self) -> None:
        """Open it at its oldest record, unless it is open. Raises OSError."""
        ...

    def records(self) -> Records:
        """What came since the last call; opens the log if it is not open. Never waits. Raises OSError."""
        ...

    def close(self) -> None:
        """Give the handle back; the next `open` starts at the oldest record again."""
        ...


class DevKmsg:
    """The kernel's own log. Opening it takes CAP_SYSLOG where kernel.dmesg_restrict is 1 (EPERM without). What is no kernel log, such as
    the pipe or the terminal that some containers put in its place, is refused with ENODEV: it would never say anything."""

    def __init__(self, path: str = PATH, records_max: int = KMSG_RECORDS_MAX) -> None:
        self._path = path
        self._records_max = records_max
        self._fd: int | None = None
        self._lock = threading.Lock()
        """A scan may open it in one thread while another one reads."""

    def open(self) -> None:
        """Open it at its oldest record, unless it is open. Raises OSError."""
        self._opened()

    def records(self) -> Records:
        """What came since the last call. Raises OSError."""
        fd = self._opened()
        return drained(lambda: os.read(fd, KMSG_RECORD_BYTES), self._records_max)

    def close(self) -> None:
        """Give the handle back."""
        with self._lock:
            fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _opened(self) -> int:
        with self._lock:
            if self._fd is None:
                fd = os.open(self._path, _FLAGS)
                about = os.fstat(fd)
                if not stat.S_ISCHR(about.st_mode) or about.st_rdev != DEVICE:
                    os.close(fd)
                    raise OSError(errno.ENODEV, "is not the kernel log (character device 1:11)", self._path)
                self._fd = fd
            return self._fd


def drained(read: Callable[[], bytes], reads_max: int) -> Records:
    """Records that `read` gives, one a call, until it would block, is at its end, or was called `reads_max` times. EPIPE (records were
    overwritten) and EINVAL (one is too long) cost that call alone. Any other OSError ends the look; it is raised if nothing was read."""
    found: list[Record] = []
    for _ in range(reads_max):
        try:
            raw = read()
        except BlockingIOError:
            return Records(tuple(found), is_drained=True)
        except OSError as error:
            if error.errno in {errno.EPIPE, errno.EINVAL}:
                continue
            if not found:
                raise
            return Records(tuple(found), is_drained=False)
        if not raw:
            return Records(tuple(found), is_drained=True)
        record = record_of(raw)
        if record is not None:
            found.append(record)
    return Records(tuple(found), is_drained=False)


def record_of(raw: bytes) -> Record | None:
    """One record of /dev/kmsg, ` KEY=value` lines left out and escapes undone; None if it is none."""
    match = _HEAD.match(raw)
    if match is None:
        return None
    text = match[4]
    if b"\\" in text:
        text = _ESCAPE.sub(lambda escape: bytes((int(escape[1], 16),)), text)
    return Record(int(match[2]), int(match[3]), int(match[1]), text.decode("utf-8", "replace"))
