"""Which hardware a simulated node has: HCAs, GPUs, NVSwitches and who is wired to whom, one profile a kind of node. Values only.

Layouts after public machines and boards: which GPU and NIC share a PCIe switch, how many NVLinks lead where, product names as NVML spells
them. Addresses of boards other than the H100's are invented. Knows no file name below /sys, no field of NVML and no traffic.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.simulator.gpu_models import (
    A100_PCIE,
    A100_SXM4,
    B200,
    GB200,
    H100_PCIE,
    H100_SXM5,
    H200_SXM5,
    V100_SXM2,
    GpuModel,
)
from exporter.simulator.gpus import NVSWITCH_2, NVSWITCH_3, Gpu, NvSwitch, Rack
from exporter.simulator.hcas import Hca, edr_rail, hdr100_port, hdr_rail, ndr_rail, roce_rail, roce_storage
from exporter.simulator.netdevs import Nic, administration
from exporter.simulator.nvlink_wiring import CUBE_MESH, Wiring, bridged, meshed, switched
from exporter.simulator.pci_layout import Card
from exporter.simulator.pci_places import below_switch, in_own_domain, on_root_port


@dataclass(frozen=True, slots=True)
class Profile:
    """A kind of node; `name` is what `--simulate` takes, `driver_version` the NVIDIA driver's ("" without GPUs)."""

    name: str
    hcas: tuple[Hca, ...]
    gpus: tuple[Gpu, ...] = ()
    nics: tuple[Nic, ...] = ()
    switches: tuple[NvSwitch, ...] = ()
    nvlinks: Wiring = field(default_factory=dict, hash=False)
    rack: Rack | None = None
    driver_version: str = ""


_GPU_PORT, _NIC_PORT = 0, 1
"""Downstream ports of a PCIe switch that a GPU and the NIC of its rail share."""
_H100_LINKS = (5, 4, 4, 5)
"""Links of each GPU to each of the four switches of an HGX H100 or H200 board."""


def _gpus(model: GpuModel, roots: tuple[int, ...], modules: tuple[int, ...]) -> tuple[Gpu, ...]:
    """A GPU below the PCIe switch of each root bus, the first half on socket 0."""
    return tuple(
        Gpu(model, below_switch(root, _GPU_PORT), index * 2 // len(roots), module)
        for index, (root, module) in enumerate(zip(roots, modules, strict=True))
    )


def _switches(card: Card, root: int, numa_node: int, count: int) -> tuple[NvSwitch, ...]:
    return tuple(NvSwitch(card, below_switch(root, port), numa_node) for port in range(count))


_IN_ORDER = (1, 2, 3, 4, 5, 6, 7, 8)
_HGX_ROOTS = (0x15, 0x26, 0x37, 0x48, 0x97, 0xA7, 0xB7, 0xC7)
"""Root buses of the eight PCIe switches of an HGX board, each with a GPU and its NIC; four a socket."""

HGX_H100 = Profile(
    "hgx-h100",
    (
        *(ndr_rail(index, below_switch(root, _NIC_PORT), index // 4) for index, root in enumerate(_HGX_ROOTS)),
        roce_storage(8, on_root_port(0x59), 0),
        roce_storage(9, on_root_port(0xD7), 1),
    ),
    _gpus(H100_SXM5, _HGX_ROOTS, _IN_ORDER),
    switches=_switches(NVSWITCH_3, 0x80, 1, 4),
    nvlinks=switched(8, _H100_LINKS),
    driver_version="550.144.03",
)
"""Eight H100 GPUs with 18 NVLinks each to four switches, eight compute rails at NDR and two 200 Gb/s RoCE ports for storage."""

ROCE_H200 = Profile(
    "roce-h200",
    tuple(roce_rail(index, below_switch(root, _NIC_PORT), index // 4) for index, root in enumerate(_HGX_ROOTS)),
    _gpus(H200_SXM5, _HGX_ROOTS, _IN_ORDER),
    (administration(0), administration(1)),
    _switches(NVSWITCH_3, 0x80, 1, 4),
    switched(8, _H100_LINKS),
    driver_version="570.133.20",
)
"""Eight H200 GPUs, eight compute rails at 400 Gb/s RoCE (lossless by PFC on priority 3) and two 10 Gb/s ports for administration."""

_A100_ROOTS = (0x01, 0x21, 0x41, 0x61, 0x81, 0xA1, 0xC1, 0xE1)

HGX_A100 = Profile(
    "hgx-a100",
    tuple(hdr_rail(index, below_switch(root, _NIC_PORT), index // 4) for index, root in enumerate(_A100_ROOTS)),
    _gpus(A100_SXM4, _A100_ROOTS, _IN_ORDER),
    switches=_switches(NVSWITCH_2, 0xD0, 1, 6),
    nvlinks=switched(8, (2,) * 6),
    driver_version="535.216.03",
)
"""Eight A100 GPUs with 12 NVLinks each to six switches, and eight compute rails at HDR."""

_B200_ROOTS = (0x18, 0x29, 0x3A, 0x4B, 0x98, 0xA9, 0xBA, 0xCB)

HGX_B200 = Profile(
    "hgx-b200",
    tuple(ndr_rail(index, below_switch(root, _NIC_PORT), index // 4) for index, root in enumerate(_B200_ROOTS)),
    _gpus(B200, _B200_ROOTS, (6, 8, 5, 7, 2, 1, 4, 3)),
    switches=(NvSwitch(),) * 2,
    nvlinks=switched(8, (9, 9)),
    driver_version="580.95.05",
)
"""Eight B200 GPUs with 18 NVLinks each to two switches that are no functions of the node, and eight compute rails at NDR. Module ids are
not in PCI order, as on real boards."""

_TRAY = 4

GB200_TRAY = Profile(
    "gb200-tray",
    tuple(ndr_rail(index, in_own_domain(domain), index // 2) for index, domain in enumerate((0x00, 0x02, 0x10, 0x12))),
    tuple(Gpu(GB200, in_own_domain(domain), index // 2, module)
          for index, (domain, module) in enumerate(zip((0x08, 0x09, 0x18, 0x19), (2, 1, 4, 3), strict=True))),
    switches=(NvSwitch(),) * 18,
    nvlinks=switched(4, (1,) * 18, first=4 * _TRAY),
    rack=Rack("5b1d2f60-83c4-4e7a-9d15-7c20aa63e914", 3, "1930226410077", 14, _TRAY),
    driver_version="595.45.04",
)  # fmt: skip
"""One compute tray of an NVL72 rack: four GPUs on two Grace CPUs, each with 18 NVLinks to the rack's switches, and four rails at NDR."""

_CARD_ROOTS = (0x10, 0x28, 0x40, 0x58, 0x90, 0xA8, 0xC0, 0xD8)

H100_PCIE_PAIRS = Profile(
    "h100-pcie",
    (ndr_rail(0, on_root_port(0x70), 0), ndr_rail(1, on_root_port(0xF0), 1)),
    tuple(Gpu(H100_PCIE, on_root_port(root), index // 4) for index, root in enumerate(_CARD_ROOTS)),
    nvlinks=bridged(((0, 1), (2, 3), (4, 5), (6, 7)), (*range(4), *range(6, 10), *range(12, 16))),
    driver_version="550.90.12",
)
"""Eight H100 cards bridged in pairs: 12 of 18 ports are wired, 4, 5, 10, 11, 16 and 17 lead nowhere (Azure/azurehpc-health-checks#162)."""

A100_PCIE_UNBRIDGED = Profile(
    "a100-pcie-unbridged",
    (hdr_rail(0, on_root_port(0x70), 0), hdr_rail(1, on_root_port(0xF0), 1)),
    tuple(Gpu(A100_PCIE, on_root_port(root), index // 2) for index, root in enumerate(_CARD_ROOTS[::2])),
    driver_version="535.216.03",
)
"""Four A100 cards without a bridge: 12 ports each, none wired (NVIDIA/NVSentinel#1481)."""

_V100_ROOTS = (0x10, 0x20, 0x80, 0x90)

V100 = Profile(
    "v100",
    tuple(edr_rail(index, below_switch(root, 2), index // 2) for index, root in enumerate(_V100_ROOTS)),
    tuple(Gpu(V100_SXM2, below_switch(root, port), index // 2) for index, root in enumerate(_V100_ROOTS) for port in (0, 1)),
    nvlinks=meshed(CUBE_MESH),
    driver_version="535.216.03",
)
"""Eight V100 GPUs wired to each other by six NVLinks each, and four rails at EDR; two GPUs and a NIC on each PCIe switch."""

NO_GPU_IB = Profile("no-gpu-ib", (hdr100_port(0, on_root_port(0x31), 0), hdr100_port(1, on_root_port(0xB1), 1)))
"""A CPU node with one single-port HDR100 card per socket."""

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (HGX_H100, NO_GPU_IB, ROCE_H200, HGX_A100, HGX_B200, GB200_TRAY, H100_PCIE_PAIRS, A100_PCIE_UNBRIDGED, V100)
}


def profile_named(name: str) -> Profile:
    """The profile of that name. Raises ValueError, which lists the known names."""
    if name not in PROFILES:
        raise ValueError(f"no node profile is called {name!r}; known: {', '.join(sorted(PROFILES))}")
    return PROFILES[name]
