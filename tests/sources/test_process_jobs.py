"""From processes to jobs: what counts as evidence, what is remembered, and what is left out rather than guessed."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.jobs import GPU_PROCESSES_MAX
from exporter.model.fault import Fault, Reason
from exporter.model.job import GpuJob
from exporter.simulator.archive import File
from exporter.simulator.memory_processes import MemoryProcess, MemoryProcesses
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.fault_list import FaultList
from exporter.sources.pod_names import PodNames
from exporter.sources.process_jobs import ProcessJobs

UID = "6f1d2c3b-0a9e-4d5f-8b7c-112233445566"
BOX = "ab" * 32
IN_POD = f"0::/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/cri-containerd-{BOX}.scope\n"
IN_JOB = "0::/system.slice/slurmstepd.scope/job_4242/step_0/user/task_0\n"
LOGS = MemoryTree([File(f"pods/batch_worker-0_{UID}/trainer/0.log", b"")])
NO_ENVIRON = {"environ": errno.EACCES}


class Node:
    """Processes under a ProcessJobs; `look` is one pass."""

    def __init__(self, *, logs: MemoryTree = LOGS, with_user: bool = False, **running: MemoryProcess) -> None:
        self.processes = MemoryProcesses({int(name[1:]): process for name, process in running.items()})
        self.jobs = ProcessJobs(self.processes, PodNames(logs), with_user=with_user)
        self.faults: list[Fault] = []

    def look(self, *pids: int) -> tuple[GpuJob, ...]:
        """The jobs of gpu0, on which these processes are; `faults` are this pass's."""
        faults = FaultList("jobs")
        found = self.jobs.jobs_of({"gpu0": pids}, faults)
        self.faults = faults.faults
        return found["gpu0"]

    @property
    def reasons(self) -> list[Reason]:
        """Why something is missing, in order."""
        return [fault.reason for fault in self.faults]


def test_a_cgroup_names_the_slurm_job() -> None:
    """The environment is not read: its owner could write anything into it."""
    node = Node(p7=MemoryProcess(cgroup=IN_JOB, environ={"SLURM_JOB_ID": "666"}))

    assert node.look(7) == (GpuJob("gpu0", "4242", "slurm"),)
    assert (node.processes.asked["environ"], node.faults) == (0, [])


def test_without_a_cgroup_of_its_own_the_environment_names_the_slurm_job() -> None:
    """Sites without proctrack/cgroup."""
    assert Node(p7=MemoryProcess(environ={"SLURM_JOB_ID": "31"})).look(7) == (GpuJob("gpu0", "31", "slurm"),)


def test_a_pod_is_a_job_whose_id_is_its_uid() -> None:
    """With the names that the kubelet's folders tell."""
    assert Node(p7=MemoryProcess(cgroup=IN_POD)).look(7) == (GpuJob("gpu0", UID, "kubernetes", "batch", "worker-0", "trainer"),)


def test_a_pod_without_a_known_name_goes_by_its_uid() -> None:
    """Namespace and container stay empty, and the Fault says what would help."""
    node = Node(logs=MemoryTree(), p7=MemoryProcess(cgroup=IN_POD))

    assert node.look(7) == (GpuJob("gpu0", UID, "kubernetes", "", UID),)
    assert node.reasons == [Reason.ABSENT]


def test_a_slurm_job_within_a_pod_is_the_slurm_job_in_that_pod() -> None:
    """Slurm on Kubernetes: one row with both."""
    process = MemoryProcess(cgroup=IN_POD, environ={"SLURM_JOB_ID": "31"})

    assert Node(p7=process).look(7) == (GpuJob("gpu0", "31", "slurm", "batch", "worker-0", "trainer"),)


@pytest.mark.parametrize("said", ["", "0", "-1", "31; rm", "job", "12345678901", "٣١", "31\n"])
def test_an_environment_that_names_no_job_is_no_job(said: str) -> None:
    """A person's own process, or somebody's joke; no Fault, as nothing is wrong."""
    node = Node(p7=MemoryProcess(environ={"SLURM_JOB_ID": said}))

    assert (node.look(7), node.faults) == ((), [])


def test_an_environment_that_may_not_be_read_costs_nothing_if_the_cgroup_says_enough() -> None:
    """Kubernetes nodes, where nobody needs the right to trace other processes."""
    node = Node(p7=MemoryProcess(cgroup=IN_POD, refusals=NO_ENVIRON), p8=MemoryProcess(cgroup=IN_JOB, refusals=NO_ENVIRON))

    assert [job.scheduler for job in node.look(7, 8)] == ["kubernetes", "slurm"]
    assert node.faults == []


def test_a_process_that_may_not_be_looked_at_is_left_out_and_counted() -> None:
    """With the right that would help; its neighbour is shown."""
    node = Node(p7=MemoryProcess(refusals=NO_ENVIRON), p8=MemoryProcess(cgroup=IN_JOB))

    assert [job.job_id for job in node.look(7, 8)] == ["4242"]
    assert node.reasons == [Reason.DENIED]
    assert "CAP_SYS_PTRACE" in node.faults[0].detail


def test_a_process_that_is_gone_is_left_out_and_counted() -> None:
    """NVML lists it a moment longer (XuehaiPan/nvitop#79: it may list numbers that never were)."""
    node = Node(p8=MemoryProcess(cgroup=IN_JOB))

    assert [job.job_id for job in node.look(7, 8, 0, -5)] == ["4242"]
    assert node.reasons == [Reason.ABSENT] * 3


def test_if_no_process_is_ever_there_the_numbers_are_another_namespace_s() -> None:
    """A container without hostPID: the first pass may be chance, the second is not, and the Fault says what to do."""
    node = Node()
    node.look(7, 8)
    first = node.reasons
    node.look(7, 8)

    assert (first, node.reasons) == ([Reason.ABSENT] * 2, [Reason.DENIED] * 2)
    assert "hostPID" in node.faults[0].detail


def test_a_stale_number_beside_living_ones_is_no_namespace() -> None:
    """The others are there, so it ended."""
    node = Node(p8=MemoryProcess(cgroup=IN_JOB))
    node.look(7, 8)
    node.look(7, 8)

    assert node.reasons == [Reason.ABSENT]


def test_a_process_is_looked_at_once_and_then_only_whether_it_is_still_the_same() -> None:
    """The cache holds by number and start."""
    node = Node(p7=MemoryProcess(environ={"SLURM_JOB_ID": "31"}))
    node.look(7)
    before = node.processes.asked["environ"], node.processes.asked["cgroup"]

    assert node.look(7) == (GpuJob("gpu0", "31", "slurm"),)
    assert before == (node.processes.asked["environ"], node.processes.asked["cgroup"]) == (1, 1)


def test_a_number_that_is_used_again_is_another_process() -> None:
    """NVIDIA/dcgm-exporter never forgets a number: there the second job would be shown as the first."""
    node = Node(p7=MemoryProcess(1.0, environ={"SLURM_JOB_ID": "31"}))
    node.look(7)
    node.processes.running[7] = MemoryProcess(2.0, environ={"SLURM_JOB_ID": "32"})

    assert node.look(7) == (GpuJob("gpu0", "32", "slurm"),)


def test_a_number_that_changes_hands_during_the_look_is_left_out() -> None:
    """The cgroup of the one and the environment of the other would make a job that never was."""
    node = Node(p7=MemoryProcess(1.0))

    class Swapped(dict[str, str]):
        """An environment whose reader finds the process replaced afterwards."""

        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            """The answer, and the change."""
            node.processes.running[7] = MemoryProcess(2.0)
            return "31" if key == "SLURM_JOB_ID" else default

    node.processes.running[7] = MemoryProcess(1.0, environ=Swapped())

    assert (node.look(7), node.reasons) == ((), [Reason.ABSENT])


def test_a_process_that_left_the_gpu_is_forgotten() -> None:
    """The memory is as large as what runs now."""
    node = Node(p7=MemoryProcess(cgroup=IN_JOB))
    node.look(7)
    node.look()
    node.look(7)

    assert node.processes.asked["cgroup"] == 2


def test_a_process_on_two_gpus_is_looked_at_once_and_shown_on_both() -> None:
    """And a number that the driver lists twice (compute and graphics) is one process."""
    node = Node(p7=MemoryProcess(cgroup=IN_JOB))
    found = node.jobs.jobs_of({"gpu0": (7, 7), "gpu1": (7,), "gpu2": ()}, FaultList("jobs"))

    assert {gpu: [job.device for job in jobs] for gpu, jobs in found.items()} == {"gpu0": ["gpu0"], "gpu1": ["gpu1"], "gpu2": []}
    assert node.processes.asked["cgroup"] == 1


def test_more_processes_than_the_bound_are_counted() -> None:
    """A driver gone mad cannot keep the thread busy for ever."""
    node = Node()
    node.look(*range(1, GPU_PROCESSES_MAX + 9))

    assert node.processes.asked["identity"] == GPU_PROCESSES_MAX
    assert node.reasons.count(Reason.LIMIT) == 1


@pytest.mark.parametrize(
    ("owner", "environ", "user"),
    [
        ("ann", {"SLURM_JOB_USER": "root"}, "ann"),
        ("1007", {"SLURM_JOB_USER": "ann"}, "ann"),
        ("1007", {"SLURM_JOB_USER": "two words"}, "1007"),
        ("1007", {}, "1007"),
        ("a\udcffb", {}, "a?b"),
    ],
)
def test_the_user_is_the_process_s_own_before_what_its_environment_says(owner: str, environ: dict[str, str], user: str) -> None:
    """Only where this machine has no name for the number does Slurm's variable count."""
    node = Node(with_user=True, p7=MemoryProcess(cgroup=IN_JOB, environ=environ, username=owner))

    assert node.look(7) == (GpuJob("gpu0", "4242", "slurm", user=user),)


def test_users_are_not_asked_for_unless_wanted() -> None:
    """A name is personal data: without the option it is not even read."""
    node = Node(p7=MemoryProcess(cgroup=IN_JOB, username="ann"))

    assert [job.user for job in node.look(7)] == [""]
    assert node.processes.asked["username"] == 0


texts = st.sampled_from(["", "0::/\n", IN_POD, IN_JOB, "junk", "4:x:/slurm/uid_1/job_1/step_0\n"]) | st.text(max_size=40)
said = st.dictionaries(st.sampled_from(["SLURM_JOB_ID", "SLURM_JOB_USER"]), st.text(max_size=5))
refused = st.dictionaries(st.sampled_from(["cgroup", "environ", "username"]), st.sampled_from([errno.EACCES, errno.EIO, errno.ESRCH]))
processes = st.builds(MemoryProcess, st.sampled_from([1.0, 2.0]), texts, said, st.text(max_size=5), refused)


@given(st.dictionaries(st.integers(-2, 6), processes), st.lists(st.integers(-2, 6), max_size=8), st.booleans())
def test_whatever_runs_each_process_is_a_job_or_nothing_and_no_error(
    running: dict[int, MemoryProcess],
    pids: list[int],
    with_user: bool,  # noqa: FBT001  # drawn
) -> None:
    """Looking twice finds the same, and an unchanged neighbour is never affected."""
    sane = MemoryProcess(cgroup=IN_JOB)
    jobs = ProcessJobs(MemoryProcesses({**running, 99: sane}), PodNames(LOGS), with_user=with_user)
    first = jobs.jobs_of({"gpu0": pids, "gpu1": (99,)}, FaultList("jobs"))

    assert first == jobs.jobs_of({"gpu0": pids, "gpu1": (99,)}, FaultList("jobs"))
    assert [job.job_id for job in first["gpu1"]] == ["4242"]
    assert all(job.job_id for job in first["gpu0"])
