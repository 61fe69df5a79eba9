"""The PCIe source: NVIDIA GPUs, RDMA devices and NICs with every bridge above them, and how far each GPU is from each NIC.

Knows the bus folder, the filter and the names; what stands where is pci_tree.py's, link state pci_branch.py's.
"""

import errno
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from exporter.catalog.limits import PCI_LOOK_AGAIN_S
from exporter.catalog.pcie import DISTANCE
from exporter.model.entity import Device
from exporter.model.fault import Reason
from exporter.model.gpu_slots import in_pci_order
from exporter.model.link_capability import Capability
from exporter.model.metric import Cadence
from exporter.model.quoted import printable
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.model.topology import distance
from exporter.sources.fault_list import FaultList
from exporter.sources.pci_branch import SOURCE, BranchReader, LinkMemory, NoMemory
from exporter.sources.pci_tree import DEVICES, Candidate, PciDevice, PciFunction, PciTree
from exporter.sources.sysfs import Files


@dataclass(frozen=True, slots=True)
class PcieScan:
    """A reader for each branch of the tree there is now (the same object while nothing below it changed), and the distances."""

    readers: tuple[BranchReader, ...]
    snapshot: Snapshot


class PcieSource:
    """Scans the PCI bus.

    `slots` names the GPUs among these addresses (runtime/gpu_slot_map.py remembers; the default does not). `learned` is what long watching
    taught. `configured` maps patterns of device names or bridge addresses to what their link does at most. A device that is not wanted
    is named, never read; the bridges it shares with others are.
    """

    name = SOURCE

    def __init__(self, files: Files, wants: Callable[[str], bool], *, slots: Callable[[Collection[str]], Mapping[str, str]] = in_pci_order,
                 learned: LinkMemory | None = None, configured: Mapping[str, Capability] | None = None,
                 root: str = "/sys") -> None:  # fmt: skip
        self.looked_for = f"NVIDIA GPUs, RDMA devices and NICs in {root.rstrip('/')}/{DEVICES}"
        self._files = files
        self._wants = wants
        self._slots = slots
        self._learned = learned or NoMemory()
        self._configured = configured or {}
        self._tree = PciTree(files)
        self._looked_s = float("-inf")
        self._readers: dict[str, BranchReader] = {}
        self._devices: tuple[PciDevice, ...] = ()
        self._distances: tuple[Reading, ...] = ()

    def scan(self, wall_s: float, monotonic_s: float) -> PcieScan:
        """What is there now. A bus that cannot be listed keeps the readers there were; one that is not there has none."""
        faults = FaultList(SOURCE)
        self._forget_in_time(monotonic_s)
        devices = self._devices
        try:
            devices = self._named(self._tree.candidates(faults), faults)
        except OSError as error:
            if error.errno == errno.ENOENT:
                devices = ()
                faults.add(
                    DEVICES,
                    Reason.ABSENT,
                    "is not there: the machine has no PCI bus, or the container does not see the host's /sys",
                )
            else:
                faults.add_error(DEVICES, error)
        self._adopt(devices)
        feed = Feed(SOURCE, "", Cadence.NORMAL)
        return PcieScan(tuple(self._readers.values()), Snapshot(feed, wall_s, monotonic_s, self._distances, tuple(faults.faults)))

    def _forget_in_time(self, now_s: float) -> None:
        """Look at every function anew now and then, and once something was lost: its address may have changed hands."""
        lost = [reader for reader in self._readers.values() if reader.was_lost]
        if lost or now_s >= self._looked_s + PCI_LOOK_AGAIN_S:
            self._tree.forget()
            self._looked_s = now_s
        for reader in lost:
            reader.was_lost = False

    def _named(self, candidates: list[Candidate], faults: FaultList) -> tuple[PciDevice, ...]:
        """The wanted devices, each under the names it has now: a GPU by its slot, a network function by what its driver made of it.
        GPUs that are not wanted keep their numbers."""
        gpus = self._slots([candidate.address for candidate in candidates if candidate.is_gpu])
        devices = [
            PciDevice(printable(name), candidate.is_gpu, _believable(candidate), candidate.place)
            for candidate in candidates
            for name in ((gpus[candidate.address],) if candidate.is_gpu else self._tree.names_of(candidate, faults))
        ]
        return tuple(device for device in devices if self._wants(device.name))

    def _adopt(self, devices: tuple[PciDevice, ...]) -> None:
        """Readers and distances for these devices; those of a branch that is as it was stay."""
        if devices == self._devices:
            return
        self._devices = devices
        branches: dict[str, list[PciDevice]] = {}
        for device in devices:
            branches.setdefault(device.functions[0].address, []).append(device)
        before = self._readers
        self._readers = {
            top: before[top] if top in before and before[top].devices == tuple(below) else self._reader(top, below)
            for top, below in branches.items()
        }
        self._distances = tuple(reading for device in devices if device.is_gpu for reading in _distances_from(device, devices))

    def _reader(self, top: str, devices: list[PciDevice]) -> BranchReader:
        return BranchReader(self._files, top, devices, self._learned, self._configured)


def _believable(candidate: Candidate) -> tuple[PciFunction, ...]:
    """The functions whose link says something of real hardware: a hypervisor's bridge names whatever speed it likes."""
    return candidate.functions[-1:] if candidate.place.is_virtual else candidate.functions


def _distances_from(gpu: PciDevice, devices: tuple[PciDevice, ...]) -> list[Reading]:
    """One Reading of one GPU: how far each NIC is; none without a NIC."""
    values: dict[SeriesKey, Number] = {
        (DISTANCE.key, peer.name, distance(gpu.place, peer.place).value): 1 for peer in devices if not peer.is_gpu
    }
    return [Reading(Device(gpu.name), values)] if values else []
