"""The sampler: never raises, publishes each tick, hands over at a reload, ends when told."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.entity import NODE, Device
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import EMPTY_SCENE, Feed, Reading, Scene, Snapshot
from exporter.runtime.board import Board
from exporter.runtime.clock import ManualClock, SystemClock
from exporter.runtime.crew import Crew, Inline
from exporter.runtime.sampler import Sampler
from exporter.runtime.schedule import Intervals
from tests.runtime.fakes import INTERVALS, PATIENCE_S, FakeReader, FakeSource, Rig, fault, rig, subjects

Behaviour = tuple[tuple[Reading, ...], tuple[Fault, ...]]
ERRORS = [ValueError("x"), OSError(5, "io"), MemoryError(), RecursionError(), KeyError(""), StopIteration(), AssertionError(),
          UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd\nline")]  # fmt: skip


def snapshot(subject: str = "a", at_s: float = 0.0) -> Snapshot:
    """A pass with one number."""
    return Snapshot(Feed("test", subject, Cadence.FAST), 0.0, at_s, (Reading(Device(subject), {"n": 1}),))


class Moody:
    """A reader's behaviour that hypothesis chooses, pass by pass."""

    def __init__(self, clock: ManualClock, moods: list[object]) -> None:
        self._clock = clock
        self._moods = moods
        self._next = 0

    def __call__(self, cadence: Cadence) -> Behaviour:  # noqa: ARG002  # same for each
        """A pass."""
        mood = self._moods[self._next % len(self._moods)]
        self._next += 1
        if isinstance(mood, BaseException):
            raise mood
        if isinstance(mood, Reason):
            return (), (fault(mood),)
        if isinstance(mood, float):
            self._clock.advance(mood)
        if isinstance(mood, int):
            return tuple(Reading(Device(f"d{n}"), {("events", str(n)): 2**64}) for n in range(mood)), (fault(Reason.LIMIT),) * mood
        return (), ()


class Stubborn(FakeReader):
    """A reader that cannot be closed."""

    def close(self) -> None:
        """Fail."""
        super().close()
        raise OSError(9, "Bad file descriptor")


mood = st.one_of(st.sampled_from(ERRORS), st.sampled_from(Reason), st.floats(0, 1000), st.integers(0, 40), st.just("empty"))
moods = st.lists(mood, min_size=1, max_size=6)
"""Raises, faults, slow, nothing, huge, empty."""


@given(st.lists(moods, min_size=1, max_size=4), st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12), st.booleans())
def test_tick_never_raises(several: list[list[object]], steps: list[tuple[int, bool]], stubborn: bool) -> None:  # noqa: FBT001
    """Whatever readers and scans do, whichever come and go, also if they cannot be closed; and each tick publishes."""
    clock = ManualClock()
    kind = Stubborn if stubborn else FakeReader
    readers = [kind(f"d{n}", cadences=tuple(Cadence), behave=Moody(clock, found)) for n, found in enumerate(several)]
    node = Rig([FakeSource(list(readers))], clock=clock)
    for count, (index, scan_fails) in enumerate(steps):
        reader = readers[index % len(readers)]
        listed = node.sources[0].readers
        (listed.remove if reader in listed else listed.append)(reader)

        def scan_trouble(fails: bool = scan_fails) -> None:  # noqa: FBT001
            if fails:
                raise LookupError("scan")

        node.sources[0].before_scan = scan_trouble
        node.ticks()

        assert node.scene.generation >= count + 1
    node.sampler.stop()


def test_scene_is_empty_before_the_first_tick() -> None:
    """Generation 0: not ready."""
    assert rig(FakeReader("a")).scene == EMPTY_SCENE


def test_each_tick_publishes_one_generation() -> None:
    """Also if nothing is due: ages go on."""
    node = rig(FakeReader("a"))
    seen = []
    for _ in range(4):
        node.ticks()
        seen.append(node.scene.generation)

    assert seen == [1, 2, 3, 4]


def test_next_tick_is_when_something_is_due() -> None:
    """The shortest interval later, if nothing is sooner."""
    node = rig(FakeReader("a"))

    assert node.sampler.tick() == INTERVALS.fast_s


def test_sources_do_not_touch_each_other() -> None:
    """One that raises in each scan and one that is well, at once."""
    bad, good = FakeSource([], name="bad"), FakeSource([FakeReader("a", source="good")], name="good")

    def fail() -> None:
        raise RuntimeError("sampler test")

    bad.before_scan = fail
    node = Rig([bad, good])
    node.run_until(5.0)

    assert [(status.source, status.up) for status in node.scene.sources] == [("bad", False), ("good", True)]
    assert len(good.readers[0].passes) == 6


def test_same_subject_in_two_sources_is_two_devices() -> None:
    """Places are by source and subject."""
    one, two = (FakeSource([FakeReader("a", source=name)], name=name) for name in ("one", "two"))
    node = Rig([one, two])
    one.readers.clear()
    node.run_until(5.0)

    assert {feed.source for feed in node.scene.snapshots} == {"two"}


def test_sampler_without_sources_ticks() -> None:
    """Every source switched off."""
    node = Rig([])
    node.ticks(3)

    assert node.scene.generation == 3


def test_tick_all_reads_everything_once_more() -> None:
    """A one-shot command's second pass, and the scan with it."""
    reader = FakeReader("a", cadences=tuple(Cadence))
    node = rig(reader)
    node.sampler.tick()
    node.sampler.tick_all()

    assert reader.passes == [*Cadence, *Cadence]
    assert node.sources[0].scans == 2


def test_tick_all_of_the_fast_cadence_leaves_the_scan_alone() -> None:
    """What a benchmark of fast passes measures."""
    reader = FakeReader("a", cadences=tuple(Cadence))
    node = rig(reader)
    node.sampler.tick()
    node.sampler.tick_all((Cadence.FAST,))

    assert reader.passes[3:] == [Cadence.FAST]
    assert node.sources[0].scans == 1


def test_own_readings_stand_beside_the_status_of_each_source() -> None:
    """On every Scene."""
    clock, board = ManualClock(), Board()
    own = Reading(NODE, {"exporter_simulated": 1})
    Sampler([(FakeSource([]), INTERVALS)], clock, Inline(clock), board, lambda: (own,)).tick()
    scene = board.current(0.0)

    assert scene.readings[0] is own
    assert scene.readings[1].values["exporter_source_up", "test"] == 1


def test_stop_closes_every_reader() -> None:
    """Handles are given back."""
    readers = FakeReader("a"), FakeReader("b")
    node = rig(*readers)
    node.sampler.tick()
    node.sampler.stop()

    assert [reader.closed for reader in readers] == [1, 1]


def test_reader_that_cannot_be_closed_does_not_keep_the_others_open() -> None:
    """And stop does not raise."""
    readers = Stubborn("a"), FakeReader("b")
    node = rig(*readers)
    node.sampler.tick()
    node.sampler.stop()

    assert [reader.closed for reader in readers] == [1, 1]


def test_reader_that_cannot_be_closed_is_closed_once() -> None:
    """Not again with every tick."""
    reader = Stubborn("a")
    node = rig(reader)
    node.sampler.tick()
    node.sources[0].readers.clear()
    node.run_until(10.0)

    assert reader.closed == 1
    assert node.status.devices == 0


def test_sampler_is_alive_while_it_ticks() -> None:
    """Not before the first tick, and no longer after five intervals or ten seconds without one."""
    node = rig()

    assert not node.sampler.is_alive(0.0)
    node.sampler.tick()
    assert node.sampler.is_alive(9.9)
    assert not node.sampler.is_alive(10.1)


class Published(Board):
    """A board that tells when something is published."""

    def __init__(self) -> None:
        super().__init__()
        self.news = threading.Condition()

    def publish(self, *args: object) -> None:
        """As the board does."""
        super().publish(*args)  # type: ignore[arg-type]
        with self.news:
            self.news.notify_all()

    def wait_until(self, wanted: str, *, shown: bool = True) -> Scene:
        """The first Scene that shows (or no longer shows) a device."""
        clock = SystemClock()
        with self.news:
            assert self.news.wait_for(lambda: (wanted in subjects(self.current(clock.monotonic_s()))) == shown, PATIENCE_S)
        return self.current(clock.monotonic_s())


@pytest.fixture
def crew() -> Iterator[Crew]:
    """A crew of real threads, which end with the test."""
    before = set(threading.enumerate())
    found = Crew(SystemClock())
    yield found
    found.stop()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_S)


def test_sampler_in_a_thread_fills_the_board_and_ends_when_told(crew: Crew) -> None:
    """Start, wait for the first Scene, stop."""
    board, reader = Published(), FakeReader("a")
    sampler = Sampler([(FakeSource([reader]), Intervals(0.05, 0.1, 60.0))], SystemClock(), crew, board)
    sampler.start()
    board.wait_until("a")
    sampler.stop(PATIENCE_S)

    assert reader.closed == 1
    assert "sampler" not in {thread.name for thread in threading.enumerate()}


def test_device_that_hangs_over_a_reload_is_not_started_by_the_next_sampler(crew: Crew) -> None:
    """The second sampler on the same crew leaves it alone and reads the others; once the old read is back, its reader is closed and
    the device read anew."""
    released, entered = threading.Event(), threading.Event()

    def hang(cadence: Cadence) -> Behaviour:
        entered.set()
        released.wait(PATIENCE_S)
        return (), ()

    old, new, other = FakeReader("a", behave=hang), FakeReader("a"), FakeReader("b")
    interval = Intervals(0.05, 0.1, 60.0)
    first = Sampler([(FakeSource([old]), interval)], SystemClock(), crew, Board())
    first.start()
    assert entered.wait(PATIENCE_S)
    first.stop(PATIENCE_S)
    board = Published()
    second = Sampler([(FakeSource([new, other]), interval)], SystemClock(), crew, board)
    second.start()
    try:
        board.wait_until("b")
        assert (old.closed, len(old.passes), new.passes) == (0, 1, [])
        released.set()
        board.wait_until("a")
    finally:
        released.set()
        second.stop(PATIENCE_S)

    assert (old.closed, len(old.passes)) == (1, 1)


def test_board_drops_a_feed_when_its_time_has_come() -> None:
    """Each by itself, each with a generation of its own; nothing is published in between."""
    board = Board()
    board.publish({snapshot("a").feed: (snapshot("a"), 5.0), snapshot("b").feed: (snapshot("b"), 9.0)}, (), (), 0.0, 0.0)
    scenes = [board.current(at_s) for at_s in (0.0, 4.99, 5.0, 8.0, 9.0, 100.0)]

    assert [len(scene.snapshots) for scene in scenes] == [2, 2, 1, 1, 0, 0]
    assert [scene.generation for scene in scenes] == [1, 1, 2, 2, 3, 3]


def test_board_refuses_what_is_over_already() -> None:
    """A snapshot that comes too late is not shown for a moment."""
    board = Board()
    board.publish({snapshot().feed: (snapshot(), 5.0)}, (), (), 0.0, 6.0)

    assert board.current(6.0).snapshots == {}


def test_board_gives_the_same_scene_while_nothing_changes() -> None:
    """Pages are cached by it."""
    board = Board()
    board.publish({snapshot().feed: (snapshot(), 5.0)}, (), (), 0.0, 0.0)

    assert board.current(1.0) is board.current(2.0)


def test_scene_that_a_reader_holds_does_not_change() -> None:
    """A page is rendered from one moment."""
    board = Board()
    board.publish({snapshot().feed: (snapshot(), 5.0)}, (), (), 0.0, 0.0)
    held = board.current(0.0)
    board.current(100.0)

    assert len(held.snapshots) == 1
