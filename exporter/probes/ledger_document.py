"""The budget's ledger to and from the JSON kept in the state directory, where probes of the daemon and of a prolog share it. Pure.

What cannot be read counts as nothing spent: a probe too many is cheap. A stuck process is kept too; who starts after a reboot clears it.
"""

from math import isfinite

from exporter.probes.budget import FAILURES_KEPT, RUNS_KEPT, Cost, Ledger, Spent

VERSION = 1
"""Of the document; another one is not read."""


def document_of(ledger: Ledger) -> dict[str, object]:
    """What `ledger_of` reads: numbers, texts, lists and dicts alone."""
    runs = [{"wall_s": run.wall_s, "cost": dict(run.cost._asdict())} for run in ledger.runs]
    return {"version": VERSION, **ledger._asdict(), "runs": runs}


def ledger_of(document: object) -> Ledger:
    """What a document holds; a run or a value that is not what `document_of` writes is left out alone."""
    if not isinstance(document, dict) or document.get("version") != VERSION:
        return Ledger()
    entries = document.get("runs")
    runs = [_run_of(entry) for entry in entries] if isinstance(entries, list) else []
    failures = _number(document.get("failures")) or 0.0
    return Ledger(tuple(run for run in runs if run is not None)[-RUNS_KEPT:], _number(document.get("began_wall_s")),
                  min(int(failures), FAILURES_KEPT), _number(document.get("failed_wall_s")), document.get("is_stuck") is True)  # fmt: skip


def _run_of(entry: object) -> Spent | None:
    cost = entry.get("cost") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(cost, dict):
        return None
    wall_s = _number(entry.get("wall_s"))
    spent = [_number(cost.get(name)) for name in Cost._fields]
    run_s, gpu_s, gpu_bytes, nic_bytes = spent
    if wall_s is None or run_s is None or gpu_s is None or gpu_bytes is None or nic_bytes is None:
        return None
    return Spent(wall_s, Cost(run_s, gpu_s, int(gpu_bytes), int(nic_bytes)))


def _number(value: object) -> float | None:
    """A number that is not negative; None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18
    return float(value) if is_number and isinstance(value, int | float) and isfinite(value) and value >= 0 else None
