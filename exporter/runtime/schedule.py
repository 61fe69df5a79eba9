"""When a device is read next: fixed beats, stretched by the duty guard and by back-off. Pure: time is a parameter."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from exporter.catalog import limits
from exporter.model.metric import Cadence


@dataclass(frozen=True, slots=True)
class Intervals:
    """Configured seconds between passes of each cadence."""

    fast_s: float
    normal_s: float
    slow_s: float
    scan_least_s: float = limits.SCAN_LEAST_S

    @property
    def scan_s(self) -> float:
        """Seconds between looks at which devices there are: as normal passes, but who reads counters each second need not list the bus each
        second; a device whose read fails is looked for at once."""
        return min(self.slow_s, max(self.normal_s, self.scan_least_s))

    def of(self, cadence: Cadence) -> float:
        """Seconds between passes of that cadence."""
        return {Cadence.FAST: self.fast_s, Cadence.NORMAL: self.normal_s, Cadence.SLOW: self.slow_s}[cadence]


class Beat(NamedTuple):
    """One cadence of one device: configured interval, when it is due, the factor it is stretched by now and the duty guard's share in it,
    how many passes in a row brought nothing, and how long the last one took (None before the first)."""

    interval_s: float
    due_s: float
    stretch: int = 1
    guard: int = 1
    barren: int = 0
    last_s: float | None = None

    @property
    def duty(self) -> float:
        """Share of wall time that passes take now; 0 before the first."""
        return (self.last_s or 0.0) / self.actual_s

    @property
    def actual_s(self) -> float:
        """Seconds between passes now."""
        return self.interval_s * self.stretch


def is_due(beat: Beat, now_s: float) -> bool:
    """Due now, or so soon that it joins this tick instead of causing another (a twentieth of its interval)."""
    return beat.due_s <= now_s + beat.interval_s / 20


def due_at(beat: Beat, due_s: float) -> Beat:
    """The same beat, due then."""
    return Beat(beat.interval_s, due_s, beat.stretch, beat.guard, beat.barren, beat.last_s)


def after_pass(beat: Beat, now_s: float, elapsed_s: float, *, barren: bool) -> Beat:
    """The beat after a pass that took `elapsed_s`; `barren` if it brought only faults.

    The duty guard stretches by whole intervals so that elapsed ÷ interval stays within limits.DUTY_MAX_RATIO; it relaxes once a pass
    takes half of what is allowed at the shorter interval. One slow pass alone does not count: the first opens every file. Back-off
    doubles the interval with each barren pass, up to four times: a device that returns must not stay unseen.
    """
    allowed_s = limits.DUTY_MAX_RATIO * beat.interval_s
    if elapsed_s <= allowed_s and beat.stretch == 1 and not barren:  # nearly always
        return Beat(beat.interval_s, _next_s(beat, 1, now_s), last_s=elapsed_s)
    longest = max(1, int(limits.STRETCH_MAX_S // beat.interval_s))
    usual_s = min(elapsed_s, beat.last_s) if beat.last_s is not None else 0.0
    guard = math.ceil(usual_s / allowed_s)
    if guard < beat.guard:
        guard = min(beat.guard, math.ceil(2 * usual_s / allowed_s))
    barren_passes = beat.barren + 1 if barren else 0
    back_off = 2 ** min(barren_passes, 2) if barren_passes else 1
    guard = min(max(1, guard), longest)
    stretch = min(max(guard, back_off), longest)
    return Beat(beat.interval_s, _next_s(beat, stretch, now_s), stretch, guard, barren_passes, elapsed_s)


def _next_s(beat: Beat, stretch: int, now_s: float) -> float:
    """When a beat comes next; if beats were missed, the next one of the same rhythm; as it was, after a pass before its time."""
    if not is_due(beat, now_s):
        return beat.due_s
    due_s = beat.due_s + beat.interval_s * stretch
    if due_s <= now_s:
        due_s += beat.interval_s * (math.floor((now_s - due_s) / beat.interval_s + 1e-9) + 1)
    return due_s if due_s > now_s else due_s + beat.interval_s  # rounding, when very many were missed


def stale_after_s(beat: Beat) -> float:
    """Age at which a Snapshot of this beat leaves the page (interface.md: max(3 intervals, 5 s))."""
    return max(limits.STALE_INTERVALS * beat.actual_s, limits.STALE_MIN_S)


def deadline_s(beats: Mapping[Cadence, Beat]) -> float:
    """How long a device may take before it is flagged as hung: one of its shortest configured intervals, at least a second."""
    shortest = min((beat.interval_s for beat in beats.values()), default=limits.DEADLINE_MIN_S)
    return max(limits.DEADLINE_INTERVALS * shortest, limits.DEADLINE_MIN_S)
