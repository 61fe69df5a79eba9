"""A Window: what changed between two snapshots of one feed. Reset, absence and order."""

import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.entity import Device, Fabric, Link
from exporter.model.metric import Cadence
from exporter.model.quantity import UINT64_MAX
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.model.window import Window

FEED = Feed("infiniband", "mlx5_0", Cadence.FAST)
PORT = Link(Fabric.INFINIBAND, "mlx5_0", "1")
KEYS = ("bytes", "packets", ("events", "out_of_sequence"))


def _snapshot(monotonic_s: float, values: Mapping[SeriesKey, Number], feed: Feed = FEED) -> Snapshot:
    return Snapshot(feed, 1.8e9 + monotonic_s, monotonic_s, (Reading(PORT, values),))


def _window(before: Number, after: Number, elapsed_s: float = 10.0) -> Window:
    return Window(_snapshot(100.0, {"bytes": before}), _snapshot(100.0 + elapsed_s, {"bytes": after}))


counts = st.integers(0, UINT64_MAX)
times_ns = st.integers(0, 10**18)
readings = st.dictionaries(st.sampled_from(KEYS), counts)


@given(times_ns, times_ns, readings, readings)
def test_a_rate_is_absent_or_finite_and_never_negative(one_ns: int, other_ns: int, first: Mapping, second: Mapping) -> None:
    """Whatever two snapshots say and however close together they were taken."""
    early_ns, late_ns = sorted((one_ns, other_ns))
    window = Window(_snapshot(early_ns / 1e9, first), _snapshot(late_ns / 1e9, second))
    rates = [window.rate(PORT, key) for key in KEYS]

    assert all(rate is None or (math.isfinite(rate) and rate >= 0) for rate in rates)


@given(st.lists(counts, min_size=3, max_size=3).map(sorted))
def test_growth_adds_up_over_adjoining_windows(totals: list[int]) -> None:
    """window(a,b) + window(b,c) = window(a,c) while nothing resets; exact, as counters are whole numbers."""
    a, b, c = (_snapshot(10.0 * i, {"bytes": total}) for i, total in enumerate(totals))
    parts = [Window(a, b).delta(PORT, "bytes"), Window(b, c).delta(PORT, "bytes")]

    assert sum(part or 0 for part in parts) == Window(a, c).delta(PORT, "bytes")


@given(counts, counts)
def test_a_counter_either_grew_or_was_reset(before: int, after: int) -> None:
    """With both ends known there is a delta or a reset, never both, never neither."""
    window = _window(before, after)

    assert (window.delta(PORT, "bytes") is None) == window.is_reset(PORT, "bytes")


def test_a_counter_reset_yields_no_rate() -> None:
    """Azure/Moneo adds 2^64 when a counter falls and reports 7e20 bytes a second after a driver reload."""
    window = _window(5000, 40)

    assert window.is_reset(PORT, "bytes")
    assert window.delta(PORT, "bytes") is None
    assert window.rate(PORT, "bytes") is None


def test_the_newer_value_is_known_after_a_reset() -> None:
    """What is true now does not depend on what happened between."""
    assert _window(5000, 40).value(PORT, "bytes") == 40


def test_a_rate_is_growth_by_measured_seconds() -> None:
    """Not by the configured interval."""
    assert _window(1000, 3000, elapsed_s=4.0).rate(PORT, "bytes") == 500.0


def test_a_counter_that_stands_still_has_rate_zero() -> None:
    """Known to be idle is not unknown."""
    assert _window(7, 7).rate(PORT, "bytes") == 0


@pytest.mark.parametrize(("before", "after"), [({}, {"bytes": 5}), ({"bytes": 5}, {}), ({}, {})], ids=["older", "newer", "both"])
def test_an_end_that_is_missing_gives_nothing(before: Mapping, after: Mapping) -> None:
    """A value that could not be read is no zero and no reset."""
    window = Window(_snapshot(0.0, before), _snapshot(10.0, after))

    assert (window.delta(PORT, "bytes"), window.rate(PORT, "bytes"), window.is_reset(PORT, "bytes")) == (None, None, False)


def test_another_entity_is_not_asked() -> None:
    """The same key of another device does not stand in."""
    assert _window(1, 2).delta(Device("mlx5_0"), "bytes") is None


def test_no_time_passed_gives_growth_and_no_rate() -> None:
    """A window of one snapshot with itself divides nothing by zero."""
    snapshot = _snapshot(5.0, {"bytes": 5})
    window = Window(snapshot, snapshot)

    assert (window.delta(PORT, "bytes"), window.rate(PORT, "bytes"), window.elapsed_s) == (0, None, 0)


@pytest.mark.parametrize(
    "feed", [FEED._replace(source="nvlink"), FEED._replace(subject="mlx5_1"), FEED._replace(cadence=Cadence.NORMAL)], ids=str
)
def test_a_window_over_two_feeds_is_refused(feed: Feed) -> None:
    """Two devices' counters have no difference."""
    with pytest.raises(ValueError, match="two snapshots of one feed"):
        Window(_snapshot(0.0, {}), _snapshot(10.0, {}, feed))


def test_a_window_that_runs_backwards_is_refused() -> None:
    """The older snapshot stands first."""
    with pytest.raises(ValueError, match="older snapshot first"):
        Window(_snapshot(10.0, {}), _snapshot(0.0, {}))
