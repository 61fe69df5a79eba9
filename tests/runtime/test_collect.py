"""One errand: timed, and no surprise comes out of it."""

import pytest

from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Reading
from exporter.runtime.clock import ManualClock
from exporter.runtime.collect import Errand, run_errand
from tests.runtime.conftest import Records
from tests.runtime.fakes import FakeReader, FakeSource, errands

ALL = tuple(Cadence)


class SpendingClock(ManualClock):
    """Virtual time in which only some of what passes is this thread's work."""

    worked_s = 0.0

    def thread_cpu_s(self) -> float:
        """What the test says was work."""
        return self.worked_s


def broken_at(reader: FakeReader, broken: Cadence, error: Exception) -> FakeReader:
    """The same reader, which raises at that cadence."""

    def behave(cadence: Cadence) -> tuple[tuple[Reading, ...], tuple[Fault, ...]]:
        if cadence is broken:
            raise error
        return reader.counted(), ()

    reader.behave = behave
    return reader


def test_exception_becomes_a_fault_and_other_cadences_go_on() -> None:
    """A bug in one cadence does not cost the two others."""
    reader = broken_at(FakeReader("a", cadences=ALL), Cadence.NORMAL, ZeroDivisionError("one"))
    outcome = run_errand(errands(FakeSource([reader]))[0], ManualClock())

    assert [bool(snapshot.readings) for snapshot in outcome.snapshots] == [True, False, True]
    assert [(f.reason, f.subject) for f in outcome.snapshots[1].faults] == [(Reason.BUG, "a")]
    assert outcome.snapshots[1].faults[0].detail.startswith("ZeroDivisionError: one; this is a bug in fabric-exporter")


def test_exception_in_a_scan_becomes_a_fault() -> None:
    """And the errand has no scan: what was known stays."""
    source = FakeSource([])

    def fail() -> None:
        raise RuntimeError("scan")

    source.before_scan = fail
    outcome = run_errand(Errand(source, None, (Cadence.NORMAL,)), ManualClock())

    assert outcome.scan is None
    assert [f.reason for snapshot in outcome.snapshots for f in snapshot.faults] == [Reason.BUG]


def test_traceback_of_a_bug_is_logged_once(records: Records) -> None:
    """The same bug in each pass is one log line."""
    reader = broken_at(FakeReader("a"), Cadence.FAST, ValueError("said once by this test"))
    for _ in range(3):
        run_errand(errands(FakeSource([reader]))[0], ManualClock())

    assert [record.exc_info is not None for record in records.kept] == [True]


def test_exception_that_cannot_be_shown_is_a_fault_like_any_other() -> None:
    """Its text raises in turn: the thread that reads must not die of it."""

    class Unspeakable(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError("no text")

    outcome = run_errand(errands(FakeSource([broken_at(FakeReader("a"), Cadence.FAST, Unspeakable())]))[0], ManualClock())

    assert [f.reason for f in outcome.snapshots[0].faults] == [Reason.BUG]


def test_cost_of_an_errand_is_that_of_all_its_cadences() -> None:
    """Wall time of the whole."""
    clock = SpendingClock()
    reader = FakeReader("a", cadences=ALL)
    costs_s = {Cadence.FAST: 1.0, Cadence.NORMAL: 2.0, Cadence.SLOW: 4.0}

    def behave(cadence: Cadence) -> tuple[tuple[Reading, ...], tuple[Fault, ...]]:
        clock.advance(costs_s[cadence])
        return reader.counted(), ()

    reader.behave = behave
    outcome = run_errand(errands(FakeSource([reader]))[0], clock)

    assert outcome.elapsed_s == 7.0


def test_time_without_work_is_waiting() -> None:
    """Wall time less the thread's CPU time tells a slow device from much data."""
    clock = SpendingClock()
    reader = FakeReader("a")

    def behave(cadence: Cadence) -> tuple[tuple[Reading, ...], tuple[Fault, ...]]:
        clock.advance(3.0)
        clock.worked_s += 1.0
        return reader.counted(), ()

    reader.behave = behave

    assert run_errand(errands(FakeSource([reader]))[0], clock, measure_wait=True).waited_s == 2.0


@pytest.mark.parametrize("reader", [FakeReader("a"), None])
def test_place_is_source_and_subject(reader: FakeReader | None) -> None:
    """The scan's subject is empty."""
    assert Errand(FakeSource([]), reader, ()).place == ("test", "a" if reader else "")
