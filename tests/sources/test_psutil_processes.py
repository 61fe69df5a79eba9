"""Real processes through psutil: found with their job, told from one another, and gone when they are gone."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.model.job import GpuJob
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.cgroup import place_in
from exporter.sources.fault_list import FaultList
from exporter.sources.pod_names import PodNames
from exporter.sources.process_jobs import ProcessJobs
from exporter.sources.psutil_processes import PsutilProcesses

STAT = "4242 (python) S 1 " + "0 " * 17 + "123456 " + "0 " * 30


@contextmanager
def child(**environ: str) -> Iterator[int]:
    """A process of its own that has started its program: until then it still shows the environment of its parent."""
    argv = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(argv, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate()


@pytest.fixture
def invented(tmp_path: Path) -> PsutilProcesses:
    """A procfs of our own making with one process in it."""
    (tmp_path / "4242").mkdir()
    (tmp_path / "4242/stat").write_text(STAT)
    (tmp_path / "4242/cgroup").write_text("0::/system.slice/slurmstepd.scope/job_5/step_0\n")
    (tmp_path / "4242/environ").write_bytes(b"SLURM_JOB_ID=6\0NAME=\xff\0junk\0")
    (tmp_path / "stat").write_text("btime 1700000000\n")
    return PsutilProcesses(str(tmp_path))


def test_a_real_process_is_found_with_the_job_of_its_environment() -> None:
    """Started with SLURM_JOB_ID as srun starts it; where these tests are a Slurm job themselves, its cgroup says so and counts first."""
    job_id = place_in(PsutilProcesses().cgroup(os.getpid())).slurm_job or "271828"
    with child(SLURM_JOB_ID="271828", SLURM_STEP_ID="0") as pid:
        faults = FaultList("jobs")
        found = ProcessJobs(PsutilProcesses(), PodNames(MemoryTree())).jobs_of({"gpu3": [pid]}, faults)

    assert [(job.device, job.job_id, job.scheduler) for job in found["gpu3"]] == [("gpu3", job_id, "slurm")]


def test_a_real_process_that_ended_is_not_there() -> None:
    """ESRCH for each question."""
    with child() as pid:
        pass
    processes = PsutilProcesses()

    for ask in (processes.identity, processes.cgroup, processes.environ, processes.username):
        with pytest.raises(ProcessLookupError):
            ask(pid)


def test_a_process_is_equal_to_itself_and_to_no_other() -> None:
    """However often it is asked."""
    processes = PsutilProcesses()
    with child() as one, child() as two:
        assert processes.identity(one) == processes.identity(one)
        assert processes.identity(one) != processes.identity(two)


def test_the_owner_of_a_real_process_is_named() -> None:
    """By this machine's own list of users."""
    assert PsutilProcesses().username(os.getpid()) == pwd.getpwuid(os.getuid()).pw_name


def test_another_root_is_read_in_place_of_proc(invented: PsutilProcesses) -> None:
    """A mount of the host's /proc; this process's own number means nothing there."""
    found = ProcessJobs(invented, PodNames(MemoryTree())).jobs_of({"gpu0": [4242, os.getpid()]}, FaultList("jobs"))

    assert found == {"gpu0": (GpuJob("gpu0", "5", "slurm"),)}
    assert invented.environ(4242)["SLURM_JOB_ID"] == "6"
    assert PsutilProcesses().identity(os.getpid())


def test_the_same_number_with_another_start_is_another_process(invented: PsutilProcesses, tmp_path: Path) -> None:
    """Start times are ticks since boot."""
    before = invented.identity(4242)
    (tmp_path / "4242/stat").write_text(STAT.replace("123456", "123457"))

    assert invented.identity(4242) != before


@pytest.mark.parametrize("text", ["", "4242", "4242 (python", "4242 (python) S 1 2 3", "4242 (x) S " + "y " * 50])
def test_a_stat_of_another_grammar_is_an_error_of_that_process(invented: PsutilProcesses, tmp_path: Path, text: str) -> None:
    """Not an exception of some other kind, which would cost the whole pass."""
    (tmp_path / "4242/stat").write_text(text)

    with pytest.raises(OSError, match=r"not what the kernel writes|No such process"):
        invented.identity(4242)


@pytest.mark.parametrize("pid", [-1, 2**40])
def test_a_number_that_no_process_can_have_is_an_error_of_that_number(pid: int) -> None:
    """The driver's list is not trusted."""
    with pytest.raises(OSError, match=r"rocess|kernel"):
        PsutilProcesses().identity(pid)
