"""A minimal HCA below class/infiniband, as few files as a test needs, and short ways to ask what came of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from exporter.model.fault import Fault
from exporter.simulator.archive import Directory, Entry, File, Refusal, Symlink
from exporter.simulator.memory_tree import MemoryTree
from tests.machine import Machine

CLASS = "class/infiniband"
DRIVERS = "bus/pci/drivers"


@dataclass(frozen=True, slots=True)
class Refused:
    """A file whose read fails with this errno."""

    code: int


Said = str | int | Refused
"""What a file says: a line, a number, or an error."""

UP: Mapping[str, Said] = {
    "state": "4: ACTIVE",
    "phys_state": "5: LinkUp",
    "rate": "400 Gb/sec (4X NDR)",
    "link_layer": "InfiniBand",
}
"""The text files of a healthy NDR port."""


def hca(name: str, port_files: Mapping[str, Said], driver: str = "mlx5_core", device_files: Mapping[str, Said] = {}) -> list[Entry]:
    """One device with port 1. Paths of `port_files` are relative to the port, those of `device_files` to the device."""
    base = f"{CLASS}/{name}"
    placed = {f"{base}/ports/1/{path}": said for path, said in port_files.items()}
    placed |= {f"{base}/{path}": said for path, said in device_files.items()}
    link = Symlink(f"{base}/device/driver", f"../../../../{DRIVERS}/{driver}")
    return [link, *(_entry(path, said) for path, said in placed.items())]


def tree_of(*devices: Iterable[Entry]) -> MemoryTree:
    """These devices and the drivers that they link to."""
    entries = [entry for device in devices for entry in device]
    drivers = {entry.target.rsplit("/", 1)[-1] for entry in entries if isinstance(entry, Symlink) and DRIVERS in entry.target}
    return MemoryTree([*(Directory(f"{DRIVERS}/{driver}") for driver in sorted(drivers)), *entries])


def machine_of(*devices: Iterable[Entry]) -> Machine:
    """A machine of these devices after its first pass."""
    return Machine(tree_of(*devices))


def faults_of(machine: Machine) -> list[Fault]:
    """Faults of the newest snapshots on the page."""
    return [fault for snapshot in machine.scene.snapshots.values() for fault in snapshot.faults]


def fault_count(machine: Machine, reason: str) -> float:
    """Faults of the InfiniBand source so far, by reason."""
    return machine.samples["fabric_exporter_source_faults_total", (("reason", reason), ("source", "infiniband"))]


def names_of(machine: Machine, device: str) -> set[str]:
    """Short names (without fabric_infiniband_) of every series that the source shows about a device."""
    ours = "fabric_infiniband_"
    return {name.removeprefix(ours) for name, labels in machine.samples if name.startswith(ours) and ("device", device) in labels}


def _entry(path: str, said: Said) -> Entry:
    return Refusal(path, said.code) if isinstance(said, Refused) else File(path, f"{said}\n".encode())
