"""Probes on one real GPU, one question each: what they must show there, beside what they tell. Knows no command line.

Two ranks on one GPU: NCCL before 2.30 cannot; from then on NCCL_MULTI_RANK_GPU_ENABLE allows it. With few channels and without NVLS, or
they may wait for each other's multiprocessors for ever (NCCL's documentation of that variable)."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from exporter.probes.collectives import Collective
from exporter.probes.job import Bounds, Job
from exporter.probes.outcome import Outcome
from exporter.probes.plan import LATENCY_SIZES, Phase, Plan, Step
from exporter.probes.reasons import Failure
from exporter.probes.supervisor import Supervisor
from exporter.probes.worker.libraries import Places
from exporter.probes.worker_group import GRACE_S, Stop
from exporter.probes.worker_process import MODULE
from exporter.runtime.clock import SystemClock
from tests.device.findings import Report, StoppedError, Verdict

MIB = 2**20
SHARED = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0"}
FEW_CHANNELS = 4
CAP_BYTES = 1536 * MIB
"""research/nccl-probe.md §2.2."""


class Runs:
    """Runs probes of that machine. `variables` are added to every worker's environment; `longest_bytes` is the
    longest message."""

    def __init__(self, places: Places, folder: Path, report: Report, stop: Stop, variables: Mapping[str, str],
                 patience_s: float, longest_bytes: int) -> None:  # fmt: skip
        self.report, self.longest_bytes = report, longest_bytes
        self.bounds = Bounds(wall_s=60.0, iteration_s=patience_s, abort_s=patience_s, terminate_s=patience_s, channels_max=FEW_CHANNELS)
        self._places, self._folder, self._stop, self._variables = places, folder, stop, variables

    def run(self, what: str, steps: Sequence[Step], ranks: int = 1, shut: "Disturbance | None" = None,
            variables: Mapping[str, str] = SHARED) -> Outcome:  # fmt: skip
        """One probe of `ranks` on GPU 0. Raises StoppedError once the time is over."""
        self.report.at(what)
        given = {**self._variables, **variables}
        job = Job(
            ("0",) * ranks,
            Plan(ranks, tuple(steps)),
            self._folder / "run",
            seed=7,
            places=self._places,
            bounds=self.bounds,
            variables=given,
        )
        outcome = Supervisor(job, SystemClock(), shut or (lambda: None), self._stop).run()
        if outcome.broken is not None and outcome.broken.reason is None:
            raise StoppedError
        return outcome

    def left(self, item: str) -> None:
        """Of a run that is over: no process, no folder."""
        found = [str(pid) for pid in workers()] + [str(path) for path in self._folder.glob("*/*")]
        self.report.compare(f"{item}: nothing is left", found, "no process, no folder")


class Disturbance:
    """As a gate: open, but at its n-th question (from 0) one worker gets a signal."""

    def __init__(self, at: int, number: signal.Signals) -> None:
        self._at, self._number, self._asked = at, number, 0
        self.when_s = 0.0

    def __call__(self) -> None:
        """Asked once more."""
        if self._asked == self._at:
            self.when_s = time.monotonic()
            os.kill(workers()[-1], self._number)
        self._asked += 1


def workers() -> list[int]:
    """Workers that this process started and that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if MODULE.encode() in words and words[words.index(MODULE.encode()) + 1] == str(os.getpid()).encode():
            found.append(int(path.name))
    return sorted(found)


def one_rank(runs: Runs) -> bool:
    """Libraries, initialisation, times, data and parting of a single rank. False if there is nothing to go on with."""
    outcome = runs.run("one rank", [*_curve(runs), Step(Phase.CHECK, Collective.ALL_REDUCE, runs.longest_bytes // 4, 1)])
    report = runs.report
    if outcome.broken is not None:
        reason = outcome.broken.reason
        missing = reason in {Failure.NO_LIBCUDA, Failure.NO_LIBNCCL}
        report.add(Verdict.CANNOT if missing else Verdict.DIFFERS, "one rank", f"{reason}: {outcome.broken.words}")
        return False
    _told(runs, "one rank", outcome)
    _data(runs, "one rank", outcome)
    runs.left("one rank")
    return True


def memory(runs: Runs) -> None:
    """The longest message of the usual plan: what it takes at most, beside what it may."""
    outcome = runs.run("memory", [Step(Phase.BANDWIDTH, Collective.ALL_REDUCE, runs.longest_bytes, 5, 5)])
    over = (
        [] if outcome.broken is None and outcome.memory_bytes <= CAP_BYTES else [f"{outcome.memory_bytes / MIB:.0f} MiB, {outcome.broken}"]
    )
    runs.report.compare(
        f"memory with two buffers of {runs.longest_bytes / MIB:.0f} MiB",
        over,
        f"{outcome.memory_bytes / MIB:.0f} MiB of {CAP_BYTES / MIB:.0f}",
    )


def two_ranks(runs: Runs) -> bool:
    """Two ranks on the one GPU. False where NCCL does not allow that."""
    outcome = runs.run("two ranks on one GPU", [*_curve(runs), Step(Phase.CHECK, Collective.ALL_REDUCE, runs.longest_bytes // 4, 1)], 2)
    if outcome.broken is not None:
        can = outcome.broken.reason is Failure.DUPLICATE_GPU
        runs.report.add(Verdict.CANNOT, "two ranks on one GPU", f"{outcome.broken.words}{' (NCCL allows it from 2.30 on)' if can else ''}")
        runs.left("two ranks on one GPU")
        return False
    _told(runs, "two ranks", outcome)
    _data(runs, "two ranks", outcome)
    return True


def all_collectives(runs: Runs) -> None:
    """Each with data, between two ranks."""
    size = runs.longest_bytes // 16
    wanted = [step for one in Collective for step in (Step(Phase.BANDWIDTH, one, size, 5, 5), Step(Phase.CHECK, one, size, 1))]
    outcome = runs.run("every collective", wanted, 2)
    if outcome.broken is not None:
        runs.report.add(Verdict.DIFFERS, "every collective", f"{outcome.broken.reason}: {outcome.broken.words}")
    _data(runs, "every collective", outcome)
    _told(runs, "every collective", outcome)


def hung_peer(runs: Runs) -> None:
    """One of two ranks is stopped: the other gives up by its deadline, and the ladder ends both, the stopped one by SIGKILL."""
    disturbance = Disturbance(3, signal.SIGSTOP)
    outcome = runs.run("a stopped peer", _curve(runs), 2, shut=disturbance)
    reason = None if outcome.broken is None else outcome.broken.reason
    _ended(runs, "a stopped peer", [] if reason is Failure.ITER_TIMEOUT else [f"{outcome.broken}"], disturbance)
    wanted = ("exit status 3", "signal 9, SIGKILL")
    differences = [] if outcome.endings == wanted else [f"{outcome.endings}, expected {wanted}"]
    runs.report.compare("ncclCommAbort of a collective that waits comes back", differences, "the rank that waited ended by itself")


def abort_under_way(runs: Runs) -> None:
    """A worker is killed in the middle: its death is noticed at once, and the GPU is given back."""
    disturbance = Disturbance(3, signal.SIGKILL)
    outcome = runs.run("a killed worker", _curve(runs), shut=disturbance)
    reason = None if outcome.broken is None else outcome.broken.reason
    _ended(runs, "a killed worker", [] if reason is Failure.WORKER_CRASH else [f"{outcome.broken}"], disturbance)
    again = runs.run("after a killed worker", [_curve(runs)[0]])
    runs.report.compare("the GPU works afterwards", [] if again.broken is None else [f"{again.broken}"], "a rank ran")


def refused_twice(runs: Runs) -> None:
    """Without the variable NCCL refuses two ranks on one GPU; that has a reason of its own."""
    outcome = runs.run("two ranks, not allowed", [_curve(runs)[0]], 2, variables={})
    reason = None if outcome.broken is None else outcome.broken.reason
    runs.report.compare(
        "two ranks on one GPU are refused", [] if reason is Failure.DUPLICATE_GPU else [f"{outcome.broken}"], "duplicate_gpu"
    )


def _curve(runs: Runs) -> list[Step]:
    small = [Step(Phase.LATENCY, Collective.ALL_REDUCE, size, 100, 20) for size in LATENCY_SIZES]
    return [*small, Step(Phase.BANDWIDTH, Collective.ALL_REDUCE, runs.longest_bytes // 4, 20, 5)]


def _told(runs: Runs, item: str, outcome: Outcome) -> None:
    """What nothing here can judge: versions, times, phases."""
    runs.report.add(Verdict.TOLD, f"{item}: libraries", f"{outcome.versions}")
    for step in outcome.steps:
        if step.iterations_s:
            times = sorted(step.iterations_s)
            words = (
                f"{times[0] * 1e6:.2f} to {times[-1] * 1e6:.2f} µs, median {median(times) * 1e6:.2f}, skew {median(step.skews_s) * 1e6:.2f}"
            )
            runs.report.add(Verdict.TOLD, f"{item}: {step.collective.value} of {step.size_bytes} bytes", words)
    phases = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in outcome.phases_s.items())
    runs.report.add(Verdict.TOLD, f"{item}: phases", f"{phases}; {outcome.memory_bytes / MIB:.0f} MiB, GPU {outcome.gpu_s:.3f} s")
    lines = outcome.logs[0].splitlines() if outcome.logs else []
    for words in ("Using network", "-> Algo", "Init COMPLETE"):
        runs.report.add(Verdict.TOLD, f"{item}: NCCL", next((line for line in lines if words in line), f"no line with {words!r}"))


def _data(runs: Runs, item: str, outcome: Outcome) -> None:
    checked = [step for step in outcome.steps if step.wrong is not None]
    wrong = [f"{step.collective.value}: {one}" for step in checked for one in step.wrong or ()]
    runs.report.compare(
        f"{item}: every element is right", wrong or ([] if checked else ["nothing was checked"]), f"{len(checked)} messages"
    )


def _ended(runs: Runs, item: str, differences: list[str], disturbance: Disturbance) -> None:
    """With its reason, within the ladder's time since it was disturbed."""
    took_s = time.monotonic() - disturbance.when_s
    bounds = runs.bounds
    allowed_s = bounds.iteration_s + GRACE_S + bounds.abort_s + bounds.terminate_s + bounds.kill_s
    if took_s > allowed_s:
        differences.append(f"it took {took_s:.1f} s where the ladder has {allowed_s:.1f}")
    runs.report.compare(item, differences, f"ended {took_s:.2f} s after it was disturbed")
    runs.left(item)
