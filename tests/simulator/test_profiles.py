"""Profiles are what they claim to be."""

import pytest

from exporter.simulator.profiles import HGX_H100, NO_GPU_IB, PROFILES, Profile, Use, profile_named


@pytest.mark.parametrize("profile", PROFILES.values(), ids=str)
def test_every_card_of_a_node_is_its_own(profile: Profile) -> None:
    """Names, addresses, interfaces and GUIDs are unique within a node."""
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
    with pytest.raises(ValueError, match="no node profile is called 'hgx-h10'; known: hgx-h100, no-gpu-ib"):
        profile_named("hgx-h10")
