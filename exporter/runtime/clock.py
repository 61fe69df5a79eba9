"""The clock, as a parameter. SystemClock is the machine's; ManualClock is virtual time for scenarios, golden files and tests."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for people, monotonic time for intervals, thread CPU time for telling work from waiting. All in seconds."""

    def wall_s(self) -> float:
        """Unix time."""
        ...

    def monotonic_s(self) -> float:
        """Time that never goes back."""
        ...

    def thread_cpu_s(self) -> float:
        """CPU time of the calling thread."""
        ...


class SystemClock:
    """The machine's clocks."""

    def wall_s(self) -> float:
        """Unix time."""
        return time.time()

    def monotonic_s(self) -> float:
        """Time that never goes back."""
        return time.monotonic()

    def thread_cpu_s(self) -> float:
        """CPU time of the calling thread."""
        return time.thread_time()


class ManualClock:
    """Virtual time: stands still until advanced. Wall time runs beside it from `wall_start_s`."""

    def __init__(self, wall_start_s: float = 1_800_000_000.0) -> None:
        self._wall_start_s = wall_start_s
        self._now_s = 0.0

    def advance(self, seconds: float) -> None:
        """Move on by that many seconds."""
        self._now_s += seconds

    def wall_s(self) -> float:
        """Unix time."""
        return self._wall_start_s + self._now_s

    def monotonic_s(self) -> float:
        """Seconds since this clock was made."""
        return self._now_s

    def thread_cpu_s(self) -> float:
        """Virtual work costs no CPU time."""
        return self._now_s
