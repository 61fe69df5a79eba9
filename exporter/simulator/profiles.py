"""Which hardware a simulated node has: HCAs and GPUs, where they sit on PCI and what they are for. Values only; GUIDs are invented.

Layouts after public machines: one PCIe switch per GPU and compute NIC as lspci of an 8 × H100 node shows them (leptonai/gpud
pkg/pci/testdata), device names as a udev rule by role gives them. Knows no file name below /sys and no traffic.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from exporter.model.quantity import BYTES_PER_S_PER_GBIT
from exporter.simulator.gpus import Gpu, behind_switch
from exporter.simulator.netdevs import Nic, administration


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
        """The interface as systemd names it: `ibp25s0`, or `enp90s0np0` (physical port 0) for Ethernet."""
        _, bus, slot = self.pci.split(":")
        where = f"p{int(bus, 16)}s{int(slot.split('.')[0], 16)}"
        return f"ib{where}" if self.link_layer == "InfiniBand" else f"en{where}np0"

    @property
    def line_bytes_per_s(self) -> int:
        """Data bytes per second one direction of the port can carry, from the rate it prints (data rate from EDR on)."""
        return int(self.rate.split()[0]) * BYTES_PER_S_PER_GBIT


@dataclass(frozen=True, slots=True)
class Profile:
    """A kind of node; `name` is what `--simulate` takes."""

    name: str
    hcas: tuple[Hca, ...]
    gpus: tuple[Gpu, ...] = ()
    nics: tuple[Nic, ...] = ()


CONNECTX7_NDR = HcaModel("MT4129", "0x1021", "MT_0000000838", "28.43.2026", "32.0 GT/s PCIe", 16)
CONNECTX7_200GE = HcaModel("MT4129", "0x1021", "MT_0000000834", "28.43.2026", "32.0 GT/s PCIe", 16)
CONNECTX7_400GE = HcaModel("MT4129", "0x1021", "MT_0000000840", "28.43.2026", "32.0 GT/s PCIe", 16)
CONNECTX6_HDR100 = HcaModel("MT4123", "0x101b", "MT_0000000222", "20.43.1014", "16.0 GT/s PCIe", 16)


def _guid(index: int) -> str:
    return f"a088:c203:00f0:{0x1000 + index:04x}"


def _behind_switch(root: int) -> tuple[str, ...]:
    """Root port, switch upstream, switch downstream (the second: a GPU has the first), card."""
    return (f"pci0000:{root:02x}", f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0", f"0000:{root + 2:02x}:02.0",
            f"0000:{root + 4:02x}:00.0")  # fmt: skip


def _on_root_port(root: int) -> tuple[str, ...]:
    return (f"pci0000:{root:02x}", f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0")


def _rail(index: int, root: int) -> Hca:
    return Hca(f"mlx5_{index}", CONNECTX7_NDR, Use.COMPUTE, "InfiniBand", "400 Gb/sec (4X NDR)", _behind_switch(root), index // 4,
               _guid(index))  # fmt: skip


def _storage(index: int, root: int, numa_node: int) -> Hca:
    return Hca(f"mlx5_{index}", CONNECTX7_200GE, Use.STORAGE, "Ethernet", "200 Gb/sec (4X HDR)", _on_root_port(root), numa_node,
               _guid(index))  # fmt: skip


def _roce_rail(index: int, root: int) -> Hca:
    return Hca(f"mlx5_{index}", CONNECTX7_400GE, Use.COMPUTE, "Ethernet", "400 Gb/sec (4X NDR)", _behind_switch(root), index // 4,
               _guid(index))  # fmt: skip


def _hdr100(index: int, root: int) -> Hca:
    return Hca(f"mlx5_{index}", CONNECTX6_HDR100, Use.COMPUTE, "InfiniBand", "100 Gb/sec (2X HDR)", _on_root_port(root), index,
               _guid(index))  # fmt: skip


_HGX_ROOTS = (0x15, 0x26, 0x37, 0x48, 0x97, 0xA7, 0xB7, 0xC7)
"""Root buses of the eight PCIe switches of an HGX board, each with a GPU and its NIC; four a socket."""

HGX_H100 = Profile(
    "hgx-h100",
    (
        *(_rail(index, root) for index, root in enumerate(_HGX_ROOTS)),
        _storage(8, 0x59, 0),
        _storage(9, 0xD7, 1),
    ),
    tuple(behind_switch(root, index // 4) for index, root in enumerate(_HGX_ROOTS)),
)
"""Eight H100 GPUs, eight compute rails at NDR and two 200 Gb/s RoCE ports for storage."""

ROCE_H200 = Profile(
    "roce-h200",
    tuple(_roce_rail(index, root) for index, root in enumerate(_HGX_ROOTS)),
    tuple(behind_switch(root, index // 4) for index, root in enumerate(_HGX_ROOTS)),
    (administration(0), administration(1)),
)
"""Eight GPUs, eight compute rails at 400 Gb/s RoCE (lossless by PFC on priority 3) and two 10 Gb/s ports for administration."""

NO_GPU_IB = Profile("no-gpu-ib", (_hdr100(0, 0x31), _hdr100(1, 0xB1)))
"""A CPU node with one single-port HDR100 card per socket."""

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (HGX_H100, NO_GPU_IB, ROCE_H200)}


def profile_named(name: str) -> Profile:
    """The profile of that name. Raises ValueError, which lists the known names."""
    if name not in PROFILES:
        raise ValueError(f"no node profile is called {name!r}; known: {', '.join(sorted(PROFILES))}")
    return PROFILES[name]
