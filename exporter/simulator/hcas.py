"""HCAs of simulated nodes: kinds of card, one card, and the places on PCI where boards have them. Values only; GUIDs are invented.

Layouts after public machines: one PCIe switch per GPU and compute NIC as lspci of an 8 × H100 node shows them (leptonai/gpud
pkg/pci/testdata), device names as a udev rule by role gives them. Knows no file name below /sys and no traffic.
"""

from dataclasses import dataclass
from enum import Enum

from exporter.model.quantity import BYTES_PER_S_PER_GBIT


class Use(Enum):
    """What a port carries: gradients and messages between nodes, or files."""

    COMPUTE = "compute"
    STORAGE = "storage"


@dataclass(frozen=True, slots=True)
class HcaModel:
    """A kind of card as its files describe it: PCI device id, what it says of itself, and its PCIe link (speed text, lanes)."""

    hca_type: str
    pci_device: str
    board_id: str
    firmware: str
    pcie_speed: str
    pcie_lanes: int


@dataclass(frozen=True, slots=True)
class Hca:
    """One single-port HCA. `pci_path` runs from the root bus (`pci0000:15`) over the bridges to the card's own address."""

    name: str
    model: HcaModel
    use: Use
    link_layer: str
    rate: str
    pci_path: tuple[str, ...]
    numa_node: int
    node_guid: str

    @property
    def pci(self) -> str:
        """The card's own address, `0000:19:00.0`."""
        return self.pci_path[-1]

    @property
    def netdev(self) -> str:
        """The interface as systemd names it: `ibp25s0`, `ibP16p1s0` in another PCI domain than 0, or `enp90s0np0` (physical port 0) for
        Ethernet."""
        domain, bus, slot = self.pci.split(":")
        where = (f"P{int(domain, 16)}" if int(domain, 16) else "") + f"p{int(bus, 16)}s{int(slot.split('.')[0], 16)}"
        return f"ib{where}" if self.link_layer == "InfiniBand" else f"en{where}np0"

    @property
    def line_bytes_per_s(self) -> int:
        """Data bytes per second one direction of the port can carry, from the rate it prints (data rate from EDR on)."""
        return int(self.rate.split()[0]) * BYTES_PER_S_PER_GBIT


CONNECTX7_NDR = HcaModel("MT4129", "0x1021", "MT_0000000838", "28.43.2026", "32.0 GT/s PCIe", 16)
CONNECTX7_200GE = HcaModel("MT4129", "0x1021", "MT_0000000834", "28.43.2026", "32.0 GT/s PCIe", 16)
CONNECTX7_400GE = HcaModel("MT4129", "0x1021", "MT_0000000840", "28.43.2026", "32.0 GT/s PCIe", 16)
CONNECTX6_HDR = HcaModel("MT4123", "0x101b", "MT_0000000223", "20.43.1014", "16.0 GT/s PCIe", 16)
CONNECTX6_HDR100 = HcaModel("MT4123", "0x101b", "MT_0000000222", "20.43.1014", "16.0 GT/s PCIe", 16)
CONNECTX4_EDR = HcaModel("MT4115", "0x1013", "MT_2180110032", "12.28.2006", "8.0 GT/s PCIe", 16)

_EDR, _HDR100, _HDR, _NDR = "100 Gb/sec (4X EDR)", "100 Gb/sec (2X HDR)", "200 Gb/sec (4X HDR)", "400 Gb/sec (4X NDR)"
_INFINIBAND, _ETHERNET = "InfiniBand", "Ethernet"


def ndr_rail(index: int, path: tuple[str, ...], numa_node: int) -> Hca:
    """A 400 Gb/s InfiniBand port for gradients."""
    return Hca(f"mlx5_{index}", CONNECTX7_NDR, Use.COMPUTE, _INFINIBAND, _NDR, path, numa_node, _guid(index))


def hdr_rail(index: int, path: tuple[str, ...], numa_node: int) -> Hca:
    """A 200 Gb/s InfiniBand port for gradients."""
    return Hca(f"mlx5_{index}", CONNECTX6_HDR, Use.COMPUTE, _INFINIBAND, _HDR, path, numa_node, _guid(index))


def edr_rail(index: int, path: tuple[str, ...], numa_node: int) -> Hca:
    """A 100 Gb/s InfiniBand port of four lanes for gradients."""
    return Hca(f"mlx5_{index}", CONNECTX4_EDR, Use.COMPUTE, _INFINIBAND, _EDR, path, numa_node, _guid(index))


def hdr100_port(index: int, path: tuple[str, ...], numa_node: int) -> Hca:
    """A 100 Gb/s InfiniBand port of two HDR lanes."""
    return Hca(f"mlx5_{index}", CONNECTX6_HDR100, Use.COMPUTE, _INFINIBAND, _HDR100, path, numa_node, _guid(index))


def roce_rail(index: int, path: tuple[str, ...], numa_node: int) -> Hca:
    """A 400 Gb/s RoCE port for gradients."""
    return Hca(f"mlx5_{index}", CONNECTX7_400GE, Use.COMPUTE, _ETHERNET, _NDR, path, numa_node, _guid(index))


def roce_storage(index: int, path: tuple[str, ...], numa_node: int) -> Hca:
    """A 200 Gb/s RoCE port for files."""
    return Hca(f"mlx5_{index}", CONNECTX7_200GE, Use.STORAGE, _ETHERNET, _HDR, path, numa_node, _guid(index))


def _guid(index: int) -> str:
    return f"a088:c203:00f0:{0x1000 + index:04x}"
