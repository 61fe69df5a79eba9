"""What a probe does, in which order and at what cost: phases, collectives, sizes, iterations. Pure; runs nothing.

Phase A copies between all pairs of GPUs, B times small messages for latency, C long ones for bandwidth, D checks every number that
arrives. An all-gather beside the all-reduces tells a slow fabric from a switch that adds up badly (NVLS). Sizes are a fixed set: baselines
and series are by size. A plan that costs more than the budget allows is made smaller, step by step, until it fits.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from exporter.catalog import limits
from exporter.probes.budget import Cost, Limits, too_much
from exporter.probes.collectives import Collective, whole_size, wire_bytes

KIB, MIB = 2**10, 2**20
LATENCY_SIZES = (8, KIB, 32 * KIB)
BANDWIDTH_SIZES = (MIB, 16 * MIB, 64 * MIB, 256 * MIB)
CHECKED_SIZE = 64 * MIB
"""Long enough for every channel of NCCL, short enough for a copy to the host in 3 ms."""
SIZES = (*LATENCY_SIZES, *BANDWIDTH_SIZES)
"""Every size a probe of ours uses; the `size` label has no others."""
WARM_UP_SIZE = KIB
"""Clocks ramp up with whatever runs for PROBE_WARM_UP_S; long messages would cost 70 GiB of NVLink in that time."""
LATENCY_LEAST_S = 5e-6
"""No collective is faster, which bounds how often the warm-up by time can send [D]."""

LATENCY_TIMES, LATENCY_WARM_UP = 100, 20
BANDWIDTH_TIMES = 20
COPY_SIZE, COPY_TIMES = 64 * MIB, 3
TIMES_LEAST = 5
"""Fewer times of a size tell nothing; then the size is left out."""
BARRIER_S = 20e-6
"""A small all-reduce before each timed collective, so that late ranks do not count [D]."""
CHECK_HOST_S = 0.5
"""Host time to copy and compare one checked buffer, at most [M: 0.2 s in pure Python]; GPUs rest meanwhile."""


class Phase(Enum):
    """The letters of the method, by what they tell."""

    __hash__ = object.__hash__

    COPIES = "copies"
    LATENCY = "latency"
    BANDWIDTH = "bandwidth"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Step:
    """One collective at one size: `warm_up` times untimed, then `times` timed. In phase CHECK the receive buffer is compared after each. A
    step of COPIES has no collective: every ordered pair of GPUs copies `size_bytes` `times` times (pairs.rounds). The size is the one that
    series and baselines go by; what does not split into blocks for each rank is rounded down when it runs (collectives.whole_size)."""

    phase: Phase
    collective: Collective | None
    size_bytes: int
    times: int
    warm_up: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in their order, for so many `ranks`; those of one NIC each send over it (`is_over_nics`): between nodes, and in a loopback."""

    ranks: int
    steps: tuple[Step, ...]
    is_over_nics: bool = False


@dataclass(frozen=True, slots=True)
class Speed:
    """What the estimate takes the node to reach: at most `latency_s` for an empty collective, at least `bytes_per_s` on the wire of each
    rank, `init_s` until the ranks have met. From the last run, or a guess that no usual hardware stays below."""

    latency_s: float
    bytes_per_s: float
    init_s: float = 20.0


WITHIN_NODE = Speed(50e-6, 10e9)
"""GPUs on PCIe 4.0 without NVLink reach 15 GB/s [V: NVIDIA/NVSentinel values.yaml]."""
WITH_NVLINK = Speed(50e-6, 100e9)
"""A third of what eight A100 reach [V: Azure/azurehpc-health-checks:conf/nd96asr_v4.conf]."""
BETWEEN_NODES = Speed(100e-6, 5e9)
"""Half of 100 Gb/s [D]."""


def within_node(gpus: int, controls: tuple[Collective, ...] = (Collective.ALL_GATHER,)) -> Plan | None:
    """The usual plan for the GPUs of one node: phases A to D with all-reduce; each of `controls` at the longest size, and checked. None for
    fewer than two GPUs, between which nothing can be sent."""
    if gpus < 2:
        return None
    steps = [Step(Phase.COPIES, None, COPY_SIZE, COPY_TIMES), *_curve(Collective.ALL_REDUCE, gpus)]
    steps += [_bandwidth(one, BANDWIDTH_SIZES[-1]) for one in controls]
    steps += [_check(one) for one in (Collective.ALL_REDUCE, *controls)]
    return Plan(gpus, tuple(steps))


def over_nics(ranks: int, collective: Collective = Collective.SEND_RECV) -> Plan | None:
    """Between two nodes rail by rail (send/recv of two ranks), or through the NICs of one node (all-reduce with P2P and shared memory off).
    No copies. None for fewer than two ranks."""
    if ranks < 2:
        return None
    return Plan(ranks, (*_curve(collective, ranks), _check(collective)), is_over_nics=True)


def cost(plan: Plan, speed: Speed) -> Cost:
    """What a run of the plan takes at most, by the node's speed: the warm-up by time and the barriers are in it."""
    latency_s = speed.latency_s
    warm_ups = int(limits.PROBE_WARM_UP_S / LATENCY_LEAST_S) + limits.PROBE_WARM_UP_MIN
    sent = warm_ups * wire_bytes(Collective.ALL_REDUCE, plan.ranks, WARM_UP_SIZE)
    gpu_s = limits.PROBE_WARM_UP_S + latency_s
    host_s = 0.0
    for step in plan.steps:
        if step.collective is None:
            pairs = plan.ranks - 1
            sent += pairs * step.times * step.size_bytes
            gpu_s += 2 * (pairs + plan.ranks % 2) * step.times * (latency_s + step.size_bytes / speed.bytes_per_s)
            continue
        on_wire, times = wire_bytes(step.collective, plan.ranks, step.size_bytes), step.times + step.warm_up
        sent += times * on_wire
        gpu_s += times * (latency_s + on_wire / speed.bytes_per_s + BARRIER_S)
        host_s += step.times * CHECK_HOST_S if step.phase is Phase.CHECK else 0.0
    bytes_per_nic = sent if plan.is_over_nics else 0
    return Cost(speed.init_s + gpu_s + host_s, gpu_s, 0 if plan.is_over_nics else sent, bytes_per_nic)


def fitted(plan: Plan, allowed: Limits, speed: Speed) -> Plan | None:
    """The plan, or the largest of its smaller ones, that one run may cost; None if not even the smallest may. What an hour has left is the
    ledger's business (budget.refusal)."""
    return next((one for one in smaller(plan) if too_much(allowed, cost(one, speed)) is None), None)


def smaller(plan: Plan) -> Iterator[Plan]:
    """The plan, and ever smaller ones: fewer times for bandwidth, then without controls, then without the longest size again and again,
    then without copies. Latency and a check stay to the end, for corrupt data must show."""
    yield plan
    while any(step.phase is Phase.BANDWIDTH and step.times > TIMES_LEAST for step in plan.steps):
        plan = replace(plan, steps=tuple(_halved(step) for step in plan.steps))
        yield plan
    main = next((step.collective for step in plan.steps if step.collective is not None), None)
    without_controls = replace(plan, steps=tuple(step for step in plan.steps if step.collective in {None, main}))
    if without_controls != plan:
        plan = without_controls
        yield plan
    while longest := max((step.size_bytes for step in plan.steps if step.phase is Phase.BANDWIDTH), default=0):
        plan = replace(plan, steps=tuple(_capped(step, longest) for step in plan.steps
                                         if step.phase is not Phase.BANDWIDTH or step.size_bytes < longest))  # fmt: skip
        yield plan
    without_copies = replace(plan, steps=tuple(step for step in plan.steps if step.phase is not Phase.COPIES))
    if without_copies != plan:
        yield without_copies


def _curve(collective: Collective, ranks: int) -> list[Step]:
    """Phases B and C. A size too small to give each rank a block is left out."""
    sizes = [size for size in LATENCY_SIZES if whole_size(collective, ranks, size)]
    small = [Step(Phase.LATENCY, collective, size, LATENCY_TIMES, LATENCY_WARM_UP) for size in sizes]
    return small + [_bandwidth(collective, size) for size in BANDWIDTH_SIZES]


def _bandwidth(collective: Collective, size: int) -> Step:
    return Step(Phase.BANDWIDTH, collective, size, BANDWIDTH_TIMES, limits.PROBE_WARM_UP_MIN)


def _check(collective: Collective) -> Step:
    return Step(Phase.CHECK, collective, CHECKED_SIZE, 1)


def _halved(step: Step) -> Step:
    return replace(step, times=max(TIMES_LEAST, step.times // 2)) if step.phase is Phase.BANDWIDTH else step


def _capped(step: Step, longest: int) -> Step:
    """No check is longer than the size that is left out, nor shorter than 1 MiB, which goes through every channel still."""
    return replace(step, size_bytes=min(step.size_bytes, max(longest, MIB))) if step.phase is Phase.CHECK else step
