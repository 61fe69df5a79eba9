"""What a supervisor is to run: GPUs, plan, bounds, and where. Values, no behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exporter.catalog import limits
from exporter.probes.collectives import whole_size
from exporter.probes.plan import WARM_UP_SIZE, Plan
from exporter.probes.worker.libraries import Places

MIB = 2**20
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # where NCCL puts it


@dataclass(frozen=True, slots=True)
class Bounds:
    """Deadlines in seconds, and what a worker may take; the defaults are those of research/nccl-probe.md §2.2."""

    wall_s: float = limits.PROBE_WALL_S
    """From the first process on; what still runs then is aborted."""
    init_s: float = 20.0
    """Loading the libraries and taking the GPU; then again coming together."""
    iteration_s: float = 5.0
    """One batch of collectives, one round of copies, one check."""
    teardown_s: float = 5.0
    warm_up_s: float = limits.PROBE_WARM_UP_S
    """Small all-reduces before the first step. 0 where several nodes take part: they must all do the same number, so it is just
    PROBE_WARM_UP_MIN."""
    abort_s: float = 2.0
    """The ladder: after the order to abort, …"""
    terminate_s: float = 2.0
    """… after SIGTERM, …"""
    kill_s: float = 5.0
    """… and after SIGKILL; who is still there then is stuck within the driver."""
    memory_bytes: int = 1536 * MIB
    """On each GPU, NCCL's share included, without the context."""
    channels_max: int = 8
    nice: int = 10


@dataclass(frozen=True, slots=True)
class Job:
    """One run. `gpus` are those of this node by UUID (or index in the order of PCI addresses), rank by rank from `first_rank` on; the plan
    says how many ranks there are in all. In `folder` the run has one of its own, removed afterwards. `cores` are the CPUs to
    run on, none for all. `variables` are added to the workers' environment."""

    gpus: tuple[str, ...]
    plan: Plan
    folder: Path
    seed: int = 0
    first_rank: int = 0
    places: Places = field(default_factory=Places)
    bounds: Bounds = Bounds()
    cores: tuple[int, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    shared_memory: Path = SHARED_MEMORY

    @property
    def private(self) -> Path:
        """The folder of the run itself; what an earlier run, killed with its supervisor, left there is removed before."""
        return self.folder / "probe-run"

    @property
    def buffer_bytes(self) -> int:
        """The longest message of a collective."""
        ranks = self.plan.ranks
        sizes = [whole_size(step.collective, ranks, step.size_bytes) for step in self.plan.steps if step.collective is not None]
        return max([*sizes, WARM_UP_SIZE])
