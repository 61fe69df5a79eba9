"""The gates before a probe: each must be open, in this order, and what nobody could find out is a shut gate. Pure.

Knows what opens and shuts a gate; who finds out (runtime/, sources/) fills in Facts. A shut gate is no failure: the fabric was not judged.
Some gates are asked again between sizes, because a job may come at any time (research/nccl-probe.md §2.2).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from exporter.catalog.limits import PROBE_MEMORY_IDLE_BYTES, PROBE_UTILISATION_IDLE_RATIO
from exporter.probes.reasons import Skipped


class ComputeMode(Enum):
    """How many processes the driver lets on a GPU; the value is NVML's number (nvmlComputeMode_t)."""

    DEFAULT = 0
    PROHIBITED = 2
    EXCLUSIVE_PROCESS = 3


class GpuFacts(NamedTuple):
    """One target GPU. None: the driver did not say, which counts against the probe, but for `thermal` and `confidential`, which old
    drivers do not know. Ratios are 0 to 1; `utilisation` holds several samples of the last seconds."""

    device: str
    processes: int | None = None
    memory_used_bytes: int | None = None
    utilisation: Sequence[float] | None = None
    mig: bool | None = None
    compute_mode: ComputeMode | None = None
    confidential: bool | None = None
    thermal: bool | None = None
    needs_reset: bool | None = False


class Allocation(NamedTuple):
    """What the scheduler says of this node: `free` None if it could not be asked. `words` is for a person."""

    free: bool | None
    words: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the gates judge. `off` says why probes are off ("" if they are on), `maintenance` and `lock` likewise; `unhealthy` names
    links and GPUs that are known to be broken; `budget` says what is used up. `idle_bytes` is the memory in use on each idle GPU, as
    learned; a GPU that is not in it is taken to use none."""

    gpus: Sequence[GpuFacts]
    allocation: Allocation
    off: str = ""
    maintenance: str = ""
    lock: str = ""
    mps: bool | None = False
    unhealthy: Sequence[str] = ()
    budget: str = ""
    idle_bytes: Mapping[str, int] | None = None
    own_processes: int = 0
    """Processes of the probe itself on each GPU: none before it starts, one while it runs."""


class Gate(NamedTuple):
    """One answer: `detail` is one line for a person; it says why the gate is shut, or what was found open."""

    reason: Skipped
    is_open: bool
    detail: str


def first_shut(facts: Facts) -> Gate | None:
    """The gate that ends the matter; None if all are open."""
    return next((gate for gate in gates(facts) if not gate.is_open), None)


def shut_between_sizes(facts: Facts) -> Gate | None:
    """The same for a probe that runs: the gates that a job may shut at any time."""
    return next((gate for gate in gates(facts, AGAIN) if not gate.is_open), None)


def gates(facts: Facts, wanted: Sequence[Skipped] = tuple(Skipped)) -> Iterator[Gate]:
    """Every gate, in order, shut or open: what `probe --dry-run` lists."""
    for reason, judge in _JUDGES:
        if reason in wanted:
            why = judge(facts)
            yield Gate(reason, not why, why or _OPEN[reason])


AGAIN = (Skipped.DISABLED, Skipped.MAINTENANCE, Skipped.MIG_ENABLED, Skipped.COMPUTE_MODE_EXCLUSIVE, Skipped.GPU_BUSY, Skipped.ALLOCATED)
"""Asked again after initialisation and between sizes. Memory and utilisation are the probe's own then and do not count."""
_OPEN = {
    Skipped.DISABLED: "probes are on",
    Skipped.MAINTENANCE: "nobody works on the node",
    Skipped.LOCK: "no other probe runs here",
    Skipped.MIG_ENABLED: "no GPU is split",
    Skipped.COMPUTE_MODE_EXCLUSIVE: "every GPU takes several processes",
    Skipped.CONFIDENTIAL_COMPUTE: "no GPU computes confidentially",
    Skipped.MPS_ACTIVE: "no CUDA multi-process server runs",
    Skipped.GPU_BUSY: "nobody uses a GPU",
    Skipped.ALLOCATED: "the node is nobody's",
    Skipped.FABRIC_UNHEALTHY: "nothing is known to be broken",
    Skipped.BUDGET: "there is budget",
    Skipped.THERMAL: "no GPU is slowed down",
}


def _off(facts: Facts) -> str:
    if facts.off:
        return facts.off
    return "" if facts.gpus else "there is no GPU to probe"


def _mig(facts: Facts) -> str:
    return _first(facts, lambda gpu: None if gpu.mig is False else _said("whether it is split (MIG)", "is split (MIG)", answer=gpu.mig))


def _compute_mode(facts: Facts) -> str:
    def why(gpu: GpuFacts) -> str | None:
        if gpu.compute_mode is ComputeMode.DEFAULT:
            return None
        if gpu.compute_mode is None:
            return "does not say its compute mode"
        return f"is in compute mode {gpu.compute_mode.name}: a probe would make a job fail"

    return _first(facts, why)


def _confidential(facts: Facts) -> str:
    return _first(facts, lambda gpu: "computes confidentially" if gpu.confidential else None)


def _mps(facts: Facts) -> str:
    if facts.mps is None:
        return "it is not known whether a CUDA multi-process server runs"
    return "a CUDA multi-process server runs" if facts.mps else ""


def _busy(facts: Facts) -> str:
    """Processes are counted and never named: the driver numbers them as the host does (NVIDIA/nvidia-docker#1483). While the probe runs,
    memory and utilisation are its own."""

    def why(gpu: GpuFacts) -> str | None:
        if gpu.processes is None:
            return "does not say which processes use it"
        if gpu.processes > facts.own_processes:
            others = gpu.processes - facts.own_processes
            return f"is used by {others} {'process' if others == 1 else 'processes'}"
        if facts.own_processes:
            return None
        if gpu.memory_used_bytes is None or gpu.utilisation is None:
            return "does not say how much of it is used"
        idle_bytes = (facts.idle_bytes or {}).get(gpu.device, 0)
        if gpu.memory_used_bytes - idle_bytes > PROBE_MEMORY_IDLE_BYTES:
            return f"has {gpu.memory_used_bytes / 1e9:.1f} GB in use, without a process that the driver names"
        if any(sample > PROBE_UTILISATION_IDLE_RATIO for sample in gpu.utilisation):
            return f"is {max(gpu.utilisation):.0%} busy"
        return None

    return _first(facts, why)


def _allocated(facts: Facts) -> str:
    if facts.allocation.free:
        return ""
    return facts.allocation.words if facts.allocation.free is False else f"it is not known whose the node is: {facts.allocation.words}"


def _unhealthy(facts: Facts) -> str:
    reset = _first(
        facts,
        lambda gpu: _said("whether it needs a reset", "needs a reset", answer=gpu.needs_reset) if gpu.needs_reset is not False else None,
    )
    if reset or not facts.unhealthy:
        return reset
    more = f" and {len(facts.unhealthy) - 1} more" if len(facts.unhealthy) > 1 else ""
    return f"{facts.unhealthy[0]}{more}: that is reported already, and a probe could hang on it"


def _thermal(facts: Facts) -> str:
    return _first(facts, lambda gpu: "is slowed down by heat or power" if gpu.thermal else None)


def _said(unknown: str, so: str, *, answer: bool | None) -> str:
    return f"does not say {unknown}" if answer is None else so


def _first(facts: Facts, why: Callable[[GpuFacts], str | None]) -> str:
    """The first GPU with something against it, named."""
    for gpu in facts.gpus:
        found = why(gpu)
        if found is not None:
            return f"{gpu.device} {found}"
    return ""


_JUDGES: Sequence[tuple[Skipped, Callable[[Facts], str]]] = (
    (Skipped.DISABLED, _off),
    (Skipped.MAINTENANCE, lambda facts: facts.maintenance),
    (Skipped.LOCK, lambda facts: facts.lock),
    (Skipped.MIG_ENABLED, _mig),
    (Skipped.COMPUTE_MODE_EXCLUSIVE, _compute_mode),
    (Skipped.CONFIDENTIAL_COMPUTE, _confidential),
    (Skipped.MPS_ACTIVE, _mps),
    (Skipped.GPU_BUSY, _busy),
    (Skipped.ALLOCATED, _allocated),
    (Skipped.FABRIC_UNHEALTHY, _unhealthy),
    (Skipped.BUDGET, lambda facts: facts.budget),
    (Skipped.THERMAL, _thermal),
)
