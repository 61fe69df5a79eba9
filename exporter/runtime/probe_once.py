"""One gated probe of this node: every gate, then the run, then what it says against the node's own past, and all of it remembered.

Knows the order; gates, plan, workers and judgement are probes/'s. Nothing of CUDA is touched before every gate is open.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exporter.probes import budget
from exporter.probes.budget import Cost, Ending, Ledger, Limits
from exporter.probes.gates import Allocation, Facts, Gate, gates, shut_between_sizes
from exporter.probes.job import SHARED_MEMORY, Bounds, Job
from exporter.probes.judge import Judged, judged
from exporter.probes.plan import WITH_NVLINK, WITHIN_NODE, Plan, cost, fitted, within_node
from exporter.probes.reasons import Failure, Skipped
from exporter.probes.report import Kind, Outcome, Report
from exporter.probes.summary import report_of
from exporter.probes.supervisor import Supervisor
from exporter.probes.worker.libraries import Places
from exporter.probes.worker_group import Stop
from exporter.runtime.clock import Clock
from exporter.runtime.occupancy import Looked, OccupancyError
from exporter.runtime.probe_memory import ProbeMemory

SAMPLES, GAP_S = 5, 2.0
"""Utilisation is looked at five times in ten seconds (research/nccl-probe.md §2.2)."""
ASKED_AGAIN_S = 5.0
"""A scheduler is not asked more often than that while the probe runs; the GPUs' processes are, before each step [D]."""
_ENDINGS = {Outcome.SUCCESS: Ending.WELL, Outcome.DEGRADED: Ending.WELL, Outcome.FAILED: Ending.BADLY, Outcome.ABORTED: Ending.BADLY}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for. `periodic`: interval and pause of the budget hold. `plan_of` makes the plan for so many GPUs: the usual one, made
    smaller until it fits the budget. `variables` are added to the workers' environment, `shared_memory` is where NCCL puts it."""

    periodic: bool = False
    allowed: Limits = field(default_factory=Limits)
    places: Places = field(default_factory=Places)
    bounds: Bounds = field(default_factory=Bounds)
    kill_switch: str = ""
    plan_of: Callable[[int], Plan | None] = within_node
    samples: int = SAMPLES
    gap_s: float = GAP_S
    seed: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)
    shared_memory: Path = SHARED_MEMORY


@dataclass(frozen=True, slots=True)
class Node:
    """How this node is asked. `look` takes samples and seconds between them and raises OccupancyError; `maintenance` is "" while nobody
    works here; `unhealthy` names what is known to be broken; `has_nvlink` chooses the estimate of speed."""

    look: Callable[[int, float], Sequence[Looked]]
    allocation: Callable[[], Allocation]
    maintenance: Callable[[], str]
    unhealthy: Callable[[], Sequence[str]]
    active_hcas: Callable[[], int]
    has_nvlink: bool = True


@dataclass(slots=True)
class Prepared:
    """The gates as they were found, and what would run."""

    gates: tuple[Gate, ...]
    gpus: Sequence[Looked]
    plan: Plan | None
    cost: Cost
    took_s: float
    allocation: Allocation

    @property
    def shut(self) -> Gate | None:
        """The first gate that is shut."""
        return next((gate for gate in self.gates if not gate.is_open), None)


def prepared(wanted: Wanted, node: Node, memory: ProbeMemory, clock: Clock) -> Prepared:
    """Ask every gate. Touches nothing."""
    began_s, wall_s = clock.monotonic_s(), clock.wall_s()
    gpus, unknown = _looked(node, wanted.samples, wanted.gap_s)
    speed = WITH_NVLINK if node.has_nvlink else WITHIN_NODE
    whole = wanted.plan_of(len(gpus))
    plan = fitted(whole, wanted.allowed, speed) if whole is not None else None
    planned = cost(plan, speed) if plan is not None else Cost()
    ledger = budget.caught_up(memory.ledger(), wall_s)
    facts = Facts(
        gpus=[one.facts for one in gpus], allocation=node.allocation(), off=unknown or _off(wanted, len(gpus), plan),
        maintenance=node.maintenance(), lock=memory.taken, mps=_mps(), unhealthy=node.unhealthy(),
        budget=_refused(wanted, ledger, planned, wall_s),
    )  # fmt: skip
    return Prepared(tuple(gates(facts)), gpus, plan, planned, clock.monotonic_s() - began_s, facts.allocation)


def probed(wanted: Wanted, node: Node, memory: ProbeMemory, clock: Clock, stop: Stop | None = None) -> Judged:
    """One probe, gated; what it says, and what is usual here. Everything that may happen is in the report."""
    started_wall_s = clock.wall_s()
    found = prepared(wanted, node, memory, clock)
    shut = found.shut
    if shut is not None or found.plan is None:  # without a plan a gate is shut
        reason, detail = (shut.reason, shut.detail) if shut is not None else (Skipped.BUDGET, "there is nothing to run")
        report = Report(Kind.NODE, Outcome.SKIPPED, started_wall_s, clock.wall_s(), reason, detail, phases_s={"gate": found.took_s})
        memory.hand_over(report)
        return Judged(report, {})
    memory.keep_ledger(budget.begun(budget.caught_up(memory.ledger(), started_wall_s), started_wall_s))
    report = _run(wanted, node, found, found.plan, started_wall_s, clock, stop)
    concluded, baselines = judged(report, memory.baselines(), found.gpus[0].product if found.gpus else "")
    memory.keep_baselines(baselines)
    memory.keep_ledger(_spent(memory.ledger(), found.cost, concluded.report))
    memory.hand_over(concluded.report)
    return concluded


def _run(wanted: Wanted, node: Node, found: Prepared, plan: Plan, started_wall_s: float, clock: Clock, stop: Stop | None) -> Report:
    folder = Path(tempfile.mkdtemp(prefix="fabric-probe-"))
    job = Job(tuple(one.uuid for one in found.gpus), plan, folder, wanted.seed, places=wanted.places, bounds=wanted.bounds,
              variables=wanted.variables, shared_memory=wanted.shared_memory)  # fmt: skip
    processes = 0
    allocation, asked_s = found.allocation, clock.monotonic_s()

    def shut() -> Gate | None:
        """Asked before any process starts, and then with one of ours on each GPU."""
        nonlocal processes, allocation, asked_s
        if clock.monotonic_s() - asked_s > ASKED_AGAIN_S:
            allocation, asked_s = node.allocation(), clock.monotonic_s()
        gpus, unknown = _looked(node, 1, 0.0)
        own, processes = processes, 1
        facts = Facts(gpus=[one.facts for one in gpus], allocation=allocation, off=unknown or _off(wanted, len(gpus), plan),
                      maintenance=node.maintenance(), own_processes=own)  # fmt: skip
        return shut_between_sizes(facts)

    try:
        run = Supervisor(job, clock, shut, stop).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    names = [one.facts.device for one in found.gpus]
    report = report_of(run, Kind.NODE, started_wall_s, clock.wall_s(), names, found.cost.bytes_per_gpu * plan.ranks, {"gate": found.took_s},
                       node.active_hcas())  # fmt: skip
    if run.preempted is None:
        return report
    gate = run.preempted
    return report._replace(outcome=Outcome.PREEMPTED, reason=gate.reason, detail=gate.detail, sizes=(), fits=(), pairs=(), suspects=())


def _looked(node: Node, samples: int, gap_s: float) -> tuple[Sequence[Looked], str]:
    """The GPUs, or why they cannot be asked: then there are none to probe."""
    try:
        return node.look(samples, gap_s), ""
    except OccupancyError as error:
        return (), f"the GPUs cannot be asked: {error}"


def _off(wanted: Wanted, gpus: int, plan: Plan | None) -> str:
    if wanted.kill_switch and os.path.lexists(wanted.kill_switch):
        return f"{wanted.kill_switch} is there (option probes.kill_switch)"
    if gpus < 2:
        return f"there {'is one GPU' if gpus else 'are no GPUs'}: nothing can be sent between GPUs"
    return "" if plan is not None else "no plan fits the budget"


def _mps() -> bool | None:
    """Whether NVIDIA's multi-process server runs where we can see it; its clients are processes on the GPU, and counted as such."""
    pipe = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")  # noqa: S108  # where the server puts it
    return os.path.lexists(os.path.join(pipe, "control"))


def _refused(wanted: Wanted, ledger: Ledger, planned: Cost, wall_s: float) -> str:
    ask = budget.refusal if wanted.periodic else budget.refusal_for_person
    refusal = ask(ledger, wanted.allowed, planned, wall_s)
    return refusal.problem if refusal is not None else ""


def _spent(ledger: Ledger, planned: Cost, report: Report) -> Ledger:
    """What it really took of time, and at most of bytes."""
    took = planned._replace(wall_s=report.ended_wall_s - report.started_wall_s, gpu_s=report.gpu_s)
    after = budget.ended(ledger, took, _ENDINGS.get(report.outcome, Ending.NEITHER), report.ended_wall_s)
    return budget.stuck(after) if report.reason is Failure.STUCK_PROCESS else after
