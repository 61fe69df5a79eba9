"""Which GPUs and NVSwitches a simulated node has and where they sit on PCI; their functions below /sys. Values are invented, layouts
public ones."""

from collections.abc import Iterator
from dataclasses import dataclass

from exporter.simulator.archive import Entry
from exporter.simulator.gpu_models import GpuModel
from exporter.simulator.pci_layout import Card, branch_entries

NVSWITCH_2 = Card("0x10de", "0x1af1", "0x068000", "nvidia-nvswitch", "16.0 GT/s PCIe", 2)
NVSWITCH_3 = Card("0x10de", "0x22a3", "0x068000", "nvidia-nvswitch", "16.0 GT/s PCIe", 2)
"""Two lanes by design, as lspci of an 8 × H100 node shows them (leptonai/gpud pkg/pci/testdata)."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. `pci_path` runs from the root bus (`pci0000:15`) over the bridges to its own address; `module_id` is NVML's number of its
    place on the board, None for a card of its own."""

    model: GpuModel
    pci_path: tuple[str, ...]
    numa_node: int
    module_id: int | None = None

    @property
    def pci(self) -> str:
        """The GPU's own address, `0000:18:00.0`."""
        return self.pci_path[-1]


@dataclass(frozen=True, slots=True)
class NvSwitch:
    """One NVSwitch. It has no card and no path where it is no function of this node: in a rack's switch tray, or on a board that manages
    its switches through a NIC."""

    card: Card | None = None
    pci_path: tuple[str, ...] = ()
    numa_node: int = 0

    @property
    def pci(self) -> str | None:
        """The switch's own address, `0000:83:00.0`; None if it has none here."""
        return self.pci_path[-1] if self.pci_path else None


@dataclass(frozen=True, slots=True)
class Rack:
    """Where a compute tray sits, and the NVLink domain (cluster, and clique of it) that its GPUs joined."""

    cluster_uuid: str
    clique_id: int
    chassis_serial: str
    slot: int
    tray: int


def gpu_entries(gpu: Gpu) -> Iterator[Entry]:
    """The GPU's function and those of the bridges above it."""
    return branch_entries(gpu.pci_path, gpu.numa_node, gpu.model.card)


def switch_entries(switch: NvSwitch) -> Iterator[Entry]:
    """The same of an NVSwitch; nothing for one that is no function of this node."""
    return branch_entries(switch.pci_path, switch.numa_node, switch.card) if switch.card else iter(())
