"""One number of a node against its own past: what it usually is, and whether it is low by now. Pure: `step(baseline, value)`.

The baseline is the median of the last good runs. A fault cannot become the norm: a run that is low is never learned, nor is any while the
state is not OK; the median of the first good runs is kept for good and catches slow decay; and a floor that others publish
(expected.py) holds from the first run. One low run is noise: state changes need several, both ways.
"""

from enum import Enum
from statistics import median
from typing import NamedTuple

from exporter.catalog import limits
from exporter.probes.statistics import SPREAD_OF_MAD, deviation

VALUE_MIN, VALUE_MAX = 1e-12, 1e18
"""Nothing measured is smaller or greater in base units; such a value is left aside."""
GRADES_KEPT = 6
LOW_SUSPECT, OF_SUSPECT = 2, 3
"""So many low runs of the last so many make a suspect [D] …"""
LOW_DEGRADED, OF_DEGRADED = 3, 4
"""… these a suspect degraded [D] …"""
CLEAR_OK, OF_OK = 5, 6
"""… and so many clear ones clear either [D]."""


class Measure(Enum):
    """What the number is, which says where it is low and where clear, as shares of the baseline; see `goodness`."""

    __hash__ = object.__hash__

    BANDWIDTH = "bandwidth"
    LATENCY = "latency"
    JITTER = "jitter"


class Grade(Enum):
    """What one run says: for a fault, for health, or neither. The value is what is kept of it."""

    __hash__ = object.__hash__

    LOW = "low"
    BETWEEN = "between"
    CLEAR = "clear"


class State(Enum):
    """What the last runs say together."""

    __hash__ = object.__hash__

    OK = "ok"
    SUSPECT = "suspect"
    DEGRADED = "degraded"


LOW_SHARES = {Measure.BANDWIDTH: limits.PROBE_LOW_RATIO, Measure.LATENCY: 1 / limits.PROBE_LATENCY_FACTOR,
              Measure.JITTER: 1 / limits.PROBE_JITTER_FACTOR}  # fmt: skip
CLEAR_SHARES = {Measure.BANDWIDTH: limits.PROBE_CLEAR_RATIO, Measure.LATENCY: 1 / limits.PROBE_LATENCY_CLEAR_FACTOR,
                Measure.JITTER: 1 / limits.PROBE_JITTER_CLEAR_FACTOR}  # fmt: skip


class Baseline(NamedTuple):
    """What is remembered of one number. `learned` holds the last good values, the latest last. None while learning: `commissioned`, the
    median of the first ones; `decayed`, the share of it below which a run is low, by their spread (that of a sliding baseline grows as it
    slides); and `drift`, the slow mean. `grades` are those of the last runs."""

    measure: Measure
    learned: tuple[float, ...] = ()
    commissioned: float | None = None
    decayed: float | None = None
    drift: float | None = None
    grades: tuple[Grade, ...] = ()
    state: State = State.OK

    @property
    def is_learning(self) -> bool:
        """Whether there are too few good runs to judge by; a published floor and later states hold even then."""
        return self.commissioned is None


class Judgement(NamedTuple):
    """One run: its share of the baseline (1 is as usual; below is worse, for latency and jitter too), None while learning; what it says by
    itself; its share of the first good runs' median; and that of the slow mean, which shows drift."""

    state: State
    ratio: float | None = None
    grade: Grade | None = None
    commissioned_ratio: float | None = None
    drift_ratio: float | None = None


def goodness(measure: Measure, value: float, usual: float) -> float:
    """1 is as usual, less is worse: the share of a bandwidth, the reciprocal of it for latency and jitter."""
    return value / usual if measure is Measure.BANDWIDTH else usual / value


def step(before: Baseline, value: float, floor: float | None = None) -> tuple[Baseline, Judgement]:
    """After one more run. `floor` is the least (for latency and jitter: the most) that is acceptable whatever the past says; None if there
    is none. A value that nothing can have changes nothing, and a floor that nothing can have is none."""
    if not _is_possible(value):
        return before, Judgement(before.state)
    usual = median(before.learned) if before.learned else None
    grade = _grade_by_floor(before, value, floor if floor is not None and _is_possible(floor) else None)
    if grade is not Grade.LOW and usual is not None and not before.is_learning:
        grade = _grade(before, value, usual)
    grades = before.grades if grade is None else (*before.grades, grade)[-GRADES_KEPT:]
    state = _next(before.state, grades)
    after = before._replace(grades=grades, state=state, drift=_drift(before, value))
    if grade is not Grade.LOW and state is State.OK and not _is_far_below(before, value, usual):
        after = _taught(after, value)
    ratio = None if before.is_learning or usual is None else goodness(before.measure, value, usual)
    return after, Judgement(state, ratio, grade, _share(after, value), _share(after, after.drift))


def low_share(baseline: Baseline) -> float:
    """Below this goodness a run is low: five deviations under the baseline, but between half of it and the measure's own share."""
    if not baseline.learned:
        return LOW_SHARES[baseline.measure]
    spread = deviation(baseline.learned) / median(baseline.learned)
    return max(limits.PROBE_LOW_LEAST_RATIO, min(1.0 - limits.PROBE_LOW_MADS * spread, LOW_SHARES[baseline.measure]))


def _is_possible(value: float) -> bool:
    return VALUE_MIN <= value <= VALUE_MAX


def _grade_by_floor(before: Baseline, value: float, floor: float | None) -> Grade | None:
    """What can be said while there is no baseline. Who was low before must be able to become clear; with no floor now or ever, nothing."""
    if floor is not None and goodness(before.measure, value, floor) < 1.0:
        return Grade.LOW
    return Grade.CLEAR if floor is not None or before.grades else None


def _grade(before: Baseline, value: float, usual: float) -> Grade:
    """By the baseline and by the first good runs."""
    now, since_first = goodness(before.measure, value, usual), _share(before, value)
    if now < low_share(before) or (since_first is not None and before.decayed is not None and since_first < before.decayed):
        return Grade.LOW
    return Grade.CLEAR if now > CLEAR_SHARES[before.measure] else Grade.BETWEEN


def _is_far_below(before: Baseline, value: float, usual: float | None) -> bool:
    """Whether a run while learning is too far below those before it to be one of them."""
    is_early = not before.is_learning or usual is None or len(before.learned) < limits.PROBE_LEARN_GUARD_RUNS
    return not is_early and usual is not None and goodness(before.measure, value, usual) < LOW_SHARES[before.measure]


def _next(state: State, grades: tuple[Grade, ...]) -> State:
    def share_of(grade: Grade, last: int) -> int:
        return grades[-last:].count(grade)

    if state is State.OK:
        return State.SUSPECT if share_of(Grade.LOW, OF_SUSPECT) >= LOW_SUSPECT else State.OK
    if share_of(Grade.CLEAR, OF_OK) >= CLEAR_OK:
        return State.OK
    if state is State.SUSPECT and share_of(Grade.LOW, OF_DEGRADED) >= LOW_DEGRADED:
        return State.DEGRADED
    return state


def _taught(baseline: Baseline, value: float) -> Baseline:
    learned = (*baseline.learned, value)[-limits.PROBE_BASELINE_RUNS :]
    if baseline.commissioned is not None or len(learned) < limits.PROBE_LEARN_RUNS:
        return baseline._replace(learned=learned)
    first, low = median(learned), low_share(baseline._replace(learned=learned))
    return baseline._replace(learned=learned, commissioned=first, decayed=min(limits.PROBE_DECAY_RATIO, low), drift=first)


def _drift(before: Baseline, value: float) -> float | None:
    """The slow mean with this run in it, which counts as no further from the median than a few deviations: one bad run is no drift."""
    if before.drift is None or not before.learned:
        return before.drift
    usual = median(before.learned)
    reach = limits.PROBE_DRIFT_MADS * max(SPREAD_OF_MAD * deviation(before.learned), limits.PROBE_SPREAD_MIN_RATIO * usual)
    held = min(max(value, usual - reach), usual + reach)
    return before.drift + limits.PROBE_DRIFT_ALPHA * (held - before.drift)


def _share(baseline: Baseline, value: float | None) -> float | None:
    """Of the first good runs' median."""
    if baseline.commissioned is None or value is None or value <= 0:
        return None
    return goodness(baseline.measure, value, baseline.commissioned)
