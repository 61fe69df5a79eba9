"""Origins that are asked now and then: how often, how long their word counts, and what is told when one cannot be asked."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from exporter.catalog import internals
from exporter.model.fault import Reason
from exporter.model.maintenance import Claim, Maintenance
from exporter.model.snapshot import Number, SeriesKey
from exporter.runtime.clock import ManualClock, SystemClock
from exporter.runtime.maintenance_file import MaintenanceFile
from exporter.runtime.maintenance_origins import MaintenanceOrigins
from exporter.runtime.origin import OriginError
from exporter.runtime.slurm_node import SlurmNode
from tests.runtime.fake_scontrol import DRAINED, IDLE, FakeScontrol, on_path
from tests.runtime.fakes import PATIENCE_S

DRAIN = Claim("slurm", "swap optics")


def silent() -> Claim | None:
    """Cannot be asked."""
    raise OriginError(Reason.TIMEOUT, "scontrol has not ended within 10 s and was killed")


def denied() -> Claim | None:
    """Likewise, for another reason."""
    raise OriginError(Reason.DENIED, "no")


@dataclass
class Scripted:
    """An origin that answers as the test says. `asked` counts."""

    name: str = "slurm"
    interval_s: float = 60.0
    answer: Callable[[], Claim | None] = lambda: None
    asked: int = 0
    closed: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> Claim | None:
        """Count, then answer."""
        self.asked += 1
        return self.answer()

    def close(self) -> None:
        """Note it."""
        self.closed.set()


def steps(origins: MaintenanceOrigins, clock: ManualClock, span_s: float, step_s: float = 10.0) -> None:
    """Let that much time pass, with a beat every `step_s`."""
    for _ in range(round(span_s / step_s)):
        clock.advance(step_s)
        origins.ask_due()


def values(origins: MaintenanceOrigins) -> dict[SeriesKey, Number]:
    """All rows together."""
    return {key: value for reading in origins.readings() for key, value in reading.values.items()}


def test_each_is_asked_at_its_interval() -> None:
    """At once, then within an interval by the name of the node, then regularly."""
    clock, quick, slow = ManualClock(), Scripted(interval_s=30.0), Scripted("kubernetes", 60.0)
    origins = MaintenanceOrigins([quick, slow], clock, "gpu-1")
    origins.ask_due()
    at_once = quick.asked, slow.asked
    steps(origins, clock, 600.0, 1.0)

    assert at_once == (1, 1)
    assert (quick.asked, slow.asked) in [(21 + a, 11 + b) for a in (0, 1) for b in (0, 1)]


def test_a_fleet_that_started_at_once_does_not_ask_at_once_for_ever() -> None:
    """The second question comes at another moment on each node; the same one after each start."""
    due_s = [MaintenanceOrigins([Scripted()], ManualClock(), f"gpu-{number}").ask_due() for number in (*range(50), 0)]

    assert due_s[0] == due_s[-1]
    assert len({round(moment_s) for moment_s in due_s}) > 25
    assert all(0.0 <= moment_s <= 60.0 for moment_s in due_s)


def test_a_word_counts_for_three_intervals_after_it_was_asked_for() -> None:
    """Then whoever gave it has been away too long: absent is not zero, and not one either."""
    clock, origin = ManualClock(), Scripted(answer=lambda: DRAIN)
    origins = MaintenanceOrigins([origin], clock)
    origins.ask_due()
    origin.answer = silent
    counted = []
    for _ in range(20):
        counted.append(bool(origins.claims()))
        steps(origins, clock, 10.0)

    assert counted == [True] * 19 + [False]


def test_a_word_that_is_taken_back_ends_at_once() -> None:
    """The node is idle again."""
    clock, origin = ManualClock(), Scripted(answer=lambda: DRAIN)
    origins = MaintenanceOrigins([origin], clock)
    origins.ask_due()
    before = origins.claims()
    origin.answer = lambda: None
    steps(origins, clock, 60.0)

    assert (before, origins.claims()) == ((DRAIN,), ())


def test_one_that_never_answered_claims_nothing_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    """Counted each time; another reason has a line of its own, and so has the answer after all."""
    caplog.set_level(logging.INFO)
    clock, origin = ManualClock(), Scripted(answer=silent)
    origins = MaintenanceOrigins([origin], clock)
    origins.ask_due()
    steps(origins, clock, 300.0)
    failed = values(origins)
    origin.answer = denied
    steps(origins, clock, 300.0)
    claimed = origins.claims()
    origin.answer = lambda: DRAIN
    steps(origins, clock, 120.0)
    lines = [record.getMessage() for record in caplog.records]

    assert claimed == ()
    assert [line.partition(" source=")[0] for line in lines] == [
        "cannot ask whether somebody works on the node", "cannot ask whether somebody works on the node", "the node is in maintenance",
        "asked again with success",
    ]  # fmt: skip
    assert "source=slurm reason=timeout: scontrol has not ended within 10 s and was killed; " in lines[0]
    assert failed[internals.SOURCE_UP.key, "slurm"] == 0
    assert failed[internals.SOURCE_FAULTS.key, "slurm", "timeout"] == 6
    assert (internals.SOURCE_LAST_SUCCESS.key, "slurm") not in failed


def test_rows_tell_how_an_origin_is_doing() -> None:
    """Nothing of `up` before it was asked; faults at 0 from the beginning."""
    clock = ManualClock()
    origins = MaintenanceOrigins([Scripted(answer=lambda: DRAIN)], clock)
    before = values(origins)
    clock.advance(5.0)
    origins.ask_due()
    after = values(origins)
    clock.advance(181.0)  # a question that does not come back

    assert (internals.SOURCE_UP.key, "slurm") not in before
    assert before[internals.SOURCE_FAULTS.key, "slurm", "io"] == 0
    assert after[internals.SOURCE_UP.key, "slurm"] == 1
    assert after[internals.SOURCE_LAST_SUCCESS.key, "slurm"] == clock.wall_s() - 181.0
    assert values(origins)[internals.SOURCE_UP.key, "slurm"] == 0


def test_one_that_fails_costs_the_other_nothing() -> None:
    """They are asked by one thread."""
    origins = MaintenanceOrigins([Scripted(answer=silent), Scripted("kubernetes", answer=lambda: Claim("kubernetes", "x"))], ManualClock())
    origins.ask_due()

    assert origins.claims() == (Claim("kubernetes", "x"),)


def test_they_are_told_beside_the_file(tmp_path: Path) -> None:
    """Each with its reason; without a file just as well."""
    clock = ManualClock()
    origins = MaintenanceOrigins([Scripted(answer=lambda: DRAIN)], clock)
    file = MaintenanceFile(str(tmp_path / "maintenance"), origins.claims)
    told = [file.at(clock.wall_s())]
    origins.ask_due()
    told.append(file.at(clock.wall_s()))
    file.begin(clock.wall_s(), 60.0, "new cables")
    told.append(file.at(clock.wall_s()))

    assert told == [
        Maintenance(),
        Maintenance(is_active=True, reason="slurm: swap optics"),
        Maintenance(is_active=True, reason="file: new cables; slurm: swap optics"),
    ]


def test_without_origins_there_is_no_thread() -> None:
    """The daemon of a site that asks nobody."""
    before = threading.active_count()
    origins = MaintenanceOrigins((), SystemClock())
    origins.start()

    assert threading.active_count() == before
    assert (origins.claims(), origins.readings()) == ((), ())


def test_neither_start_nor_stop_waits_for_an_answer() -> None:
    """Though one hangs; its late answer changes nothing that anybody asks for."""
    release = threading.Event()
    origin = Scripted(answer=lambda: DRAIN if release.wait(PATIENCE_S) else None)
    origins = MaintenanceOrigins([origin], SystemClock())
    before, began_s = set(threading.enumerate()), time.monotonic()
    origins.start()
    while not origin.asked:
        time.sleep(0.01)
    claimed = origins.claims()
    origins.stop()
    took_s = time.monotonic() - began_s
    (thread,) = set(threading.enumerate()) - before
    release.set()
    thread.join(PATIENCE_S)

    assert took_s < 5.0
    assert claimed == ()
    assert origin.closed.is_set()
    assert not thread.is_alive()


def test_a_real_scontrol_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drained, idle, and away until nothing of it counts; each time asked is a process."""
    scontrol: FakeScontrol = on_path(tmp_path, monkeypatch)
    clock = ManualClock()
    origins = MaintenanceOrigins([SlurmNode("gpu-1", 60.0, PATIENCE_S, clock)], clock)
    told = []
    for script in (DRAINED, "", "", "", DRAINED, IDLE):
        scontrol.prints(script) if script else scontrol.does("exit 1\n")
        clock.advance(61.0)
        origins.ask_due()
        told.append(bool(origins.claims()))

    assert told == [True, True, True, False, True, False]
