"""Distances from PCI paths, as `nvidia-smi topo -m` names them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.topology import Distance, PciPath, distance

SWITCH = ("0000:15:01.0", "0000:16:00.0")


def _path(*addresses: str, root: str = "pci0000:15", numa: str = "0", virtual: bool = False) -> PciPath:
    return PciPath(root, addresses, numa, virtual)


GPU = _path(*SWITCH, "0000:17:01.0", "0000:19:00.0")


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (_path(*SWITCH, "0000:17:02.0", "0000:1a:00.0"), "PIX"),
        (_path(*SWITCH, "0000:17:02.0", "0000:1a:00.0", "0000:1b:02.0", "0000:1c:00.0"), "PXB"),
        (_path("0000:15:02.0", "0000:20:00.0"), "PHB"),
        (_path("0000:37:01.0", "0000:38:00.0", root="pci0000:37"), "NODE"),
        (_path("0000:97:01.0", "0000:98:00.0", root="pci0000:97", numa="1"), "SYS"),
        (_path("0000:97:01.0", "0000:98:00.0", root="pci0000:97", numa=""), "unknown"),
        (_path("0000:00:05.0", root="pci0000:00"), "unknown"),
        (_path("0000:15:07.0"), "unknown"),
        (_path("0000:15:02.0", "0000:20:00.0", virtual=True), "unknown"),
    ],
    ids=[
        "one switch",
        "two switches",
        "two root ports",
        "same socket",
        "across sockets",
        "no NUMA node",
        "flat",
        "flat on the same bus",
        "QEMU",
    ],
)
def test_distance_between_a_gpu_and_a_nic(other: PciPath, expected: str) -> None:
    """What stands between them decides; what cannot be seen is said to be unknown."""
    assert distance(GPU, other).value == expected


def test_two_functions_of_one_card_are_a_bridge_apart() -> None:
    """A dual-port card."""
    ports = [_path(*SWITCH, "0000:17:03.0", f"0000:1b:00.{n}") for n in (0, 1)]

    assert distance(*ports) is Distance.PIX


paths = st.builds(
    PciPath,
    st.sampled_from(["pci0000:15", "pci0000:97", "pci0001:00"]),
    st.lists(st.sampled_from([f"0000:1{n}:00.0" for n in range(6)]), min_size=1, max_size=6, unique=True).map(tuple),
    st.sampled_from(["", "0", "1"]),
    st.booleans(),
)


@given(paths, paths)
def test_distance_is_the_same_both_ways(one: PciPath, other: PciPath) -> None:
    """And never an error."""
    assert distance(one, other) is distance(other, one)
