"""Which GPUs a simulated node has and where they sit on PCI; their functions below /sys. Values are invented, layouts public ones."""

from collections.abc import Iterator
from dataclasses import dataclass

from exporter.simulator.archive import Entry
from exporter.simulator.pci_layout import Card, branch_entries

H100_SXM = Card("0x10de", "0x2330", "0x030200", "nvidia", "32.0 GT/s PCIe", 16)
"""H100 SXM5 80GB as lspci of an 8 × H100 node shows it (leptonai/gpud pkg/pci/testdata)."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. `pci_path` runs from the root bus (`pci0000:15`) over the bridges to its own address."""

    card: Card
    pci_path: tuple[str, ...]
    numa_node: int

    @property
    def pci(self) -> str:
        """The GPU's own address, `0000:18:00.0`."""
        return self.pci_path[-1]


def behind_switch(root: int, numa_node: int) -> Gpu:
    """A GPU on the first downstream port of the PCIe switch below root bus `root`; the rail's NIC has the second."""
    path = (f"pci0000:{root:02x}", f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0", f"0000:{root + 2:02x}:01.0",
            f"0000:{root + 3:02x}:00.0")  # fmt: skip
    return Gpu(H100_SXM, path, numa_node)


def gpu_entries(gpu: Gpu) -> Iterator[Entry]:
    """The GPU's function and those of the bridges above it."""
    return branch_entries(gpu.pci_path, gpu.numa_node, gpu.card)
