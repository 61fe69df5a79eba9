"""The frame of /dev/kmsg, and how it is read to its end without waiting."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.sources.kmsg import PATH, DevKmsg, Record, Records, drained, record_of
from tests.requires import lacking

ONE = b"3,1844,226001122,-;NVRM: loading\n"
RECORD = Record(1844, 226_001_122, 3, "NVRM: loading")


def _script(*answers: bytes | int) -> Callable[[], bytes]:
    """A read call that gives these, an int being an errno; then it would block."""
    left = list(answers)

    def read() -> bytes:
        answer = left.pop(0) if left else errno.EAGAIN
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        return answer

    return read


def test_a_record_is_its_head_and_its_first_line() -> None:
    """Further head fields and the KEY=value lines are for others."""
    raw = b"6,339,5140900,c,caller=T1;usb 3-2: new device\n SUBSYSTEM=usb\n DEVICE=c189:3\n"

    assert record_of(raw) == Record(339, 5_140_900, 6, "usb 3-2: new device")


def test_escapes_of_the_kernel_are_undone() -> None:
    """A record of several lines is one line in the device; what is no UTF-8 is marked."""
    raw = rb"3,1,2,-;NVRM: first\x0aNVRM: \xc3\xa9 \xff C:\x5cdir \x4" + b"\n"

    assert record_of(raw) == Record(1, 2, 3, "NVRM: first\nNVRM: é \ufffd C:\\dir \\x4")


@pytest.mark.parametrize(("priority", "is_kernels"), [(3, True), (7, True), (11, False), (30, False)])
def test_who_wrote_a_record_is_in_its_facility(priority: int, is_kernels: bool) -> None:  # noqa: FBT001  # a table's column
    """A program that writes to /dev/kmsg cannot have facility 0."""
    record = record_of(b"%d,1,2,-;NVRM: Xid (PCI:0000:01:00): 79, boo\n" % priority)

    assert record is not None
    assert record.is_kernels is is_kernels


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(raw: bytes) -> None:
    """Alone, or behind a head."""
    record_of(raw)
    record = record_of(b"3,1,2,-;" + raw)

    assert record is not None
    assert "\n" not in record.text or b"\\x0a" in raw


def test_reading_ends_when_nothing_is_left() -> None:
    """EAGAIN is the end, for now."""
    assert drained(_script(ONE, ONE), 10) == Records((RECORD, RECORD), is_drained=True)


def test_overwritten_and_oversized_records_cost_only_themselves() -> None:
    """The kernel has gone on to the next one by itself; so it has after junk."""
    assert drained(_script(errno.EPIPE, ONE, errno.EINVAL, b"junk", ONE), 10) == Records((RECORD, RECORD), is_drained=True)


def test_a_storm_cannot_hold_a_pass() -> None:
    """It goes on with the next one."""
    read = _script(*[ONE] * 5, *[errno.EPIPE] * 5)

    assert [len(drained(read, 4).records), len(drained(read, 4).records), drained(read, 3)] == [4, 1, Records((), is_drained=True)]


def test_an_error_after_some_records_does_not_cost_them() -> None:
    """It is raised by the next look, if it lasts."""
    read = _script(ONE, errno.EIO, errno.EIO)

    assert drained(read, 10) == Records((RECORD,), is_drained=False)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        drained(read, 10)


@pytest.mark.parametrize("make", [Path.touch, os.mkfifo, lambda path: path.symlink_to("/dev/null")], ids=["file", "pipe", "null"])
def test_what_is_no_kernel_log_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """Containers put pipes and other things there, and those would never say anything."""
    make(tmp_path / "kmsg")
    log = DevKmsg(str(tmp_path / "kmsg"))
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(OSError, match="not the kernel log") as caught:
        log.open()
    assert caught.value.errno == errno.ENODEV
    assert len(os.listdir("/proc/self/fd")) == before


def test_this_machines_log_is_read_from_its_start_again_after_a_close() -> None:
    """In order, to its end, and never waited for; closing gives the handle back."""
    log, handles = _machine_log(), len(os.listdir("/proc/self/fd"))
    first, second = log.records(), log.records()
    log.close()
    log.close()
    again = log.records()
    log.close()

    sequences = [record.sequence for record in (*first.records, *second.records)]
    assert sequences == sorted(set(sequences))
    assert {record.sequence for record in first.records[-5:]} <= {record.sequence for record in again.records}
    assert len(os.listdir("/proc/self/fd")) == handles


def _machine_log() -> DevKmsg:
    """This machine's log, not opened yet."""
    log = DevKmsg(PATH)
    try:
        is_empty = not log.records().records
    except OSError as error:
        lacking(f"{PATH} cannot be read ({error.strerror}): run as root or with CAP_SYSLOG on a machine that shows it")
    log.close()
    return log if not is_empty else lacking(f"{PATH} is empty: run on a machine whose kernel has said something")
