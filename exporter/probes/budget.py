"""What probes may cost: how often, how long, how many bytes; and a pause after repeated failures. Pure: times are parameters.

Times are Unix times, for a ledger outlives the daemon and is shared by probes that a scheduler's prolog starts. Should that clock go back,
what lies in the future counts as just now (`caught_up`): rather too few probes than too many, but never for longer than a pause.
"""

from enum import Enum
from typing import NamedTuple

from exporter.catalog import limits

HOUR_S = 3600.0
RUNS_KEPT = 256
"""Runs of the last hour remembered, at most: at the shortest interval there are twelve of each kind, and a prolog may ask for more."""
FAILURES_KEPT = 64
"""Where the count of failures stands still; the pause is at its longest long before."""


class Limits(NamedTuple):
    """What a site allows. Bytes are those that one GPU sends in a run within a node, and one NIC in a run between nodes or in an hour."""

    interval_s: float = limits.PROBE_INTERVAL_S
    wall_s: float = limits.PROBE_WALL_S
    gpu_s: float = limits.PROBE_GPU_S
    duty_ratio: float = limits.PROBE_DUTY_RATIO
    bytes_per_gpu: int = limits.PROBE_BYTES_PER_GPU
    bytes_per_nic: int = limits.PROBE_BYTES_PER_NIC
    bytes_per_nic_hour: int = limits.PROBE_BYTES_PER_NIC_HOUR


class Cost(NamedTuple):
    """Of one run, planned or spent: from start to end, with GPUs at work, bytes that one GPU sends within the node, and one NIC."""

    wall_s: float = 0.0
    gpu_s: float = 0.0
    bytes_per_gpu: int = 0
    bytes_per_nic: int = 0


class Ending(Enum):
    """How a run ended, as far as the budget cares. Skipped and preempted runs are NEITHER: they blame nobody."""

    __hash__ = object.__hash__

    WELL = "well"
    BADLY = "badly"
    NEITHER = "neither"


class Spent(NamedTuple):
    """A run that ended at `wall_s` (Unix time)."""

    wall_s: float
    cost: Cost


class Ledger(NamedTuple):
    """What probes have cost within the last hour, when the last began, how many failed in a row, and when the last of those ended (Unix
    times; None for never). `is_stuck` once a process could not be ended: no probe again until a new ledger is begun."""

    runs: tuple[Spent, ...] = ()
    began_wall_s: float | None = None
    failures: int = 0
    failed_wall_s: float | None = None
    is_stuck: bool = False

    @property
    def is_circuit_open(self) -> bool:
        """Whether probes pause after repeated failures, or for good; stays so until a run ends well."""
        return self.is_stuck or self.failures >= limits.PROBE_FAILURES_MAX


class Refusal(NamedTuple):
    """Why a probe may not run now, for a person, and when it may at the earliest (Unix time); None if only smaller ones may, or none."""

    problem: str
    until_wall_s: float | None


def refusal(ledger: Ledger, allowed: Limits, planned: Cost, now_s: float) -> Refusal | None:
    """Why a periodic run of that cost may not begin now; None if it may."""
    waiting = None if ledger.is_stuck else _circuit(ledger, now_s) or _interval(ledger, allowed, now_s)
    return waiting or refusal_for_person(ledger, allowed, planned, now_s)


def refusal_for_person(ledger: Ledger, allowed: Limits, planned: Cost, now_s: float) -> Refusal | None:
    """The same for somebody who asks for a run now, or for a job's prolog: they need not wait for interval and pause, but pay all the
    same."""
    if ledger.is_stuck:
        return Refusal("a process of an earlier probe cannot be ended: no more probes until the node is restarted", None)
    return too_much(allowed, planned) or _used_up(ledger, allowed, planned, now_s)


def caught_up(ledger: Ledger, now_s: float) -> Ledger:
    """Without times in the future, which a clock that went back leaves; to be called before asking, and to be kept."""
    began_s, failed_s = (None if known is None else min(known, now_s) for known in (ledger.began_wall_s, ledger.failed_wall_s))
    return ledger._replace(runs=_last_hour(ledger, now_s), began_wall_s=began_s, failed_wall_s=failed_s)


def begun(ledger: Ledger, now_s: float) -> Ledger:
    """With a run that begins now."""
    return ledger._replace(began_wall_s=now_s)


def ended(ledger: Ledger, cost: Cost, ending: Ending, now_s: float) -> Ledger:
    """With the run that ends now and what it cost, whatever became of it."""
    runs = (*_last_hour(ledger, now_s), Spent(now_s, cost))[-RUNS_KEPT:]
    if ending is Ending.WELL:
        return ledger._replace(runs=runs, failures=0, failed_wall_s=None)
    if ending is Ending.BADLY:
        return ledger._replace(runs=runs, failures=min(ledger.failures + 1, FAILURES_KEPT), failed_wall_s=now_s)
    return ledger._replace(runs=runs)


def stuck(ledger: Ledger) -> Ledger:
    """With a process that cannot be ended."""
    return ledger._replace(is_stuck=True)


def pause_s(failures: int) -> float:
    """How long to wait after so many failed runs in a row: nothing below PROBE_FAILURES_MAX, then twice as long each time, up to a day."""
    beyond = failures - limits.PROBE_FAILURES_MAX
    return 0.0 if beyond < 0 else min(limits.PROBE_PAUSE_S * 2.0 ** min(beyond, FAILURES_KEPT), limits.PROBE_PAUSE_MAX_S)


def _circuit(ledger: Ledger, now_s: float) -> Refusal | None:
    pause = pause_s(ledger.failures)
    if ledger.failed_wall_s is None or not pause:
        return None
    until_s = ledger.failed_wall_s + pause
    return Refusal(f"{ledger.failures} probes in a row failed: pause of {pause / HOUR_S:g} h", until_s) if now_s < until_s else None


def _interval(ledger: Ledger, allowed: Limits, now_s: float) -> Refusal | None:
    interval_s = max(allowed.interval_s, limits.PROBE_INTERVAL_MIN_S)
    if ledger.began_wall_s is None:
        return None
    until_s = ledger.began_wall_s + interval_s
    return Refusal(f"the last probe began less than {interval_s:g} s ago", until_s) if now_s < until_s else None


def too_much(allowed: Limits, planned: Cost) -> Refusal | None:
    """What no run may cost at any time, however little was spent; None if it may."""
    for name, cost, limit in (
        ("wall time in s", planned.wall_s, allowed.wall_s),
        ("GPU time in s", planned.gpu_s, allowed.gpu_s),
        ("bytes a GPU", planned.bytes_per_gpu, allowed.bytes_per_gpu),
        ("bytes a NIC", planned.bytes_per_nic, allowed.bytes_per_nic),
    ):
        if cost > limit:
            return Refusal(f"{name}: the plan needs {cost:g}, a run may take {limit:g}: plan a smaller one", None)
    return None


def _used_up(ledger: Ledger, allowed: Limits, planned: Cost, now_s: float) -> Refusal | None:
    """What the last hour has left. Room comes back as runs grow older than an hour."""
    runs = _last_hour(ledger, now_s)
    for name, costs, cost, limit in (
        ("GPU time in s", [run.cost.gpu_s for run in runs], planned.gpu_s, allowed.duty_ratio * HOUR_S),
        ("bytes a NIC", [float(run.cost.bytes_per_nic) for run in runs], float(planned.bytes_per_nic), float(allowed.bytes_per_nic_hour)),
    ):
        left = limit - sum(costs)
        if cost <= left:
            continue
        for run, given_back in zip(runs, costs, strict=True):
            left += given_back
            if cost <= left:
                return Refusal(f"{name}: the last hour has used {sum(costs):g} of {limit:g}", run.wall_s + HOUR_S)
        return Refusal(f"{name}: the plan needs {cost:g}, an hour may take {limit:g}: plan a smaller one", None)
    return None


def _last_hour(ledger: Ledger, now_s: float) -> tuple[Spent, ...]:
    """The oldest first; what lies in the future counts as just now."""
    runs = (run._replace(wall_s=min(run.wall_s, now_s)) for run in ledger.runs)
    return tuple(sorted((run for run in runs if now_s - run.wall_s < HOUR_S), key=lambda run: run.wall_s))
