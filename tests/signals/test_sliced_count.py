"""A count over a sliding window: what it holds, what it forgets, and of how much time it speaks."""

from hypothesis import given
from hypothesis import strategies as st

from exporter.signals.sliced_count import SLICES, SlicedCount

HOUR_S = 3600.0
SLICE_S = HOUR_S / SLICES


def test_what_happened_within_the_window_is_counted() -> None:
    """Of the last slices, the running one included."""
    count = SlicedCount(HOUR_S, 0.0).add(2, 10.0).add(3, 1200.0).add(4, 3000.0)

    assert count.total(3010.0) == 9


def test_what_is_older_than_the_window_is_forgotten() -> None:
    """A slice at a time, never later than the window."""
    count = SlicedCount(HOUR_S, 0.0).add(2, 10.0).add(3, 1200.0)

    assert count.total(HOUR_S + 10.0) == 3


def test_nothing_new_costs_no_new_value() -> None:
    """A link to which nothing happens keeps the very same object, and so does one whose slices all still count."""
    empty, hit = SlicedCount(HOUR_S, 0.0), SlicedCount(HOUR_S, 0.0).add(1, 100.0)

    assert empty.add(0, 500.0) is empty
    assert hit.add(0, 500.0) is hit


def test_a_window_whose_counts_are_all_old_is_empty_again() -> None:
    """So that a link that recovered costs as little as one that was never ill."""
    count = SlicedCount(HOUR_S, 0.0).add(7, 100.0).add(0, 2 * HOUR_S)

    assert count.slices == ()


def test_covered_time_grows_to_the_window_and_no_farther() -> None:
    """What a ratio divides by: nothing at first, at least 11/12 of the window in the end."""
    count = SlicedCount(HOUR_S, 1000.0)

    assert (count.covered_s(1000.0), count.covered_s(1090.0)) == (0.0, 90.0)
    assert HOUR_S - SLICE_S <= count.covered_s(90_000.0) <= HOUR_S


def test_a_growth_over_more_than_the_window_starts_it_anew() -> None:
    """After a gap nobody knows how much of it happened lately."""
    count = SlicedCount(300.0, 0.0).add(5, 100.0).add(100, 1000.0, elapsed_s=900.0)

    assert count == SlicedCount(300.0, 1000.0)


def test_a_time_before_its_start_starts_it_anew() -> None:
    """What was counted under a clock that went back must not come back hours later."""
    count = SlicedCount(HOUR_S, 90_000.0).add(5, 90_100.0).add(0, 40.0)

    assert count == SlicedCount(HOUR_S, 40.0)


def test_slices_ahead_of_time_never_count() -> None:
    """They are dropped, not waited for."""
    count = SlicedCount(HOUR_S, 10.0).add(5, 90_100.0).add(0, 40.0)

    assert count.total(90_100.0) == 0


def test_slices_hit_tell_a_burst_from_what_goes_on() -> None:
    """The same total in one slice or in many."""
    burst = SlicedCount(HOUR_S, 0.0).add(6, 100.0)
    drip = SlicedCount(HOUR_S, 0.0)
    for minute in range(0, 60, 10):
        drip = drip.add(1, minute * 60.0)

    assert (burst.slices_hit(3500.0), drip.slices_hit(3500.0)) == (1, 6)


times = st.floats(0, 1e7)
events = st.lists(st.tuples(st.integers(0, 2**64), times), max_size=30)


@given(events, times, st.sampled_from((300.0, HOUR_S, 259_200.0)))
def test_any_order_of_times_gives_finite_bounded_answers(steps: list[tuple[int, float]], ask_s: float, window_s: float) -> None:
    """Time may go back or leap: totals lie between nothing and all there was, slices and coverage within the window."""
    count = SlicedCount(window_s, 0.0)
    for number, now_s in steps:
        count = count.add(number, now_s)

    assert 0 <= count.total(ask_s) <= sum(number for number, _ in steps)
    assert len(count.slices) <= SLICES
    assert 0.0 <= count.covered_s(ask_s) <= window_s * 1.000001


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, HOUR_S - SLICE_S)), max_size=20))
def test_counting_in_parts_counts_the_same(steps: list[tuple[int, float]]) -> None:
    """Within the window nothing is lost or counted twice, however often it is fed."""
    count = SlicedCount(HOUR_S, 0.0)
    for number, now_s in sorted(steps, key=lambda step: step[1]):
        count = count.add(number, now_s)

    assert count.total(HOUR_S - SLICE_S) == sum(number for number, _ in steps)
