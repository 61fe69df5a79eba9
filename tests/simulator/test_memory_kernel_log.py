"""The kernel log in memory behaves as /dev/kmsg does."""

import errno

import pytest

from exporter.simulator.memory_kernel_log import ERROR, MemoryKernelLog
from exporter.sources.kmsg import Record, Records


def _texts(seen: Records) -> list[str]:
    return [record.text for record in seen.records]


def test_each_record_comes_once_until_the_log_is_opened_anew() -> None:
    """Then all that are left come again, under their old numbers."""
    log = MemoryKernelLog()
    log.append("one", usec=7)
    first = log.records()
    log.append("two")
    second = log.records()
    log.close()

    assert first == Records((Record(0, 7, ERROR, "one"),), is_drained=True)
    assert (_texts(second), [record.sequence for record in log.records().records]) == (["two"], [0, 1])


def test_a_full_ring_forgets_its_oldest() -> None:
    """The reader sees a gap in the numbers, as with EPIPE."""
    log = MemoryKernelLog(capacity=2)
    log.append("one", "two", "three")
    log.overwrite(1)

    assert [(record.sequence, record.text) for record in log.records().records] == [(2, "three")]


def test_one_look_brings_no_more_than_its_share() -> None:
    """And says that there is more."""
    log = MemoryKernelLog(records_max=2)
    log.append("one", "two", "three")

    assert [(_texts(seen), seen.is_drained) for seen in (log.records(), log.records(), log.records())] == [
        (["one", "two"], False), (["three"], True), ([], True)
    ]  # fmt: skip


def test_who_is_denied_gets_the_errno_until_that_ends() -> None:
    """At opening and at reading; nothing is lost by it."""
    log = MemoryKernelLog()
    log.append("one")
    log.deny(errno.EPERM)
    for call in (log.open, log.records):
        with pytest.raises(PermissionError):
            call()
    log.deny(None)

    assert (_texts(log.records()), log.opens) == (["one"], 1)
