"""A node made after a matrix of `nvidia-smi topo -m`: places on PCI, files below /sys and NVLink counts that give the same relations."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from exporter.model.node_topology import NvlinkCounts
from exporter.model.topology import PciPath
from exporter.simulator.archive import Entry, File
from exporter.simulator.memory_tree import MemoryTree
from tests.sources.small_pci import BRIDGE, GPU, HCA, function, rdma

NEAR = ("PIX", "PXB", "PHB", "NODE")
"""Relations that need no crossing of sockets, the nearest first."""


@dataclass(slots=True)
class Matrix:
    """Relation of each two devices (`GPU0`, `NIC1`), and CPU list and NUMA node of each GPU as far as they are shown."""

    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    cpus: dict[str, str] = field(default_factory=dict)
    numa: dict[str, str] = field(default_factory=dict)

    @property
    def devices(self) -> list[str]:
        """In the order of the rows."""
        return list(dict.fromkeys(row for row, _ in self.cells))


def matrix_of(text: str) -> Matrix:
    """A matrix with tabs or blanks between its columns, in one table or several; old drivers head a NIC's column with its own name."""
    matrix = Matrix()
    heads: list[str] = []
    names: dict[str, str] = {}
    for line in text.partition("Legend:")[0].splitlines():
        words = line.split()
        if line[:1].isspace() and words:
            heads = [word for word in words if re.fullmatch(r"(?:GPU|NIC|mlx5_)\d+", word)]
            nics = [head for head in heads if head.startswith("mlx5_")]
            names |= {head: f"NIC{nics.index(head)}" if head in nics else head for head in heads}
            shows = [column for column in ("CPU Affinity", "NUMA Affinity") if column in line]
        elif words:
            row, cells, rest = names.get(words[0], words[0]), words[1 : 1 + len(heads)], words[1 + len(heads) :]
            matrix.cells |= {(row, names[head]): cell for head, cell in zip(heads, cells, strict=True)}
            for column, kept in (("CPU Affinity", matrix.cpus), ("NUMA Affinity", matrix.numa)):
                if column in shows and rest:
                    kept[row] = rest.pop(0)
    return matrix


def places_of(matrix: Matrix) -> Mapping[str, PciPath]:
    """Where each device must hang. Devices that only NVLink joins in the matrix hang where their NUMA node or CPU list puts them."""
    devices = matrix.devices
    switch, port, root = (_groups(devices, _joined_by(matrix, NEAR[: depth + 1])) for depth in range(3))
    node = _groups(devices, lambda one, other: _joined_by(matrix, NEAR)(one, other) or _same_cpus(matrix, one, other))
    told = {node[gpu]: numa for gpu, numa in matrix.numa.items() if numa.isdigit()}
    free = (str(number) for number in range(64) if str(number) not in told.values())
    numbers = {group: told.get(group) or next(free) for group in sorted(set(node.values()))}
    places: dict[str, PciPath] = {}
    for index, device in enumerate(devices):
        above = (_bridge(0, port[device]), _bridge(1, port[device]), _bridge(2, switch[device]), _bridge(3, switch[device]))
        path = (*above, _bridge(4, index), f"0000:{0x10 + index:02x}:00.0")
        places[device] = PciPath(f"pci0000:{0x80 + root[device]:02x}", path, numbers[node[device]])
    return places


def tree_of(matrix: Matrix) -> MemoryTree:
    """The node's /sys: bridges, GPUs, RDMA devices `mlx5_N`, CPU lists."""
    places = places_of(matrix)
    found: dict[str, Entry] = {}
    for device, place in places.items():
        entries: list[Entry] = []
        for end in range(1, len(place.addresses)):
            entries += function(place.addresses[:end], BRIDGE, place.root)
        kind = GPU if device.startswith("GPU") else HCA
        entries += function(place.addresses, {**kind, "numa_node": place.numa_node}, place.root)
        if device.startswith("NIC"):
            entries += rdma(place.addresses, f"mlx5_{device.removeprefix('NIC')}", place.root)
        for entry in entries:
            found.setdefault(entry.path, entry)
    for gpu, cpus in matrix.cpus.items():
        path = f"devices/system/node/node{places[gpu].numa_node}/cpulist"
        found.setdefault(path, File(path, f"{cpus}\n".encode()))
    return MemoryTree(found.values())


def nvlinks_of(matrix: Matrix) -> Mapping[str, NvlinkCounts]:
    """Links of each GPU by its address: into switches where all pairs have the same number, else straight to the peers."""
    gpus = [device for device in matrix.devices if device.startswith("GPU")]
    addresses = {gpu: place.addresses[-1] for gpu, place in places_of(matrix).items()}
    pairs = {pair: int(cell[2:]) for pair, cell in matrix.cells.items() if cell.startswith("NV")}
    counts = set(pairs.values())
    if len(counts) == 1 and len(pairs) == len(gpus) * (len(gpus) - 1):
        return {addresses[gpu]: NvlinkCounts(switched=min(counts)) for gpu in gpus}
    return {
        addresses[gpu]: NvlinkCounts({addresses[peer]: pairs[gpu, peer] for peer in gpus if (gpu, peer) in pairs}) for gpu in gpus if pairs
    }


def _bridge(level: int, group: int) -> str:
    return f"0000:{0xC0 + level:02x}:{group:02x}.0"


def _joined_by(matrix: Matrix, relations: Iterable[str]) -> Callable[[str, str], bool]:
    wanted = set(relations)
    return lambda one, other: matrix.cells[one, other] in wanted


def _same_cpus(matrix: Matrix, one: str, other: str) -> bool:
    return one in matrix.cpus and matrix.cpus[one] == matrix.cpus.get(other)


def _groups(devices: list[str], joined: Callable[[str, str], bool]) -> dict[str, int]:
    """Number of each device's group: those that are joined, in however many steps, share one."""
    group = {device: index for index, device in enumerate(devices)}
    for one in devices:
        for other in devices:
            if one != other and joined(one, other):
                old, new = group[other], group[one]
                group = {device: new if number == old else number for device, number in group.items()}
    return group
