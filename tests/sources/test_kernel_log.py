"""Xids and SXids from the kernel log: counted once, under the right name, whatever happens to log, process and machine."""

import errno
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.xid import EVENT_KEYS_MAX, KMSG_SAVE_RECORDS, NVLINK_SXIDS, NVLINK_XIDS, XID
from exporter.model.entity import Fabric, Link
from exporter.model.fault import Reason
from exporter.runtime.board import Board
from exporter.runtime.clock import ManualClock
from exporter.runtime.crew import Inline
from exporter.runtime.sampler import Sampler
from exporter.simulator.memory_kernel_log import USER_ERROR, MemoryKernelLog
from exporter.sources.kernel_log import happened_wall_s
from exporter.sources.xid_lines import event_of
from exporter.sources.xid_readings import event_readings
from tests.machine import INTERVALS
from tests.sources.small_kernel_log import GPU, OFF_BUS, SXID, UP_S, WALL_S, XID_31, XID_74, Rig, shown

XID_TOTAL, SXID_TOTAL, OFF_BUS_TOTAL, LOST_TOTAL = "xid_total", "sxid_total", "gpu_fallen_off_bus_total", "kernel_log_lost_records_total"


def test_every_nvlink_code_counts_from_zero_before_anything_happens() -> None:
    """So that the first event is an increase: per GPU, per NVSwitch, and for a lost GPU."""
    seen = Rig().read()

    expected = {(XID_TOTAL, "gpu1", "", str(xid)) for xid in NVLINK_XIDS} | {(OFF_BUS_TOTAL, "gpu1"), (LOST_TOTAL,)}
    expected |= {(SXID_TOTAL, "0000:c5:00.0", "", str(sxid)) for sxid in NVLINK_SXIDS}
    assert (set(seen), set(seen.values())) == (expected, {0})


def test_events_count_under_their_device_their_link_and_their_code() -> None:
    """What came before the exporter did counts, too."""
    rig = Rig()
    rig.log.append("nothing to see", XID_74, XID_74, XID_31, SXID, OFF_BUS)

    assert rig.events() == {
        (XID_TOTAL, "gpu1", "7", "74"): 2,
        (XID_TOTAL, "gpu1", "", "31"): 1,
        (SXID_TOTAL, "0000:c5:00.0", "33", "20034"): 1,
        (OFF_BUS_TOTAL, "gpu1"): 1,
    }
    assert rig.faults == []


def test_an_event_that_names_a_link_stands_under_that_nvlink() -> None:
    """The entity that byte counters and rules know."""
    rig = Rig()
    rig.log.append(XID_74)

    assert {r.entity: dict(r.values) for r in rig.readings()}[Link(Fabric.NVLINK, "gpu1", "7")] == {(XID.key, "74"): 1}


def test_what_a_program_writes_to_the_log_does_not_count() -> None:
    """Anyone with the device open for writing could accuse a GPU otherwise."""
    rig = Rig()
    rig.log.append(XID_74, SXID, OFF_BUS, priority=USER_ERROR)

    assert rig.events() == {}


def test_an_address_that_is_no_known_gpu_is_shown_as_it_is() -> None:
    """It makes no new GPU; a line without an address accuses the unknown."""
    rig = Rig(gpus={})
    rig.log.append(XID_74, "NVRM: fallen off the bus and is not responding to commands.")

    assert rig.events() == {(XID_TOTAL, GPU, "7", "74"): 1, (OFF_BUS_TOTAL, "unknown"): 1}


def test_a_gpu_that_is_found_later_gets_its_events() -> None:
    """The PCIe source may need longer than the first look at the log."""
    rig = Rig(gpus={})
    rig.log.append(XID_74)
    rig.read()
    rig.gpus = {GPU: "gpu5"}

    assert rig.events(5.0) == {(XID_TOTAL, "gpu5", "7", "74"): 1}


def test_nothing_new_costs_nothing() -> None:
    """The same readings, not equal ones."""
    rig = Rig()
    rig.log.append(XID_74)
    first = rig.readings()
    rig.log.append("another driver's line")

    assert rig.readings(5.0) is first


def test_a_restart_neither_loses_nor_repeats_an_event() -> None:
    """Nor do a reload and a crash: what happened meanwhile is counted, the rest is known."""
    rig = Rig()
    rig.log.append(XID_74, XID_31)
    rig.read()
    rig.log.append(XID_31)
    after = rig.restart()
    restarted = after.events()
    after.log.append(XID_74)
    after.read()
    crashed = after.crash()

    assert restarted == {(XID_TOTAL, "gpu1", "7", "74"): 1, (XID_TOTAL, "gpu1", "", "31"): 2}
    assert crashed.events() == {(XID_TOTAL, "gpu1", "7", "74"): 2, (XID_TOTAL, "gpu1", "", "31"): 2}


def test_counts_outlive_the_lines_they_came_from() -> None:
    """The ring has forgotten them since; that is no loss, for they were read."""
    rig = Rig()
    rig.log.append(XID_74, "later")
    rig.read()
    rig.log.overwrite(2)
    after = rig.restart()

    assert (after.events(), after.faults) == ({(XID_TOTAL, "gpu1", "7", "74"): 1}, [])


def test_another_boot_starts_at_zero() -> None:
    """Its log numbers its records from 0 again."""
    rig = Rig()
    rig.log.append(XID_74, XID_74)
    rig.read()
    rig.restart()
    rebooted = Rig(memory=rig.memory, boot_id="boot-2")
    rebooted.log.append(XID_74)

    assert rebooted.events() == {(XID_TOTAL, "gpu1", "7", "74"): 1}


def test_a_machine_that_was_set_back_is_not_read_blindly() -> None:
    """A snapshot of a virtual machine has the same boot and an older log: what comes after the return counts."""
    rig = Rig()
    rig.log.append("line", "line", XID_74)
    rig.read()
    rig.restart()
    returned = Rig(memory=rig.memory)
    returned.log.append("line")
    returned.read()
    returned.log.append(XID_74)

    assert returned.events(5.0) == {(XID_TOTAL, "gpu1", "7", "74"): 2}


def test_records_that_were_overwritten_unread_are_counted_and_said() -> None:
    """Also those of the time while no exporter ran; those before the first start are nobody's loss."""
    rig = Rig(log=MemoryKernelLog(capacity=4))
    rig.log.append(*["line"] * 9)
    first = rig.read()[(LOST_TOTAL,)], rig.faults
    rig.log.append(*["line"] * 6)
    second = rig.read(5.0)[(LOST_TOTAL,)], [(fault.subject, fault.reason) for fault in rig.faults]
    after = rig.restart()
    after.log.append(*["line"] * 5)

    assert (first, second) == ((0, []), (2, [("/dev/kmsg", Reason.LIMIT)]))
    assert after.read()[(LOST_TOTAL,)] == 1
    assert "log_buf_len" in after.faults[0].detail


def test_a_storm_is_read_over_several_passes() -> None:
    """Each takes its share, and none is lost."""
    rig = Rig(log=MemoryKernelLog(records_max=10))
    rig.log.append(*[XID_74] * 25)
    seen = [rig.read(5.0 * step)[XID_TOTAL, "gpu1", "7", "74"] for step in range(4)]

    assert (seen, rig.faults) == ([10, 20, 25, 25], [])


def test_more_kinds_of_events_than_there_is_room_for_are_counted_without_their_link() -> None:
    """The page stays bounded; what is lost of them is said."""
    rig = Rig()
    rig.log.append(*[f"NVRM: Xid (PCI:0000:3b:00): {xid}, A Fatal XC0 i0 Link 01 (0x0)" for xid in range(1, EVENT_KEYS_MAX + 11)])
    events = rig.events()

    assert sum(events.values()) == EVENT_KEYS_MAX + 10
    assert sum(port == "" for _, _, port, _ in events) == 10
    assert [fault.reason for fault in rig.faults] == [Reason.LIMIT]


@pytest.mark.parametrize(
    ("usec", "expected_s"),
    [
        (int((UP_S - 60) * 1e6), WALL_S - 60),  # a minute before the pass
        (0, WALL_S - UP_S),  # at boot
        (int((UP_S + 60) * 1e6), WALL_S),  # the kernel's clock runs fast: not in the future
    ],
)
def test_an_event_has_the_time_at_which_it_happened(usec: int, expected_s: float) -> None:
    """Not that at which it was read."""
    rig = Rig()
    rig.log.append(XID_74, usec=usec)

    assert rig.read()["xid_last_timestamp_seconds", "gpu1", "74"] == pytest.approx(expected_s)


def test_an_event_after_the_log_was_read_to_its_end_happened_since() -> None:
    """The kernel's log clock lags by minutes after months."""
    assert happened_wall_s(0, WALL_S, UP_S, not_before_s=WALL_S - 5) == WALL_S - 5
    assert happened_wall_s(0, WALL_S, UP_S, not_before_s=WALL_S + 5) == WALL_S  # the wall clock was set back


def test_the_newest_event_of_several_links_gives_the_time() -> None:
    """One series for a GPU and a code."""
    rig = Rig()
    rig.log.append(XID_74.replace("link 7", "link 8"), usec=int(UP_S * 1e6))
    rig.log.append(XID_74, usec=int((UP_S - 9) * 1e6))

    assert rig.read()["xid_last_timestamp_seconds", "gpu1", "74"] == pytest.approx(WALL_S)


@pytest.mark.parametrize(
    ("code", "reason", "advice"),
    [(errno.EPERM, Reason.DENIED, "CAP_SYSLOG"), (errno.EACCES, Reason.DENIED, "CAP_SYSLOG"), (errno.ENOENT, Reason.ABSENT, "mount"),
     (errno.ENODEV, Reason.LOST, "mount"), (errno.EIO, Reason.IO, "tried again")],
)  # fmt: skip
def test_a_log_that_cannot_be_opened_is_said_with_what_to_do(code: int, reason: Reason, advice: str) -> None:
    """And nothing is shown, not even zeros: NVML's events are what is left."""
    rig = Rig()
    rig.log.deny(code)

    assert (rig.read(), rig.source.is_readable) == ({}, False)
    assert [(fault.subject, fault.reason) for fault in rig.faults] == [("/dev/kmsg", reason)]
    assert advice in rig.faults[0].detail


def test_a_log_that_is_denied_later_loses_its_series_and_returns_without_repeating_itself() -> None:
    """Numbers that nobody can vouch for any more leave; what came meanwhile is counted once the log is back."""
    rig = Rig()
    rig.log.append(XID_74)
    rig.read()
    reader = rig.source.scan(WALL_S, UP_S).readers[0]
    rig.log.append(XID_74)
    rig.log.deny(errno.EPERM)
    refused = reader.read(reader.cadences[0], WALL_S, UP_S)
    rig.log.deny(None)

    assert ([fault.reason for fault in refused.faults], refused.readings) == ([Reason.DENIED], ())
    assert rig.events(10.0) == {(XID_TOTAL, "gpu1", "7", "74"): 2}


@pytest.mark.parametrize(("code", "up", "devices"), [(None, True, 1), (errno.EPERM, False, 0), (errno.ENOENT, True, 0)])
def test_what_the_source_says_of_itself(code: int | None, up: bool, devices: int) -> None:  # noqa: FBT001  # a table's column
    """A log that may not be read is a failure; a machine without one is none; a node without any GPU is up, also after a loss."""
    rig = Rig(log=MemoryKernelLog(capacity=2), gpus={}, switches=())
    clock, board = ManualClock(), Board()
    rig.log.deny(code)
    sampler = Sampler([(rig.source, INTERVALS)], clock, Inline(clock), board)
    for _ in range(6):
        sampler.tick()
        rig.log.append(*["line"] * 4)
        clock.advance(5.0)

    status = board.current(clock.monotonic_s()).sources[0]
    assert (status.up, status.devices) == (up, devices)
    assert status.faults.get(Reason.BUG) is None


def test_a_quiet_log_of_a_busy_kernel_is_saved_now_and_then() -> None:
    """Not at every line, which would write the disk each second; a crash costs reading again, not counting again."""
    rig = Rig()
    rig.log.append("line")
    rig.read()
    before = rig.memory.load()
    rig.log.append(*["line"] * KMSG_SAVE_RECORDS)
    rig.read(5.0)

    state = rig.memory.load()
    assert (before, state and state.sequence) == (None, KMSG_SAVE_RECORDS)


lines = st.one_of(st.text(max_size=80), st.sampled_from([XID_74, XID_31, SXID, OFF_BUS, XID_74[:50], SXID + XID_74]))
steps = st.lists(st.tuples(st.sampled_from(["append", "user", "restart", "crash", "overwrite"]), st.lists(lines, max_size=4)), max_size=12)


@given(steps)
def test_every_event_counts_exactly_once_and_no_counter_goes_back(history: list[tuple[str, list[str]]]) -> None:
    """Whatever lines come, and however often the process is replaced; only what was overwritten unread is missing, and no line is fatal."""
    rig, happened, before = Rig(), 0, {}
    for action, texts in history:
        if action == "append":
            rig.log.append(*texts)
            happened += sum(event_of(text) is not None for text in texts)
        elif action == "user":
            rig.log.append(*texts, priority=USER_ERROR)
        elif action == "overwrite":
            rig.read()
            rig.log.overwrite(len(texts))
        else:
            rig = rig.restart() if action == "restart" else rig.crash()
        events = rig.events()

        assert sum(value for place, value in events.items() if place != (LOST_TOTAL,)) == happened
        assert all(events.get(place, 0) >= value for place, value in _counters(before).items())
        before = events


def _counters(events: Mapping[tuple[str, ...], float]) -> Mapping[tuple[str, ...], float]:
    """All but what a process counts of itself."""
    return {place: value for place, value in events.items() if place != (LOST_TOTAL,)}


def test_a_name_that_is_no_text_is_still_a_label() -> None:
    """The names come from elsewhere; readings are legal whatever they hold."""
    assert ("xid_total", "gpu?", "", "74") in shown(event_readings({}, {GPU: "gpu\udcff"}, ()))
