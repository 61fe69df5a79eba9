"""Time over size as a straight line, t = L + S/B: what a message without content costs, and how fast the rest goes. Pure.

Plain least squares gives a negative latency on real curves, for the longest message outweighs all others; so distances are relative, and
robust (Huber), and L is held at 0 or above: two unknowns, solved in closed form. Nor are curves straight: NCCL changes its algorithm with
size. So L comes from small sizes alone and B from large ones alone, and how far the sizes lie from their lines is told beside them.
"""

from collections.abc import Iterable, Sequence
from math import fsum
from statistics import median
from typing import NamedTuple

from exporter.catalog.limits import PROBE_FIT_LARGE_BYTES, PROBE_FIT_POOR_RATIO, PROBE_FIT_SCALE_MIN_RATIO, PROBE_FIT_SMALL_BYTES
from exporter.probes.reasons import Failure
from exporter.probes.statistics import SPREAD_OF_MAD, is_possible

HUBER = 1.345
"""Residuals above so many standard deviations lose weight: 95 % efficient on normal noise (Huber)."""
ROUNDS = 50
SETTLED_RATIO = 1e-10
RING = "RING"


class Point(NamedTuple):
    """The median time of a collective at one size."""

    size_bytes: int
    time_s: float


class Line(NamedTuple):
    """t = latency_s + size_bytes * s_per_byte; both at least 0."""

    latency_s: float
    s_per_byte: float

    def time_s(self, size_bytes: int) -> float:
        """What the line says a message of that size takes."""
        return self.latency_s + size_bytes * self.s_per_byte


class Fit(NamedTuple):
    """What a curve says. `bandwidth_bytes_per_s` is algorithm bandwidth. `residual_ratio` is the largest distance of a measured time from
    the line of its part of the sizes, as a share of it. None where too few sizes speak, and all but the residual if `refused`."""

    latency_s: float | None = None
    bandwidth_bytes_per_s: float | None = None
    residual_ratio: float | None = None
    refused: Failure | None = None


def fit(points: Iterable[Point]) -> Fit:
    """Latency from the sizes up to PROBE_FIT_SMALL_BYTES, bandwidth from those from PROBE_FIT_LARGE_BYTES on, two different sizes each.
    A latency that would have to be negative, or a line that does not rise, cannot be told: None. Impossible points are left out."""
    usable = sorted(point for point in points if point.size_bytes > 0 and is_possible(point.time_s))
    small = line([point for point in usable if point.size_bytes <= PROBE_FIT_SMALL_BYTES])
    large = line([point for point in usable if point.size_bytes >= PROBE_FIT_LARGE_BYTES])
    latency_s = small.latency_s if small is not None and small.latency_s > 0 else None
    s_per_byte = large.s_per_byte if large is not None and large.s_per_byte > 0 else None
    bandwidth = None if s_per_byte is None else 1.0 / s_per_byte
    if latency_s is None and bandwidth is None:
        return Fit()
    residual = _residual(small, large, usable)
    if residual > PROBE_FIT_POOR_RATIO:
        return Fit(residual_ratio=residual, refused=Failure.FIT_POOR)
    return Fit(latency_s, bandwidth, residual)


def hop_latency_s(latency_s: float, ranks: int, algorithm: str) -> float | None:
    """What one step of a ring all-reduce costs: L / 2(p-1). None unless NCCL took its ring, and for fewer than two ranks: in a tree or in
    the switch (NVLS) the number of steps is another."""
    return latency_s / (2 * (ranks - 1)) if algorithm.upper() == RING and ranks >= 2 else None


def line(points: Sequence[Point]) -> Line | None:
    """The robust line through these points by their relative distances; None for fewer than two sizes. Times must be above 0."""
    if len({point.size_bytes for point in points}) < 2:
        return None
    weights = [1.0] * len(points)
    found = _solved(points, weights)
    for _ in range(ROUNDS):
        before, weights = found, _weights(found, points)
        found = _solved(points, weights)
        if all(abs(new - old) <= SETTLED_RATIO * abs(new) for old, new in zip(before, found, strict=True)):
            break
    return found


def _solved(points: Sequence[Point], weights: Sequence[float]) -> Line:
    """Weighted least squares of 1 = L/t + S/(B t), so that a distance counts by its share of the time. Sizes are scaled by the longest,
    which keeps the sums in range. If L or the slope came out below 0 it is 0, and the other alone is solved again."""
    longest = max(point.size_bytes for point in points)
    rows = [(weight, 1.0 / point.time_s, point.size_bytes / longest / point.time_s) for point, weight in zip(points, weights, strict=True)]
    ones, slopes = fsum(w * a for w, a, _ in rows), fsum(w * b for w, _, b in rows)
    aa, ab, bb = fsum(w * a * a for w, a, _ in rows), fsum(w * a * b for w, a, b in rows), fsum(w * b * b for w, _, b in rows)
    determinant = aa * bb - ab * ab
    latency_s = (ones * bb - slopes * ab) / determinant if determinant > 0 else -1.0
    slope_s = (slopes * aa - ones * ab) / determinant if determinant > 0 else slopes / bb
    if latency_s < 0:
        latency_s, slope_s = 0.0, slopes / bb
    elif slope_s < 0:
        latency_s, slope_s = ones / aa, 0.0
    return Line(latency_s, slope_s / longest)


def _weights(found: Line, points: Sequence[Point]) -> list[float]:
    """Huber's: 1 near the line, less the further off. Near is by the points' own spread."""
    off = [abs(1.0 - found.time_s(point.size_bytes) / point.time_s) for point in points]
    near = HUBER * max(SPREAD_OF_MAD * median(off), PROBE_FIT_SCALE_MIN_RATIO)
    return [min(1.0, near / one) if one > 0 else 1.0 for one in off]


def _residual(small: Line | None, large: Line | None, points: Sequence[Point]) -> float:
    """The largest distance. NCCL changes over somewhere between the parts; a size from there is compared with the nearest line of both, and
    of the latency of one with the slope of the other. Sizes of a part without a line say nothing."""
    between = [] if small is None or large is None else [small, large, Line(small.latency_s, large.s_per_byte)]
    distances = [0.0]
    for point in points:
        lines = between
        if point.size_bytes <= PROBE_FIT_SMALL_BYTES:
            lines = [] if small is None else [small]
        elif point.size_bytes >= PROBE_FIT_LARGE_BYTES:
            lines = [] if large is None else [large]
        said = [one.time_s(point.size_bytes) for one in lines]
        distances.append(min((abs(point.time_s / time_s - 1.0) for time_s in said if time_s > 0), default=0.0))
    return max(distances)
