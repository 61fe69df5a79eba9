"""Averages that forget, and times that may lie ahead."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.signals.memory import FULL, NEVER, faded, mean, passed_s, within

seconds = st.floats(0.01, 1e5)


@given(st.floats(0, 1e6), st.lists(seconds, min_size=1, max_size=30), seconds)
def test_the_average_of_a_constant_is_that_constant(rate: float, passes: list[float], over_s: float) -> None:
    """Whatever the lengths of the passes."""
    kept = NEVER
    for elapsed_s in passes:
        kept = faded(kept, rate * elapsed_s, elapsed_s, elapsed_s, over_s)
    average = mean(kept, 0.0)

    assert average is not None
    assert math.isclose(average, rate, rel_tol=1e-9, abs_tol=1e-12)


def test_time_in_which_nobody_looked_counts_neither_way() -> None:
    """A gap fades what was known; the average stays."""
    before = faded(NEVER, 30.0, 100.0, 100.0, 300.0)
    after = faded(before, 0.0, 0.0, 600.0, 300.0)

    assert mean(after, 0.0) == pytest.approx(0.3)
    assert after.seen_s == pytest.approx(100.0 * math.exp(-2))
    assert mean(after, 50.0) is None


def test_the_whole_time_seen_from_nothing_is_full() -> None:
    """FULL × the time is what an average has seen once its whole time passed."""
    kept = NEVER
    for _ in range(3000):
        kept = faded(kept, 0.0, 0.1, 0.1, 300.0)

    assert kept.seen_s == pytest.approx(FULL * 300.0, rel=1e-3)


def test_an_average_of_nothing_is_unknown() -> None:
    """Never 0, never a division by it."""
    assert mean(NEVER, 0.0) is None


@pytest.mark.parametrize(("at_s", "now_s", "expected"), [(None, 5.0, False), (0.0, 5.0, True), (0.0, 11.0, False), (9.0, 5.0, False)])
def test_a_time_ahead_is_no_recent_one(at_s: float | None, now_s: float, expected: bool) -> None:  # noqa: FBT001
    """One of another feed, whose pass came first."""
    assert within(at_s, now_s, 10.0) is expected


def test_time_never_passes_faster_than_it_is_seen() -> None:
    """Another feed may have told later than this one's pass before."""
    assert passed_s(None, 50.0, 5.0) == 5.0
    assert passed_s(20.0, 50.0, 5.0) == 30.0
    assert passed_s(900.0, 50.0, 5.0) == 5.0
