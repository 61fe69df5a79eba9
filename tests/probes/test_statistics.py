"""Times in figures: nearest rank, jitter, slowest rank, skew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probes.statistics import nearest_rank, skew, slowest, times


def test_percentiles_are_times_that_were_measured() -> None:
    """Nearest rank of 1 to 20 ms, in any order: the 10th, the 19th, the last."""
    found = times([one / 1000 for one in range(20, 0, -1)])

    assert found is not None
    assert (found.iterations, found.p50_s, found.p95_s, found.max_s) == (20, 0.010, 0.019, 0.020)
    assert found.jitter_ratio == pytest.approx(0.9)
    assert found.mad_ratio == pytest.approx(0.5)


def test_too_few_times_have_no_p95_and_no_jitter() -> None:
    """Below 20 the 95th percentile would be the maximum by another name."""
    found = times([0.001] * 19)

    assert found is not None
    assert (found.p50_s, found.p95_s, found.jitter_ratio) == (0.001, None, None)


@pytest.mark.parametrize("seconds", [[], [0.0], [1.0, -1.0], [1.0, float("nan")], [1.0, float("inf")], [1e-12], [1e6]])
def test_an_impossible_time_spoils_its_series(seconds: list[float]) -> None:
    """A CUDA event that was never recorded gives 0 or garbage; the others of that series are then not to be trusted."""
    assert times(seconds) is None


@given(st.lists(st.floats(1e-6, 1e3), min_size=1), st.floats(0.001, 1.0))
def test_nearest_rank_covers_the_share_it_names(values: list[float], share: float) -> None:
    """At least that share of the values is not above it, and it is one of them."""
    found = nearest_rank(sorted(values), share)

    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) * (1 - 1e-9)


def test_an_iteration_takes_as_long_as_its_slowest_rank() -> None:
    """Each iteration by itself: the slowest rank may change."""
    assert slowest([[1.0, 5.0, 2.0], [3.0, 4.0, 1.0]]) == (3.0, 5.0, 2.0)
    with pytest.raises(ValueError, match="argument"):
        slowest([[1.0], [1.0, 2.0]])


def test_skew_is_the_median_gap_between_first_and_last_rank() -> None:
    """0.1, 0.3 and 9 s: one hiccup is not the usual gap. One rank alone has none."""
    assert skew([[1.0, 2.0, 3.0], [1.1, 2.3, 12.0]]) == pytest.approx(0.3)
    assert skew([[1.0, 2.0]]) is None
    assert skew([[], []]) is None
