"""Quick devices read as one group by the sampler's own thread; what happens when one of them holds it."""

import threading
from collections.abc import Iterator

import pytest

from exporter.catalog import limits
from exporter.model.entity import Device
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Reading, Snapshot
from exporter.runtime.board import Board
from exporter.runtime.clock import SystemClock
from exporter.runtime.crew import Crew
from exporter.runtime.reader_group import GROUP, ReaderGroup
from exporter.runtime.sampler import Sampler
from exporter.runtime.schedule import Intervals
from tests.real.listener import poll

BOUND_S = 30.0
INTERVAL_S = 0.2


class Gated:
    """A device that answers at once, unless its gate is shut: then it answers when the gate opens."""

    cadences = (Cadence.FAST,)

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.gate = threading.Event()
        self.gate.set()
        self.inside = 0
        self.most_inside = 0
        self.faulty = False
        self.passes = 0
        self.closed = False

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """Wait for the gate, then count."""
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.gate.wait()
        self.inside -= 1
        self.passes += 1
        faults = (Fault("test", self.subject, Reason.IO, "broken"),) if self.faulty else ()
        return Snapshot(
            Feed("test", self.subject, cadence), wall_s, monotonic_s, (Reading(Device(self.subject), {"n": self.passes}),), faults
        )

    def close(self) -> None:
        """Note it."""
        self.closed = True


class Listing:
    """A source that always finds the same devices; it is its own scan."""

    name, looked_for = "test", "test devices"

    def __init__(self, *names: str) -> None:
        self.readers = tuple(Gated(name) for name in names)
        self.snapshot = Snapshot(Feed("test", "", Cadence.NORMAL), 0.0, 0.0, ())

    def scan(self, wall_s: float, monotonic_s: float) -> "Listing":  # noqa: ARG002  # as the Protocol has it
        """Always the same."""
        return self


class House:
    """A sampler over a listing, driven by its own thread as in the daemon."""

    def __init__(self, *names: str) -> None:
        self.source = Listing(*names)
        self.clock = SystemClock()
        self.crew = Crew(self.clock, caller_reads=True)
        self.board = Board()
        self.sampler = Sampler([(self.source, Intervals(INTERVAL_S, 60.0, 60.0))], self.clock, self.crew, self.board)

    def device(self, name: str) -> Gated:
        """The device of that name."""
        return next(reader for reader in self.source.readers if reader.subject == name)

    @property
    def hung(self) -> tuple[str, ...]:
        """Who is flagged now."""
        return self.board.current(0.0).sources[0].hung

    @property
    def is_grouped(self) -> bool:
        """Whether there is a group now."""
        return self.sampler._ledgers[0].group is not None


@pytest.fixture
def house() -> Iterator[House]:
    """Three devices; every gate is open again in the end."""
    made = House("a", "b", "c")
    yield made
    for reader in made.source.readers:
        reader.gate.set()
    made.sampler.stop()
    made.crew.stop()


def test_quick_devices_of_one_rhythm_become_a_group(house: House) -> None:
    """After their first plain passes."""
    house.sampler.start()

    poll(lambda: house.is_grouped or None, BOUND_S, "a group")
    before = [reader.passes for reader in house.source.readers]
    poll(lambda: all(r.passes > b for r, b in zip(house.source.readers, before, strict=True)) or None, BOUND_S, "each is read on")


def test_a_member_that_holds_the_thread_costs_nobody_else_a_pass(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread takes over: the others are read on, the held one is flagged, never read by two threads, and used again later."""
    monkeypatch.setattr(limits, "DEADLINE_MIN_S", INTERVAL_S)
    house.sampler.start()
    poll(lambda: house.is_grouped or None, BOUND_S, "a group")

    house.device("b").gate.clear()
    poll(lambda: house.hung == ("b",) or None, BOUND_S, "b is flagged")
    before = [house.device(name).passes for name in ("a", "c")]
    poll(lambda: all(house.device(n).passes > p + 2 for n, p in zip("ac", before, strict=True)) or None, BOUND_S, "a and c go on")
    held = house.device("b").passes
    house.device("b").gate.set()
    poll(lambda: house.hung == () or None, BOUND_S, "b is no longer flagged")
    poll(lambda: house.device("b").passes > held + 1 or None, BOUND_S, "b is read again")

    assert [reader.most_inside for reader in house.source.readers] == [1, 1, 1]


def test_every_member_may_hold_the_thread_one_after_the_other(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even with all of them stuck the sampler goes on publishing."""
    monkeypatch.setattr(limits, "DEADLINE_MIN_S", INTERVAL_S)
    house.sampler.start()
    poll(lambda: house.is_grouped or None, BOUND_S, "a group")

    for reader in house.source.readers:
        reader.gate.clear()
    poll(lambda: set(house.hung) == {"a", "b", "c"} or None, BOUND_S, "all are flagged")
    seen = house.board.current(0.0).generation

    poll(lambda: house.board.current(0.0).generation > seen + 2 or None, BOUND_S, "scenes go on")


def test_a_member_with_a_fault_leaves_the_group_and_the_others_stay(house: House) -> None:
    """Its numbers of that pass are shown, and its fault is counted."""
    for _ in range(3):
        house.sampler.tick((Cadence.FAST,))
    house.device("c").faulty = True
    house.sampler.tick((Cadence.FAST,))

    group = house.sampler._ledgers[0].group
    assert group is not None
    assert [member.subject for member in group.reader.members] == ["a", "b"]
    assert house.board.current(0.0).sources[0].faults == {Reason.IO: 1}
    assert house.sampler._ledgers[0].newest[Feed("test", "c", Cadence.FAST)][0].readings[0].values["n"] == house.device("c").passes


def test_a_group_is_named_after_who_holds_it_once_abandoned() -> None:
    """So that no two errands of that device run at once."""
    members = [Gated("a"), Gated("b")]
    group = ReaderGroup(Listing(), members)
    whole = group.subject
    members[1].gate.clear()
    thread = threading.Thread(target=group.read_together, args=((Cadence.FAST,), 0.0, 0.0))
    thread.start()
    poll(lambda: members[1].inside or None, BOUND_S, "b is being read")
    group.abandon()
    held = group.subject
    members[1].gate.set()
    thread.join(BOUND_S)

    assert (whole, held) == (GROUP, "b")


def test_an_abandoned_group_reads_nobody_any_more() -> None:
    """The thread that was held stops after the read that held it."""
    members = [Gated("a"), Gated("b")]
    group = ReaderGroup(Listing(), members)
    members[0].gate.clear()
    thread = threading.Thread(target=group.read_together, args=((Cadence.FAST,), 0.0, 0.0))
    thread.start()
    poll(lambda: members[0].inside or None, BOUND_S, "a is being read")
    group.abandon()
    members[0].gate.set()
    thread.join(BOUND_S)

    assert [member.passes for member in members] == [1, 0]
