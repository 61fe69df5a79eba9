"""How far apart two PCI devices are, in the words of `nvidia-smi topo -m`, from the paths on which they hang. Pure; knows no file.

PIX at most one PCIe switch between them, PXB several, PHB one host bridge (CPU's root complex), NODE one NUMA node, SYS across sockets.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile


class Distance(StrEnum):
    """Label value of `fabric_pcie_distance_info{distance}`; the nearer, the earlier."""

    PIX = "PIX"
    PXB = "PXB"
    PHB = "PHB"
    NODE = "NODE"
    SYS = "SYS"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PciPath:
    """Where a function hangs: its root bus (`pci0000:15`), the addresses from the root port down to the function itself, its NUMA node
    ("" if the firmware names none). `is_virtual` if a bridge above it is a hypervisor's, whose arrangement says nothing of the real one."""

    root: str
    addresses: tuple[str, ...]
    numa_node: str = ""
    is_virtual: bool = False

    @property
    def is_flat(self) -> bool:
        """True if no bridge stands above it. No GPU or NIC sits on a root bus of real hardware: a hypervisor hides the path."""
        return len(self.addresses) < 2

    @property
    def hides_path(self) -> bool:
        """True if what stands above it in reality cannot be seen from here."""
        return self.is_flat or self.is_virtual


PIX_REMAINDER = 2
"""Functions left of each path below the last common one, at most, for PIX: a switch's downstream port and the device."""


def distance(one: PciPath, other: PciPath) -> Distance:
    """Symmetric. UNKNOWN where a path is hidden, and where nothing but an unnamed NUMA node could tell NODE from SYS."""
    if one.hides_path or other.hides_path:
        return Distance.UNKNOWN
    if one.root == other.root:
        pairs = zip(one.addresses, other.addresses, strict=False)
        common = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        if not common:
            return Distance.PHB
        longest = max(len(one.addresses), len(other.addresses)) - common
        return Distance.PIX if longest <= PIX_REMAINDER else Distance.PXB
    if not one.numa_node or not other.numa_node:
        return Distance.UNKNOWN
    return Distance.NODE if one.numa_node == other.numa_node else Distance.SYS
