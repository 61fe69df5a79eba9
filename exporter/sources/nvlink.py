"""The NVLink source: every GPU that the driver shows, through one NVML session. Runs in a process that may be given up (runtime/worker.py).

Knows when the session is opened and what a scan says of the node as a whole; a GPU's own numbers are gpu_reader.py's. A GPU is told by its
UUID and PCI address, never by its index, which changes when another is lost.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from exporter.catalog import gpu as rows
from exporter.catalog.nvlink_boards import BOARDS
from exporter.model.entity import NODE, Device
from exporter.model.expected_links import Expectation, Expected, expectation
from exporter.model.fault import Reason
from exporter.model.gpu_slots import in_pci_order
from exporter.model.metric import Cadence
from exporter.model.quoted import printable, shown
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.sources.fault_list import FaultList
from exporter.sources.field_family import WITHOUT
from exporter.sources.gpu_questions import Questions
from exporter.sources.gpu_reader import SOURCE, GpuReader
from exporter.sources.nvml_session import (
    DRIVER_NOT_LOADED,
    GPU_IS_LOST,
    LIBRARY_NOT_FOUND,
    PROCESS_WIDE,
    UNKNOWN_ERROR,
    GpuFacts,
    Nvml,
    NvmlError,
    words_of_code,
)
from exporter.sources.pci_text import ADDRESS
from exporter.sources.xid_events import XidEvents

NO_DRIVER = frozenset({DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND})
LOST = frozenset({GPU_IS_LOST, 16, 28})

LOOKED_FOR = "GPUs of the NVIDIA driver, through libnvidia-ml.so.1"
NO_GPU = "the NVIDIA driver is loaded and shows no GPU"


class LinkMemory(Protocol):
    """What was learned about GPUs' links (runtime/learned_nvlinks.py remembers)."""

    def known(self, uuid: str) -> frozenset[int]:
        """Links of that GPU that were active for long, once."""
        ...

    def note(self, uuid: str, active: Collection[int], monotonic_s: float) -> None:
        """These are active now."""
        ...


class NoMemory:
    """Learns nothing."""

    def known(self, uuid: str) -> frozenset[int]:  # noqa: ARG002  # the Protocol's shape
        """Nothing."""
        return frozenset()

    def note(self, uuid: str, active: Collection[int], monotonic_s: float) -> None:
        """Forgotten at once."""


class NodeFacts(NamedTuple):
    """What other sources want to know of the GPUs: place on the board by PCI address, name by NVML index, and the processes on each GPU by
    its name, None if nobody asks for them or the driver does not say. `device_ids` are names by UUID of a GPU or MIG device, and by device
    file (`nvidia3`); None if nobody asks."""

    module_ids: Mapping[str, int] = {}
    indices: Mapping[int, str] = {}
    processes: Mapping[str, Sequence[int]] | None = None
    device_ids: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class NvlinkScan:
    """A reader for each GPU there is now (the same object for one that stayed), and what is to say about the node."""

    readers: tuple[GpuReader, ...]
    snapshot: Snapshot


class NvlinkSource:
    """`slots` names GPUs by PCI address. `configured` maps patterns of GPU or product names to what is expected of their links. `full`:
    read what only the full tier shows. `xid_events`: count Xids by NVML's events. `with_processes`: list the processes on each GPU.
    `with_device_ids`: and what others call it and its MIG devices.

    `facts` are of the newest scan. Not thread-safe.
    """

    name = SOURCE
    looked_for = LOOKED_FOR

    def __init__(self, nvml: Nvml, wants: Callable[[str], bool], *, slots: Callable[[Collection[str]], Mapping[str, str]] = in_pci_order,
                 learned: LinkMemory | None = None, configured: Mapping[str, Expected] | None = None, full: bool = False,
                 xid_events: bool = False, with_processes: bool = False, with_device_ids: bool = False) -> None:  # fmt: skip
        self.facts = NodeFacts()
        self.spent: tuple[Reason, str] | None = None
        """Why only a fresh process, later, may get an answer; None as long as this one does."""
        self._nvml = nvml
        self._wants = wants
        self._slots = slots
        self._learned = learned or NoMemory()
        self._configured = configured or {}
        self._full = full
        self._with_processes = with_processes
        self._with_device_ids = with_device_ids
        self._is_open = False
        self._count = 0
        self._readers: dict[str, GpuReader] = {}
        self._questions = Questions("node")
        self._xids = XidEvents(nvml, wanted=xid_events)
        self._unknown: set[str] = set()
        """GPUs whose last pass ended in an unknown error, by UUID."""
        self._seen: dict[str, str] = {}
        """Every GPU that was seen since the start: name by UUID."""

    def scan(self, wall_s: float, monotonic_s: float) -> NvlinkScan:
        """Which GPUs there are now. A driver that cannot be asked has none, and says why in a Fault."""
        faults = FaultList(SOURCE)
        readings: tuple[Reading, ...] = ()
        try:
            self._look(faults)
            readings = self._node_readings(faults, wall_s, monotonic_s)
            self.facts = self._facts(faults)
        except NvmlError as error:
            faults.add("driver", error.reason, str(error))
            self._trouble(error)
            if error.code not in LOST:
                self._leave()
        feed = Feed(SOURCE, "", Cadence.NORMAL)
        return NvlinkScan(tuple(self._readers.values()), Snapshot(feed, wall_s, monotonic_s, readings, tuple(faults.faults)))

    def close(self) -> None:
        """Let go of every GPU."""
        self._leave()

    def _look(self, faults: FaultList) -> None:
        """Open the session if need be, and take in who is there. A count that changed means other indices: open anew."""
        if self._is_open and self._nvml.gpu_count() != self._count:
            self._leave()
        if not self._is_open:
            self._nvml.open()
            self._is_open = True
            self._count = self._nvml.gpu_count()
            self._xids.watch(faults)
        if not self._count:
            faults.add("driver", Reason.ABSENT, NO_GPU)
            self.spent = self.spent or (Reason.ABSENT, NO_GPU)
        present = self._present(faults)
        names = self._slots([facts.pci for facts in present.values()])
        before, self._readers = self._readers, {}
        for index, facts in present.items():
            name = names.get(facts.pci)
            if name is None or not self._wants(name):
                continue
            reader = before.get(facts.uuid)
            if reader is None or (reader.index, reader.subject) != (index, name):
                reader = GpuReader(self._nvml, index, name, facts, full=self._full, on_pass=self._after_pass)
                reader.get_to_know()
            self._readers[facts.uuid] = reader
        self._miss(faults)

    def _present(self, faults: FaultList) -> dict[int, GpuFacts]:
        """Who answers at each index; one that is lost and was known keeps what is known of it."""
        known = {reader.index: reader.facts for reader in self._readers.values()}
        found: dict[int, GpuFacts] = {}
        silent: list[NvmlError] = []
        for index in range(self._count):
            try:
                facts = self._nvml.facts(index)
            except NvmlError as error:
                if error.code in PROCESS_WIDE:
                    raise
                silent.append(error)
                if index in known:
                    found[index] = known[index]
                else:
                    faults.add(f"GPU with index {index}", error.reason, words_of_code(error.code))
                continue
            oddity = _oddity(facts, found.values())
            if oddity is None:
                found[index] = facts
            else:
                faults.add(f"GPU with index {index}", Reason.PARSE, f"{oddity}; it is left out")
        if silent and len(silent) == self._count and all(error.code == UNKNOWN_ERROR for error in silent):
            raise silent[0]
        return found

    def _miss(self, faults: FaultList) -> None:
        """A GPU that was there and that the driver does not show any more (it need not have said a word: NVIDIA/NVSentinel#155)."""
        for uuid, name in self._seen.items():
            if uuid not in self._readers:
                detail = f"was there ({uuid}) and the driver does not show it any more; look for Xid 79 and reset the node"
                faults.add(name, Reason.LOST, detail)
        self._seen |= {uuid: reader.subject for uuid, reader in self._readers.items()}

    def _node_readings(self, faults: FaultList, wall_s: float, monotonic_s: float) -> tuple[Reading, ...]:
        """Driver and modes of the node, and for each GPU what is expected of its links."""
        version = self._questions.ask("driver version", self._nvml.driver_version, faults)
        values: dict[SeriesKey, Number] = {(rows.DRIVER_INFO.key, printable(version)): 1} if version else {}
        mode = self._questions.ask("bandwidth mode of the node", self._nvml.node_bandwidth_mode, FaultList(SOURCE))  # root only: no Fault
        if mode is not None:
            values[rows.NODE_BANDWIDTH_MODE.key] = mode
        mig_on_node = self._is_any_partitioned(faults)
        node = [reader.now() for reader in self._readers.values()]
        readings = [Reading(NODE, values)] if values else []
        for reader, links in zip(self._readers.values(), node, strict=True):
            if links.ports and not mig_on_node:
                self._learned.note(links.uuid, links.active, monotonic_s)
            reader.mig_on_node = mig_on_node
            reader.expectation = expectation(links, node, self._configured, BOARDS, self._learned.known(links.uuid))
            if links.ports:
                readings.append(Reading(Device(reader.subject), _expected(reader.expectation, hidden=mig_on_node)))
        names = {reader.index: reader.subject for reader in self._readers.values()}
        return (*readings, *self._xids.readings(names, wall_s, faults))

    def _facts(self, faults: FaultList) -> NodeFacts:
        readers = self._readers.values()
        modules = {reader.facts.pci: reader.facts.module_id for reader in readers if reader.facts.module_id is not None}
        processes = {reader.subject: self._processes(reader, faults) for reader in readers} if self._with_processes else {}
        known = {name: found for name, found in processes.items() if found is not None}
        device_ids = {one: reader.subject for reader in readers for one in self._ids(reader, faults)} if self._with_device_ids else None
        return NodeFacts(modules, {reader.index: reader.subject for reader in readers}, known if self._with_processes else None, device_ids)

    def _processes(self, reader: GpuReader, faults: FaultList) -> Sequence[int] | None:
        """Ids of the processes that compute on the GPU; None if it does not say."""
        try:
            return self._nvml.processes(reader.index)
        except NvmlError as error:
            if error.code in PROCESS_WIDE:
                raise
            if error.code not in LOST | WITHOUT:
                faults.add(reader.subject, error.reason, f"processes: {words_of_code(error.code)}")
            return None

    def _ids(self, reader: GpuReader, faults: FaultList) -> Sequence[str]:
        """What the GPU and its MIG devices are called; its UUID alone if it does not answer, which is said elsewhere."""
        try:
            return reader.device_ids(faults)
        except NvmlError as error:
            if error.code in PROCESS_WIDE:
                raise
            return (reader.facts.uuid,)

    def _is_any_partitioned(self, faults: FaultList) -> bool:
        modes: list[int] = []
        for reader in self._readers.values():
            try:
                modes.append(reader.mig_mode(faults) or 0)
            except NvmlError as error:
                if error.code in PROCESS_WIDE:
                    raise
        return any(modes)

    def _after_pass(self, uuid: str, error: NvmlError | None) -> None:
        """One GPU's unknown error is its own; that of all of them is a container that lost its devices."""
        if error is None:
            self._unknown.discard(uuid)
        elif error.code != UNKNOWN_ERROR:
            self._trouble(error)
        else:
            self._unknown.add(uuid)
            if self._unknown.issuperset(self._readers):
                self._trouble(error)

    def _trouble(self, error: NvmlError) -> None:
        if self.spent is None and error.code in PROCESS_WIDE | NO_DRIVER | {UNKNOWN_ERROR}:
            self.spent = error.reason, str(error)

    def _leave(self) -> None:
        self._readers = {}
        self._unknown.clear()
        self.facts = NodeFacts()
        self._questions = Questions("node")
        if self._is_open:
            self._is_open = False
            self._nvml.close()


def _oddity(facts: GpuFacts, others: Iterable[GpuFacts]) -> str | None:
    """Why a GPU cannot be told from others by its address and UUID; None if it can."""
    if not ADDRESS.fullmatch(facts.pci):
        return f"the driver gives {shown(facts.pci)} for its PCI address"
    same = [other for other in others if facts.pci == other.pci or facts.uuid == other.uuid]
    return f"the driver gives it the PCI address or UUID of another GPU, at {same[0].pci}" if same else None


def _expected(found: Expectation, *, hidden: bool) -> dict[SeriesKey, Number]:
    """What is expected, and by whom. While MIG hides the links, no number: comparing with it would accuse healthy links."""
    values: dict[SeriesKey, Number] = {(rows.EXPECTATION_INFO.key, found.source): 1}
    if found.expected is not None and not hidden:
        values[rows.LINKS_EXPECTED.key] = found.expected.count
        if found.expected.rate_bytes_per_s is not None:
            values[rows.RATE_EXPECTED.key] = found.expected.rate_bytes_per_s
    return values
