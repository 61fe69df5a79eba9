"""Probes of fake GPUs: jobs that take a fraction of a second, and the processes of a run as the kernel has them."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter.probes.collectives import Collective
from exporter.probes.gates import Gate
from exporter.probes.job import Bounds, Job
from exporter.probes.outcome import Outcome
from exporter.probes.plan import Phase, Plan, Step
from exporter.probes.supervisor import Supervisor
from exporter.probes.worker.libraries import Places
from exporter.probes.worker_group import Stop
from exporter.probes.worker_process import MODULE
from exporter.runtime.clock import SystemClock
from tests.nccl_library import FakeGpus

SMALL, LARGE = 1024, 65_536
QUICK = Bounds(wall_s=20.0, init_s=5.0, iteration_s=2.0, teardown_s=2.0, warm_up_s=0.0, abort_s=0.3, terminate_s=0.3, kill_s=3.0)
"""Deadlines for runs that end well or fail at once."""
HASTY = replace(QUICK, iteration_s=0.3, teardown_s=0.3)
"""… and for runs that hang once they are together, …"""
HASTY_START = replace(QUICK, init_s=1.0)
"""… or before."""
LADDER_S = QUICK.abort_s + QUICK.terminate_s + QUICK.kill_s


def steps(collectives: Sequence[Collective] = (Collective.ALL_REDUCE,), times: int = 5) -> tuple[Step, ...]:
    """Each at a small and a large size, and checked."""
    return (
        *(Step(Phase.LATENCY, one, size, times, 2) for one in collectives for size in (SMALL, LARGE)),
        *(Step(Phase.CHECK, one, LARGE, 1) for one in collectives),
    )


def job(gpus: FakeGpus, folder: Path, ranks: int = 2, wanted: Sequence[Step] | None = None, bounds: Bounds = QUICK, **rest: Any) -> Job:
    """On the first `ranks` fake GPUs."""
    plan = Plan(ranks, tuple(steps() if wanted is None else wanted))
    places = rest.pop("places", Places(gpus.libcuda, gpus.libnccl))
    return Job(tuple(map(str, range(ranks))), plan, folder / "run", places=places, bounds=bounds, variables=gpus.environment(),
               shared_memory=gpus.shared_memory, **rest)  # fmt: skip


def run(wanted: Job, shut: Callable[[], Gate | None] = lambda: None, stop: Stop | None = None) -> Outcome:
    """One run. Whatever came of it, nothing may be left: no process, no folder, no descriptor."""
    open_before = len(os.listdir("/proc/self/fd"))
    outcome = Supervisor(wanted, SystemClock(), shut, stop).run()
    assert workers_of(os.getpid()) == []
    assert not wanted.private.exists()
    assert len(os.listdir("/proc/self/fd")) == open_before
    return outcome


def workers_of(parent: int) -> list[int]:
    """Processes that this one started as workers and that have not ended; whoever waits to be buried has."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if MODULE.encode() in words and words[words.index(MODULE.encode()) + 1] == str(parent).encode():
            found.append(int(path.name))
    return sorted(found)


def gone_within(parent: int, seconds: float) -> bool:
    """Whether all of its workers have ended by then."""
    until = time.monotonic() + seconds
    while workers_of(parent):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


class Meddler:
    """As a gate: open, but at its n-th question (from 0) it first does something to the workers of this process."""

    def __init__(self, at: int, act: Callable[[list[int]], None]) -> None:
        self._at, self._act, self._asked = at, act, 0

    def __call__(self) -> None:
        """Asked once more."""
        if self._asked == self._at:
            self._act(workers_of(os.getpid()))
        self._asked += 1
