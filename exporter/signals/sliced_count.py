"""A count over a sliding window, kept in slices: what happened in the last five minutes, hour or three days, and how much of that was seen.

Knows times and counts, no counter and no link. Empty slices are not kept: of a link to which nothing happens this is three fields that
never change.
"""

from math import floor
from typing import NamedTuple

from exporter.model.snapshot import Number

SLICES = 12
"""Slices of a window, the running one included: the window reaches back over 11/12 of its length to all of it, never farther, so "three in
an hour" is never said of more than an hour [D]."""


class SlicedCount(NamedTuple):
    """Immutable. Times are monotonic seconds; `since_s`: since when somebody has looked. `slices` are (slice number, count), the oldest
    first."""

    window_s: float
    since_s: float
    slices: tuple[tuple[int, Number], ...] = ()

    def add(self, count: Number, now_s: float, elapsed_s: float = 0.0) -> "SlicedCount":
        """With `count` more by now, which took `elapsed_s` to gather: of a growth over more than the window nobody knows how much belongs
        into it, so it starts anew, as it does if time went back beyond its start. Itself if nothing changes."""
        if now_s < self.since_s or elapsed_s > self.window_s:
            return SlicedCount(self.window_s, now_s)
        slices = self.slices
        if count <= 0 and not slices:
            return self
        current, oldest = self._reach(now_s)
        if slices and not (oldest <= slices[0][0] and slices[-1][0] <= current):
            slices = tuple([one for one in slices if oldest <= one[0] <= current])
        if count > 0:
            if slices and slices[-1][0] == current:
                slices, count = slices[:-1], slices[-1][1] + count
            slices = (*slices, (current, count))
        return self if slices is self.slices else self._replace(slices=slices)

    def total(self, now_s: float) -> Number:
        """What was counted within the window."""
        if not self.slices:
            return 0
        current, oldest = self._reach(now_s)
        return sum([count for number, count in self.slices if oldest <= number <= current])

    def slices_hit(self, now_s: float) -> int:
        """In how many of the window's slices anything was counted: tells what goes on from what came at once."""
        current, oldest = self._reach(now_s)
        return sum([oldest <= number <= current for number, _ in self.slices])

    def covered_s(self, now_s: float) -> float:
        """How much of time `total` speaks of: less than the window while that has not been fed for so long; 0 at its start."""
        oldest_s = self._reach(now_s)[1] * (self.window_s / SLICES)
        return max(0.0, now_s - max(self.since_s, oldest_s))

    def _reach(self, now_s: float) -> tuple[int, int]:
        """Numbers of the running slice and of the oldest that counts."""
        current = floor(now_s * SLICES / self.window_s)
        return current, current - SLICES + 1
