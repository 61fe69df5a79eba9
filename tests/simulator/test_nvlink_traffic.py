"""What GPUs send over NVLink agrees with what the HCAs carry, arrives in full, and never falls."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.simulator.nvlink_loads import NvlinkLoads
from exporter.simulator.nvlink_traffic import far_place, rail_share, sent_bytes, shared_out, weights
from exporter.simulator.nvlink_wiring import Place
from exporter.simulator.profiles import (
    A100_PCIE_UNBRIDGED,
    GB200_TRAY,
    H100_PCIE_PAIRS,
    HGX_A100,
    HGX_B200,
    HGX_H100,
    ROCE_H200,
    V100,
    Profile,
)
from exporter.simulator.traffic import TRAINING, port_totals

SWITCHED = (HGX_H100, ROCE_H200, HGX_A100, HGX_B200, GB200_TRAY)
STRAIGHT = (H100_PCIE_PAIRS, V100)
wired = st.sampled_from(SWITCHED + STRAIGHT)
seeds = st.integers(0, 2**40)
steps_s = st.builds(lambda step, past_s: max(0.0, step * 8 + past_s), st.integers(0, 100_000), st.floats(-2, 2))
times_s = steps_s | st.floats(0, 40 * 86_400)
"""Any moment of 40 days, many of them around the end of a step."""


def _all(loads: NvlinkLoads, profile: Profile, elapsed_s: float) -> tuple[Mapping[Place, int], Mapping[Place, int]]:
    """Bytes sent and received by every wired link of the node."""
    gpus = range(len(profile.gpus))
    sent = {Place(gpu, link): value for gpu in gpus for link, value in loads.sent(gpu, elapsed_s).items()}
    return sent, {Place(gpu, link): value for gpu in gpus for link, value in loads.received(gpu, elapsed_s).items()}


def _loads(profile: Profile, seed: int = 1) -> NvlinkLoads:
    return NvlinkLoads(profile, seed, TRAINING)


@settings(deadline=None, max_examples=60)
@given(wired, seeds, times_s)
def test_what_is_sent_is_received_to_the_byte(profile: Profile, seed: int, elapsed_s: float) -> None:
    """Over the whole node; and on a wire between two GPUs, each brings what the other's end sent."""
    sent, received = _all(_loads(profile, seed), profile, elapsed_s)

    assert set(sent) == set(received) == set(profile.nvlinks)
    assert sum(sent.values()) == sum(received.values())
    for place in profile.nvlinks:
        far = far_place(profile, place)
        assert far is None or received[place] == sent[far]


@settings(deadline=None, max_examples=60)
@given(wired, seeds, times_s, st.floats(0, 2) | times_s)
def test_counts_never_fall(profile: Profile, seed: int, begin_s: float, span_s: float) -> None:
    """Between any two moments, near or far, on any link and either way."""
    loads = _loads(profile, seed)
    before, after = _all(loads, profile, begin_s), _all(loads, profile, begin_s + span_s)

    for earlier, later in zip(before, after, strict=True):
        assert all(0 <= earlier[place] <= later[place] for place in earlier)


@pytest.mark.parametrize("profile", [HGX_H100, ROCE_H200, HGX_A100, HGX_B200], ids=lambda profile: profile.name)
def test_a_gpu_sends_seven_times_what_its_rail_sends(profile: Profile) -> None:
    """Eight GPUs: reduce-scatter and all-gather inside, an eighth of the data on the rail."""
    loads = _loads(profile)

    for gpu in range(8):
        rail = port_totals(profile.hcas[gpu], TRAINING, 1, 3601.3).transmitted_bytes
        assert sum(loads.sent(gpu, 3601.3).values()) == 7 * rail


def test_gpus_that_share_a_rail_account_for_half_of_it_each() -> None:
    """Eight V100 have four HCAs: GPUs 2 and 3 the second."""
    rail = port_totals(V100.hcas[1], TRAINING, 1, 999).transmitted_bytes

    assert [rail_share(V100, gpu).rail.name for gpu in range(8)] == [f"mlx5_{n}" for n in (0, 0, 1, 1, 2, 2, 3, 3)]
    assert sent_bytes(rail_share(V100, 3), TRAINING, 1, 999) == 7 * rail // 2


def test_a_pair_sends_what_its_rail_sends() -> None:
    """Two GPUs of a pair: g - 1 is one; first and second GPUs of all pairs have a rail each."""
    rail = port_totals(H100_PCIE_PAIRS.hcas[1], TRAINING, 1, 999).transmitted_bytes

    assert sent_bytes(rail_share(H100_PCIE_PAIRS, 5), TRAINING, 1, 999) == rail


def test_a_node_without_rails_has_a_load_of_its_own() -> None:
    """As if each GPU had an NDR port."""
    alone = replace(HGX_H100, hcas=())

    assert sum(_loads(alone).sent(0, 100).values()) > 10**12


def test_a_gpu_without_wires_sends_nothing() -> None:
    """And has no link to say so of."""
    assert sent_bytes(rail_share(A100_PCIE_UNBRIDGED, 0), TRAINING, 1, 999) == 0
    assert _loads(A100_PCIE_UNBRIDGED).received(0, 999) == {}


@pytest.mark.parametrize("profile", SWITCHED + STRAIGHT, ids=lambda profile: profile.name)
def test_links_share_evenly_and_stay_below_their_rate(profile: Profile) -> None:
    """Within 1 % of their mean over a minute, no two the same, and in the middle of a burst not above what the link can carry."""
    loads = _loads(profile)
    minute = [b - a for a, b in zip(loads.sent(1, 600).values(), loads.sent(1, 660).values(), strict=True)]
    burst = [b - a for a, b in zip(loads.sent(1, 606.9).values(), loads.sent(1, 607.4).values(), strict=True)]
    mean = sum(minute) / len(minute)

    assert all(abs(one - mean) <= 0.021 * mean for one in minute)
    assert len(set(minute)) > 1
    assert 0 < max(burst) < 0.5 * profile.gpus[1].model.rate_mb_per_s * 1e6


@given(st.lists(st.integers(1, 10**5), min_size=1, max_size=20), st.integers(0, 10**18), st.integers(0, 10**7))
def test_parts_sum_up_and_none_falls(portions: list[int], total: int, more: int) -> None:
    """Whatever the portions."""
    before, after = shared_out(total, portions), shared_out(total + more, portions)

    assert sum(before) == total
    assert sum(after) == total + more
    assert all(earlier <= later for earlier, later in zip(before, after, strict=True))


def test_the_numbers_of_a_seed_are_fixed() -> None:
    """Scenarios are labelled by seed: the same on every machine and Python, for ever."""
    assert weights(7, 3, range(4), "sent") == (10_093, 9_907, 9_902, 10_061)
    assert _loads(HGX_H100, 7).sent(3, 3600)[17] == 9_676_026_874_878


def test_a_link_that_goes_down_leaves_its_share_to_the_others() -> None:
    """Its own count stands still, the node's sums stay equal, and when it comes back it goes on from where it was."""
    loads = _loads(HGX_H100)
    loads.carry_over(2, range(1, 18), 600)
    down, later = loads.sent(2, 600)[0], loads.sent(2, 900)
    loads.carry_over(2, range(18), 900)
    sent, received = _all(loads, HGX_H100, 1200)

    assert later[0] == down
    assert sent[Place(2, 0)] > down
    assert sum(sent.values()) == sum(received.values())
    assert sum(loads.sent(2, 1200).values()) == sent_bytes(rail_share(HGX_H100, 2), TRAINING, 1, 1200)


def test_a_gpu_whose_links_are_all_down_sends_nothing() -> None:
    """Its counts stand."""
    loads = _loads(V100)
    loads.carry_over(2, (), 600)

    assert loads.sent(2, 5000) == loads.sent(2, 600)
