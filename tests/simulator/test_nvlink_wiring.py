"""Wirings lead home, fill each board as its maker does, and tell who reaches whom."""

from collections import Counter

import pytest

from exporter.simulator.nvlink_wiring import (
    CUBE_MESH,
    PEER_GPU,
    PEER_SWITCH,
    FarEnd,
    Place,
    bridged,
    group_of,
    links_of,
    meshed,
    switched,
)
from exporter.simulator.profiles import GB200_TRAY, H100_PCIE_PAIRS, HGX_A100, HGX_B200, HGX_H100, PROFILES, V100, Profile

profiles = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)


@profiles
def test_following_a_link_back_leads_home(profile: Profile) -> None:
    """A GPU's far end names this very link; a switch's port belongs to one link alone."""
    straight = {place: Place(end.number, end.port) for place, end in profile.nvlinks.items() if end.kind == PEER_GPU}
    ports = Counter(end for end in profile.nvlinks.values() if end.kind == PEER_SWITCH)

    assert {near: straight.get(far) for near, far in straight.items()} == {near: near for near in straight}
    assert set(ports.values()) <= {1}


@profiles
def test_wires_lead_between_what_the_node_has(profile: Profile) -> None:
    """No link beyond a GPU's ports, no far end that is not there, and no GPU wired to itself."""
    for place, end in profile.nvlinks.items():
        assert place.link < profile.gpus[place.gpu].model.ports
        assert end.number < len(profile.switches if end.kind == PEER_SWITCH else profile.gpus)
        assert (end.kind, end.number) != (PEER_GPU, place.gpu)


@pytest.mark.parametrize(
    ("profile", "switches"),
    [
        (HGX_H100, {0: 5, 1: 4, 2: 4, 3: 5}),
        (HGX_A100, dict.fromkeys(range(6), 2)),
        (HGX_B200, {0: 9, 1: 9}),
        (GB200_TRAY, dict.fromkeys(range(18), 1)),
    ],
    ids=lambda value: value.name if isinstance(value, Profile) else "",
)
def test_every_gpu_of_a_board_has_the_same_links_to_each_switch(profile: Profile, switches: dict[int, int]) -> None:
    """So that every pair of GPUs has the same bandwidth."""
    for gpu in range(len(profile.gpus)):
        assert Counter(end.number for place, end in profile.nvlinks.items() if place.gpu == gpu) == switches


def test_the_cube_mesh_has_six_links_a_gpu_and_one_or_two_a_pair() -> None:
    """NV1 and NV2, as many from one end as from the other; no link of the eight is left over."""
    pairs = Counter((place.gpu, end.number) for place, end in V100.nvlinks.items())

    assert pairs == {pair: links for (one, other), links in CUBE_MESH.items() for pair in ((one, other), (other, one))}
    assert [links_of(V100.nvlinks, gpu) for gpu in range(8)] == [tuple(range(6))] * 8


def test_a_bridged_pair_leaves_the_ports_in_between_alone() -> None:
    """4, 5, 10, 11, 16 and 17 of 18 lead nowhere; GPUs are in pairs."""
    assert links_of(H100_PCIE_PAIRS.nvlinks, 3) == (0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15)
    assert [group_of(H100_PCIE_PAIRS.nvlinks, gpu) for gpu in (0, 3, 6)] == [(0, 1), (2, 3), (6, 7)]


def test_whoever_is_reached_in_several_steps_is_of_the_group() -> None:
    """Over switches and over other GPUs; a GPU without a wire is alone."""
    chain = meshed({(0, 1): 1, (1, 2): 1})

    assert [group_of(chain, gpu) for gpu in range(4)] == [(0, 1, 2), (0, 1, 2), (0, 1, 2), (3,)]
    assert group_of(switched(3, (1, 1)), 1) == (0, 1, 2)
    assert group_of(V100.nvlinks, 5) == tuple(range(8))


def test_ports_of_a_switch_are_counted_over_all_nodes_of_its_rack() -> None:
    """The third tray of four GPUs has ports 8 to 11."""
    assert switched(4, (1, 1), first=8)[Place(1, 1)] == FarEnd(PEER_SWITCH, 1, 9)


def test_both_ends_of_a_bridge_are_the_same_link() -> None:
    """Link 3 of one is link 3 of the other."""
    assert bridged(((0, 1),), (3,)) == {Place(0, 3): FarEnd(PEER_GPU, 1, 3), Place(1, 3): FarEnd(PEER_GPU, 0, 3)}
