"""When a device is read next."""

import math

from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog import limits
from exporter.model.metric import Cadence
from exporter.runtime.schedule import Beat, Intervals, after_pass, deadline_s, due_at, is_due, stale_after_s

intervals = st.sampled_from([0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 3600.0])
elapsed = st.one_of(st.floats(0, 0.2), st.floats(0, 1e5), st.just(0.0))
late = st.one_of(st.floats(0, 1), st.floats(0, 1e7), st.integers(0, 10**8).map(float))
passes = st.lists(st.tuples(elapsed, st.booleans()), max_size=12)


def run(beat: Beat, costs_s: list[float], *, barren: bool = False) -> Beat:
    """The beat after these passes, each done when it was due."""
    for cost_s in costs_s:
        beat = after_pass(beat, beat.due_s, cost_s, barren=barren)
    return beat


def after(interval_s: float, history: list[tuple[float, bool]]) -> Beat:
    """A beat that has lived."""
    beat = Beat(interval_s, 1000.0)
    for cost_s, barren in history:
        beat = after_pass(beat, beat.due_s, cost_s, barren=barren)
    return beat


@given(intervals, passes, elapsed, late, st.booleans())
def test_next_pass_is_in_the_future(
    interval_s: float,
    history: list[tuple[float, bool]],
    cost_s: float,
    late_s: float,
    barren: bool,  # noqa: FBT001
) -> None:
    """However late the pass came back: never a burst to catch up."""
    beat = after(interval_s, history)
    now_s = beat.due_s + late_s

    assert after_pass(beat, now_s, cost_s, barren=barren).due_s > now_s


@given(intervals, passes, elapsed, st.floats(0, 1e5), st.booleans())
def test_rhythm_stays_the_same(
    interval_s: float,
    history: list[tuple[float, bool]],
    cost_s: float,
    late_s: float,
    barren: bool,  # noqa: FBT001
) -> None:
    """A late pass does not shift those that follow: they stay whole intervals apart."""
    beat = after(interval_s, history)
    moved = (after_pass(beat, beat.due_s + late_s, cost_s, barren=barren).due_s - beat.due_s) / interval_s

    assert math.isclose(moved, round(moved), rel_tol=1e-6, abs_tol=1e-6)


@given(intervals, passes)
def test_interval_is_never_stretched_beyond_the_limit(interval_s: float, history: list[tuple[float, bool]]) -> None:
    """Five minutes, or the configured interval where that is longer."""
    beat = after(interval_s, history)

    assert beat.stretch >= 1
    assert beat.actual_s <= max(limits.STRETCH_MAX_S, interval_s)


@given(intervals, st.floats(0, 100), st.integers(2, 8))
def test_duty_guard_keeps_the_share_of_time_within_its_limit(interval_s: float, cost_s: float, count: int) -> None:
    """Unless the longest stretch is reached."""
    beat = run(Beat(interval_s, 0.0), [cost_s] * count)

    assert beat.duty <= limits.DUTY_MAX_RATIO * (1 + 1e-9) or beat.stretch == max(1, int(limits.STRETCH_MAX_S // interval_s))


def test_duty_guard_stretches_when_passes_take_too_long() -> None:
    """Two slow passes of 90 ms in a row at 1 s: a fifth of the allowance, five times the interval."""
    assert run(Beat(1.0, 0.0), [0.09, 0.09]).stretch == 5


def test_one_slow_pass_is_ignored() -> None:
    """The first pass opens every file; a scheduling hiccup is no slow device."""
    assert run(Beat(1.0, 0.0), [5.0]).stretch == 1
    assert run(Beat(1.0, 0.0), [0.001, 5.0]).stretch == 1


def test_duty_guard_relaxes_once_passes_take_half_of_what_is_allowed() -> None:
    """Back to the configured interval."""
    assert run(Beat(1.0, 0.0), [0.09, 0.09, 0.009, 0.009]).stretch == 1


def test_duty_guard_does_not_relax_for_a_little_less() -> None:
    """A device that sits at the edge does not make the interval swing."""
    slow = run(Beat(1.0, 0.0), [0.09, 0.09])

    assert run(slow, [0.079, 0.079]).stretch == slow.stretch


@given(st.floats(0.0201, 5.0), st.floats(0.55, 1.0))
def test_duty_guard_holds_still_while_the_cost_wanders_within_its_band(cost_s: float, share: float) -> None:
    """Anything between half and all of the cost that raised it leaves it where it is."""
    raised = run(Beat(1.0, 0.0), [cost_s, cost_s])

    assert run(raised, [cost_s * share, cost_s, cost_s * share]).guard == raised.guard


def test_barren_passes_back_off_to_four_intervals_at_most() -> None:
    """Doubling, and no further: a device that returns must not stay unseen."""
    beat, seen = Beat(1.0, 0.0), []
    for _ in range(5):
        beat = run(beat, [0.001], barren=True)
        seen.append(beat.stretch)

    assert seen == [2, 4, 4, 4, 4]


def test_pass_that_brings_something_ends_the_back_off() -> None:
    """At once."""
    assert run(run(Beat(1.0, 0.0), [0.001] * 5, barren=True), [0.001]).stretch == 1


def test_back_off_does_not_shorten_what_the_duty_guard_stretched() -> None:
    """The longer of the two holds."""
    slow = run(Beat(1.0, 0.0), [0.2, 0.2])

    assert run(slow, [0.2], barren=True).stretch == slow.stretch == 10


def test_pass_that_is_almost_due_joins_the_tick() -> None:
    """A twentieth of its interval early, no earlier."""
    beat = Beat(10.0, 100.0)

    assert is_due(beat, 99.5)
    assert not is_due(beat, 99.4)


@given(intervals, passes, st.floats(0, 1e6))
def test_beat_made_due_keeps_all_it_has_learned(interval_s: float, history: list[tuple[float, bool]], due_s: float) -> None:
    """Only the time changes."""
    beat = after(interval_s, history)

    assert due_at(beat, due_s) == beat._replace(due_s=due_s)


def test_series_go_stale_after_three_intervals_or_five_seconds() -> None:
    """Whichever is longer; the interval is the one in force."""
    assert stale_after_s(Beat(1.0, 0.0)) == 5.0
    assert stale_after_s(Beat(15.0, 0.0)) == 45.0
    assert stale_after_s(Beat(5.0, 0.0, stretch=4)) == 60.0


def test_deadline_is_the_shortest_configured_interval_but_a_second_at_least() -> None:
    """Stretching does not make it longer: P6 counts in configured intervals."""
    fast, slow = Beat(5.0, 0.0, stretch=8), Beat(300.0, 0.0)

    assert deadline_s({Cadence.FAST: fast, Cadence.SLOW: slow}) == 0.9 * 5.0
    assert deadline_s({Cadence.FAST: Beat(0.1, 0.0)}) == deadline_s({}) == 1.0


def test_intervals_are_by_cadence() -> None:
    """Each its own."""
    found = Intervals(1.0, 2.0, 3.0)

    assert [found.of(cadence) for cadence in Cadence] == [1.0, 2.0, 3.0]
