"""A source, readers and an executor of the runtime's own Protocols, driven by the test; and an arrangement of sampler, clock and board."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from exporter.model.entity import Device
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Number, Reading, Scene, Snapshot, SourceStatus
from exporter.runtime.board import Board
from exporter.runtime.clock import Clock, ManualClock
from exporter.runtime.collect import DeviceReader, Errand, Outcome, run_errand
from exporter.runtime.crew import Executor, Inline, Place
from exporter.runtime.sampler import Sampler
from exporter.runtime.schedule import Intervals

SOURCE = "test"
INTERVALS = Intervals(1.0, 2.0, 60.0, scan_least_s=0.0)
PATIENCE_S = 30.0
"""Bound of every wait in these tests; reached only where something is broken."""

Behaviour = Callable[[Cadence], tuple[tuple[Reading, ...], tuple[Fault, ...]]]


def fault(reason: Reason, subject: str = "a", source: str = SOURCE) -> Fault:
    """A Fault of that reason."""
    return Fault(source, subject, reason, f"is {reason.value}")


@dataclass(eq=False)
class FakeReader:
    """A device whose passes do what `behave` says; by default one reading that counts the passes."""

    subject: str
    source: str = SOURCE
    cadences: Sequence[Cadence] = (Cadence.FAST,)
    behave: Behaviour | None = None
    passes: list[Cadence] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    closed: int = 0

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """One pass."""
        self.passes.append(cadence)
        self.threads.append(threading.current_thread().name)
        readings, faults = self.behave(cadence) if self.behave else (self.counted(), ())
        return Snapshot(Feed(self.source, self.subject, cadence), wall_s, monotonic_s, readings, faults)

    def counted(self, value: Number | None = None) -> tuple[Reading, ...]:
        """The usual answer."""
        return (Reading(Device(self.subject), {"n": len(self.passes) if value is None else value}),)

    def close(self) -> None:
        """Count it."""
        self.closed += 1


@dataclass(frozen=True)
class FakeScan:
    """Readers and the scan's own snapshot."""

    readers: Sequence[DeviceReader]
    snapshot: Snapshot


@dataclass(eq=False)
class FakeSource:
    """A source whose devices the test changes."""

    readers: list[FakeReader]
    name: str = SOURCE
    looked_for: str = "devices of the test"
    scans: int = 0
    before_scan: Callable[[], None] | None = None

    def scan(self, wall_s: float, monotonic_s: float) -> FakeScan:
        """What the test put there."""
        self.scans += 1
        if self.before_scan is not None:
            self.before_scan()
        return FakeScan(tuple(self.readers), Snapshot(Feed(self.name, "", Cadence.NORMAL), wall_s, monotonic_s, ()))


@dataclass(eq=False)
class ElsewhereSource(FakeSource):
    """A source whose devices another process reads; `trouble` are a scan's own faults."""

    name: str = "elsewhere"
    is_elsewhere: bool = True
    trouble: tuple[Fault, ...] = ()
    scan_threads: list[str] = field(default_factory=list)

    def scan(self, wall_s: float, monotonic_s: float) -> FakeScan:
        """Note the thread."""
        self.scan_threads.append(threading.current_thread().name)
        found = super().scan(wall_s, monotonic_s)
        return FakeScan(found.readers, found.snapshot._replace(faults=self.trouble))


class Hanging:
    """An Executor in virtual time in which the places of `stuck` do not come back until the test takes them out."""

    def __init__(self, clock: Clock, *, takes_groups: bool = False) -> None:
        self._clock = clock
        self._takes_groups = takes_groups
        self.stuck: set[Place] = set()
        self.running: dict[Place, tuple[Errand, float]] = {}
        self.started: list[Place] = []

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:  # noqa: ARG002  # same shape as Crew
        """Run what does not hang; what was let go since comes back as well."""
        for errand in errands:
            assert errand.place not in self.running, "started again while busy"
            self.started.append(errand.place)
            self.running[errand.place] = (errand, self._clock.monotonic_s())
        free = [place for place in self.running if place not in self.stuck]
        return [run_errand(self.running.pop(place)[0], self._clock) for place in free]

    def busy(self) -> dict[Place, float]:
        """What hangs, and since when."""
        return {place: started_s for place, (_, started_s) in self.running.items()}

    @property
    def takes_groups(self) -> bool:
        """Whether quick devices come as one errand."""
        return self._takes_groups

    def depose(self, stuck_for_s: float) -> bool:  # noqa: ARG002  # same shape as Crew
        """Nobody calls it here."""
        return False

    def stop(self) -> None:
        """Nothing to stop."""


@dataclass
class Rig:
    """A sampler over one or more sources in virtual time."""

    sources: Sequence[FakeSource]
    intervals: Intervals = INTERVALS
    clock: ManualClock = field(default_factory=ManualClock)
    board: Board = field(default_factory=Board)
    executor: Executor | None = None

    def __post_init__(self) -> None:
        self.executor = self.executor or Inline(self.clock)
        self.sampler = Sampler([(source, self.intervals) for source in self.sources], self.clock, self.executor, self.board)

    def ticks(self, count: int = 1) -> None:
        """That many beats, each when it is due."""
        for _ in range(count):
            self.clock.advance(max(0.0, self.sampler.tick() - self.clock.monotonic_s()))

    def run_until(self, until_s: float) -> None:
        """Beat by beat to that time, and one beat there."""
        while (due_s := self.sampler.tick()) < until_s:
            self.clock.advance(max(0.0, due_s - self.clock.monotonic_s()))
        self.clock.advance(until_s - self.clock.monotonic_s())
        self.sampler.tick()

    @property
    def scene(self) -> Scene:
        """The current Scene."""
        return self.board.current(self.clock.monotonic_s())

    @property
    def status(self) -> SourceStatus:
        """The first source's status."""
        return self.scene.sources[0]

    @property
    def shown(self) -> set[str]:
        """Devices that have series now."""
        return subjects(self.scene)


def rig(*readers: FakeReader) -> Rig:
    """One source with these devices."""
    return Rig([FakeSource(list(readers))])


def hanging_rig(*readers: FakeReader) -> tuple[Rig, Hanging]:
    """The same over an executor in which devices can hang."""
    clock = ManualClock()
    executor = Hanging(clock)
    return Rig([FakeSource(list(readers))], clock=clock, executor=executor), executor


def subjects(scene: Scene) -> set[str]:
    """Devices that have series in a Scene."""
    return {feed.subject for feed, snapshot in scene.snapshots.items() if snapshot.readings}


def errands(source: FakeSource, readers: Iterable[FakeReader] | None = None) -> list[Errand]:
    """One errand for each device, all its cadences."""
    return [Errand(source, reader, tuple(reader.cadences)) for reader in (source.readers if readers is None else readers)]
