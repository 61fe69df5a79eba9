"""A probe in words, for a person: each gate, or what was measured. Pure."""

from collections.abc import Iterator, Sequence

from exporter.probes.baseline import Judgement, State
from exporter.probes.gates import Gate
from exporter.probes.judge import Judged
from exporter.probes.plan import BANDWIDTH_SIZES
from exporter.probes.report import Outcome, Report, SizeReport, Transport

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def gates_text(gates: Sequence[Gate]) -> str:
    """One line for each gate, in the order in which they count."""
    return "".join(f"{'open' if gate.is_open else 'SHUT'}  {gate.reason.value:<22}  {gate.detail}\n" for gate in gates)


def probe_text(found: Judged) -> str:
    """What came of it: one line on the whole, then size by size."""
    return "".join(f"{line}\n" for line in _lines(found))


def _lines(found: Judged) -> Iterator[str]:
    report = found.report
    yield f"{_headline(report, found.state)}{f': {report.detail}' if report.detail else ''}"
    for size in report.sizes:
        if size.p50_s > 0:
            usual = _usual(found.by.get((size.collective, size.size_bytes)))
            yield f"  {size.collective.value:<14} {_size(size.size_bytes):>8}  {_figures(size)}{usual}"
        if size.wrong:
            yield f"  {size.collective.value:<14} {_size(size.size_bytes):>8}  {size.wrong} ELEMENTS WRONG"
    for line in report.fits:
        parts = [f"latency {line.latency_s * 1e6:.1f} us" if line.latency_s is not None else "",
                 f"bandwidth {line.bandwidth / 1e9:.1f} GB/s" if line.bandwidth is not None else ""]  # fmt: skip
        told = ", ".join(part for part in parts if part) or "no straight line fits"
        yield f"  {line.collective.value}: {told} (largest distance {line.residual_ratio:.0%})"
    if report.pairs:
        speeds = sorted(pair.bandwidth for pair in report.pairs)
        yield f"  copies between GPUs: {speeds[0] / 1e9:.1f} to {speeds[-1] / 1e9:.1f} GB/s"
    for suspect in report.suspects:
        yield f"  suspect: {suspect.scope} {suspect.id}, {suspect.words}"
    if report.transport is not None:
        yield f"  {_transport(report.transport)}"


def _headline(report: Report, state: State) -> str:
    match report.outcome:
        case Outcome.SUCCESS:
            well = "" if state is State.OK else f", {state.value} by its last runs"
            return f"{len(report.gpus)} GPUs in {report.ended_wall_s - report.started_wall_s:.1f} s{well}"
        case Outcome.DEGRADED:
            return f"{len(report.gpus)} GPUs: DEGRADED"
        case Outcome.SKIPPED | Outcome.PREEMPTED:
            return f"{report.outcome.value} ({report.reason.value if report.reason is not None else ''})"
    return f"{report.outcome.value.upper()} ({report.reason.value if report.reason is not None else ''})"


def _figures(size: SizeReport) -> str:
    if size.size_bytes >= BANDWIDTH_SIZES[0]:
        speed = f"{size.bus_bandwidth / 1e9:8.1f} GB/s bus" if size.bus_bandwidth is not None else " " * 17
        return f"{speed}{f'  {size.algo}/{size.proto}' if size.algo else ''}"
    tail = f", p95 {size.p95_s * 1e6:.1f} us" if size.p95_s is not None else ""
    return f"{size.p50_s * 1e6:8.1f} us{tail}"


def _usual(judgement: Judgement | None) -> str:
    if judgement is None:
        return ""
    return "  (learning)" if judgement.ratio is None else f"  {judgement.ratio:.0%} of its usual"


def _transport(one: Transport) -> str:
    ways = [f"{one.p2p} between GPUs" if one.p2p else "", "shared memory" if one.shm else "",
            f"{one.net} over {one.hca_count} HCAs" if one.net and one.hca_count else one.net]  # fmt: skip
    direct = {True: " with GPUDirect RDMA", False: " without GPUDirect RDMA", None: ""}[one.gdr]
    return f"NCCL took {', '.join(way for way in ways if way) or 'no way that it told'}{direct}"


def _size(size_bytes: int) -> str:
    for unit, word in _UNITS:
        if size_bytes >= unit:
            return f"{size_bytes / unit:g} {word}"
    return f"{size_bytes} B"
