"""Small PCI trees: bridges and cards with the files a test needs, and short ways to ask what came of them."""

from collections.abc import Mapping
from posixpath import relpath

from exporter.model.fault import Fault
from exporter.simulator.archive import Directory, Entry, File, Symlink
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.pcie import PcieSource
from tests.machine import Machine

Texts = Mapping[str, str | int]
BRIDGE: Texts = {"vendor": "0x1000", "device": "0xc030", "class": "0x060400", "numa_node": 0}
GPU: Texts = {"vendor": "0x10de", "device": "0x2330", "class": "0x030200", "numa_node": 0}
HCA: Texts = {"vendor": "0x15b3", "device": "0x1021", "class": "0x020700", "numa_node": 0}
NIC: Texts = {"vendor": "0x14e4", "device": "0x165f", "class": "0x020000", "numa_node": 0}
ROOT = "pci0000:10"
GPU_PATH = ("0000:10:01.0", "0000:11:00.0", "0000:12:01.0", "0000:13:00.0")
HCA_PATH = ("0000:10:01.0", "0000:11:00.0", "0000:12:02.0", "0000:14:00.0")
"""A GPU and an HCA behind one switch."""


def link(speed: str = "32.0 GT/s PCIe", lanes: int | str = 16, max_speed: str = "32.0 GT/s PCIe", max_lanes: int | str = 16) -> Texts:
    """The four link files of one end."""
    return {"current_link_speed": speed, "current_link_width": lanes, "max_link_speed": max_speed, "max_link_width": max_lanes}


def folder_of(path: tuple[str, ...], root: str = ROOT) -> str:
    """Where the last function of a path really lies."""
    return "/".join(("devices", root, *path))


def function(path: tuple[str, ...], texts: Texts, root: str = ROOT) -> list[Entry]:
    """One function: its files and its link from the bus."""
    folder = folder_of(path, root)
    files: list[Entry] = [File(f"{folder}/{name}", f"{text}\n".encode()) for name, text in texts.items()]
    return [*files, Symlink(f"bus/pci/devices/{path[-1]}", relpath(folder, "bus/pci/devices"))]


def rdma(path: tuple[str, ...], name: str, root: str = ROOT) -> list[Entry]:
    """A driver that made an RDMA device of the function."""
    return [Directory(f"{folder_of(path, root)}/infiniband/{name}")]


def netdev(path: tuple[str, ...], name: str, phys_port_name: str = "p0") -> list[Entry]:
    """A driver that made a network interface of the function."""
    return [File(f"{folder_of(path)}/net/{name}/phys_port_name", f"{phys_port_name}\n".encode())]


def switch_pair(**changed: Texts) -> list[Entry]:
    """gpu0 and mlx5_0 behind one switch, all at 32 GT/s x16; `changed` texts by `root_port`, `switch_up`, `gpu_port`, `gpu`, `hca`."""
    parts = {
        "root_port": (GPU_PATH[:1], BRIDGE),
        "switch_up": (GPU_PATH[:2], BRIDGE),
        "gpu_port": (GPU_PATH[:3], BRIDGE),
        "gpu": (GPU_PATH, GPU),
        "hca_port": (HCA_PATH[:3], BRIDGE),
        "hca": (HCA_PATH, HCA),
    }
    entries = [entry for name, (path, kind) in parts.items() for entry in function(path, {**kind, **link(), **changed.get(name, {})})]
    return [*entries, *rdma(HCA_PATH, "mlx5_0")]


class Bus:
    """A source over a tree, read by hand: `read()` is one normal pass of every branch."""

    def __init__(self, entries: list[Entry] | MemoryTree, **options: object) -> None:
        self.tree = entries if isinstance(entries, MemoryTree) else MemoryTree(entries)
        self.source = PcieSource(self.tree, DeviceFilter().wants, **options)  # type: ignore[arg-type]
        self.faults: list[Fault] = []

    def read(self, now_s: float = 0.0, wall_s: float = 1.8e9) -> dict[tuple[str, str], dict[str, object]]:
        """(device, port) → {metric key or series key: number}."""
        scan = self.source.scan(wall_s, now_s)
        snapshots = [scan.snapshot, *(reader.read(reader.cadences[0], wall_s, now_s) for reader in scan.readers)]
        self.faults = [fault for snapshot in snapshots for fault in snapshot.faults]
        readings = [reading for snapshot in snapshots[1:] for reading in snapshot.readings]
        return {(str(r.entity.label("device")), str(r.entity.label("port"))): dict(r.values) for r in readings}


def links_of(machine: Machine, name: str) -> dict[tuple[str, str], float]:
    """(device, port) → value of one row, by its name without fabric_pcie_."""
    return {
        (dict(labels)["device"], dict(labels)["port"]): value
        for (full, labels), value in machine.samples.items()
        if full == f"fabric_pcie_{name}"
    }


def below_expectation(machine: Machine) -> set[tuple[str, str]]:
    """Links whose speed or width is less than expected."""
    pairs = [
        ("link_speed_transfers_per_second", "link_speed_expected_transfers_per_second"),
        ("link_width_lanes", "link_width_expected_lanes"),
    ]
    found: set[tuple[str, str]] = set()
    for now, expected in pairs:
        present, wanted = links_of(machine, now), links_of(machine, expected)
        found |= {place for place, value in present.items() if value < wanted.get(place, value)}
    return found


def distances_of(machine: Machine) -> dict[tuple[str, str], str]:
    """(GPU, peer) → distance as the page says it."""
    labels = [dict(pairs) for (name, pairs) in machine.samples if name == "fabric_pcie_distance_info"]
    return {(one["device"], one["peer"]): one["distance"] for one in labels}
