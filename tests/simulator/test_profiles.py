"""Profiles are what they claim to be."""

import re

import pytest

from exporter.catalog.nvlink_boards import BOARDS
from exporter.simulator.hcas import Use
from exporter.simulator.layout import node_entries
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.node import SimulatedNode
from exporter.simulator.profiles import (
    A100_PCIE_UNBRIDGED,
    GB200_TRAY,
    H100_PCIE_PAIRS,
    HGX_A100,
    HGX_B200,
    HGX_H100,
    NO_GPU_IB,
    PROFILES,
    ROCE_H200,
    V100,
    Profile,
    profile_named,
)
from exporter.sources.nvswitches import NvSwitches
from tests.machine import Machine
from tests.sources.small_pci import below_expectation, distances_of

profiles = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)


@profiles
def test_every_card_of_a_node_is_its_own(profile: Profile) -> None:
    """Names, addresses, interfaces and GUIDs are unique within a node, and no GPU or switch has a card's address."""
    addresses = [card.pci for card in (*profile.hcas, *profile.nics, *profile.gpus, *profile.switches) if card.pci]
    assert len(set(addresses)) == len(addresses)
    for names in ([hca.name for hca in profile.hcas], [hca.pci for hca in profile.hcas], [hca.netdev for hca in profile.hcas],
                  [hca.node_guid for hca in profile.hcas]):  # fmt: skip
        assert len(set(names)) == len(profile.hcas)


def test_an_hgx_h100_has_eight_rails_and_two_storage_ports() -> None:
    """Eight NDR InfiniBand ports, four per socket, and two Ethernet ports at 200 Gb/s."""
    rails = [hca for hca in HGX_H100.hcas if hca.use is Use.COMPUTE]
    storage = [hca for hca in HGX_H100.hcas if hca.use is Use.STORAGE]

    assert [hca.line_bytes_per_s for hca in rails] == [50_000_000_000] * 8
    assert [hca.numa_node for hca in rails] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [(hca.name, hca.link_layer, hca.line_bytes_per_s) for hca in storage] == [
        ("mlx5_8", "Ethernet", 25_000_000_000),
        ("mlx5_9", "Ethernet", 25_000_000_000),
    ]


def test_interfaces_are_named_as_systemd_does() -> None:
    """From the bus and slot of the PCI address, in decimal."""
    assert (HGX_H100.hcas[0].pci, HGX_H100.hcas[0].netdev) == ("0000:19:00.0", "ibp25s0")
    assert (HGX_H100.hcas[8].pci, HGX_H100.hcas[8].netdev) == ("0000:5a:00.0", "enp90s0np0")


def test_an_hdr100_port_counts_two_lanes() -> None:
    """100 Gb/s as two HDR lanes, which is no downgrade."""
    assert [(hca.rate, hca.line_bytes_per_s) for hca in NO_GPU_IB.hcas] == [("100 Gb/sec (2X HDR)", 12_500_000_000)] * 2


def test_a_profile_is_found_by_its_name() -> None:
    """The name that the command line takes."""
    assert profile_named("hgx-h100") is HGX_H100


def test_an_unknown_profile_lists_the_known_ones() -> None:
    """One line that says what to type instead."""
    with pytest.raises(ValueError, match="no node profile is called 'hgx-h10'; known: a100-pcie-unbridged, gb200-tray, h100-pcie, "):
        profile_named("hgx-h10")


def test_interfaces_in_other_pci_domains_say_so() -> None:
    """As systemd names them: the domain in decimal."""
    assert [hca.netdev for hca in GB200_TRAY.hcas] == ["ibp1s0", "ibP2p1s0", "ibP16p1s0", "ibP18p1s0"]


@pytest.mark.parametrize(
    ("profile", "gpus", "ports", "product", "hcas"),
    [
        (HGX_H100, 8, 18, "NVIDIA H100 80GB HBM3", "400 Gb/sec (4X NDR)"),
        (ROCE_H200, 8, 18, "NVIDIA H200", "400 Gb/sec (4X NDR)"),
        (HGX_A100, 8, 12, "NVIDIA A100-SXM4-80GB", "200 Gb/sec (4X HDR)"),
        (HGX_B200, 8, 18, "NVIDIA B200", "400 Gb/sec (4X NDR)"),
        (GB200_TRAY, 4, 18, "NVIDIA GB200", "400 Gb/sec (4X NDR)"),
        (H100_PCIE_PAIRS, 8, 18, "NVIDIA H100 PCIe", "400 Gb/sec (4X NDR)"),
        (A100_PCIE_UNBRIDGED, 4, 12, "NVIDIA A100 80GB PCIe", "200 Gb/sec (4X HDR)"),
        (V100, 8, 6, "Tesla V100-SXM2-32GB", "100 Gb/sec (4X EDR)"),
    ],
    ids=lambda value: value.name if isinstance(value, Profile) else "",
)
def test_gpus_and_rails_of_each_node(profile: Profile, gpus: int, ports: int, product: str, hcas: str) -> None:
    """All of one kind."""
    assert [(gpu.model.ports, gpu.model.product) for gpu in profile.gpus] == [(ports, product)] * gpus
    assert {hca.rate for hca in profile.hcas if hca.use is Use.COMPUTE} == {hcas}


@profiles
def test_boards_that_wire_every_port_are_known_to_the_catalogue(profile: Profile) -> None:
    """With the count and rate that the simulated GPUs have; bridge cards are not in it."""
    for gpu in profile.gpus:
        found = [board for pattern, board in BOARDS.items() if re.fullmatch(pattern, gpu.model.product)]
        whole = profile not in (H100_PCIE_PAIRS, A100_PCIE_UNBRIDGED)
        assert [(one.count, one.rate_bytes_per_s) for one in found] == [(gpu.model.ports, gpu.model.rate_mb_per_s * 10**6)] * whole


@profiles
def test_nvswitches_on_the_bus_are_found_there(profile: Profile) -> None:
    """Four of H100 and H200, six of A100; those of Blackwell are not on the node's bus."""
    found = NvSwitches(MemoryTree(node_entries(profile))).addresses()

    assert found == tuple(switch.pci for switch in profile.switches if switch.pci)
    assert len(found) == {"hgx-h100": 4, "roce-h200": 4, "hgx-a100": 6}.get(profile.name, 0)


@profiles
def test_gpus_are_numbered_as_they_are_listed(profile: Profile) -> None:
    """The first is gpu0: in PCI order. Every PCIe link is at its best."""
    seen = Machine(SimulatedNode(profile, 1).tree())
    gpus = {device for device, _ in distances_of(seen)}

    assert gpus == {f"gpu{number}" for number in range(len(profile.gpus))}
    assert sorted(profile.gpus, key=lambda gpu: gpu.pci) == list(profile.gpus)
    assert below_expectation(seen) == set()


@pytest.mark.parametrize("profile", [HGX_H100, ROCE_H200, HGX_A100, HGX_B200], ids=lambda profile: profile.name)
def test_on_a_board_of_eight_each_gpu_is_next_to_its_nic(profile: Profile) -> None:
    """GpuN and mlx5_N share a PCIe switch; no other pair does."""
    near = {pair for pair, distance in distances_of(Machine(SimulatedNode(profile, 1).tree())).items() if distance == "PIX"}

    assert near == {(f"gpu{n}", f"mlx5_{n}") for n in range(8)}
