"""What came of a run: times of every iteration over all ranks, what was wrong in the data, the pair matrix, or why it broke off. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from exporter.probes.collectives import Collective
from exporter.probes.gates import Gate
from exporter.probes.messages import Checked, Measured
from exporter.probes.reasons import Failure
from exporter.probes.statistics import slowest
from exporter.probes.worker.libraries import Versions


class WrongData(NamedTuple):
    """What one rank received wrong: how many elements, the first one's place, whose data belonged there (None: a sum, or outside), and
    whether something wrote outside the buffers."""

    rank: int
    elements: int
    first: int | None
    source: int | None
    spilt: bool


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step of the plan; `size_bytes` is the plan's. `iterations_s`: each iteration's time, that of its slowest rank. `skews_s`: between
    its first and its last rank to end. `rank_waits_s`: for how long each rank waited at the barrier before, median; who waits least is whom
    the others wait for. `wrong`: None where the data was not checked."""

    collective: Collective
    size_bytes: int
    ranks: int
    iterations_s: tuple[float, ...] = ()
    skews_s: tuple[float, ...] = ()
    rank_waits_s: tuple[float, ...] = ()
    wrong: tuple[WrongData, ...] | None = None


class PairTimes(NamedTuple):
    """Copies from one GPU to another, by their places in the list of GPUs; `direct`: not through the host. Seconds of each repeat."""

    source: int
    target: int
    size_bytes: int
    times_s: tuple[float, ...]
    direct: bool


class Broken(NamedTuple):
    """Why it broke off: `reason` None when it was told to stop; `rank` None where no single one is to blame; `aborted`: it hung, or was
    told to stop, so that we ended it."""

    reason: Failure | None
    words: str
    rank: int | None = None
    aborted: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. What was measured before it broke off is there as well; of a preempted one it counts for nothing. `phases_s`: copies, init,
    warmup, measure, teardown, as far as it came. `logs`: what NCCL wrote, rank by rank. `memory_bytes`: the most that a rank took. `gpu_s`:
    for how long the GPUs worked. `stuck`: processes that could not be ended."""

    steps: tuple[StepResult, ...] = ()
    pairs: tuple[PairTimes, ...] = ()
    versions: Versions | None = None
    gpus: tuple[str, ...] = ()
    phases_s: Mapping[str, float] = field(default_factory=dict)
    logs: tuple[str, ...] = ()
    memory_bytes: int = 0
    gpu_s: float = 0.0
    broken: Broken | None = None
    preempted: Gate | None = None
    endings: tuple[str, ...] = ()
    """How the process of each rank ended: "exit status 0" in peace, "exit status 3" by itself after it failed or was told to abort, else
    the signal that it took."""
    stuck: tuple[int, ...] = ()

    @property
    def has_wrong_data(self) -> bool:
        """Whether a single element came out wrong, anywhere."""
        return any(one.wrong for one in self.steps)


def timed(collective: Collective, size_bytes: int, ranks: int, found: Sequence[Measured]) -> StepResult:
    """Of the ranks' own times. Raises ValueError if they tell of different numbers of iterations."""
    return StepResult(
        collective, size_bytes, ranks,
        iterations_s=slowest([one.times_s for one in found]),
        skews_s=tuple(max(times) - min(times) for times in zip(*(one.times_s for one in found), strict=True)),
        rank_waits_s=tuple(median(one.waits_s) for one in found if one.waits_s),
    )  # fmt: skip


def wrong_data(first_rank: int, found: Sequence[Checked]) -> tuple[WrongData, ...]:
    """Of the ranks that have some."""
    return tuple(
        WrongData(first_rank + place, one.wrong, one.first if one.wrong else None, one.source if one.source >= 0 else None, one.spilt)
        for place, one in enumerate(found)
        if one.wrong or one.spilt
    )
