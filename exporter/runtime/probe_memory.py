"""What probes remember on this node, in a folder of their own below the state directory: the lock, what they have cost, what is usual here,
and a report of each run for the daemon to read.

Knows the files and who may write them; what is in them is probes/'s. Where nothing can be kept a probe runs all the same and says so.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass

from exporter.probes import baseline_store, ledger_document
from exporter.probes.baseline_store import Baselines
from exporter.probes.budget import Ledger
from exporter.probes.report import Report
from exporter.probes.report_document import document_of
from exporter.runtime.state_dir import StateDir, StateInUseError, StateLock, lock_state_dir, open_state_dir
from exporter.runtime.state_file import StateFile, state_file
from exporter.runtime.whole_file import ALL_MAY_READ, write_whole

FOLDER = "probes"
REPORTS = "reports"
LEDGER, VERSION = "ledger.json", 1
REPORTS_MAX = 100
"""Reports that nobody has read; then the oldest leaves. A probe every quarter of an hour fills them in a day."""


@dataclass(frozen=True, slots=True)
class ProbeMemory:
    """The folder, and who holds it. `problem` says what cannot be kept ("" if all can); `taken` by whom it is held, if not by us."""

    state: StateDir
    lock: StateLock | None = None
    taken: str = ""

    @property
    def problem(self) -> str:
        """One line on what cannot be kept; "" if all can."""
        return self.state.problem or ""

    def ledger(self) -> Ledger:
        """What probes have cost; a new one where nothing is kept."""
        return ledger_in(self.state.path) if self.state.writable else Ledger()

    def baselines(self) -> Baselines:
        """What is usual on this node."""
        file = self._file("baselines.json")
        return baseline_store.baselines_of(file.load()[0]) if file is not None else Baselines()

    def keep_ledger(self, ledger: Ledger) -> None:
        """Write it."""
        self._save(LEDGER, ledger_document.document_of(ledger))

    def keep_baselines(self, baselines: Baselines) -> None:
        """Write them."""
        self._save("baselines.json", baseline_store.document_of(baselines))

    def hand_over(self, report: Report) -> None:
        """Leave the report for the daemon. A disk that is full loses it, and nothing else."""
        if not self.state.writable:
            return
        folder = os.path.join(self.state.path, REPORTS)
        try:
            os.makedirs(folder, mode=0o755, exist_ok=True)
            name = f"{report.started_wall_s:.3f}-{report.kind.value}.json"
            write_whole(os.path.join(folder, name), json.dumps(document_of(report)), ALL_MAY_READ)
            for old in sorted(reports_in(self.state.path))[:-REPORTS_MAX]:
                os.unlink(old)
        except OSError:
            return

    def close(self) -> None:
        """Let another probe have it."""
        if self.lock is not None:
            self.lock.release()

    def _file(self, name: str) -> StateFile | None:
        return state_file(self.state, name, VERSION)

    def _save(self, name: str, document: dict[str, object]) -> None:
        file = self._file(name)
        if file is not None:
            file.save(document)


def open_memory(state_dir: str) -> ProbeMemory:
    """The folder below that state directory, held for this probe if nobody else holds it."""
    state = open_state_dir(os.path.join(state_dir, FOLDER))
    try:
        return ProbeMemory(state, lock_state_dir(state.path))
    except StateInUseError as error:
        whose = str(error).partition(" is in use by ")[2].partition(":")[0]
        return ProbeMemory(state, taken=f"{whose or 'another process'} probes")


def ledger_in(folder: str) -> Ledger:
    """The ledger below a probes folder; a new one where there is none that can be read."""
    return ledger_document.ledger_of(StateFile(os.path.join(folder, LEDGER), VERSION).load()[0])


def reports_in(folder: str) -> Iterator[str]:
    """Paths of the reports below a probes folder, in no order; none where there is no such folder."""
    try:
        for entry in os.scandir(os.path.join(folder, REPORTS)):
            if entry.name.endswith(".json"):
                yield entry.path
    except OSError:
        return
