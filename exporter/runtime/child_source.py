"""The NVLink source as the sampler sees it: scans and reads are questions to the NVML child, its answers are Snapshots.

A child that gives no answer makes a Fault for whoever was asked about, and nothing else: the sampler goes on. Knows no driver; what the
child does is nvml_child.py's.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Snapshot
from exporter.runtime.learned_nvlinks import LearnedNvlinks
from exporter.runtime.worker import Worker, WorkerError
from exporter.runtime.worker_messages import NotScanned, ReadRequest, ScanAnswer, ScanRequest
from exporter.sources.nvlink import LOOKED_FOR, NodeFacts

SOURCE = "nvlink"


@dataclass(frozen=True, slots=True)
class ChildScan:
    """A reader for each GPU the child sees, and the scan's Snapshot."""

    readers: tuple["ChildReader", ...]
    snapshot: Snapshot


class ChildReader:
    """One GPU, read by the child."""

    def __init__(self, source: "ChildSource", subject: str, cadences: tuple[Cadence, ...]) -> None:
        self.subject = subject
        self.cadences = cadences
        self._source = source

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """One pass of this GPU alone."""
        return self.read_together((cadence,), wall_s, monotonic_s)[0]

    def read_together(self, cadences: tuple[Cadence, ...], wall_s: float, monotonic_s: float) -> tuple[Snapshot, ...]:
        """One Snapshot for each cadence, in one question."""
        return tuple(self._source.read([self], cadences, wall_s, monotonic_s))

    def close(self) -> None:
        """The child holds whatever there is to hold."""


class ChildSource:
    """`names` are those of all GPUs that the PCI bus shows; `slots` names further addresses for good (the slot map). `learned` is told what
    the child learned of links."""

    name = SOURCE
    is_elsewhere = True
    """Its reads wait for another process: never in the sampler's own thread, and however long one takes says nothing of a GPU."""

    def __init__(self, worker: Worker, names: Callable[[], Mapping[str, str]], slots: Callable[[Collection[str]], Mapping[str, str]],
                 learned: LearnedNvlinks, library: str | None = None) -> None:  # fmt: skip
        self.looked_for = LOOKED_FOR if library is None else f"GPUs of the NVIDIA driver, through {library}"
        self._worker = worker
        self._names = names
        self._slots = slots
        self._learned = learned
        self._readers: dict[str, ChildReader] = {}
        self._further: Mapping[str, str] = {}
        """Names of GPUs that the bus does not show. Remembered: a fresh child that had to ask for them would for a moment know no GPU."""
        self.facts = NodeFacts()
        """As the newest scan tells."""
        self.trouble: WorkerError | None = None
        """Why the newest scan brought nothing."""

    def scan(self, wall_s: float, monotonic_s: float) -> ChildScan:
        """Which GPUs the driver shows now. Without an answer the readers stay as they were: silence clears nothing."""
        try:
            snapshot = self._scan(dict(self._names()))
            self.trouble = None
        except WorkerError as error:
            self.trouble, self.facts = error, self.facts._replace(processes=None)
            if error.reason in (Reason.ABSENT, Reason.RELEASED):
                self._readers = {}
            fault = Fault(SOURCE, "driver", error.reason, error.detail)
            snapshot = Snapshot(Feed(SOURCE, "", Cadence.NORMAL), wall_s, monotonic_s, (), (fault,))
        return ChildScan(tuple(self._readers.values()), snapshot)

    def read(self, readers: Sequence[ChildReader], cadences: tuple[Cadence, ...], wall_s: float, monotonic_s: float) -> list[Snapshot]:
        """One Snapshot for each of these readers and cadences, in order; a Fault in the place of each that did not come."""
        subjects = tuple(reader.subject for reader in readers)
        try:
            snapshots = self._read(ReadRequest(subjects, cadences))
        except WorkerError as error:
            return [_missing(subject, cadence, error, wall_s, monotonic_s) for subject in subjects for cadence in cadences]
        if len(snapshots) == len(subjects) * len(cadences):
            return list(snapshots)
        found = {(snapshot.feed.subject, snapshot.feed.cadence): snapshot for snapshot in snapshots}
        gone = WorkerError(Reason.LOST, "the driver does not show this GPU any more")
        return [
            found.get((subject, cadence)) or _missing(subject, cadence, gone, wall_s, monotonic_s)
            for subject in subjects
            for cadence in cadences
        ]

    def read_many(self, readers: Sequence[ChildReader], cadences: tuple[Cadence, ...], enter: Callable[[int], bool], wall_s: float,
                  monotonic_s: float) -> Iterator[Snapshot]:  # fmt: skip
        """All these GPUs in one question. `enter` is told of the first, and may forbid the whole."""
        if readers and enter(0):
            yield from self.read(readers, cadences, wall_s, monotonic_s)

    def _read(self, request: ReadRequest) -> tuple[Snapshot, ...]:
        """Ask. A child that was started since the last scan knows no GPU: have it scan, and ask once more. Raises WorkerError."""
        snapshots, extra = self._worker.ask(request)
        if isinstance(extra, NotScanned):
            self._scan(dict(self._names()))
            snapshots, extra = self._worker.ask(request)
        if isinstance(extra, NotScanned):
            raise WorkerError(Reason.DRIVER, "the process that asks the driver ended between two questions; it is asked again")
        return snapshots

    def _scan(self, names: Mapping[str, str]) -> Snapshot:
        """Ask; if the driver shows GPUs that nobody has named yet, name them and ask once more. Raises WorkerError."""
        names = {**self._further, **names}
        snapshots, answer = self._worker.ask(ScanRequest(names))
        if isinstance(answer, ScanAnswer) and answer.unnamed:
            names |= self._slots([*names, *answer.unnamed])
            self._further = {**self._further, **{address: names[address] for address in answer.unnamed if address in names}}
            snapshots, answer = self._worker.ask(ScanRequest(names))
        if not isinstance(answer, ScanAnswer):
            raise WorkerError(Reason.BUG, "the process that asks the driver gave no answer to a scan; this is a bug in fabric-exporter")
        self._learned.merge(answer.learned)
        self.facts = answer.facts
        self._readers = {
            subject: known if (known := self._readers.get(subject)) is not None and known.cadences == cadences
            else ChildReader(self, subject, cadences)
            for subject, cadences in answer.subjects.items()
        }  # fmt: skip
        return snapshots[0]


def _missing(subject: str, cadence: Cadence, error: WorkerError, wall_s: float, monotonic_s: float) -> Snapshot:
    fault = Fault(SOURCE, subject, error.reason, error.detail)
    return Snapshot(Feed(SOURCE, subject, cadence), wall_s, monotonic_s, (), (fault,))
