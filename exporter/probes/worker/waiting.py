"""Waiting for a GPU or for NCCL: by asking again and again until a deadline, never by a call that blocks. Knows no call."""

from collections.abc import Callable
from typing import Protocol

from exporter.probes.reasons import Failure
from exporter.probes.trouble import EndAskedError, ProbeError

PAUSE_LEAST_S = 0.000_05
PAUSE_MOST_S = 0.001
"""How long to leave the CPU between questions, at first and later: times are the GPU's own, so asking late spoils nothing."""


class Clock(Protocol):
    """Time that never goes back, in seconds."""

    def monotonic_s(self) -> float:
        """Now."""
        ...


class Waiter:
    """`pause` leaves the CPU for so many seconds; `end_asked` says whether to give up at once."""

    def __init__(self, clock: Clock, pause: Callable[[float], None], end_asked: Callable[[], bool]) -> None:
        self._clock, self._pause, self._end_asked = clock, pause, end_asked

    def until(self, done: Callable[[], bool], deadline_s: float, reason: Failure, what: str) -> None:
        """Return once `done` says so. Raises ProbeError of that reason after `deadline_s` seconds, EndAskedError if told to stop, and
        whatever `done` raises."""
        give_up_s = self._clock.monotonic_s() + deadline_s
        pause_s = PAUSE_LEAST_S
        while not done():
            if self._end_asked():
                raise EndAskedError
            if self._clock.monotonic_s() >= give_up_s:
                raise ProbeError(reason, f"{what} has not ended within {deadline_s:.3g} s")
            self._pause(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MOST_S)
