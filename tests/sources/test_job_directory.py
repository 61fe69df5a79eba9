"""The HPC job-mapping directory: dcgm-exporter's format, and junk of every kind that costs only itself."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.jobs import JOB_FILE_SIZE_BYTES, JOB_FILES_MAX, JOB_ID_LENGTH_MAX, JOBS_PER_GPU_MAX
from exporter.model.fault import Fault, Reason
from exporter.model.job import GpuJob
from exporter.simulator.archive import File, Symlink
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.fault_list import FaultList
from exporter.sources.job_directory import JobDirectory, job_lines
from exporter.sources.sysfs import Files, RealFiles

ROOT = "/run/jobs"
GPUS = {index: f"gpu{index}" for index in range(4)}
IDLE: dict[str, list[str]] = {gpu: [] for gpu in GPUS.values()}


def directory_of(files: Files, gpus: Mapping[int, str] = GPUS) -> JobDirectory:
    """The directory over that tree."""
    return JobDirectory(files, lambda: gpus, root=ROOT)


def read(files: Files, gpus: Mapping[int, str] = GPUS) -> tuple[dict[str, list[str]], list[Fault]]:
    """Job ids of each GPU, and the Faults, of one pass over a directory that can be listed."""
    faults = FaultList("jobs")
    found = directory_of(files, gpus).read(faults)
    assert found is not None
    return {gpu: [job.job_id for job in jobs] for gpu, jobs in found.items()}, faults.faults


def tree(**files: bytes) -> MemoryTree:
    """A directory with `_0=b"…"` for the file `0`, `_0_1` for `0.1`."""
    return MemoryTree([File(name.removeprefix("_").replace("_", "."), text) for name, text in files.items()])


def test_a_file_names_the_jobs_of_the_gpu_of_its_index() -> None:
    """One job id a line; a GPU without a file is idle."""
    assert read(tree(_0=b"4242\n", _2=b"7\n8\n")) == ({**IDLE, "gpu0": ["4242"], "gpu2": ["7", "8"]}, [])


def test_the_index_is_the_driver_s_and_the_name_is_ours() -> None:
    """With gpu1 lost, index 1 is gpu2: the file follows the index."""
    assert read(tree(_1=b"9\n"), {0: "gpu0", 1: "gpu2"}) == ({"gpu0": [], "gpu2": ["9"]}, [])


def test_mig_instances_are_jobs_of_their_gpu() -> None:
    """`1.3` is instance 3 of GPU 1; several of them share it."""
    found, faults = read(tree(_1_3=b"5\n", _1_4=b"6\n", _1_5=b"5\n"))

    assert (sorted(set(found["gpu1"])), faults) == (["5", "6"], [])


def test_the_scheduler_is_who_the_site_says() -> None:
    """The files do not say who wrote them."""
    directory = JobDirectory(tree(_0=b"12.server\n"), lambda: GPUS, root=ROOT, scheduler="pbs")

    assert (directory.read(FaultList("jobs")) or {})["gpu0"] == (GpuJob("gpu0", "12.server", "pbs"),)


@pytest.mark.parametrize("text", [b"", b"\n\n", b"0", b"0\n", b"  \r\n"])
def test_an_empty_file_or_a_zero_is_an_idle_gpu(text: bytes) -> None:
    """Some prologs make all files at boot and write 0 when a job ends."""
    assert read(tree(_0=text)) == (IDLE, [])


@pytest.mark.parametrize("job_id", ["4242", "4242_7", "4242+1", "123456[7].server.example.org", "x" * JOB_ID_LENGTH_MAX])
def test_every_scheduler_s_ids_are_taken_as_they_are(job_id: str) -> None:
    """Slurm, PBS, LSF, Grid Engine."""
    assert job_lines(f"{job_id}\r\n".encode()).job_ids == (job_id,)


def test_a_job_that_stands_twice_is_one() -> None:
    """A prolog that appends without looking."""
    assert job_lines(b"5\n6\n5\n").job_ids == ("5", "6")


def test_a_junk_line_costs_only_itself() -> None:
    """The other lines' jobs are shown, and the Fault says which line and what was expected."""
    found, faults = read(tree(_0=b"5\nuser=ann job=6\n\xff\xfe\n"))

    assert found["gpu0"] == ["5"]
    assert faults == [
        Fault("jobs", f"{ROOT}/0", Reason.PARSE,
              '2 of its lines are no job id, the first is "user=ann job=6"; expected one a line')
    ]  # fmt: skip


@pytest.mark.parametrize("text", [b"\x7fELF\x02\x01" + bytes(range(256)) * 8, b"5\n" * JOB_FILE_SIZE_BYTES, b"y" * 9_000])
def test_a_file_that_is_no_list_of_jobs_costs_only_itself(text: bytes) -> None:
    """A program, a log, one endless line: the other GPUs' jobs are shown."""
    found, faults = read(tree(_0=text, _1=b"8\n"))

    assert found == {**IDLE, "gpu1": ["8"]}
    assert [(fault.subject, fault.reason) for fault in faults] == [(f"{ROOT}/0", Reason.PARSE)]


def test_too_many_lines_are_cut_off_and_counted() -> None:
    """The first ones are shown."""
    found, faults = read(tree(_0=b"".join(b"%d\n" % job for job in range(1, JOBS_PER_GPU_MAX + 4))))

    assert found["gpu0"] == [str(job) for job in range(1, JOBS_PER_GPU_MAX + 1)]
    assert [(fault.reason, fault.detail.split(" beyond")[0]) for fault in faults] == [(Reason.LIMIT, "names 3 jobs")]


def test_too_many_files_are_cut_off_and_counted() -> None:
    """A directory that no epilog ever cleared."""
    found, faults = read(MemoryTree([File(f"0.{instance}", b"5\n") for instance in range(JOB_FILES_MAX + 1)]))

    assert set(found["gpu0"]) == {"5"}
    assert [fault.reason for fault in faults] == [Reason.LIMIT]


def test_files_of_other_names_are_one_fault_and_hidden_ones_none() -> None:
    """UUIDs instead of indices are how a prolog silently loses every job: CUDA_VISIBLE_DEVICES of Slurm 25.11."""
    entries = [File("GPU-5d1f", b"5\n"), File("README", b"x"), File("00", b"6\n"), File("1.2.3", b"7\n"), File(".keep", b"")]
    found, faults = read(MemoryTree(entries))

    assert found == IDLE
    assert [(fault.subject, fault.reason) for fault in faults] == [(ROOT, Reason.PARSE)]
    assert faults[0].detail.startswith('4 of its files have no GPU index for a name, the first "00"')


def test_an_index_that_no_gpu_has_is_a_fault() -> None:
    """Left over from before a GPU was lost; its jobs are nobody's."""
    found, faults = read(tree(_9=b"5\n"))

    assert (found, [(fault.subject, fault.reason) for fault in faults]) == (IDLE, [(f"{ROOT}/9", Reason.ABSENT)])


@pytest.mark.parametrize(
    ("code", "reason"),
    [(errno.EACCES, Reason.DENIED), (errno.EIO, Reason.IO), (errno.ENOENT, Reason.ABSENT), (errno.EMFILE, Reason.EXHAUSTED)],
)
def test_an_unreadable_file_costs_only_itself(code: int, reason: Reason) -> None:
    """Also one that the epilog takes away between the listing and the read."""
    files = tree(_0=b"5\n", _1=b"8\n")
    files.fail_open("0", code)
    found, faults = read(files)

    assert found == {**IDLE, "gpu1": ["8"]}
    assert [(fault.subject, fault.reason) for fault in faults] == [(f"{ROOT}/0", reason)]


@pytest.mark.parametrize(("code", "reason"), [(errno.ENOENT, Reason.ABSENT), (errno.EACCES, Reason.DENIED)])
def test_a_directory_that_cannot_be_listed_says_nothing_about_any_gpu(code: int, reason: Reason) -> None:
    """None, not: all GPUs are idle."""
    files, faults = MemoryTree(), FaultList("jobs")
    files.fail_open("", code)

    assert directory_of(files).read(faults) is None
    assert [(fault.subject, fault.reason) for fault in faults.faults] == [(ROOT, reason)]


def test_a_rewritten_file_shows_at_the_next_pass() -> None:
    """Every pass reads anew."""
    files = tree(_0=b"5\n")
    before = read(files)[0]["gpu0"]
    files.write("0", b"6\n")

    assert (before, read(files)[0]["gpu0"]) == (["5"], ["6"])


def test_a_link_that_stays_in_the_directory_is_followed_and_one_that_leaves_is_not() -> None:
    """A job label must not show lines of any file on the node."""
    found, _ = read(MemoryTree([File("all/5", b"5\n"), Symlink("0", "all/5"), Symlink("1", "../secret")]))

    assert found == {**IDLE, "gpu0": ["5"]}


def test_a_real_directory_is_read_and_what_is_no_file_is_passed_over(tmp_path: Path) -> None:
    """A folder, a pipe and a link out of it in the places of files: no hang, and one Fault each."""
    (tmp_path / "0").write_text("5\n")
    (tmp_path / "1").mkdir()
    os.mkfifo(tmp_path / "2")
    (tmp_path / "3").symlink_to("/etc/hostname")
    found, faults = read(RealFiles(str(tmp_path), 10))

    assert found == {**IDLE, "gpu0": ["5"]}
    assert [(fault.subject[-1], fault.reason) for fault in faults] == [("1", Reason.PARSE), ("2", Reason.PARSE), ("3", Reason.ABSENT)]


def test_nothing_stays_open() -> None:
    """Each file is closed after its read, failed or not."""
    files = tree(_0=b"5\n", _1=b"\xff\n")
    files.fail("1", errno.EIO)
    read(files)

    assert files.handles_open == 0


@given(st.binary(max_size=2000) | st.text().map(str.encode))
def test_any_bytes_are_some_lines(raw: bytes) -> None:
    """Never an error; every job id is short, visible and without a space, each stands once, none is NO_JOB."""
    lines = job_lines(raw)

    assert all(job_id.isascii() and job_id.isprintable() and " " not in job_id for job_id in lines.job_ids)
    assert all(len(job_id) <= JOB_ID_LENGTH_MAX and job_id != "0" for job_id in lines.job_ids)
    assert len(set(lines.job_ids)) == len(lines.job_ids) <= JOBS_PER_GPU_MAX


@given(st.lists(st.from_regex(r"[1-9][0-9]{0,9}(_[0-9]{1,4})?", fullmatch=True), unique=True, max_size=JOBS_PER_GPU_MAX))
def test_what_a_prolog_writes_is_what_is_read(job_ids: list[str]) -> None:
    """In its order."""
    assert job_lines("".join(f"{job_id}\n" for job_id in job_ids).encode()) == (tuple(job_ids), (), 0)
