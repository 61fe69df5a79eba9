"""Workers of a probe as processes: they end with whoever started them, whatever they are doing, and take little of the machine."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.probes.environment import worker_environment
from exporter.probes.messages import Join, Loaded, StartRank, line_of
from exporter.probes.reasons import Failure
from exporter.probes.supervisor import Supervisor
from exporter.probes.worker_process import MODULE, WorkerProcess
from exporter.runtime.clock import SystemClock
from exporter.runtime.probe_worker import ALONE_S
from tests.nccl_library import FakeGpus
from tests.probes.running import HASTY, QUICK, Meddler, gone_within, job, run, workers_of
from tests.requires import lacking

ROOT = Path(__file__).parents[2]


@contextmanager
def supervised(folder: Path, ranks: int, *knobs: str) -> "Iterator[subprocess.Popen[str]]":
    """A supervisor in a process of its own, whose first probe has begun."""
    argv = [sys.executable, "-m", "tests.probes.supervised", str(folder), str(ranks), *knobs]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("after_s", [0.02, 0.25, 0.5])
def test_a_killed_supervisor_leaves_no_worker(tmp_path: Path, after_s: float) -> None:
    """While they start, while they copy or come together, while they measure: the kernel ends them, or the end of their input does."""
    with supervised(tmp_path, 3) as process:
        time.sleep(after_s)
        process.kill()

        assert gone_within(process.pid, 2.0)


def test_a_killed_supervisor_leaves_not_even_a_stopped_worker(tmp_path: Path) -> None:
    """It hears nothing; the kernel's signal at its parent's death is one that it cannot put off."""
    with supervised(tmp_path, 2, "HANG=init:0") as process:
        while len(FakeGpus(tmp_path).calls("ncclCommInitRankConfig")) < 2:
            time.sleep(0.01)
        for worker in workers_of(process.pid):
            os.kill(worker, signal.SIGSTOP)
        process.kill()

        assert gone_within(process.pid, 2.0)


def _worker(gpus: FakeGpus, folder: Path) -> WorkerProcess:
    environment = worker_environment(os.environ, str(folder), sys.path, gpus.environment())
    return WorkerProcess(0, 0, (), environment)


def _first_answer(worker: WorkerProcess) -> object:
    while True:
        answers, ended = worker.read()
        if answers or ended:
            return answers[0] if answers else None
        time.sleep(0.01)


def test_a_worker_within_a_call_that_never_returns_ends_once_nobody_gives_orders(tmp_path: Path) -> None:
    """The thread that listens ends the process, since the other is in the library's hands."""
    gpus = FakeGpus(tmp_path, HANG="init_call:0")
    worker = _worker(gpus, tmp_path)
    worker.send(StartRank(gpus.libcuda, gpus.libnccl, "0", 0, 1, 4096, 1 << 20, 8, wants_id=True))
    loaded = _first_answer(worker)
    assert isinstance(loaded, Loaded)
    worker.send(Join(loaded.unique_id, 60.0))
    while not gpus.calls("ncclCommInitRankConfig"):
        time.sleep(0.01)
    began = time.monotonic()

    worker.close_input()

    while not worker.has_ended():
        time.sleep(0.01)
    worker.bury()
    assert worker.how_it_ended() == "exit status 3"
    assert ALONE_S - 0.5 < time.monotonic() - began < ALONE_S + 2.0


@pytest.mark.parametrize("line", [b"what?\n", b'{"message":"Join","unique_id":"00","deadline_s":1}\n', b"x" * 300_000])
def test_a_worker_that_is_told_nonsense_ends(tmp_path: Path, line: bytes) -> None:
    """No JSON, an order out of turn, a line without end: it does nothing, and ends."""
    gpus = FakeGpus(tmp_path)
    argv = [sys.executable, "-m", MODULE, str(os.getpid()), "0", "-"]

    done = subprocess.run(
        argv, input=line, capture_output=True, cwd=ROOT, env={**os.environ, **gpus.environment()}, timeout=20, check=False
    )

    assert done.returncode in {1, 3}
    assert done.stdout == b""
    assert gpus.calls() == ()


def test_a_worker_whose_parent_is_already_gone_does_not_begin() -> None:
    """It was started, and before it could say so to the kernel its parent died."""
    done = subprocess.run([sys.executable, "-m", MODULE, "1", "0", "-"], cwd=ROOT, stdin=subprocess.PIPE, timeout=20, check=False)

    assert done.returncode == 3


def test_what_a_library_prints_does_not_disturb_the_answers(tmp_path: Path) -> None:
    """NCCL writes to standard output unless it is told otherwise."""
    gpus = FakeGpus(tmp_path)
    environment = {**os.environ, **gpus.environment(), "NCCL_DEBUG": "INFO"}
    orders = line_of(StartRank(gpus.libcuda, gpus.libnccl, "0", 0, 1, 4096, 1 << 20, 8, wants_id=True))
    argv = [sys.executable, "-m", MODULE, str(os.getpid()), "0", "-"]

    done = subprocess.run(argv, input=orders, capture_output=True, cwd=ROOT, env=environment, timeout=20, check=False)

    assert all(line.startswith(b'{"message":') for line in done.stdout.splitlines())


def test_workers_take_little_of_the_machine(tmp_path: Path) -> None:
    """Low priority, the CPUs that they were given, no core file, a session of their own, and none of our environment but what may stay."""
    seen: dict[str, object] = {}

    def look(workers: list[int]) -> None:
        pid = workers[0]
        seen["nice"] = os.getpriority(os.PRIO_PROCESS, pid)
        seen["cores"] = os.sched_getaffinity(pid)
        seen["core file"] = resource.prlimit(pid, resource.RLIMIT_CORE)
        seen["session"] = os.getsid(pid) == pid
        names = {word.split(b"=")[0].decode() for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}
        seen["environment"] = {name for name in names if name.startswith(("NCCL_", "PYTEST", "HOME"))}

    core = min(os.sched_getaffinity(0))
    run(job(FakeGpus(tmp_path), tmp_path, 1, cores=(core,)), Meddler(1, look))

    assert seen["nice"] == QUICK.nice
    assert seen["cores"] == {core}
    assert seen["core file"] == (0, 0)
    assert seen["session"] is True
    assert seen["environment"] == {
        "NCCL_RAS_ENABLE", "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_CONF_FILE", "NCCL_PROFILER_PLUGIN",
    }  # fmt: skip


def test_a_process_that_cannot_be_ended_is_told_as_stuck(tmp_path: Path) -> None:
    """As one within a broken driver: SIGKILL does not end it. Its number is told, and what was the matter before."""
    tracers: list[subprocess.Popen[str]] = []

    def hold(workers: list[int]) -> None:
        argv = [sys.executable, "-m", "tests.probes.tracer", str(workers[-1])]
        tracer = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        tracers.append(tracer)
        assert tracer.stdout is not None
        held = tracer.stdout.readline().strip()
        if held != "held":
            lacking(f"this user may not trace a process ({held}): run the tests with the right to ptrace their own children")
        os.kill(workers[-1], signal.SIGSEGV)

    wanted = job(FakeGpus(tmp_path), tmp_path, bounds=replace(HASTY, kill_s=0.3))
    with pytest.warns(ResourceWarning, match="subprocess .* is still running"):  # it is, and we let go of it
        outcome = Supervisor(wanted, SystemClock(), Meddler(1, hold)).run()

    stuck = workers_of(os.getpid())
    tracers[0].communicate()
    assert outcome.stuck == tuple(stuck)
    assert len(stuck) == 1
    assert outcome.broken is not None
    assert outcome.broken.reason is Failure.STUCK_PROCESS
    assert outcome.broken.words.startswith(f"process {stuck[0]} cannot be ended, not even by SIGKILL, after: rank ")
    assert gone_within(os.getpid(), 2.0)
