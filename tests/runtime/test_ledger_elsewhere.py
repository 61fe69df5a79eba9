"""What a ledger makes of devices that another process reads: they hang together, and a process that was given up has answered nothing."""

from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Reading
from exporter.runtime.clock import ManualClock
from exporter.runtime.reader_group import GROUP
from exporter.runtime.schedule import Intervals
from tests.runtime.conftest import Records
from tests.runtime.fakes import INTERVALS, ElsewhereSource, FakeReader, FakeSource, Hanging, Rig, fault

Behaviour = tuple[tuple[Reading, ...], tuple[Fault, ...]]
TOGETHER = ("elsewhere", GROUP)
NAMES = ("gpu0", "gpu1", "gpu2")


def elsewhere_rig(*more: FakeSource, intervals: Intervals = INTERVALS) -> tuple[Rig, Hanging, list[FakeReader]]:
    """Three devices in another process, already read as one group, and other sources."""
    clock = ManualClock()
    executor = Hanging(clock, takes_groups=True)
    readers = [FakeReader(name, source="elsewhere", cadences=(Cadence.FAST, Cadence.NORMAL)) for name in NAMES]
    node = Rig([ElsewhereSource(readers), *more], intervals, clock=clock, executor=executor)
    node.run_until(3 * intervals.fast_s)
    assert TOGETHER in executor.started
    return node, executor, readers


def given_up(reader: FakeReader, reason: Reason = Reason.TIMEOUT) -> None:
    """From now on its question has no answer."""
    reader.behave = lambda _: ((), (fault(reason, reader.subject, "elsewhere"),))


def said(records: Records, text: str) -> int:
    """How often the log says so."""
    return sum(text in message for message in records.messages)


def test_a_group_that_hangs_is_flagged_whole_and_answers_again_once(records: Records) -> None:
    """Nobody knows in which of them; each is counted once, and named once when it answers."""
    node, executor, _ = elsewhere_rig()
    executor.stuck.add(TOGETHER)
    node.run_until(4.0)
    started_s = executor.running[TOGETHER][1]
    node.run_until(started_s + 2 * INTERVALS.fast_s)
    flagged = node.status.hung
    node.run_until(20.0)
    counted = dict(node.status.faults)
    executor.stuck.clear()
    node.run_until(30.0)

    assert flagged == NAMES
    assert counted == {Reason.TIMEOUT: 3}
    assert (node.status.hung, node.status.up, node.shown) == ((), True, set(NAMES))
    assert [said(records, f"answers again source=elsewhere device={name}") for name in NAMES] == [1, 1, 1]


def test_a_hang_elsewhere_flags_nobody_of_another_source() -> None:
    """Not even one whose group has the same name."""
    other = FakeSource([FakeReader(name, cadences=(Cadence.FAST, Cadence.NORMAL)) for name in NAMES])
    node, executor, _ = elsewhere_rig(other)
    executor.stuck.add(TOGETHER)
    node.run_until(20.0)

    hung = {status.source: status.hung for status in node.scene.sources}
    assert hung == {"elsewhere": NAMES, "test": ()}
    assert {feed.subject for feed in node.scene.snapshots if feed.source == "test"} == set(NAMES)


def test_a_process_that_was_given_up_has_answered_nothing(records: Records) -> None:
    """The flag stays until a number or another word comes, so that it does not flicker with each attempt; `answers again` is said once."""
    node, executor, readers = elsewhere_rig()
    executor.stuck.add(TOGETHER)
    node.run_until(6.0)
    for reader in readers:
        given_up(reader)
    executor.stuck.clear()
    seen = set()
    for _ in range(30):
        node.ticks()
        seen.add((node.status.hung, node.status.up))
    early = said(records, "answers again")
    for reader in readers:
        reader.behave = None
    node.run_until(node.clock.monotonic_s() + 30.0)

    assert (seen, early) == ({(NAMES, False)}, 0)
    assert (node.status.hung, node.status.up, node.shown) == ((), True, set(NAMES))
    assert said(records, "answers again") == 3


def test_a_crash_after_a_hang_is_no_hang() -> None:
    """Its process ended: the source is down for that reason, and nobody is waited for."""
    node, executor, readers = elsewhere_rig()
    executor.stuck.add(TOGETHER)
    node.run_until(6.0)
    for reader in readers:
        given_up(reader, Reason.DRIVER)
    executor.stuck.clear()
    node.run_until(12.0)

    assert (node.status.hung, node.status.up) == ((), False)


def test_a_group_that_brings_nothing_turns_the_source_down_at_once() -> None:
    """With the pass that failed, not only once each device has failed by itself."""
    node, _, readers = elsewhere_rig()
    for reader in readers:
        given_up(reader, Reason.DRIVER)
    node.run_until(3.0 + INTERVALS.fast_s)

    assert (node.status.up, node.shown) == (False, set())


def test_a_cadence_that_failed_before_its_device_joined_the_group_is_forgiven_there() -> None:
    """Its first good pass ends it, whoever it is read with; else the source stayed down for ever."""
    node, _, readers = elsewhere_rig()
    well = readers[0].counted
    readers[0].behave = lambda cadence: ((), (fault(Reason.IO, "gpu0", "elsewhere"),)) if cadence is Cadence.NORMAL else (well(), ())
    node.run_until(8.0)
    during = node.status.up
    readers[0].behave = None
    node.run_until(60.0)

    assert (during, node.status.up) == (False, True)
    assert node.sampler._ledgers[0].devices["gpu0"].grouped


def test_slow_answers_leave_the_group_together() -> None:
    """How long another process takes says nothing of a device: no thread, no question of its own for each."""
    node, executor, readers = elsewhere_rig(intervals=Intervals(5.0, 15.0, 300.0))

    def take_time(_: Cadence) -> Behaviour:
        node.clock.advance(0.01)
        return readers[0].counted(), ()

    readers[0].behave = take_time
    executor.started.clear()
    node.run_until(60.0)

    assert {place for place in executor.started if place[1]} == {TOGETHER}


def test_a_hung_scan_elsewhere_answers_with_a_scan_only(records: Records) -> None:
    """A scan that got no answer in time keeps the flag; its devices are read on."""
    node, executor, _ = elsewhere_rig()
    executor.stuck.add(("elsewhere", ""))
    node.run_until(10.0)
    hung = node.status.hung
    executor.stuck.clear()
    node.run_until(14.0)

    assert hung == ("scan",)
    assert (node.status.hung, said(records, "answers again source=elsewhere device=scan")) == ((), 1)
    assert node.shown == set(NAMES)


def test_what_a_process_that_was_given_up_took_stretches_no_interval(records: Records) -> None:
    """Nobody worked in that time: a hang of a minute must not cost five minutes of data after it, nor a scan that waited behind it."""
    node, _, readers = elsewhere_rig()
    source = node.sources[0]

    def take_ten(cadence: Cadence) -> Behaviour:
        node.clock.advance(10.0)
        return (), (fault(Reason.TIMEOUT, "gpu0", "elsewhere"),)

    for reader in readers:
        given_up(reader)
    readers[0].behave = take_ten
    node.run_until(60.0)
    for reader in readers:
        reader.behave = None
    node.run_until(80.0)
    scans = source.scans
    node.run_until(90.0)

    assert said(records, "duty guard") == 0
    assert source.scans - scans == 5
    assert (node.status.up, node.shown, node.sampler._ledgers[0].group is not None) == (True, set(NAMES), True)


def test_a_scan_that_hung_as_well_is_tried_again_once_a_device_answers() -> None:
    """Else the source stayed down until the scan's next time."""
    node, executor, _ = elsewhere_rig(intervals=Intervals(1.0, 100.0, 300.0))
    source = node.sources[0]
    executor.stuck |= {TOGETHER, ("elsewhere", "")}
    node.run_until(210.0)
    hung, scans = node.status.hung, source.scans
    source.trouble = (fault(Reason.TIMEOUT, "driver", "elsewhere"),)
    executor.stuck.discard(("elsewhere", ""))
    node.run_until(212.0)
    still = node.status.hung
    source.trouble = ()
    executor.stuck.clear()
    node.run_until(220.0)

    assert set(hung) == set(still) == {"scan", *NAMES}
    assert (node.status.hung, node.status.up, source.scans - scans) == ((), True, 2)
