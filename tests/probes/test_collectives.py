"""Collectives: what a link carries for each."""

import pytest

from exporter.probes.collectives import Collective, algorithm_bandwidth, bus_bandwidth, bus_factor, whole_size, wire_bytes


@pytest.mark.parametrize(("collective", "factor"), [
    (Collective.ALL_REDUCE, 1.75), (Collective.ALL_GATHER, 0.875), (Collective.REDUCE_SCATTER, 0.875), (Collective.ALL_TO_ALL, 0.875),
    (Collective.BROADCAST, 1.0), (Collective.SEND_RECV, 1.0),
])  # fmt: skip
def test_bus_factor_is_that_of_nccl_tests(collective: Collective, factor: float) -> None:
    """For eight ranks, from src/*.cu of nccl-tests."""
    assert bus_factor(collective, 8) == factor


@pytest.mark.parametrize("ranks", [-1, 0, 1])
@pytest.mark.parametrize("collective", Collective)
def test_a_single_rank_has_no_bus_bandwidth(collective: Collective, ranks: int) -> None:
    """Nothing crosses a link, so a number would be invented; nccl-tests prints 0 (NVIDIA/nccl-tests#294)."""
    assert bus_factor(collective, ranks) is None
    assert bus_bandwidth(collective, ranks, 1024, 1.0) is None
    assert wire_bytes(collective, ranks, 1024) == 0


def test_bandwidths_are_bytes_by_time() -> None:
    """1 GB in 10 ms is 100 GB/s, and an all-reduce of eight loads each link with 175 GB/s."""
    assert algorithm_bandwidth(10**9, 0.01) == pytest.approx(1e11)
    assert bus_bandwidth(Collective.ALL_REDUCE, 8, 10**9, 0.01) == pytest.approx(1.75e11)


@pytest.mark.parametrize("time_s", [0.0, -1.0, float("nan")])
def test_no_time_gives_no_bandwidth(time_s: float) -> None:
    """Nothing was measured, and infinity is no bandwidth."""
    assert algorithm_bandwidth(1024, time_s) is None
    assert bus_bandwidth(Collective.ALL_REDUCE, 8, 1024, time_s) is None


def test_wire_bytes_of_the_usual_plan() -> None:
    """256 MiB by eight ranks: 448 MiB each for an all-reduce. Rounded up, for a budget must not be underrated."""
    assert wire_bytes(Collective.ALL_REDUCE, 8, 2**28) == 448 * 2**20
    assert wire_bytes(Collective.ALL_REDUCE, 3, 4) == 6


def test_whole_size_splits_into_blocks_of_whole_elements() -> None:
    """Only where the collective needs a block for each rank; 0 where not even one element for each fits."""
    assert whole_size(Collective.ALL_GATHER, 3, 2**20) == 2**20 // 12 * 12
    assert whole_size(Collective.ALL_REDUCE, 3, 10) == 8
    assert whole_size(Collective.ALL_GATHER, 8, 8) == 0
