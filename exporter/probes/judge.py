"""A probe's numbers against this node's own past: what each is of its usual, and what the probe as a whole says. Pure.

Bandwidth is judged by the long messages, latency by the short ones, each by the keys of baseline_store.py. A probe that did not measure, or
measured beside other traffic, teaches nothing and is not judged. Corrupt data needs no second look.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from exporter.probes.baseline import Judgement, Measure, State
from exporter.probes.baseline_store import Baselines, Key
from exporter.probes.collectives import Collective
from exporter.probes.expected import Path, floor
from exporter.probes.plan import BANDWIDTH_SIZES
from exporter.probes.reasons import Failure
from exporter.probes.report import Kind, Outcome, Report, SizeReport, UsualReport

MEASURED = frozenset({Outcome.SUCCESS, Outcome.DEGRADED})
_PATHS = {Kind.NODE: Path.WITHIN_NODE, Kind.LOOPBACK: Path.LOOPBACK, Kind.BETWEEN_NODES: Path.BETWEEN_NODES}
_ORDER = (State.OK, State.SUSPECT, State.DEGRADED)


class Judged(NamedTuple):
    """`report` with the outcome that follows from `by`: (collective, size) → the judgement of its bandwidth or latency."""

    report: Report
    by: Mapping[tuple[Collective, int], Judgement]

    @property
    def state(self) -> State:
        """The worst of all; corrupt data is degraded."""
        if any(size.wrong for size in self.report.sizes):
            return State.DEGRADED
        return max((one.state for one in self.by.values()), key=_ORDER.index, default=State.OK)


def judged(report: Report, baselines: Baselines, product: str = "") -> tuple[Judged, Baselines]:
    """The probe judged, and what is remembered after it. `product` is the GPUs' name, for published floors."""
    if report.outcome not in MEASURED or report.contended:
        return Judged(report, {}), baselines
    by: dict[tuple[Collective, int], Judgement] = {}
    for size in _timed(report.sizes):
        measure = Measure.BANDWIDTH if size.size_bytes >= BANDWIDTH_SIZES[0] else Measure.LATENCY
        value = size.bus_bandwidth if measure is Measure.BANDWIDTH else size.p50_s
        if value is None:
            continue
        published = floor(product, size.ranks, size.collective, size.size_bytes, size.algo, _PATHS[report.kind])
        least = published.bytes_per_s if published is not None and measure is Measure.BANDWIDTH else None
        baselines, by[size.collective, size.size_bytes] = baselines.step(_key(report, size, measure), value, report.ended_wall_s, least)
    found = Judged(report, by)
    usual = tuple(UsualReport(collective, size_bytes, one.state, one.ratio) for (collective, size_bytes), one in by.items())
    return found._replace(report=_concluded(found)._replace(usual=usual, state=found.state)), baselines


def _timed(sizes: Iterable[SizeReport]) -> Iterable[SizeReport]:
    """One that was only checked has no times."""
    return (size for size in sizes if size.p50_s > 0)


def _key(report: Report, size: SizeReport, measure: Measure) -> Key:
    library = report.library
    nccl, driver = (library.nccl, library.cuda_driver) if library is not None else ("", "")
    return Key(
        report.kind.value, measure, ",".join(report.gpus), size.collective.value, size.size_bytes, size.algo, size.proto, nccl, driver
    )


def _concluded(found: Judged) -> Report:
    """With the outcome, and a line for a person."""
    report = found.report
    wrong = sum(size.wrong or 0 for size in report.sizes)
    if wrong:
        return report._replace(outcome=Outcome.DEGRADED, reason=Failure.DATA_MISMATCH,
                               detail=f"{wrong} elements came out wrong: corrupt data")  # fmt: skip
    low = [(key, one) for key, one in found.by.items() if one.state is not State.OK and one.ratio is not None]
    if found.state is State.DEGRADED and low:
        (collective, size_bytes), worst = min(low, key=lambda pair: pair[1].ratio or 0.0)
        words = f"{collective.value} of {size_bytes} bytes reaches {worst.ratio:.0%} of this node's usual"
        return report._replace(outcome=Outcome.DEGRADED, detail=words)
    return report
