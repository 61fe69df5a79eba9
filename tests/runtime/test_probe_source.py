"""Reports of probes become a Reading: each once, whatever lies beside them."""

import json
import os
from pathlib import Path

import pytest

from exporter.catalog import probes as rows
from exporter.model.entity import NODE
from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Number, SeriesKey, Snapshot
from exporter.probes.budget import Ledger, stuck
from exporter.probes.report import Report
from exporter.probes.report_document import document_of
from exporter.runtime.probe_memory import REPORTS_MAX, open_memory, reports_in
from exporter.runtime.probe_source import ProbeReader, ProbeSource
from tests.probes.reports import GOOD

BEGAN_S = GOOD.started_wall_s - 60
NOW_S = GOOD.ended_wall_s + 60
SUCCESSES = (rows.RUNS.key, "node", "success")


@pytest.fixture
def reader(tmp_path: Path) -> ProbeReader:
    """Of a daemon that began a minute before the good probe."""
    (found,) = ProbeSource(str(tmp_path), 900.0, BEGAN_S).scan(0.0, 0.0).readers
    return found


def leave(folder: Path, report: Report) -> None:
    """As `fabric-exporter probe` does."""
    memory = open_memory(str(folder))
    memory.hand_over(report)
    memory.close()


def look(reader: ProbeReader) -> Snapshot:
    """One pass."""
    return reader.read(Cadence.NORMAL, NOW_S, 0.0)


def values(snapshot: Snapshot) -> dict[SeriesKey, Number]:
    """The node's; there must be a Reading."""
    (reading,) = snapshot.readings
    assert reading.entity == NODE
    return dict(reading.values)


def test_nothing_is_shown_where_nobody_probes(reader: ProbeReader) -> None:
    """No folder, no series, no fault."""
    assert (look(reader).readings, look(reader).faults) == ((), ())


def test_each_report_counts_once(reader: ProbeReader, tmp_path: Path) -> None:
    """However often it is looked at; a second one counts too."""
    leave(tmp_path, GOOD)
    first, again = values(look(reader))[SUCCESSES], values(look(reader))[SUCCESSES]
    leave(tmp_path, GOOD._replace(started_wall_s=GOOD.started_wall_s + 900, ended_wall_s=GOOD.ended_wall_s + 900))

    assert (first, again, values(look(reader))[SUCCESSES]) == (1, 1, 2)


def test_a_torn_report_is_one_fault_and_costs_no_other(reader: ProbeReader, tmp_path: Path) -> None:
    """Told once, not each pass."""
    leave(tmp_path, GOOD)
    folder = tmp_path / "probes" / "reports"
    (folder / "0000000000.000-node.json").write_text(json.dumps(document_of(GOOD))[:100])
    first, second = look(reader), look(reader)

    assert [(fault.subject, fault.reason) for fault in first.faults] == [("0000000000.000-node.json", Reason.PARSE)]
    assert values(first)[SUCCESSES] == 1
    assert second.faults == ()


def test_a_report_from_before_the_daemon_is_shown_and_not_counted(tmp_path: Path) -> None:
    """A restart is no run."""
    leave(tmp_path, GOOD)
    found = values(look(ProbeReader(str(tmp_path / "probes"), 900.0, NOW_S)))

    assert found[SUCCESSES] == 0
    assert found[rows.LAST_SUCCESS.key, "node"] == GOOD.ended_wall_s


def test_a_stuck_process_is_shown(reader: ProbeReader, tmp_path: Path) -> None:
    """By the ledger."""
    memory = open_memory(str(tmp_path))
    memory.hand_over(GOOD)
    memory.keep_ledger(stuck(Ledger()))
    memory.close()

    assert values(look(reader))[rows.STUCK.key] == 1
    assert values(look(reader))[rows.CIRCUIT_OPEN.key] == 1


def test_reports_that_nobody_reads_do_not_fill_the_disk(tmp_path: Path) -> None:
    """The oldest leave."""
    memory = open_memory(str(tmp_path))
    for number in range(REPORTS_MAX + 3):
        memory.hand_over(GOOD._replace(started_wall_s=GOOD.started_wall_s + number))
    names = sorted(os.path.basename(path) for path in reports_in(str(tmp_path / "probes")))
    memory.close()

    assert len(names) == REPORTS_MAX
    assert names[0].startswith("1800000003.000")
