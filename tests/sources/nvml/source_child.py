"""An NvlinkSource over the unmodified pynvml and the fake driver, in a process of its own that is asked for one pass after the other.

    with SourceChild(driver, full=True) as child:
        scan = child.scan()
        links = child.read("gpu0", "fast").links("gpu0")

Snapshots come back as they were, but as JSON. A pass that raises ends the process, and with it the test.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from exporter.model.entity import NODE, Device, Entity, Fabric, Link
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from tests.nvml_library import FakeDriver

SCRIPT = """
import sys
from dataclasses import asdict
from exporter.model.expected_links import expected_links
from exporter.model.metric import Cadence
from exporter.sources.nvlink import NvlinkSource
from exporter.sources.nvml import Pynvml

class Memory:
    def __init__(self, known):
        self.links = {uuid: frozenset(links) for uuid, links in known.items()}
        self.notes = {}

    def known(self, uuid):
        return self.links.get(uuid, frozenset())

    def note(self, uuid, active, monotonic_s):
        self.notes[uuid] = sorted(active)

def named(entity):
    return [getattr(one, "value", one) for one in asdict(entity).values()]

def described(snapshot):
    readings = [[named(one.entity), [[key, number] for key, number in one.values.items()]] for one in snapshot.readings]
    faults = [list(asdict(one).values()) for one in snapshot.faults]
    return [snapshot.feed, snapshot.wall_s, snapshot.monotonic_s, readings, faults]

options = json.loads(OPTIONS)
memory = Memory(options.pop("learned"))
configured = dict(expected_links(text) for text in options.pop("configured"))
wanted = options.pop("wanted")
library = options.pop("library")
source = NvlinkSource(Pynvml(library), lambda name: not wanted or name in wanted, learned=memory, configured=configured, **options)
readers = {}
for line in sys.stdin:
    what, gpu, cadence, at_s = json.loads(line)
    if what == "scan":
        scan = source.scan(1e9 + at_s, at_s)
        readers = {reader.subject: reader for reader in scan.readers}
        told([described(scan.snapshot), list(readers), {name: id(reader) for name, reader in readers.items()}])
    elif what == "read":
        told(described(readers[gpu].read(Cadence(cadence), 1e9 + at_s, at_s)))
    elif what == "close":
        told(source.close())
    else:
        told([source.spent, source.facts, memory.notes])
"""


class Seen(NamedTuple):
    """One pass: the Snapshot, and its numbers by entity (`gpu0`, `nvlink/gpu0/3`, `node`) and key."""

    snapshot: Snapshot
    values: Mapping[str, Mapping[SeriesKey, Number]]

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What could not be read."""
        return self.snapshot.faults

    def links(self, gpu: str, fabric: str = "nvlink") -> dict[int, Mapping[SeriesKey, Number]]:
        """The numbers of each of a GPU's links, by index."""
        start = f"{fabric}/{gpu}/"
        return {int(name.removeprefix(start)): values for name, values in self.values.items() if name.startswith(start)}

    def column(self, gpu: str, key: SeriesKey) -> dict[int, Number]:
        """One number of each link that has it."""
        return {link: values[key] for link, values in self.links(gpu).items() if key in values}

    def reasons(self) -> set[tuple[str, Reason]]:
        """Subject and reason of each Fault."""
        return {(fault.subject, fault.reason) for fault in self.faults}


class Scanned(NamedTuple):
    """What a scan told: of the node, the GPUs there are, and for each the identity of its reader within the child."""

    node: Seen
    gpus: tuple[str, ...]
    readers: Mapping[str, int]


class State(NamedTuple):
    """What the source keeps for others."""

    spent: tuple[Reason, str] | None
    module_ids: Mapping[str, int]
    indices: Mapping[int, str]
    processes: Mapping[str, list[int]] | None
    device_ids: Mapping[str, str] | None
    noted: Mapping[str, list[int]]


class SourceChild:
    """`learned` are links by UUID, `configured` texts as of the configuration; `wanted` the only GPUs to read, if any are named."""

    def __init__(self, driver: FakeDriver, *, learned: Mapping[str, Collection[int]] | None = None, configured: Collection[str] = (),
                 wanted: Collection[str] = (), library: str | None = None, **flags: bool) -> None:  # fmt: skip
        known = {uuid: sorted(links) for uuid, links in (learned or {}).items()}
        options = {"learned": known, "configured": list(configured), "wanted": list(wanted), "library": library, **flags}
        self._child = driver.start(f"OPTIONS = {json.dumps(options)!r}\n{SCRIPT}")
        self.pid = self._child.pid

    def scan(self, at_s: float = 0.0) -> Scanned:
        """Look for GPUs at that monotonic time."""
        snapshot, gpus, readers = self._ask("scan", at_s=at_s)
        return Scanned(_seen(snapshot), tuple(gpus), readers)

    def read(self, gpu: str, cadence: str, at_s: float = 0.0) -> Seen:
        """One pass of one GPU, which the last scan must have found."""
        return _seen(self._ask("read", gpu, cadence, at_s))

    def passes(self, gpu: str, at_s: float = 0.0) -> tuple[Seen, Seen, Seen]:
        """A fast, a normal and a slow pass."""
        fast, normal, slow = (self.read(gpu, cadence, at_s) for cadence in ("fast", "normal", "slow"))
        return fast, normal, slow

    def state(self) -> State:
        """As it is now."""
        spent, (modules, indices, processes, device_ids), noted = self._ask("state")
        told = {int(index): name for index, name in indices.items()}
        return State(None if spent is None else (Reason(spent[0]), spent[1]), modules, told, processes, device_ids, noted)

    def close(self) -> None:
        """Let the source go of every GPU."""
        self._ask("close")

    def _ask(self, what: str, gpu: str = "", cadence: str = "", at_s: float = 0.0) -> Any:  # JSON
        stdin = self._child.process.stdin
        assert stdin is not None
        stdin.write(json.dumps([what, gpu, cadence, at_s]) + "\n")
        stdin.flush()
        return self._child.told()

    def __enter__(self) -> Self:
        self._child.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._child.__exit__(kind, error, trace)


def _seen(told: list[Any]) -> Seen:
    (source, subject, cadence), wall_s, monotonic_s, readings, faults = told
    listed = tuple(_readings(readings))
    found = tuple(Fault(name, of, Reason(reason), detail) for name, of, reason, detail in faults)
    snapshot = Snapshot(Feed(source, subject, Cadence(cadence)), wall_s, monotonic_s, listed, found)
    values: dict[str, dict[SeriesKey, Number]] = {}
    for reading in listed:
        of_entity = values.setdefault(str(reading.entity), {})
        assert not of_entity.keys() & reading.values.keys(), f"{reading.entity}: a number stands twice"
        of_entity |= reading.values
    return Seen(snapshot, values)


def _readings(told: list[Any]) -> Iterator[Reading]:
    for names, numbers in told:
        yield Reading(_entity(names), {key if isinstance(key, str) else tuple(key): number for key, number in numbers})


def _entity(names: list[str]) -> Entity:
    if not names:
        return NODE
    return Device(names[0]) if len(names) == 1 else Link(Fabric(names[0]), names[1], names[2])
