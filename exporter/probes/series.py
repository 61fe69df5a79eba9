"""A tally as the numbers of a Reading: which row each is. Pure.

Counts and times of day stay; what was measured leaves once it is too old, for a number of an hour ago says nothing of now.
"""

from collections.abc import Iterator
from itertools import accumulate

from exporter.catalog import probes as rows
from exporter.model.metric import OBSERVATIONS, SUM
from exporter.model.snapshot import Number, SeriesKey
from exporter.probes.baseline import State
from exporter.probes.report import Kind, Report, SizeReport
from exporter.probes.tally import BOUNDS_S, Tally

_BUCKETS = (*(f"{bound:g}" for bound in BOUNDS_S), "+Inf")
_FLAGS = {True: "1", False: "0", None: ""}


def values_of(tally: Tally, now_wall_s: float, stale_after_s: float, *, is_circuit_open: bool, is_stuck: bool) -> dict[SeriesKey, Number]:
    """Every series of the node's probes; figures only of reports that ended within the last `stale_after_s`."""
    values: dict[SeriesKey, Number] = {rows.CIRCUIT_OPEN.key: int(is_circuit_open), rows.STUCK.key: int(is_stuck)}
    values |= {(rows.RUNS.key, kind.value, outcome.value): count for (kind, outcome), count in tally.runs.items()}
    values |= {(rows.SKIPPED.key, kind.value, reason.value): count for (kind, reason), count in tally.skipped.items()}
    values |= {(rows.FAILURES.key, kind.value, reason.value): count for (kind, reason), count in tally.failures.items()}
    values |= {(rows.WRONG.key, collective): count for collective, count in tally.wrong.items()}
    values |= {(rows.BYTES.key, kind.value): count for kind, count in tally.sent_bytes.items()}
    values |= {(rows.GPU_SECONDS.key, kind.value): spent for kind, spent in tally.gpu_s.items()}
    for kind, report in tally.last.items():
        values[rows.LAST_RUN.key, kind.value] = report.started_wall_s
        values |= {(rows.LAST_DURATION.key, kind.value, phase): spent for phase, spent in report.phases_s.items()}
    for kind, report in tally.measured.items():
        values[rows.LAST_SUCCESS.key, kind.value] = report.ended_wall_s
        if 0 <= now_wall_s - report.ended_wall_s <= stale_after_s:
            values |= dict(_figures(kind, report))
    values |= dict(_histograms(tally))
    return values


def _figures(kind: Kind, report: Report) -> Iterator[tuple[SeriesKey, Number]]:
    """What the newest probe of the kind measured."""
    for size in report.sizes:
        if size.p50_s > 0:
            yield from _of_size(kind, size)
    for one in report.usual:
        labels = (kind.value, one.collective.value, str(one.size_bytes))
        yield (rows.LEARNING.key, *labels), int(one.ratio is None)
        if one.ratio is not None:
            yield (rows.BASELINE.key, *labels), one.ratio
    for fit in report.fits:
        yield (rows.FIT_RESIDUAL.key, fit.collective.value), fit.residual_ratio
        if fit.latency_s is not None:
            yield (rows.FIT_LATENCY.key, fit.collective.value), fit.latency_s
        if fit.bandwidth is not None:
            yield (rows.FIT_BANDWIDTH.key, fit.collective.value), fit.bandwidth
    for pair in report.pairs:
        yield (rows.PAIR_BANDWIDTH.key, pair.source, pair.target), pair.bandwidth
    for suspect in report.suspects:
        yield (rows.SUSPECT.key, suspect.scope, suspect.id), 1
    for state in State:
        yield (rows.STATE.key, kind.value, state.value), int(report.state is state)
    if report.transport is not None:
        way = report.transport
        count = "" if way.hca_count is None else str(way.hca_count)
        yield (rows.TRANSPORT.key, way.net, _FLAGS[way.gdr], way.p2p, _FLAGS[way.shm], count), 1
    if report.library is not None:
        yield (rows.NCCL.key, *report.library), 1


def _of_size(kind: Kind, size: SizeReport) -> Iterator[tuple[SeriesKey, Number]]:
    labels = (kind.value, size.collective.value, str(size.size_bytes), size.algo, size.proto)
    yield (rows.ALGORITHM_BANDWIDTH.key, *labels), size.algorithm_bandwidth
    if size.bus_bandwidth is not None:
        yield (rows.BUS_BANDWIDTH.key, *labels), size.bus_bandwidth
    for stat, seconds in (("p50", size.p50_s), ("p95", size.p95_s), ("max", size.max_s)):
        if seconds is not None:
            yield (rows.LATENCY.key, *labels, stat), seconds
    if kind is Kind.NODE:  # these rows have no kind
        yield (rows.RANK_SKEW.key, size.collective.value, str(size.size_bytes)), size.skew_s
        if size.jitter_ratio is not None:
            yield (rows.JITTER.key, size.collective.value, str(size.size_bytes)), size.jitter_ratio


def _histograms(tally: Tally) -> Iterator[tuple[SeriesKey, Number]]:
    for (collective, size_bytes), times in tally.iterations.items():
        labels = (rows.ITERATIONS.key, collective, str(size_bytes))
        total = 0
        for bound, total in zip(_BUCKETS, accumulate(times.counts), strict=True):
            yield (*labels, bound), total
        yield (*labels, SUM), times.sum_s
        yield (*labels, OBSERVATIONS), total
