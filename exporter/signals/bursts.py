"""How fast a link is while it carries anything: samples of its byte counters, ten times a second and more, folded into a few numbers.

Means hide it: a collective waits for its slowest rail, so all rails carry the same bytes, and only the shape of the bursts tells which one
takes longer (simulated: one NIC of eight at half speed, 14.25 GB/s on each in the mean, 50.0 and 25.0 GB/s within bursts [M]). Numbers are
of busy samples alone: over all samples the 99th percentile of a link that is busy for less than a hundredth of the time would be 0.

A burst shorter than two samples is never seen at its own rate: every sample holds a piece of it and a piece of silence. `resolved` tells
that: the share of busy samples that lie within a burst, neither its first nor its last. Pure; times come with the samples.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

WINDOW_S = 100.0
"""Samples older than this are no news: five such windows make up what a rail is judged by (rails.py) [D]."""
BUSY_RATIO = 0.02
"""Load of a sample above which the link was busy: far above keep-alives [D]."""
INTERVAL_MIN, INTERVAL_MAX = 0.5, 2.0
"""A sample whose interval is shorter or longer than that many periods tells little of a moment, and is left out."""
IMPLAUSIBLE = 1.25
"""Load above which a sample is a jump of the counter and no load: within 20 ms two reads may lie a millisecond off each [D]."""
BOUNDS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Upper bounds of the histogram's buckets: idle, trickle, quarter, half, three quarters, nearly full, full."""
_GAP = -1.0


class Course(NamedTuple):
    """One direction of a link over the window. Rates are of busy samples, in bytes per second; None while there was none. `busy`: share of
    samples. `resolved`: share of the busy ones that lie within a burst; None while there was none."""

    samples: int
    busy: float
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    most: float | None = None
    resolved: float | None = None


class Histogram(NamedTuple):
    """Samples by their load, since the link was first sampled: in each bucket (of BOUNDS, the last without bound), all of their sum."""

    buckets: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    total: float = 0.0


class Direction:
    """Samples of one direction."""

    def __init__(self) -> None:
        self._rates: deque[tuple[float, float]] = deque()
        self._last: tuple[int, float] | None = None
        self._fresh: list[float] = []
        self.histogram = Histogram()

    def add(self, total: int, at_s: float, period_s: float) -> None:
        """The counter says so much at that time, read every `period_s`. The first one tells nothing yet."""
        last, self._last = self._last, (total, at_s)
        if last is None:
            return
        elapsed_s, moved = at_s - last[1], total - last[0]
        if INTERVAL_MIN * period_s <= elapsed_s <= INTERVAL_MAX * period_s and moved >= 0:
            rate = moved / elapsed_s
            self._rates.append((at_s, rate))
            self._fresh.append(rate)
        else:
            self._rates.append((at_s, _GAP))
        while self._rates[0][0] < at_s - WINDOW_S:
            self._rates.popleft()

    def course(self, capacity: float) -> Course:
        """What the window says, for a link that can carry so many bytes per second; the histogram has all samples from now on."""
        limit = IMPLAUSIBLE * capacity
        self._count(capacity, limit)
        rates = [rate if rate <= limit else _GAP for _, rate in self._rates]
        samples = sum([rate >= 0 for rate in rates])
        floor = BUSY_RATIO * capacity
        busy = sorted([rate for rate in rates if rate > floor])
        if not busy:
            return Course(samples, 0.0)
        inner = sum([one > floor and two > floor and three > floor for one, two, three in _in_threes(rates)])
        p50, p95, p99, most = (_at(busy, share) for share in (0.5, 0.95, 0.99, 1.0))
        return Course(samples, len(busy) / samples, p50, p95, p99, most, inner / len(busy))

    def forget(self) -> None:
        """Nobody looked for a while: what comes next is no interval."""
        self._last = None

    def _count(self, capacity: float, limit: float) -> None:
        fresh, self._fresh = self._fresh, []
        loads = [rate / capacity for rate in fresh if rate <= limit]
        buckets = list(self.histogram.buckets)
        for load in loads:
            buckets[bisect_left(BOUNDS, load)] += 1
        self.histogram = Histogram(tuple(buckets), self.histogram.total + sum(loads))


def _in_threes(rates: Sequence[float]) -> Iterable[tuple[float, float, float]]:
    return zip(rates, islice(rates, 1, None), islice(rates, 2, None), strict=False)


def _at(ordered: Sequence[float], share: float) -> float:
    """The value at that share of an ordered sequence, by nearest rank."""
    return ordered[min(len(ordered) - 1, max(0, round(share * (len(ordered) - 1))))]
