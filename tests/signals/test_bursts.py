"""Samples of a byte counter folded: speed within bursts, share of time busy, whether bursts can be seen at all, and a histogram."""

from math import isfinite

from hypothesis import given
from hypothesis import strategies as st

from exporter.signals.bursts import BOUNDS, WINDOW_S, Course, Direction

CAPACITY = 50e9


def sampled(period_s: float, seconds: float, burst_s: float, every_s: float, rate: float = 46e9, phase_s: float = 0.0) -> Direction:
    """A link that carries a burst at that rate now and then, read at that period."""
    direction = Direction()
    for number in range(round(seconds / period_s)):
        now_s = number * period_s
        whole, within_s = divmod(now_s + phase_s, every_s)
        direction.add(int(rate * (whole * burst_s + min(within_s, burst_s))), now_s, period_s)
    return direction


def test_bursts_show_their_own_speed_and_the_mean_does_not() -> None:
    """Half the rate, twice the time: the same bytes."""
    fast = sampled(0.1, 90.0, 0.3, 1.0).course(CAPACITY)
    slow = sampled(0.1, 90.0, 0.6, 1.0, rate=23e9).course(CAPACITY)

    assert (round((fast.p95 or 0) / 1e9), round((slow.p95 or 0) / 1e9)) == (46, 23)
    assert round(slow.busy / fast.busy, 1) == 2.0


def test_bursts_shorter_than_two_samples_are_not_resolved() -> None:
    """30 ms at 100 ms: no sample lies within one; at 20 ms a fifth of the busy samples do."""
    blind, seeing = (sampled(period_s, 90.0, 0.03, 0.25, phase_s=0.013).course(CAPACITY) for period_s in (0.1, 0.02))

    assert blind.resolved is not None
    assert seeing.resolved is not None
    assert blind.resolved < 0.1 < seeing.resolved
    assert round((seeing.p95 or 0) / 1e9) == 46


def test_an_idle_link_has_no_speed() -> None:
    """It was busy for none of the time; nothing is said of bursts."""
    direction = Direction()
    for number in range(50):
        direction.add(number, number / 10, 0.1)

    assert direction.course(CAPACITY) == Course(49, 0.0)


def test_a_reset_a_late_sample_and_a_jump_are_no_rates() -> None:
    """Each is left out, and the samples around it stay."""
    direction = Direction()
    counts = [(0, 0.0), (10**9, 0.1), (5, 0.2), (10**9, 0.3), (2 * 10**9, 0.9), (3 * 10**9, 1.0), (10**15, 1.1), (10**15 + 10**9, 1.2)]
    for total, at_s in counts:
        direction.add(total, at_s, 0.1)

    course = direction.course(CAPACITY)
    assert (course.samples, round((course.most or 0) / 1e9)) == (4, 10)


def test_the_histogram_counts_each_sample_once() -> None:
    """However often it is looked at, and for longer than the window."""
    direction = Direction()
    for number in range(3000):
        direction.add(number * 10**9, number / 10, 0.1)
        if number % 150 == 0:
            direction.course(CAPACITY)
    direction.course(CAPACITY)

    assert (sum(direction.histogram.buckets), round(direction.histogram.total)) == (2999, 600)
    assert direction.histogram.buckets[2] == 2999


def test_samples_leave_after_the_window() -> None:
    """What was busy two windows ago is no news."""
    direction = sampled(0.1, 60.0, 0.3, 1.0)
    total = 10**15
    for number in range(round(2 * WINDOW_S * 10)):
        direction.add(total, 60.0 + number / 10, 0.1)

    assert direction.course(CAPACITY).busy == 0.0


counters = st.lists(st.tuples(st.integers(0, 2**64), st.floats(0.0, 10.0)), max_size=60)


@given(counters, st.floats(1.0, 1e12))
def test_any_counter_at_any_times_gives_finite_shares(samples: list[tuple[int, float]], capacity: float) -> None:
    """Shares lie within 0 and 1, speeds are finite and in order, and every sample that counts is in one bucket."""
    direction, at_s = Direction(), 0.0
    for total, gap_s in samples:
        at_s += gap_s
        direction.add(total, at_s, 0.1)
    course = direction.course(capacity)

    assert 0.0 <= course.busy <= 1.0
    assert course.resolved is None or 0.0 <= course.resolved <= 1.0
    speeds = [speed for speed in (course.p50, course.p95, course.p99, course.most) if speed is not None]
    assert speeds == sorted(speeds)
    assert all(isfinite(speed) for speed in speeds)
    assert len(direction.histogram.buckets) == len(BOUNDS) + 1
    assert sum(direction.histogram.buckets) >= course.samples
