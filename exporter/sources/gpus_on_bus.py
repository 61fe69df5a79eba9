"""The names of all NVIDIA GPUs that the PCI bus shows: the driver may show fewer (one is lost, a container sees some), and the others must
not be renamed for it."""

import threading
from collections.abc import Callable, Collection, Mapping

from exporter.sources.fault_list import FaultList
from exporter.sources.pci_tree import PciTree
from exporter.sources.sysfs import Files


class GpusOnBus:
    """`slots` names the GPUs at these addresses, as for PcieSource. Safe for several threads."""

    def __init__(self, files: Files, slots: Callable[[Collection[str]], Mapping[str, str]]) -> None:
        self._tree = PciTree(files)
        self._slots = slots
        self._lock = threading.Lock()

    def names(self) -> Mapping[str, str]:
        """`gpuN` by PCI address; empty where the bus cannot be listed (the PCIe source says why)."""
        with self._lock:
            try:
                candidates = self._tree.candidates(FaultList("pcie"))
            except OSError:
                return {}
        return self._slots([candidate.address for candidate in candidates if candidate.is_gpu])
