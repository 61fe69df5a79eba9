"""What can go wrong with a probe, over fake GPUs in real processes: the right reason, within the ladder's time, and nothing is left."""

import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.probes.collectives import Collective
from exporter.probes.gates import Gate
from exporter.probes.outcome import Broken, Outcome
from exporter.probes.plan import Phase, Step
from exporter.probes.reasons import Failure, Skipped
from exporter.probes.worker.libraries import Places
from exporter.probes.worker_group import GRACE_S
from tests.nccl_library import FakeGpus
from tests.probes import kills
from tests.probes.running import HASTY, HASTY_START, LADDER_S, LARGE, QUICK, Meddler, job, run, steps

LONG = (*steps(), *(Step(Phase.LATENCY, Collective.ALL_REDUCE, LARGE, 20, 2) for _ in range(3)))
COPIES = Step(Phase.COPIES, None, LARGE, 1)


def _broken(outcome: Outcome) -> Broken:
    assert outcome.broken is not None
    return outcome.broken


@pytest.mark.parametrize(
    ("knobs", "reason", "words"),
    [
        ({"HANG": "init:1"}, Failure.INIT_TIMEOUT, "ncclCommInitRankConfig has not ended within 1 s"),
        ({"HANG": "init_call:1"}, Failure.INIT_TIMEOUT, "ncclCommInitRankConfig has not ended within 1 s"),
        ({"HANG": "context:1"}, Failure.INIT_TIMEOUT, "rank 1: no answer to taking the GPU in time"),
        ({"HANG": "iteration:1:5"}, Failure.ITER_TIMEOUT, "a collective has not ended within 0.3 s"),
        ({"HANG": "iteration:1:5 abort:0 abort:1"}, Failure.ITER_TIMEOUT, "a collective has not ended within 0.3 s"),
        ({"HANG": "finalize:0 abort:0"}, Failure.ITER_TIMEOUT, "ncclCommFinalize has not ended within 0.3 s"),
    ],
)  # fmt: skip
def test_whatever_hangs_is_ended_in_time_for_its_reason(tmp_path: Path, knobs: dict[str, str], reason: Failure, words: str) -> None:
    """Initialisation that never ends or never returns (NVIDIA/nccl#1677, #234), a collective, an abort (NVIDIA/nccl#1013), a parting.
    NCCL's own shared memory goes as well."""
    gpus = FakeGpus(tmp_path, **knobs)
    began = time.monotonic()

    bounds = HASTY_START if reason is Failure.INIT_TIMEOUT else HASTY
    broken = _broken(run(job(gpus, tmp_path, bounds=bounds)))

    assert (broken.reason, broken.aborted) == (reason, True)
    assert words in broken.words
    assert time.monotonic() - began < bounds.init_s + bounds.iteration_s + bounds.teardown_s + GRACE_S + LADDER_S
    assert gpus.left_behind() == []


def test_a_copy_that_hangs_is_ended(tmp_path: Path) -> None:
    """Before any rank is started."""
    gpus = FakeGpus(tmp_path, HANG="copy:0 copy:1")

    broken = _broken(run(job(gpus, tmp_path, wanted=[COPIES, *steps()], bounds=HASTY)))

    assert broken.reason is Failure.ITER_TIMEOUT
    assert "a copy from GPU 0 has not ended within 0.3 s" in broken.words
    assert gpus.calls("ncclCommInitRankConfig") == ()


@pytest.mark.parametrize(
    ("knobs", "reason", "rank", "words"),
    [
        ({"ASYNC_ERROR": "1:6", "ASYNC_ERROR_TURN": 8}, Failure.IB_COMPLETION_ERROR, 1, "Got completion from peer 192.0.2.31"),
        ({"MEMORY": "1:1000"}, Failure.OOM, 1, "CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ({"INIT_ERROR": "1:2"}, Failure.SHM_TOO_SMALL, 1, "No space left on device"),
        ({"NO_INTERFACE": 1}, Failure.NO_SOCKET_INTERFACE, 0, "no socket interface found"),
        ({"NCCL_VERSION": 21304}, Failure.NCCL_TOO_OLD, 0, "is NCCL 2.13.4: a probe needs 2.14"),
        ({"GPUS": 0}, Failure.NO_LIBCUDA, 0, "shows no GPU"),
        ({"CUINIT": 803}, Failure.NO_LIBCUDA, 0, "cuInit says CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"),
        ({"GPUS": 1}, Failure.INIT_ERROR, 1, "CUDA shows no GPU 1; it shows 1"),
    ],
)  # fmt: skip
def test_what_a_library_refuses_is_told_apart(tmp_path: Path, knobs: dict[str, object], reason: Failure, rank: int, words: str) -> None:
    """By a reason of its own, the rank that it befell, and words that name the call and what the library said. The first that fails is
    everybody's end (NVIDIA/nccl#582)."""
    gpus = FakeGpus(tmp_path, **knobs)

    broken = _broken(run(job(gpus, tmp_path, rank + 1)))

    assert (broken.reason, broken.rank) == (reason, rank)
    assert words in broken.words
    assert not broken.aborted
    assert gpus.left_behind() == []


@pytest.mark.parametrize(
    ("places", "reason", "words"),
    [
        ({"libcuda": "libcuda-not-here.so.1"}, Failure.NO_LIBCUDA, "cannot load libcuda-not-here.so.1"),
        ({"libnccl": "libnccl-not-here.so.2"}, Failure.NO_LIBNCCL, "cannot load libnccl-not-here.so.2"),
        ({"libnccl": "libc.so.6"}, Failure.NCCL_TOO_OLD, "libc.so.6 has no ncclGetVersion"),
    ],
)  # fmt: skip
def test_missing_libraries_are_told_apart(tmp_path: Path, places: dict[str, str], reason: Failure, words: str) -> None:
    """The driver's, NCCL's, and a file that is something else."""
    gpus = FakeGpus(tmp_path)
    where = {"libcuda": gpus.libcuda, "libnccl": gpus.libnccl, **places}

    broken = _broken(run(job(gpus, tmp_path, 1, places=Places(**where))))

    assert broken.reason is reason
    assert words in broken.words


def test_a_library_without_the_call_that_does_not_block_is_too_old(tmp_path: Path) -> None:
    """Whatever its number says."""
    gpus = FakeGpus(tmp_path, without=["ncclCommInitRankConfig"])

    broken = _broken(run(job(gpus, tmp_path, 1)))

    assert broken.reason is Failure.NCCL_TOO_OLD
    assert "has no ncclCommInitRankConfig" in broken.words


def test_two_ranks_on_one_gpu_are_refused_by_nccl_unless_it_is_told_to(tmp_path: Path) -> None:
    """The reason is our own; NCCL_MULTI_RANK_GPU_ENABLE allows it since 2.30."""
    gpus = FakeGpus(tmp_path)
    wanted = replace(job(gpus, tmp_path), gpus=("0", "0"))

    broken = _broken(run(wanted))
    allowed = run(replace(wanted, variables={**wanted.variables, "NCCL_MULTI_RANK_GPU_ENABLE": "1"}))

    assert broken.reason is Failure.DUPLICATE_GPU
    assert allowed.broken is None


@pytest.mark.parametrize(("bytes_taken", "buffers"), [(2 << 30, LARGE), (0, 1 << 30)])
def test_more_memory_than_allowed_ends_the_probe(tmp_path: Path, bytes_taken: int, buffers: int) -> None:
    """NCCL's share included; buffers that are too long are not even asked for."""
    gpus = FakeGpus(tmp_path, NCCL_MEMORY=bytes_taken)

    broken = _broken(run(job(gpus, tmp_path, 1, [Step(Phase.CHECK, Collective.ALL_REDUCE, buffers, 1)])))

    assert broken.reason is Failure.OOM
    assert "more than the 1536 MiB" in broken.words


def _kill(number: signal.Signals) -> Callable[[list[int]], None]:
    return lambda workers: os.kill(workers[-1], number)


def test_a_stopped_worker_is_ended_by_the_kernel(tmp_path: Path) -> None:
    """It hears no order and no SIGTERM; who waits for it within NCCL says that a collective does not end."""
    gpus = FakeGpus(tmp_path)

    broken = _broken(run(job(gpus, tmp_path, wanted=LONG, bounds=HASTY), Meddler(4, _kill(signal.SIGSTOP))))

    assert (broken.reason, broken.aborted) == (Failure.ITER_TIMEOUT, True)


def test_a_worker_that_crashes_is_everybodys_end_at_once(tmp_path: Path) -> None:
    """Long before a deadline; how it ended is told."""
    gpus = FakeGpus(tmp_path)
    began = time.monotonic()

    broken = _broken(run(job(gpus, tmp_path, wanted=LONG), Meddler(4, _kill(signal.SIGSEGV))))

    assert broken == Broken(Failure.WORKER_CRASH, "rank 1 ended by itself (signal 11, SIGSEGV)", 1)
    assert time.monotonic() - began < QUICK.iteration_s + LADDER_S


def test_the_end_of_a_worker_by_an_error_of_ours_is_told_in_its_last_words(tmp_path: Path) -> None:
    """As with a message of less than one element, which no plan may ask for: the traceback's last line."""
    wanted = job(FakeGpus(tmp_path), tmp_path, 1, [Step(Phase.LATENCY, Collective.ALL_REDUCE, 2, 1)])

    broken = _broken(run(wanted))

    words = "rank 0 ended by itself (exit status 1); it last said: ValueError: a message of 0 bytes, with buffers of 1024"
    assert broken == Broken(Failure.WORKER_CRASH, words, 0)


@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_gate_that_shuts_between_sizes_ends_the_probe_as_preempted(tmp_path: Path, at: int) -> None:
    """Nothing more is measured; if it was shut before the start, no library was called at all, not even cuInit."""
    gpus = FakeGpus(tmp_path)
    shut = Gate(Skipped.GPU_BUSY, is_open=False, detail="gpu0 is used by 1 process")
    asked: list[int] = []

    def gate() -> Gate | None:
        asked.append(len(gpus.calls()))
        return shut if len(asked) > at else None

    outcome = run(job(gpus, tmp_path, wanted=LONG), gate)

    assert (outcome.preempted, outcome.broken) == (shut, None)
    assert len(asked) == at + 1
    assert [call.name for call in gpus.calls()[asked[-1] :]] == ["ncclCommAbort"] * (2 if at else 0)


def test_who_is_told_to_stop_stops(tmp_path: Path) -> None:
    """As the daemon does when it ends; in the middle of a collective that hangs."""
    gpus = FakeGpus(tmp_path, HANG="iteration:0:5")
    ours, theirs = socket.socketpair()
    began = time.monotonic()

    def stop(_: list[int]) -> None:
        theirs.send(b".")

    with ours, theirs:
        broken = _broken(run(job(gpus, tmp_path), Meddler(1, stop), ours))

    assert broken == Broken(None, "it was told to stop", aborted=True)
    assert time.monotonic() - began < QUICK.iteration_s


def test_a_probe_that_is_disturbed_at_any_point_leaves_nothing() -> None:
    """Told to stop, a worker killed, a worker stopped, each at some moment; `python -m tests.probes.kills` does so as often as wanted."""
    assert kills.main(["--times", "3", "--seed", "7"]) == 0


def test_the_whole_run_has_an_end(tmp_path: Path) -> None:
    """Even if no single wait is too long."""
    gpus = FakeGpus(tmp_path, HANG="init:0")

    broken = _broken(run(job(gpus, tmp_path, bounds=replace(QUICK, wall_s=0.8))))

    assert broken.reason is Failure.INIT_TIMEOUT
    assert "the whole run may take 0.8 s" in broken.words


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """Nothing was started; the line names the folder."""
    (tmp_path / "run").write_text("no folder")
    gpus = FakeGpus(tmp_path)

    broken = _broken(run(job(gpus, tmp_path)))

    assert broken.reason is Failure.WORKER_CRASH
    assert broken.words.startswith(f"cannot go on in {tmp_path}/run/probe-run: ")
    assert gpus.calls() == ()
