"""Probes as a source: reads the reports that `fabric-exporter probe` left in the state directory, each once, and shows what they come to.

A probe runs in a process of its own, of a timer, a prolog or a person; the daemon measures nothing and touches no GPU for it. A report that
cannot be read is a Fault and is not looked at again.
"""

import json
import os
from dataclasses import dataclass

from exporter.model.entity import NODE
from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.probes import tally as tallies
from exporter.probes.report import Report
from exporter.probes.report_document import report_in
from exporter.probes.series import values_of
from exporter.runtime.probe_memory import FOLDER, ledger_in, reports_in
from exporter.sources.fault_list import FaultList

SOURCE = "probes"
SUBJECT = "reports"
REPORT_MAX_BYTES = 4 << 20
STALE_INTERVALS = 2
"""What was measured is shown for so many intervals of probes (research/nccl-probe.md §4)."""


class ProbeReader:
    """All reports of the node. `began_wall_s`: what was probed before is shown and not counted."""

    subject = SUBJECT
    cadences = (Cadence.NORMAL,)

    def __init__(self, folder: str, interval_s: float, began_wall_s: float) -> None:
        self._folder = folder
        self._stale_after_s = STALE_INTERVALS * interval_s
        self._began_wall_s = began_wall_s
        self._tally = tallies.begun()
        self._known: set[str] = set()

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """A Reading of the node once there has been any probe; none before, for then nobody probes here."""
        faults = FaultList(SOURCE)
        present = set(reports_in(self._folder))
        for path in sorted(present - self._known):
            report = _report(path, faults)
            if report is not None:
                take = tallies.taken if report.ended_wall_s >= self._began_wall_s else tallies.seen
                self._tally = take(self._tally, report)
        self._known = present
        readings = (Reading(NODE, self._values(wall_s)),) if self._tally.last else ()
        return Snapshot(Feed(SOURCE, SUBJECT, cadence), wall_s, monotonic_s, readings, tuple(faults.faults))

    def close(self) -> None:
        """Nothing is kept open."""

    def _values(self, wall_s: float) -> dict[SeriesKey, Number]:
        ledger = ledger_in(self._folder)
        return values_of(self._tally, wall_s, self._stale_after_s, is_circuit_open=ledger.is_circuit_open, is_stuck=ledger.is_stuck)


@dataclass(frozen=True, slots=True)
class ProbeScan:
    """The one reader, always the same; a scan itself finds nothing."""

    readers: tuple[ProbeReader, ...]
    snapshot: Snapshot


class ProbeSource:
    """Reports below that state directory."""

    name = SOURCE

    def __init__(self, state_dir: str, interval_s: float, began_wall_s: float) -> None:
        folder = os.path.join(state_dir, FOLDER)
        self.looked_for = f"reports of `fabric-exporter probe` in {folder}"
        self._reader = ProbeReader(folder, interval_s, began_wall_s)

    def scan(self, wall_s: float, monotonic_s: float) -> ProbeScan:
        """The reader."""
        return ProbeScan((self._reader,), Snapshot(Feed(SOURCE, "", Cadence.NORMAL), wall_s, monotonic_s, ()))


def _report(path: str, faults: FaultList) -> Report | None:
    try:
        with open(path, "rb") as file:
            return report_in(json.loads(file.read(REPORT_MAX_BYTES)))
    except FileNotFoundError:
        return None  # the oldest leaves while we look
    except OSError as error:
        faults.add_error(os.path.basename(path), error)
    except (ValueError, RecursionError) as error:
        faults.add(os.path.basename(path), Reason.PARSE, str(error)[:200])
    return None
