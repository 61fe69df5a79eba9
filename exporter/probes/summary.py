"""What a supervisor brings home (outcome.py) as the Report that others see: figures, transports, suspects, and one line on what went wrong.
Pure."""

from collections.abc import Mapping, Sequence
from statistics import median

from exporter.probes.collectives import algorithm_bandwidth, bus_bandwidth
from exporter.probes.fit import Point, fit
from exporter.probes.nccl_log import read_log
from exporter.probes.nccl_words import NcclWords, reasons
from exporter.probes.outcome import Outcome as Run
from exporter.probes.outcome import PairTimes, StepResult
from exporter.probes.pairs import suspects
from exporter.probes.reasons import Failure
from exporter.probes.report import (
    FitReport,
    Kind,
    Library,
    Outcome,
    PairReport,
    Report,
    SizeReport,
    SuspectReport,
    Transport,
)
from exporter.probes.statistics import times

WORDS_MAX = 300
"""A line for a person is no longer."""


def report_of(run: Run, kind: Kind, started_wall_s: float, ended_wall_s: float, gpus: Sequence[str], sent_bytes: int,
              phases_s: Mapping[str, float], active_hcas: int = 0) -> Report:  # fmt: skip
    """The Report of a run. `gpus` are our names of `run.gpus`, in the same order; `phases_s` what took time before it; `active_hcas` the
    ports that sysfs calls ACTIVE."""
    words = read_log(run.logs[0]) if run.logs else NcclWords()
    outcome, reason, detail = _ending(run, words, active_hcas)
    has_measured = outcome in (Outcome.SUCCESS, Outcome.DEGRADED)
    sizes = _sizes(run.steps, words) if has_measured else ()
    pairs = {(pair.source, pair.target): bandwidth for pair in run.pairs if (bandwidth := _speed(pair)) is not None}
    versions = run.versions
    return Report(
        kind,
        outcome,
        started_wall_s,
        ended_wall_s,
        reason,
        detail[:WORDS_MAX],
        tuple(gpus),
        {**phases_s, **run.phases_s},
        sizes,
        _fits(sizes),
        tuple(PairReport(gpus[source], gpus[target], speed) for (source, target), speed in pairs.items()) if has_measured else (),
        _suspects(pairs, gpus) if has_measured else (),
        _transport(words) if run.logs else None,
        Library(versions.nccl, versions.cuda_driver, "path" if versions.path else "loader") if versions is not None else None,
        sent_bytes if run.steps or run.pairs else 0,
        run.gpu_s,
    )


def _ending(run: Run, words: NcclWords, active_hcas: int) -> tuple[Outcome, Failure | None, str]:
    """How it ended. What NCCL said explains a failure better than its return code; a run that measured over the wrong transport is
    degraded."""
    said = reasons(words, active_hcas)
    if run.broken is not None:
        broken = run.broken
        outcome = Outcome.ABORTED if broken.aborted else Outcome.FAILED
        general = broken.reason in (Failure.INIT_ERROR, Failure.REMOTE_ERROR)
        reason = next((one for one in said if general and one in words.failures), broken.reason or Failure.WORKER_CRASH)
        return outcome, reason, broken.words
    slow = next((one for one in said if one in (Failure.NET_FALLBACK_SOCKET, Failure.GDR_OFF)), None)
    if slow is not None:
        return Outcome.DEGRADED, slow, "NCCL took TCP though HCAs are active" if slow is Failure.NET_FALLBACK_SOCKET else (
            "NCCL went over InfiniBand without GPUDirect RDMA")  # fmt: skip
    return Outcome.SUCCESS, None, ""


def _sizes(steps: Sequence[StepResult], words: NcclWords) -> tuple[SizeReport, ...]:
    """One for each collective and size; a check of the same joins its figures."""
    wrong = {(step.collective, step.size_bytes): sum(one.elements for one in step.wrong) for step in steps if step.wrong is not None}
    found: list[SizeReport] = []
    for step in steps:
        figures = times(step.iterations_s)
        if figures is None:
            continue
        choice = words.choice(step.collective, step.size_bytes, step.ranks)
        found.append(SizeReport(
            step.collective, step.size_bytes, step.ranks, figures.p50_s, figures.p95_s, figures.max_s, figures.jitter_ratio,
            median(step.skews_s) if step.skews_s else 0.0, algorithm_bandwidth(step.size_bytes, figures.p50_s) or 0.0,
            bus_bandwidth(step.collective, step.ranks, step.size_bytes, figures.p50_s), choice.algorithm if choice else "",
            choice.protocol if choice else "", wrong.pop((step.collective, step.size_bytes), None), step.iterations_s,
        ))  # fmt: skip
    only_checked = [step for step in steps if (step.collective, step.size_bytes) in wrong]
    return (*found, *(SizeReport(step.collective, step.size_bytes, step.ranks, 0.0, None, 0.0, None, 0.0, 0.0, None,
                                 wrong=wrong[step.collective, step.size_bytes]) for step in only_checked))  # fmt: skip


def _fits(sizes: Sequence[SizeReport]) -> tuple[FitReport, ...]:
    found: list[FitReport] = []
    for collective in dict.fromkeys(size.collective for size in sizes):
        line = fit([Point(size.size_bytes, size.p50_s) for size in sizes if size.collective is collective])
        if line.residual_ratio is not None:
            found.append(FitReport(collective, line.latency_s, line.bandwidth_bytes_per_s, line.residual_ratio))
    return tuple(found)


def _speed(pair: PairTimes) -> float | None:
    """Bytes per second by the median of its copies; None where nothing was timed."""
    return algorithm_bandwidth(pair.size_bytes, median(pair.times_s)) if pair.times_s else None


def _suspects(pairs: Mapping[tuple[int, int], float], gpus: Sequence[str]) -> tuple[SuspectReport, ...]:
    """Whom this one sweep accuses; the ledger of several confirms."""
    return tuple(
        SuspectReport(suspect.kind.scope, "-".join(gpus[place] for place in suspect.gpus if isinstance(place, int)),
                      f"{suspect.kind.value}: {loss:.0%} below the others")
        for suspect, loss in suspects(pairs).items()
    )  # fmt: skip


def _transport(words: NcclWords) -> Transport:
    kinds = "+".join(sorted(words.p2p))
    return Transport(words.network, words.has_gdr, kinds, words.shm_channels > 0, len(words.hcas))
