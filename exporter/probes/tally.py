"""What a node's probes come to since the daemon began: runs by outcome, reasons, cost, corrupt elements, times of single collectives; and
the last of each kind. Pure: `taken(tally, report)`.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from exporter.probes.judge import MEASURED
from exporter.probes.reasons import Failure, Skipped
from exporter.probes.report import Kind, Outcome, Report

BOUNDS_S = (1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1)
"""Upper bounds of the histogram of single collectives: from one on NVLink to one between many nodes."""


class Times(NamedTuple):
    """A histogram: `counts` of each bucket, the last one for what is beyond the bounds, and the sum."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS_S) + 1)
    sum_s: float = 0.0

    def with_time(self, seconds: float) -> "Times":
        """With one more."""
        at = bisect_left(BOUNDS_S, seconds)
        return Times((*self.counts[:at], self.counts[at] + 1, *self.counts[at + 1 :]), self.sum_s + seconds)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts by kind and the rest of their labels; `last` and `measured` hold the newest report of each kind, and the newest that
    measured."""

    runs: Mapping[tuple[Kind, Outcome], int] = field(default_factory=dict)
    skipped: Mapping[tuple[Kind, Skipped], int] = field(default_factory=dict)
    failures: Mapping[tuple[Kind, Failure], int] = field(default_factory=dict)
    wrong: Mapping[str, int] = field(default_factory=dict)
    sent_bytes: Mapping[Kind, int] = field(default_factory=dict)
    gpu_s: Mapping[Kind, float] = field(default_factory=dict)
    iterations: Mapping[tuple[str, int], Times] = field(default_factory=dict)
    last: Mapping[Kind, Report] = field(default_factory=dict)
    measured: Mapping[Kind, Report] = field(default_factory=dict)


def begun(kinds: tuple[Kind, ...] = (Kind.NODE,)) -> Tally:
    """Every count of these kinds at 0, so that the first of anything is a rise."""
    return Tally(
        {(kind, outcome): 0 for kind in kinds for outcome in Outcome},
        {(kind, reason): 0 for kind in kinds for reason in Skipped},
        {(kind, reason): 0 for kind in kinds for reason in Failure},
        sent_bytes=dict.fromkeys(kinds, 0),
        gpu_s=dict.fromkeys(kinds, 0.0),
    )


def seen(before: Tally, report: Report) -> Tally:
    """With a report of a probe from before the daemon began: shown as the last one, and not counted, as counts begin anew."""
    measured = {**before.measured, report.kind: report} if report.outcome in MEASURED else before.measured
    return replace(before, last={**before.last, report.kind: report}, measured=measured)


def taken(before: Tally, report: Report) -> Tally:
    """With one more probe."""
    kind = report.kind
    after = seen(before, report)
    skipped, failures = dict(before.skipped), dict(before.failures)
    if isinstance(report.reason, Skipped):
        skipped[kind, report.reason] = skipped.get((kind, report.reason), 0) + 1
    elif report.reason is not None:
        failures[kind, report.reason] = failures.get((kind, report.reason), 0) + 1
    wrong, iterations = dict(before.wrong), dict(before.iterations)
    for size in report.sizes:
        if size.wrong is not None:
            wrong[size.collective.value] = wrong.get(size.collective.value, 0) + size.wrong
        key = (size.collective.value, size.size_bytes)
        for seconds in size.iterations_s:
            iterations[key] = iterations.get(key, Times()).with_time(seconds)
    return replace(
        after,
        runs={**before.runs, (kind, report.outcome): before.runs.get((kind, report.outcome), 0) + 1},
        skipped=skipped, failures=failures, wrong=wrong, iterations=iterations,
        sent_bytes={**before.sent_bytes, kind: before.sent_bytes.get(kind, 0) + report.sent_bytes},
        gpu_s={**before.gpu_s, kind: before.gpu_s.get(kind, 0.0) + report.gpu_s},
    )  # fmt: skip
