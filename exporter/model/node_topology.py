"""The node as a whole: its GPUs and NICs, what joins each two of them, and how a person is shown that. Pure; knows no file and no library.

The words of a relation are those of `nvidia-smi topo -m`: NV<k> for k active NVLinks, straight or through switches, else the distance on
PCI (topology.py). Columns and rows too: GPU0 is our gpu0, NIC0 the first RDMA device; what nvidia-smi does not know stands in the legends.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from exporter.model.quoted import escaped
from exporter.model.rails import NOWHERE, Gpu, Nic, PortPlace
from exporter.model.topology import Distance, distance

SELF, HIDDEN = "X", "?"
LEGEND = """\
Legend:

  X    = the device itself
  SYS  = across the link between two CPU sockets (NUMA nodes)
  NODE = across PCIe host bridges of one NUMA node
  PHB  = across one PCIe host bridge, which is the CPU
  PXB  = across several PCIe switches, not the CPU
  PIX  = across one PCIe switch at most
  NV#  = across # NVLinks
"""
HIDDEN_LEGEND = "  ?    = cannot be told: a hypervisor hides the path, or the firmware names no NUMA node\n"


@dataclass(frozen=True, slots=True)
class NvlinkCounts:
    """The active NVLinks of one GPU. `peers` counts those that end in another GPU, by its PCI address; `switched` those that end in an
    NVSwitch. `expected` is None where nobody can say. GPUs reach each other through switches within one `domain` (cluster and clique)."""

    peers: Mapping[str, int] = field(default_factory=dict)
    switched: int = 0
    expected: int | None = None
    domain: str = ""

    @property
    def active(self) -> int:
        """All of them."""
        return self.switched + sum(self.peers.values())


@dataclass(frozen=True, slots=True)
class Asymmetry:
    """Two GPUs that count their NVLinks to each other differently: a sign of a fault. `seen` is the lesser count, `one`'s."""

    one: str
    other: str
    seen: int
    seen_back: int


@dataclass(frozen=True, slots=True)
class NodeTopology:
    """What is there, in the order of names. `ports` are the labels by NIC, `cpus` the CPU list by NUMA node, `nvlinks` what is known of
    each GPU's links by its PCI address; a GPU that is missing there was not asked, or did not answer."""

    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]
    ports: Mapping[str, PortPlace] = field(default_factory=dict)
    cpus: Mapping[str, str] = field(default_factory=dict)
    nvlinks: Mapping[str, NvlinkCounts] = field(default_factory=dict)

    def relation(self, one: Gpu | Nic, other: Gpu | Nic) -> str:
        """NV<k>, else the distance on PCI: the same both ways. Of two counts that differ it is the lesser."""
        if isinstance(one, Gpu) and isinstance(other, Gpu):
            counts = [count for count in (self._seen(one, other), self._seen(other, one)) if count is not None]
            fewest = min(counts, default=0)
            if fewest:
                return f"NV{fewest}"
        return distance(one.place, other.place).value

    @property
    def asymmetries(self) -> tuple[Asymmetry, ...]:
        """Every two GPUs whose counts differ, where both are known."""
        found: list[Asymmetry] = []
        for position, one in enumerate(self.gpus):
            for other in self.gpus[position + 1 :]:
                there, back = self._seen(one, other), self._seen(other, one)
                if there is not None and back is not None and there != back:
                    few, many = (one, other) if there < back else (other, one)
                    found.append(Asymmetry(few.name, many.name, min(there, back), max(there, back)))
        return tuple(found)

    def _seen(self, one: Gpu, other: Gpu) -> int | None:
        """Links to the other GPU as one counts them; None where one was not asked."""
        mine, theirs = self.nvlinks.get(one.address), self.nvlinks.get(other.address)
        if mine is None:
            return None
        straight = mine.peers.get(other.address, 0)
        reaches = theirs is not None and theirs.switched > 0 and theirs.domain == mine.domain
        return straight + (mine.switched if reaches else 0)


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """Sort key of a name in the order of a person: mlx5_2 before mlx5_10."""
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in re.split(r"([0-9]{1,18})", name)]


def matrix_text(node: NodeTopology, width: int | None = None) -> str:
    """The matrix, the legend, then each NIC and GPU with what is known of it. Where the matrix is wider than `width` characters its columns
    are spread over several tables; None: never."""
    places: list[tuple[str, Gpu | Nic]] = [(gpu.name.upper(), gpu) for gpu in node.gpus]
    places += [(f"NIC{number}", nic) for number, nic in enumerate(node.nics)]
    columns = {head: [SELF if one is other else _cell(node, one, other) for _, one in places] for head, other in places}
    columns["CPU Affinity"] = [node.cpus.get(one.place.numa_node, "N/A") if isinstance(one, Gpu) else "" for _, one in places]
    columns["NUMA Affinity"] = [one.place.numa_node or "N/A" if isinstance(one, Gpu) else "" for _, one in places]
    is_hidden = any(HIDDEN in cells for cells in columns.values())
    parts = ["\n\n".join(_tables([head for head, _ in places], columns, width)), LEGEND + (HIDDEN_LEGEND if is_hidden else "")]
    parts += ["\n".join(["NIC Legend:", "", *_aligned(_nic_facts(node))]) + "\n"] * bool(node.nics)
    parts += ["\n".join(["GPU Legend:", "", *_aligned(_gpu_facts(node))]) + "\n"] * bool(node.gpus)
    remarks = list(_remarks(node))
    parts += ["\n".join(["NVLinks that two GPUs count differently:", "", *remarks]) + "\n"] * bool(remarks)
    return parts[0] + "\n\n" + "\n".join(parts[1:])


def as_json(node: NodeTopology) -> dict[str, object]:
    """The same as plain values for json.dumps; what is unknown is a missing key, a relation that cannot be told is `unknown`."""
    everyone: tuple[Gpu | Nic, ...] = (*node.gpus, *node.nics)
    own = _own_nics(node)
    relations = {one.name: {other.name: node.relation(one, other) for other in everyone if other is not one} for one in everyone}
    differing = [{"one": a.one, "other": a.other, "seen": a.seen, "seen_back": a.seen_back} for a in node.asymmetries]
    return {
        "gpus": [_known({**_place(gpu, node.cpus), "module_id": gpu.module_id, "nic": own.get(gpu.name),
                         **_links(node.nvlinks.get(gpu.address))}) for gpu in node.gpus],
        "nics": [_known({**_place(nic, node.cpus), "rdma": nic.has_rdma, **_labels(node.ports.get(nic.name, NOWHERE))})
                 for nic in node.nics],
        "relations": relations,
        "asymmetries": differing,
    }  # fmt: skip


def _cell(node: NodeTopology, one: Gpu | Nic, other: Gpu | Nic) -> str:
    relation = node.relation(one, other)
    return HIDDEN if relation == Distance.UNKNOWN.value else relation


def _tables(rows: Sequence[str], columns: Mapping[str, Sequence[str]], width: int | None) -> Iterator[str]:
    """The columns in as many tables as it takes, each with the rows' names; one column is never cut."""
    first = max(map(len, rows), default=0)
    room = 0
    taken: list[str] = []
    for head, cells in columns.items():
        needed = 2 + max(map(len, (head, *cells)))
        if taken and width is not None and room + needed > width:
            yield _table(rows, taken, columns)
            taken, room = [], 0
        room = (room or first) + needed
        taken.append(head)
    yield _table(rows, taken, columns)


def _table(rows: Sequence[str], heads: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    lines = [("", *heads), *((name, *(columns[head][row] for head in heads)) for row, name in enumerate(rows))]
    return "\n".join(_aligned(lines, indent=""))


def _aligned(lines: Iterable[Sequence[str]], indent: str = "  ") -> list[str]:
    """Lines of words in columns, two blanks apart; a column without a word takes no room."""
    rows = list(lines)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    used = [(column, width) for column, width in enumerate(widths) if width]
    return [(indent + "  ".join(row[column].ljust(width) for column, width in used)).rstrip() for row in rows]


def _nic_facts(node: NodeTopology) -> Iterator[tuple[str, ...]]:
    for number, nic in enumerate(node.nics):
        port = node.ports.get(nic.name, NOWHERE)
        rail = f"rail {port.rail}" if port.rail else "no rail"
        numa = f"NUMA {nic.place.numa_node}" if nic.place.numa_node else ""
        yield f"NIC{number}:", escaped(nic.name), nic.address, numa, rail, port.gpu, port.role


def _gpu_facts(node: NodeTopology) -> Iterator[tuple[str, ...]]:
    own = _own_nics(node)
    for gpu in node.gpus:
        links = node.nvlinks.get(gpu.address, NvlinkCounts())
        expected = "" if links.expected is None else f" of {links.expected}"
        known = f"{links.active}{expected} NVLinks" if gpu.address in node.nvlinks else "NVLinks unknown"
        module = "" if gpu.module_id is None else f"module {gpu.module_id}"
        numa = f"NUMA {gpu.place.numa_node}" if gpu.place.numa_node else ""
        nic = f"NIC {escaped(own[gpu.name])}" if gpu.name in own else "no own NIC"
        yield f"{gpu.name.upper()}:", gpu.name, gpu.address, numa, nic, module, known


def _own_nics(node: NodeTopology) -> Mapping[str, str]:
    """The NIC that serves a GPU, by the GPU's name."""
    return {port.gpu: nic for nic, port in node.ports.items() if port.gpu}


def _remarks(node: NodeTopology) -> Iterator[str]:
    """One line for each GPU and pair of counts, whatever the number of GPUs on the other side."""
    groups: dict[tuple[str, int, int], list[str]] = {}
    for found in node.asymmetries:
        groups.setdefault((found.one, found.seen, found.seen_back), []).append(found.other)
    for (one, seen, back), others in groups.items():
        yield f"  {one} counts {seen} to {' '.join(others)}, which count {back} back"


def _place(device: Gpu | Nic, cpus: Mapping[str, str]) -> dict[str, object]:
    numa = device.place.numa_node
    return {"name": device.name, "pci": device.address, "numa_node": numa or None, "cpu_affinity": cpus.get(numa)}


def _labels(port: PortPlace) -> dict[str, object]:
    return {"gpu": port.gpu or None, "rail": port.rail or None, "role": port.role or None}


def _links(links: NvlinkCounts | None) -> dict[str, object]:
    return {} if links is None else {"nvlinks_active": links.active, "nvlinks_expected": links.expected}


def _known(facts: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in facts.items() if value is not None}
