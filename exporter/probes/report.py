"""What one probe says: values that cross from `fabric-exporter probe` to the node's daemon (report_document.py). Data, no behaviour."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from exporter.probes.baseline import State
from exporter.probes.collectives import Collective
from exporter.probes.reasons import Failure, Skipped


class Kind(Enum):
    """What kind of probe it was; the value is the `kind` label."""

    __hash__ = object.__hash__

    NODE = "node"
    """The GPUs of one node among themselves."""
    LOOPBACK = "loopback"
    """The GPUs of one node through its own NICs."""
    BETWEEN_NODES = "between_nodes"
    """Two nodes of an allocation."""


class Outcome(Enum):
    """How it ended; the value is the `outcome` label of `fabric_probe_runs_total`."""

    __hash__ = object.__hash__

    SUCCESS = "success"
    DEGRADED = "degraded"
    """It measured, and what it measured is worse than this node's own past or corrupt."""
    FAILED = "failed"
    """It began and could not measure."""
    SKIPPED = "skipped"
    """A gate was shut: nothing was touched."""
    PREEMPTED = "preempted"
    """A gate shut while it ran: somebody wanted the node. What was measured until then is thrown away."""
    ABORTED = "aborted"
    """Its supervisor ended it: it hung, or was told to stop."""


class SizeReport(NamedTuple):
    """One collective at one size. Seconds are those of single collectives, each the slowest rank's; `p95_s` and `jitter_ratio` are None
    below 20 of them, `bus_bandwidth` (bytes per second) is None for one rank. `algo` and `proto` are "" where NCCL did not say. `skew_s`:
    first to last rank to end, median. `wrong`: elements that came out wrong, None where they were not checked. `iterations_s` are all
    times, for the histogram."""

    collective: Collective
    size_bytes: int
    ranks: int
    p50_s: float
    p95_s: float | None
    max_s: float
    jitter_ratio: float | None
    skew_s: float
    algorithm_bandwidth: float
    bus_bandwidth: float | None
    algo: str = ""
    proto: str = ""
    wrong: int | None = None
    iterations_s: Sequence[float] = ()


class FitReport(NamedTuple):
    """The line t = latency + size / bandwidth of one collective. Latency and bandwidth are None where the line was refused."""

    collective: Collective
    latency_s: float | None
    bandwidth: float | None
    residual_ratio: float


class PairReport(NamedTuple):
    """Copies from one GPU to another, by their names; bytes per second, median of the sweeps."""

    source: str
    target: str
    bandwidth: float


class UsualReport(NamedTuple):
    """What one figure is of this node's own past: `state` ok, suspect or degraded; `ratio` its share of the usual (less is worse, for
    latency too), None while that is being learned."""

    collective: Collective
    size_bytes: int
    state: State
    ratio: float | None


class SuspectReport(NamedTuple):
    """Whom the measurement accuses: `scope` is gpu, pair, nic or node; `words` says why, for a person."""

    scope: str
    id: str
    words: str


class Transport(NamedTuple):
    """What NCCL said that it used. None where it did not say."""

    net: str = ""
    gdr: bool | None = None
    p2p: str = ""
    shm: bool | None = None
    hca_count: int | None = None


class Library(NamedTuple):
    """Versions, and whether the library was found by path or by the loader."""

    nccl: str = ""
    cuda_driver: str = ""
    path_kind: str = ""


class Report(NamedTuple):
    """One probe. `reason` belongs to the outcome: a Skipped for SKIPPED and PREEMPTED, a Failure for FAILED and ABORTED and for a DEGRADED
    one that a Failure names (wrong data, no GPUDirect), else None. `detail` is one line for a person. `phases_s`: gate, init, warmup,
    measure, teardown. `gpus`: the GPUs that took part, in the order of ranks. `sent_bytes` and `gpu_s` are its own cost. `contended`: the
    network was busy with others' traffic meanwhile, so a low figure says nothing. `usual` and `state`: against this node's own past, once
    it was judged (judge.py)."""

    kind: Kind
    outcome: Outcome
    started_wall_s: float
    ended_wall_s: float
    reason: Skipped | Failure | None = None
    detail: str = ""
    gpus: Sequence[str] = ()
    phases_s: Mapping[str, float] = {}
    sizes: Sequence[SizeReport] = ()
    fits: Sequence[FitReport] = ()
    pairs: Sequence[PairReport] = ()
    suspects: Sequence[SuspectReport] = ()
    transport: Transport | None = None
    library: Library | None = None
    sent_bytes: int = 0
    gpu_s: float = 0.0
    contended: bool = False
    usual: Sequence[UsualReport] = ()
    state: State = State.OK
