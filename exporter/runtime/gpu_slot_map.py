"""The GPU slot map of this node: names by PCI address, kept in the state directory so that they outlive a lost GPU and a reboot.

Knows where it is kept; how numbers are given is exporter.model.gpu_slots's.
"""

import threading
from collections.abc import Collection, Mapping

from exporter.model.gpu_slots import GpuSlots, assign, pci_order
from exporter.runtime.state_file import StateFile

FILE, VERSION = "gpu-slots.json", 1
NUMBER_MAX = 4096


class GpuSlotMap:
    """`names` is the `slots` argument of PcieSource, and of any source that knows a GPU by its PCI address. Safe for several threads.

    Without a `file` it remembers for as long as the process lives. `problem` is None, or a line on why the file could not be read or kept.
    """

    def __init__(self, file: StateFile | None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self.problem: str | None = None
        document: Mapping[str, object] = {}
        if file is not None:
            document, self.problem = file.load()
        self._slots = _slots_of(document)

    def names(self, present: Collection[str]) -> Mapping[str, str]:
        """`gpuN` for each of these addresses; whoever calls with all GPUs that are there makes newcomers known. The file is written
        when the map changes. Raises ValueError for an address that is none."""
        with self._lock:
            slots = assign(present, self._slots)
            if slots is not self._slots:
                self._slots = slots
                if self._file is not None:
                    self.problem = self._file.save({"most_present": slots.most_present, "numbers": dict(slots.numbers)})
            return {address: slots.name_of(address) for address in present}

    @property
    def slots(self) -> GpuSlots:
        """The map as it is now."""
        return self._slots


def _slots_of(document: Mapping[str, object]) -> GpuSlots:
    """The map a document holds; an empty one if any entry is not what `names` writes, for half a map would give wrong names."""
    numbers, most = document.get("numbers"), document.get("most_present")
    if not isinstance(numbers, dict) or not isinstance(most, int):
        return GpuSlots()
    try:
        for address in numbers:
            pci_order(address)
    except ValueError:
        return GpuSlots()
    if not all(isinstance(number, int) and 0 <= number <= NUMBER_MAX for number in numbers.values()):
        return GpuSlots()
    return GpuSlots(numbers, most) if len(set(numbers.values())) == len(numbers) else GpuSlots()
