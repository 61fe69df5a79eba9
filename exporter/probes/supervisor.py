"""Runs one probe from the first process to the last: copies between the GPUs, then the ranks through the plan; gates are asked again before
each step, and everything is ended in the end. Blocks; reads the time from a Clock and waits on pipes. Judges no number.

The workers die with the thread that runs this (PR_SET_PDEATHSIG), and when their input closes."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from exporter.catalog.limits import PROBE_WARM_UP_MIN
from exporter.probes import shared_memory
from exporter.probes.collectives import Collective, whole_size
from exporter.probes.environment import worker_environment
from exporter.probes.gates import Gate
from exporter.probes.job import Job
from exporter.probes.messages import (
    Check,
    Checked,
    Copied,
    CopiesReady,
    Copy,
    Finish,
    Finished,
    Join,
    Joined,
    Loaded,
    Measure,
    Measured,
    StartCopies,
    StartRank,
)
from exporter.probes.outcome import Broken, Outcome, PairTimes, StepResult, timed, wrong_data
from exporter.probes.pairs import rounds
from exporter.probes.plan import WARM_UP_SIZE, Phase, Step
from exporter.probes.reasons import Failure
from exporter.probes.worker.libraries import Versions
from exporter.probes.worker_group import BrokenError, Stop, WorkerGroup
from exporter.probes.worker_process import WorkerProcess

LOG_READ_MAX_BYTES, LOG_MAX_CHARACTERS = 32 << 20, 512 << 10
"""Of what NCCL wrote in one rank: so much is read, and so much kept of the lines that differ."""
WARM_UP_BATCH = 16


def _as_it_is(unique_id: str) -> str:
    return unique_id


class Clock(Protocol):
    """Time for intervals, and the time of day for the age of files. Seconds."""

    def monotonic_s(self) -> float:
        """Time that never goes back."""
        ...

    def wall_s(self) -> float:
        """Unix time."""
        ...


class PreemptedError(Exception):
    """A gate has shut while the probe ran."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(gate.detail)
        self.gate = gate


class Supervisor:
    """Of one job. `shut` is asked before each step: None while the GPUs are still free. `exchange` gets the unique id of rank 0 ("" on
    nodes that have not rank 0) and returns that of all; it may wait, and raise BrokenError. `stop` ends the run when it becomes
    readable."""

    def __init__(self, job: Job, clock: Clock, shut: Callable[[], Gate | None], stop: Stop | None = None,
                 exchange: Callable[[str], str] = _as_it_is) -> None:  # fmt: skip
        self._job, self._clock, self._shut, self._stop, self._exchange = job, clock, shut, stop, exchange
        self._deadline_s = 0.0
        self._number = 0
        self._steps: list[StepResult] = []
        self._pairs: list[PairTimes] = []
        self._phases: dict[str, float] = {}
        self._logs: tuple[str, ...] = ()
        self._versions: Versions | None = None
        self._memory_bytes = 0
        self._gpu_s = 0.0
        self._endings: tuple[str, ...] = ()
        self._stuck: tuple[int, ...] = ()

    def run(self) -> Outcome:
        """All of it; never raises for what may happen. Takes at most the wall time and the ladder."""
        job = self._job
        self._deadline_s = self._clock.monotonic_s() + job.bounds.wall_s
        broken: Broken | None = None
        preempted: Gate | None = None
        try:
            shutil.rmtree(job.private, ignore_errors=True)
            job.private.mkdir(parents=True, mode=0o700)
            shared_memory.remove(shared_memory.forgotten(job.shared_memory, self._clock.wall_s()))
            copies = [step for step in job.plan.steps if step.phase is Phase.COPIES]
            if copies:
                self._with_group(lambda group: self._copy(group, copies[0]))
            if any(step.collective is not None for step in job.plan.steps):
                self._with_group(self._collectives)
        except BrokenError as error:
            broken = error.broken
        except PreemptedError as error:
            preempted = error.gate
        except OSError as error:
            broken = Broken(Failure.WORKER_CRASH, f"cannot go on in {job.private}: {error}")
        finally:
            shutil.rmtree(job.private, ignore_errors=True)
        if self._stuck:
            why = f", after: {broken.words}" if broken is not None else ""
            broken = Broken(
                Failure.STUCK_PROCESS, f"process {', '.join(map(str, self._stuck))} cannot be ended, not even by SIGKILL{why}", aborted=True
            )
        return Outcome(tuple(self._steps), tuple(self._pairs), self._versions, job.gpus, self._phases, self._logs, self._memory_bytes,
                       self._gpu_s, broken, preempted, self._endings, self._stuck)  # fmt: skip

    def _with_group(self, work: Callable[[WorkerGroup], None]) -> None:
        """Workers for that work; none is left afterwards, nor what NCCL had in shared memory, whatever happens."""
        group = WorkerGroup(self._clock, self._job.bounds, self._deadline_s, self._stop)
        segments: frozenset[Path] = frozenset()
        try:
            work(group)
        finally:
            if not all(worker.has_ended() for worker in group.workers):
                began_s = self._clock.monotonic_s()
                segments = shared_memory.segments(self._job.shared_memory, [worker.pid for worker in group.workers])
                self._stuck += group.end()
                self._spent("teardown", began_s)
            ranks = [worker for worker in group.workers if worker.rank is not None]
            self._logs = tuple(map(self._log, ranks))
            self._endings = tuple(worker.how_it_ended() for worker in ranks)
            group.close()
            shared_memory.remove(segments)

    def _environment(self) -> dict[str, str]:
        return worker_environment(os.environ, str(self._job.private), sys.path, self._job.variables)

    def _log(self, worker: WorkerProcess) -> str:
        """What NCCL wrote, each line once: it says anew with each collective what it chose."""
        try:
            with (self._job.private / f"nccl.{worker.pid}").open("rb") as file:
                lines = dict.fromkeys(file.read(LOG_READ_MAX_BYTES).decode("utf-8", "replace").splitlines(keepends=True))
        except OSError:
            return ""  # it came not so far
        return "".join(lines)[:LOG_MAX_CHARACTERS]

    def _spent(self, phase: str, began_s: float) -> None:
        self._phases[phase] = self._phases.get(phase, 0.0) + self._clock.monotonic_s() - began_s

    def _still_free(self) -> None:
        gate = self._shut()
        if gate is not None:
            raise PreemptedError(gate)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _copy(self, group: WorkerGroup, step: Step) -> None:
        """Every ordered pair, in rounds in which no GPU is busy twice."""
        job, bounds, began_s = self._job, self._job.bounds, self._clock.monotonic_s()
        self._still_free()
        group.start(None, job.cores, self._environment())
        group.tell(StartCopies(job.places.libcuda, job.gpus, step.size_bytes, bounds.memory_bytes))
        ready = group.gather(CopiesReady, bounds.init_s, Failure.INIT_TIMEOUT, "taking the GPUs")[0]
        indirect = set(zip(ready.indirect[::2], ready.indirect[1::2], strict=True))
        for pairs in rounds(range(len(job.gpus))):
            self._still_free()
            sources, targets = zip(*pairs, strict=True)
            group.tell(Copy(self._next(), sources, targets, step.size_bytes, step.times, bounds.iteration_s))
            found = group.gather(Copied, bounds.iteration_s, Failure.ITER_TIMEOUT, "copies between GPUs")[0].times_s
            for place, pair in enumerate(pairs):
                times = found[place * step.times : (place + 1) * step.times]
                self._pairs.append(PairTimes(*pair, step.size_bytes, times, pair not in indirect))
                self._gpu_s += sum(times) / len(pairs)
        group.tell(Finish(bounds.teardown_s))
        group.gather(Finished, bounds.teardown_s, Failure.ITER_TIMEOUT, "giving the GPUs back")
        group.part()
        self._spent("copies", began_s)

    def _collectives(self, group: WorkerGroup) -> None:
        bounds = self._job.bounds
        self._still_free()
        self._join(group)
        self._warm_up(group)
        began_s = self._clock.monotonic_s()
        for step in self._job.plan.steps:
            if step.collective is not None:
                self._still_free()
                self._run(group, step, step.collective)
        self._spent("measure", began_s)
        began_s = self._clock.monotonic_s()
        group.tell(Finish(bounds.teardown_s))
        finished = group.gather(Finished, bounds.teardown_s, Failure.ITER_TIMEOUT, "parting")
        self._memory_bytes = max(one.memory_bytes for one in finished)
        group.part()
        self._spent("teardown", began_s)

    def _join(self, group: WorkerGroup) -> None:
        job, bounds, began_s = self._job, self._job.bounds, self._clock.monotonic_s()
        environment = self._environment()
        for rank, gpu in enumerate(job.gpus, job.first_rank):
            group.start(rank, job.cores, environment).send(StartRank(
                job.places.libcuda, job.places.libnccl, gpu, rank, job.plan.ranks, job.buffer_bytes, bounds.memory_bytes,
                bounds.channels_max, wants_id=rank == 0,
            ))  # fmt: skip
        loaded = group.gather(Loaded, bounds.init_s, Failure.INIT_TIMEOUT, "taking the GPU")
        self._versions = Versions(loaded[0].nccl, loaded[0].cuda_driver, loaded[0].path)
        different = sorted({one.nccl for one in loaded})
        if len(different) > 1:
            raise BrokenError(
                Broken(Failure.NCCL_VERSION_MISMATCH, f"ranks loaded NCCL {' and '.join(different)}: name one libnccl.so.2 for all")
            )
        unique_id = self._exchange(loaded[0].unique_id)
        group.tell(Join(unique_id, bounds.init_s))
        joined = group.gather(Joined, bounds.init_s, Failure.INIT_TIMEOUT, "coming together")
        self._memory_bytes = max(one.memory_bytes for one in joined)
        self._spent("init", began_s)

    def _warm_up(self, group: WorkerGroup) -> None:
        """By count and by time: clocks ramp up, and NCCL connects with the first collective."""
        self._still_free()
        began_s, done = self._clock.monotonic_s(), 0
        while done < PROBE_WARM_UP_MIN or self._clock.monotonic_s() - began_s < self._job.bounds.warm_up_s:
            times = WARM_UP_BATCH if done else PROBE_WARM_UP_MIN
            self._measured(group, Collective.ALL_REDUCE, WARM_UP_SIZE, times, held=False)
            done += times
        self._spent("warmup", began_s)

    def _run(self, group: WorkerGroup, step: Step, collective: Collective) -> None:
        ranks = self._job.plan.ranks
        size_bytes = whole_size(collective, ranks, step.size_bytes)
        if step.phase is Phase.CHECK:
            for _ in range(step.times):
                self._check(group, step, collective, size_bytes)
            return
        if step.warm_up:
            self._measured(group, collective, size_bytes, step.warm_up, held=False)
        found = self._measured(group, collective, size_bytes, step.times, held=True)
        self._steps.append(timed(collective, step.size_bytes, ranks, found))

    def _measured(self, group: WorkerGroup, collective: Collective, size_bytes: int, times: int, *, held: bool) -> list[Measured]:
        deadline_s = self._job.bounds.iteration_s
        group.tell(Measure(self._next(), collective, size_bytes, times, held, deadline_s))
        found = group.gather(Measured, deadline_s, Failure.ITER_TIMEOUT, f"{collective.value} of {size_bytes} bytes")
        if any(len(one.times_s) != times for one in found):
            raise BrokenError(Broken(Failure.WORKER_CRASH, f"a rank tells of another number of iterations than {times}"))
        self._gpu_s += sum(max(each) for each in zip(*(one.times_s for one in found), strict=True))
        return found

    def _check(self, group: WorkerGroup, step: Step, collective: Collective, size_bytes: int) -> None:
        job, deadline_s = self._job, self._job.bounds.iteration_s
        group.tell(Check(self._next(), collective, size_bytes, job.seed, deadline_s))
        found = group.gather(Checked, deadline_s, Failure.ITER_TIMEOUT, f"the check of {collective.value}")
        self._steps.append(StepResult(collective, step.size_bytes, job.plan.ranks, wrong=wrong_data(job.first_rank, found)))
