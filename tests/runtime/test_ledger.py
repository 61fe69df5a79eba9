"""What a source's ledger and the sampler make of its devices, in virtual time."""

from hypothesis import given
from hypothesis import strategies as st

from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Reading
from exporter.runtime.schedule import Intervals
from tests.runtime.conftest import Records
from tests.runtime.fakes import INTERVALS, FakeReader, FakeSource, Rig, fault, hanging_rig, rig

Behaviour = tuple[tuple[Reading, ...], tuple[Fault, ...]]


def failing(reason: Reason) -> Behaviour:
    """A pass that brings one Fault and nothing else."""
    return (), (fault(reason),)


def value(node: Rig, subject: str, cadence: Cadence = Cadence.FAST) -> object:
    """What the page shows of a device, None if nothing."""
    snapshot = node.scene.snapshots.get(Feed("test", subject, cadence))
    return None if snapshot is None else dict(snapshot.readings[0].values)["n"]


def test_first_tick_scans_and_reads_what_it_finds() -> None:
    """One tick after start the page is full."""
    node = rig(FakeReader("a"), FakeReader("b"))
    node.sampler.tick()

    assert node.shown == {"a", "b"}
    assert node.status.devices == 2


def test_each_cadence_is_read_at_its_interval() -> None:
    """Ten seconds at 1, 2 and 60 s."""
    reader = FakeReader("a", cadences=tuple(Cadence))
    rig(reader).run_until(10.0)

    assert {cadence: reader.passes.count(cadence) for cadence in Cadence} == {Cadence.FAST: 11, Cadence.NORMAL: 6, Cadence.SLOW: 1}


def test_series_leave_after_five_seconds_at_short_intervals() -> None:
    """max(3 intervals, 5 s); the board drops them by itself, though nobody publishes any more."""
    node = rig(FakeReader("a"))
    node.sampler.tick()
    node.clock.advance(4.9)
    before = node.scene
    node.clock.advance(0.2)

    assert (len(before.snapshots), node.scene.snapshots) == (1, {})
    assert node.scene.generation == before.generation + 1


def test_series_leave_after_three_intervals_at_long_ones() -> None:
    """Each cadence by its own interval."""
    node = Rig([FakeSource([FakeReader("a", cadences=(Cadence.FAST, Cadence.NORMAL))])], Intervals(5.0, 15.0, 300.0))
    node.sampler.tick()
    node.clock.advance(14.9)
    assert len(node.scene.snapshots) == 2
    node.clock.advance(0.2)
    assert {feed.cadence for feed in node.scene.snapshots} == {Cadence.NORMAL}
    node.clock.advance(30.0)

    assert node.scene.snapshots == {}


def test_device_that_leaves_takes_its_series_along_at_once() -> None:
    """With the scan that misses it, and its handles are given back."""
    gone, stays = FakeReader("gone"), FakeReader("stays")
    node = rig(gone, stays)
    node.sampler.tick()
    node.sources[0].readers.remove(gone)
    node.run_until(2.0)

    assert node.shown == {"stays"}
    assert (gone.closed, stays.closed) == (1, 0)


def test_device_that_comes_is_read_in_the_same_tick() -> None:
    """As soon as a scan has seen it."""
    node = rig(FakeReader("a"))
    node.sampler.tick()
    node.sources[0].readers.append(FakeReader("new"))
    node.run_until(2.0)

    assert node.shown == {"a", "new"}


def test_device_that_returns_with_a_new_reader_is_another_device() -> None:
    """The old reader is closed, the new one read."""
    old, new = FakeReader("a"), FakeReader("a")
    node = rig(old)
    node.sampler.tick()
    node.sources[0].readers[:] = [new]
    node.run_until(2.0)

    assert (old.closed, new.closed, len(new.passes)) == (1, 0, 1)


def test_lost_device_makes_the_next_tick_scan() -> None:
    """Long before the scan would be due by itself."""
    reader = FakeReader("a")
    node = Rig([FakeSource([reader])], Intervals(1.0, 50.0, 300.0))
    node.run_until(3.0)
    scans = node.sources[0].scans
    reader.behave = lambda _: failing(Reason.LOST)
    node.ticks(2)
    node.run_until(5.0)

    assert (scans, node.sources[0].scans) == (1, 2)


def test_rescan_for_a_lost_device_forgets_nothing_of_the_scans_own_beat() -> None:
    """A scan that the duty guard has stretched stays stretched, and the log is not told anew with each loss."""
    source = FakeSource([FakeReader("a")])
    node = Rig([source], Intervals(1.0, 2.0, 60.0, scan_least_s=0.0))
    source.before_scan = lambda: node.clock.advance(0.2)
    node.run_until(20.0)
    scans = source.scans
    source.readers[0].behave = lambda _: failing(Reason.LOST)
    node.run_until(40.0)

    assert node.sampler._ledgers[0].devices[""].beats[Cadence.NORMAL].stretch > 1
    assert source.scans > scans


def test_pass_with_faults_alone_shows_nothing_and_turns_the_source_down() -> None:
    """The last values are not shown again: they would look like a quiet link."""
    reader = FakeReader("a")
    node = rig(reader)
    node.sampler.tick()
    reader.behave = lambda _: failing(Reason.IO)
    node.run_until(1.0)

    assert node.shown == set()
    assert not node.status.up


def test_source_is_up_again_with_the_first_good_pass() -> None:
    """And its series are back."""
    reader = FakeReader("a", behave=lambda _: failing(Reason.IO))
    node = rig(reader)
    node.sampler.tick()
    reader.behave = None
    node.run_until(8.0)

    assert node.status.up
    assert node.shown == {"a"}


def test_readings_beside_faults_are_shown() -> None:
    """One bad file does not cost the others."""
    reader = FakeReader("a")
    reader.behave = lambda _: (reader.counted(7), (fault(Reason.IO),))
    node = rig(reader)
    node.sampler.tick()

    assert value(node, "a") == 7
    assert node.status.up


def test_faults_are_counted_by_reason_in_each_pass() -> None:
    """The log says it once, the counter grows."""
    reader = FakeReader("a")
    reader.behave = lambda _: (reader.counted(), (fault(Reason.PARSE), fault(Reason.PARSE), fault(Reason.IO)))
    node = rig(reader)
    node.run_until(2.0)

    assert node.status.faults == {Reason.PARSE: 6, Reason.IO: 3}


def test_failing_device_does_not_touch_another() -> None:
    """Same passes, same numbers."""
    good = FakeReader("good")
    node = rig(FakeReader("bad", behave=lambda _: failing(Reason.IO)), good)
    node.run_until(10.0)

    assert len(good.passes) == 11
    assert value(node, "good") == 11


def test_empty_pass_is_no_fault() -> None:
    """A device that has nothing to say at this cadence is up and has no series."""
    node = rig(FakeReader("a", behave=lambda _: ((), ())))
    node.sampler.tick()

    assert node.status.up
    assert node.shown == set()


def test_source_without_hardware_is_up() -> None:
    """Finding nothing is no failure; the status says what was looked for."""
    node = rig()
    node.sampler.tick()

    assert (node.status.up, node.status.devices, node.status.looked_for) == (True, 0, "devices of the test")


def test_scan_that_raises_turns_the_source_down_and_keeps_its_devices() -> None:
    """What is known stays known, and the next good scan ends it."""
    reader = FakeReader("a")
    node = rig(reader)
    node.sampler.tick()

    def fail() -> None:
        raise RuntimeError("ledger test scan")

    node.sources[0].before_scan = fail
    node.run_until(2.0)
    down, shown = node.status.up, node.shown
    node.sources[0].before_scan = None
    node.run_until(4.0)

    assert (down, shown) == (False, {"a"})
    assert node.status.up


def test_age_is_that_of_the_oldest_sample_on_the_page() -> None:
    """A device whose series have left does not age it."""
    reader = FakeReader("a")
    node, executor = hanging_rig(reader, FakeReader("b"))
    node.run_until(1.0)
    executor.stuck.add(("test", "a"))
    node.run_until(4.0)
    assert node.status.oldest_sample_monotonic_s == 1.0
    node.run_until(20.0)

    assert node.shown == {"b"}
    assert node.status.oldest_sample_monotonic_s == 20.0


def test_source_without_a_live_sample_has_no_age() -> None:
    """Not that of a sample long gone."""
    node, executor = hanging_rig(FakeReader("a"))
    node.sampler.tick()
    executor.stuck.add(("test", "a"))
    node.run_until(20.0)

    assert node.status.oldest_sample_monotonic_s is None


def test_hang_is_flagged_within_two_intervals_and_counted_once() -> None:
    """However long it lasts."""
    node, executor = hanging_rig(FakeReader("a"), FakeReader("b"))
    node.run_until(3.0)
    executor.stuck.add(("test", "a"))
    node.run_until(4.0)
    started_s = executor.running["test", "a"][1]
    node.run_until(started_s + 2 * INTERVALS.fast_s)
    assert node.status.hung == ("a",)
    node.run_until(60.0)

    assert node.status.faults == {Reason.TIMEOUT: 1}
    assert not node.status.up


def test_series_of_a_hung_device_leave_on_time_and_the_others_stay() -> None:
    """max(3 intervals, 5 s) after its last pass began."""
    node, executor = hanging_rig(FakeReader("a"), FakeReader("b"))
    node.run_until(3.0)
    executor.stuck.add(("test", "a"))
    node.run_until(7.9)
    before = node.shown
    node.run_until(8.1)

    assert (before, node.shown) == ({"a", "b"}, {"b"})


def test_hung_device_is_not_started_again() -> None:
    """The executor of these tests would fail the test."""
    node, executor = hanging_rig(FakeReader("a"), FakeReader("b"))
    executor.stuck.add(("test", "a"))
    node.run_until(30.0)

    assert executor.started.count(("test", "a")) == 1
    assert executor.started.count(("test", "b")) == 31


def test_device_that_answers_again_is_read_at_its_old_rhythm(records: Records) -> None:
    """No burst for what was missed; the log has the hang and its end, each once."""
    node, executor = hanging_rig(FakeReader("a"))
    executor.stuck.add(("test", "a"))
    node.run_until(30.0)
    executor.stuck.clear()
    node.run_until(32.0)
    passes = executor.started.count(("test", "a"))
    node.run_until(42.0)

    assert node.status.up
    assert node.shown == {"a"}
    assert executor.started.count(("test", "a")) - passes == 10
    assert sum("reason=timeout" in message for message in records.messages) == 1
    assert sum("answers again source=test device=a" in message for message in records.messages) == 1


def test_second_hang_of_a_device_is_logged_again(records: Records) -> None:
    """It is a new event."""
    node, executor = hanging_rig(FakeReader("a"))
    for _ in range(2):
        executor.stuck.add(("test", "a"))
        node.run_until(node.clock.monotonic_s() + 10.0)
        executor.stuck.clear()
        node.run_until(node.clock.monotonic_s() + 10.0)

    assert node.status.faults == {Reason.TIMEOUT: 2}
    assert sum("reason=timeout" in message for message in records.messages) == 2


def test_hung_scan_is_flagged_and_devices_go_on() -> None:
    """Known devices are read all the same."""
    node, executor = hanging_rig(FakeReader("a"))
    node.run_until(3.0)
    executor.stuck.add(("test", ""))
    node.run_until(20.0)

    assert node.status.hung == ("scan",)
    assert node.shown == {"a"}


def test_device_that_leaves_while_it_hangs_is_closed_when_it_returns() -> None:
    """Not before: a thread is inside it."""
    reader = FakeReader("a")
    node, executor = hanging_rig(reader)
    executor.stuck.add(("test", "a"))
    node.run_until(3.0)
    node.sources[0].readers.clear()
    node.run_until(10.0)
    inside = reader.closed
    executor.stuck.clear()
    node.run_until(12.0)

    assert (inside, reader.closed) == (0, 1)
    assert node.status.up


def test_successor_of_a_hung_device_waits_for_it() -> None:
    """One place is never read by two threads; once the old read is back, the new reader is read and the flag falls."""
    old, new = FakeReader("a"), FakeReader("a")
    node, executor = hanging_rig(old)
    executor.stuck.add(("test", "a"))
    node.run_until(3.0)
    node.sources[0].readers[:] = [new]
    node.run_until(10.0)
    assert (new.passes, node.status.hung) == ([], ("a",))
    executor.stuck.clear()
    node.run_until(14.0)

    assert new.passes
    assert (node.status.hung, node.status.up, old.closed, new.closed) == ((), True, 1, 0)


def test_last_success_stays_that_of_the_last_pass_that_brought_something() -> None:
    """Unix time; faults alone do not move it. The scan is a pass of its own."""
    reader = FakeReader("a")
    node = Rig([FakeSource([reader])], Intervals(1.0, 500.0, 500.0))
    node.run_until(5.0)
    good_s = node.clock.wall_s()
    reader.behave = lambda _: failing(Reason.IO)
    node.run_until(50.0)

    assert node.status.last_success_wall_s == good_s


def test_duration_is_that_of_the_slowest_device() -> None:
    """Of its newest pass."""
    slow = FakeReader("slow")
    node = rig(FakeReader("a"), slow)

    def take_time(_: Cadence) -> Behaviour:
        node.clock.advance(0.25)
        return slow.counted(), ()

    slow.behave = take_time
    node.sampler.tick()

    assert node.status.duration_s == 0.25


def test_duty_guard_says_so_when_it_begins(records: Records) -> None:
    """Once, with the new interval."""
    slow = FakeReader("slow")
    node = rig(slow)

    def take_time(_: Cadence) -> Behaviour:
        node.clock.advance(0.09)
        return slow.counted(), ()

    slow.behave = take_time
    node.run_until(30.0)
    told = [message for message in records.messages if "duty guard" in message]

    assert told == ["duty guard changed the interval source=test device=slow cadence=fast interval_s=5"]


def test_stretched_device_keeps_its_series_between_passes() -> None:
    """Three of the intervals in force, not of those configured."""
    slow = FakeReader("slow")
    node = rig(slow)

    def take_time(_: Cadence) -> Behaviour:
        node.clock.advance(0.9)
        return slow.counted(), ()

    slow.behave = take_time
    node.run_until(100.0)
    shown = []
    for _ in range(60):
        node.run_until(node.clock.monotonic_s() + 1.0)
        shown.append(node.shown)

    assert shown == [{"slow"}] * 60


@given(st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=5))
def test_readers_of_one_name_or_of_none_harm_nobody(names: list[str]) -> None:
    """A source that breaks its promise of unique names costs the doubles, not the tick."""
    node = rig(*(FakeReader(name) for name in names))
    node.run_until(5.0)

    assert node.shown == set(names) - {""}
