"""Times of a collective in figures: nearest-rank percentiles, jitter, deviation from the median, skew between ranks. Pure.

A collective is over when its last rank is through, so the time of an iteration is the longest over the ranks (nccl-tests does the same
over its processes). Times come from CUDA events; an impossible one was not measured, and spoils its series.
"""

from collections.abc import Sequence
from math import ceil
from statistics import median
from typing import NamedTuple

from exporter.catalog.limits import PROBE_P95_MIN

SPREAD_OF_MAD = 1.4826
"""Median absolute deviation → standard deviation, for normal noise."""

TIME_MIN_S, TIME_MAX_S = 1e-9, 86_400.0
"""Nothing on a GPU takes less than a cycle, and no probe a day."""


class Times(NamedTuple):
    """Iterations of one collective at one size, in seconds. `p95_s` and `jitter_ratio`, (p95 - p50) / p50, are None below PROBE_P95_MIN
    times; `mad_ratio` is the median absolute deviation as a share of the median."""

    iterations: int
    p50_s: float
    p95_s: float | None
    max_s: float
    jitter_ratio: float | None
    mad_ratio: float


def times(seconds: Sequence[float]) -> Times | None:
    """The figures of measured times, in any order. None if there are none, or if one of them is impossible."""
    if not seconds or not all(is_possible(one) for one in seconds):
        return None
    ordered = sorted(seconds)
    p50_s = nearest_rank(ordered, 0.5)
    p95_s = nearest_rank(ordered, 0.95) if len(ordered) >= PROBE_P95_MIN else None
    jitter = None if p95_s is None else (p95_s - p50_s) / p50_s
    return Times(len(ordered), p50_s, p95_s, ordered[-1], jitter, deviation(ordered) / p50_s)


def is_possible(time_s: float) -> bool:
    """Whether something can have taken so long; never for what is not a number."""
    return TIME_MIN_S <= time_s <= TIME_MAX_S


def nearest_rank(ordered: Sequence[float], share: float) -> float:
    """The smallest of the ascending values that at least this share of them does not exceed: always one that was measured. Raises
    IndexError without values."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def deviation(values: Sequence[float]) -> float:
    """Median absolute deviation, in the values' own unit. Raises StatisticsError without values."""
    middle = median(values)
    return median(abs(value - middle) for value in values)


def slowest(ranks: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The time of each iteration from the times that each rank measured: the longest. Raises ValueError if ranks tell of different
    numbers of iterations, for then nobody knows which belong together."""
    return tuple(max(one) for one in zip(*ranks, strict=True))


def skew(ends_s: Sequence[Sequence[float]]) -> float | None:
    """Median over iterations of the time between the first and the last rank to finish; `ends_s` holds for each rank when it finished, by
    one clock. None for fewer than two ranks or no iterations. Raises ValueError as `slowest` does."""
    if len(ends_s) < 2:
        return None
    gaps = [max(one) - min(one) for one in zip(*ends_s, strict=True)]
    return median(gaps) if gaps else None
