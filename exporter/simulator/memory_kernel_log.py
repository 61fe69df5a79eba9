"""A kernel log in memory, of the shape of `exporter.sources.kmsg.KernelLog`, that a test or simulator writes to under a reader.

Behaves as /dev/kmsg does: whoever opens it starts at the oldest record that is left, and a ring that is full forgets its oldest. Knows no
line's meaning and no clock. Written and read by different threads.
"""

import os
import threading
from collections import deque

from exporter.sources.kmsg import Record, Records

ERROR = 3
"""KERN_ERR of the kernel itself: the level of the driver's lines."""
USER_ERROR = 1 * 8 + ERROR
"""The same of a program that writes to /dev/kmsg."""


class MemoryKernelLog:
    """`capacity` records are kept; one pass brings at most `records_max`. `opens` counts successful opens."""

    def __init__(self, capacity: int = 10_000, records_max: int = 10_000) -> None:
        self.opens = 0
        self._ring: deque[Record] = deque(maxlen=capacity)
        self._records_max = records_max
        self._lock = threading.Lock()
        self._next_sequence = 0
        self._cursor: int | None = None
        self._denied: int | None = None

    # What a reader does (KernelLog).

    def open(self) -> None:
        """Open it at its oldest record, unless it is open. Raises OSError while denied."""
        with self._lock:
            if self._denied is not None:
                raise OSError(self._denied, os.strerror(self._denied), "/dev/kmsg")
            if self._cursor is None:
                self.opens += 1
                self._cursor = 0

    def records(self) -> Records:
        """What came since the last call. Raises OSError while denied."""
        self.open()
        with self._lock:
            start = self._cursor or 0
            waiting = [record for record in self._ring if record.sequence >= start]
            taken = tuple(waiting[: self._records_max])
            self._cursor = taken[-1].sequence + 1 if taken else start
            return Records(taken, is_drained=len(taken) == len(waiting))

    def close(self) -> None:
        """Forget how far it was read."""
        with self._lock:
            self._cursor = None

    # What a test or the simulator does.

    def append(self, *lines: str, usec: int = 0, priority: int = ERROR) -> None:
        """One record for each line, stamped `usec` after boot."""
        with self._lock:
            for line in lines:
                self._ring.append(Record(self._next_sequence, usec, priority, line))
                self._next_sequence += 1

    def overwrite(self, count: int) -> None:
        """The oldest records are gone, as if the ring had been full."""
        with self._lock:
            for _ in range(min(count, len(self._ring))):
                self._ring.popleft()

    def restart(self) -> None:
        """The machine boots: an empty log whose records are numbered from 0, which nobody has open."""
        with self._lock:
            self._ring.clear()
            self._next_sequence = 0
            self._cursor = None

    def deny(self, code: int | None) -> None:
        """From now on opening and reading it fail with errno `code`; None ends it."""
        with self._lock:
            self._denied = code
