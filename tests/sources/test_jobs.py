"""The jobs source as a whole: files and processes put together, shown as one info series a job, with trouble beside it."""

import errno
from collections.abc import Mapping, Sequence

from exporter.catalog import catalogue
from exporter.catalog.jobs import JOBS_PER_GPU_MAX, ROWS
from exporter.exposition.page import render
from exporter.exposition.selection import Selection
from exporter.model.entity import Device
from exporter.model.fault import Reason
from exporter.model.metric import Cadence, Tier
from exporter.model.snapshot import Scene, Snapshot
from exporter.runtime.board import Board
from exporter.runtime.clock import ManualClock
from exporter.runtime.crew import Inline
from exporter.runtime.sampler import Sampler
from exporter.runtime.schedule import Intervals
from exporter.simulator.archive import File
from exporter.simulator.memory_processes import MemoryProcess, MemoryProcesses
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.job_directory import JobDirectory
from exporter.sources.jobs import JobsSource, PidsUnknownError
from exporter.sources.kubelet_jobs import Allocation, KubeletJobs, PodListError
from exporter.sources.pod_names import PodNames
from exporter.sources.process_jobs import ProcessJobs
from tests.machine import Samples, parsed

UID = "6f1d2c3b-0a9e-4d5f-8b7c-112233445566"
RUNNING = {
    7: MemoryProcess(cgroup="0::/system.slice/slurmstepd.scope/job_4242/step_0\n"),
    8: MemoryProcess(cgroup=f"0::/kubepods/pod{UID}/{'ab' * 32}\n"),
}
LOGS = MemoryTree([File(f"pods/batch_worker-0_{UID}/trainer/0.log", b"")])
GPUS = {0: "gpu0", 1: "gpu1", 10: "gpu10"}
IDS = {"GPU-a": "gpu0", "GPU-b": "gpu1", "GPU-c": "gpu10"}
GIVEN = Allocation("batch", "worker-0", "trainer", "nvidia.com/gpu", "GPU-a")


class Node:
    """A node whose GPUs run `pids`, with job files in `files`, and a kubelet that lists `given`; each may be None. `logs` are pods'."""

    def __init__(self, pids: Mapping[str, Sequence[int]] | PidsUnknownError | None = None, files: MemoryTree | None = None,
                 given: Sequence[Allocation] | PodListError | None = None, logs: MemoryTree = LOGS) -> None:  # fmt: skip
        self.pids = pids
        self.given = given
        processes = None if pids is None else ProcessJobs(MemoryProcesses(RUNNING), PodNames(logs))
        directory = None if files is None else JobDirectory(files, lambda: GPUS, root="/run/jobs")
        kubelet = None if given is None else KubeletJobs(self._list, lambda: IDS, PodNames(logs), path="/kubelet.sock")
        self.source = JobsSource(self._ask, processes=processes, directory=directory, kubelet=kubelet)

    def _list(self) -> Sequence[Allocation]:
        if isinstance(self.given, PodListError):
            raise self.given
        return self.given or ()

    def _ask(self) -> Mapping[str, Sequence[int]]:
        if isinstance(self.pids, PidsUnknownError):
            raise self.pids
        return self.pids or {}

    def read(self) -> Snapshot:
        """One pass of its reader."""
        (reader,) = self.source.scan(0.0, 0.0).readers
        return reader.read(Cadence.NORMAL, 100.0, 5.0)

    def page(self) -> str:
        """The page of one pass."""
        snapshot = self.read()
        return render(Scene(1, 100.0, 5.0, {snapshot.feed: snapshot}), Selection(Tier.STANDARD), 1000, catalogue(ROWS))


def jobs_of(snapshot: Snapshot) -> dict[str, list[str]]:
    """GPU → the ids of its jobs."""
    return {str(reading.entity): [key[1] for key in reading.values] for reading in snapshot.readings}


def test_the_page_shows_one_info_series_for_each_job_of_each_gpu() -> None:
    """The exact text: a Slurm job and a pod share gpu0, gpu1 is idle and has no series."""
    page = Node({"gpu0": [7, 8], "gpu1": []}).page()

    nobody = 'workload_namespace="",workload_pod="",workload_container="",user=""'
    pod = 'workload_namespace="batch",workload_pod="worker-0",workload_container="trainer",user=""'

    assert page.splitlines()[1:] == [
        "# TYPE fabric_gpu_job_info gauge",
        f'fabric_gpu_job_info{{device="gpu0",job_id="4242",scheduler="slurm",{nobody}}} 1',
        f'fabric_gpu_job_info{{device="gpu0",job_id="{UID}",scheduler="kubernetes",{pod}}} 1',
    ]


def test_a_job_that_both_ways_find_is_one_series() -> None:
    """Its file and its process; another job of the file, whose process has not begun, is shown beside it."""
    snapshot = Node({"gpu0": [7]}, MemoryTree([File("0", b"4242\n4343\n")])).read()

    assert jobs_of(snapshot) == {"gpu0": ["4242", "4343"], "gpu1": [], "gpu10": []}


def test_a_pod_that_both_kubelet_and_process_tell_is_one_series() -> None:
    """The page is the same with and without the kubelet; a pod that has not touched its GPU yet is shown beside it."""
    waiting = Allocation("batch", "worker-1", "trainer", "nvidia.com/gpu", "GPU-b")
    alone, both = Node({"gpu0": [7, 8], "gpu1": []}), Node({"gpu0": [7, 8], "gpu1": []}, given=[GIVEN, waiting])
    labels = 'workload_namespace="batch",workload_pod="worker-1",workload_container="trainer",user=""'

    assert both.page() == (
        alone.page() + f'fabric_gpu_job_info{{device="gpu1",job_id="batch/worker-1",scheduler="kubernetes",{labels}}} 1\n'
    )


def test_a_pod_is_known_by_the_kubelet_alone() -> None:
    """No processes to be seen and no folders of logs: its name in place of its uid, on each of its GPUs; the other GPU is idle."""
    also = Allocation("batch", "worker-0", "trainer", "nvidia.com/gpu", "GPU-c")
    snapshot = Node(given=[GIVEN, also], logs=MemoryTree()).read()

    assert jobs_of(snapshot) == {"gpu0": ["batch/worker-0"], "gpu1": [], "gpu10": ["batch/worker-0"]}
    assert snapshot.faults == ()


def test_a_job_by_its_file_and_a_pod_by_the_kubelet_are_two() -> None:
    """A file says which job is on the GPU, and the kubelet which pod: nobody says that the one runs within the other, and two are shown."""
    snapshot = Node(files=MemoryTree([File("0", b"4242\n")]), given=[GIVEN]).read()

    assert jobs_of(snapshot)["gpu0"] == ["4242", UID]


def test_a_kubelet_that_does_not_answer_costs_the_other_ways_nothing() -> None:
    """Its Fault stands beside their jobs."""
    snapshot = Node({"gpu0": [8]}, given=PodListError(Reason.TIMEOUT, "did not answer within 1 s")).read()

    assert jobs_of(snapshot) == {"gpu0": [UID]}
    assert [(fault.source, fault.subject, fault.reason) for fault in snapshot.faults] == [("jobs", "/kubelet.sock", Reason.TIMEOUT)]


def test_a_source_that_asks_the_kubelet_keeps_out_of_the_samplers_thread() -> None:
    """It may wait a second; the other two ways do not."""
    assert [Node({}, given=given).source.is_elsewhere for given in (None, ())] == [False, True]


def test_an_idle_gpu_is_seen_and_has_no_job() -> None:
    """An empty Reading, in the order of the GPUs' numbers: the source is up though nobody computes."""
    snapshot = Node({"gpu10": [], "gpu2": [], "gpu0": []}).read()

    assert [(reading.entity, dict(reading.values)) for reading in snapshot.readings] == [(Device(f"gpu{n}"), {}) for n in (0, 2, 10)]
    assert snapshot.faults == ()


def test_gpus_that_cannot_be_asked_are_a_fault_and_the_files_are_shown_all_the_same() -> None:
    """The child is being restarted; the prolog's files say what they said."""
    trouble = PidsUnknownError(Reason.TIMEOUT, "the driver has not answered for 4 s; see source nvlink")
    snapshot = Node(trouble, MemoryTree([File("0", b"4242\n")])).read()

    assert jobs_of(snapshot)["gpu0"] == ["4242"]
    assert [(fault.source, fault.subject, fault.reason, fault.detail) for fault in snapshot.faults] == [
        ("jobs", "processes", Reason.TIMEOUT, "the driver has not answered for 4 s; see source nvlink")
    ]


def test_a_directory_that_cannot_be_listed_leaves_the_processes() -> None:
    """And its Fault."""
    files = MemoryTree()
    files.fail_open("", errno.EACCES)
    snapshot = Node({"gpu0": [7]}, files).read()

    assert (jobs_of(snapshot), [fault.reason for fault in snapshot.faults]) == ({"gpu0": ["4242"]}, [Reason.DENIED])


def test_if_nobody_can_be_asked_no_gpu_is_called_idle() -> None:
    """No Reading at all."""
    snapshot = Node(PidsUnknownError(Reason.ABSENT, "no NVIDIA driver is loaded")).read()

    assert (snapshot.readings, [fault.reason for fault in snapshot.faults]) == ((), [Reason.ABSENT])


def test_jobs_beyond_the_bound_are_left_off_and_counted() -> None:
    """Of a GPU's MIG instances together; the ids that sort first are shown."""
    files = MemoryTree([File(f"0.{i}", b"".join(b"%d\n" % (1000 * (i + 1) + j) for j in range(40))) for i in range(2)])
    snapshot = Node(files=files).read()

    assert len(jobs_of(snapshot)["gpu0"]) == JOBS_PER_GPU_MAX
    assert [(fault.subject, fault.reason) for fault in snapshot.faults] == [("gpu0", Reason.LIMIT)]


def test_a_person_is_told_what_was_looked_for() -> None:
    """By the ways that are switched on."""
    files = MemoryTree()

    assert Node({}, files).source.looked_for == "the processes on each GPU and job files in /run/jobs"
    assert Node(files=files).source.looked_for == "job files in /run/jobs"
    assert Node(given=()).source.looked_for == "pods by the kubelet on /kubelet.sock"
    assert Node().source.looked_for == "nothing: jobs.processes is off, jobs.directory and jobs.pod_resources are not set"


class Daemon:
    """A node's source under the real sampler, in virtual time."""

    def __init__(self, node: Node) -> None:
        self._clock, self._board = ManualClock(), Board()
        self._sampler = Sampler([(node.source, Intervals(15.0, 15.0, 300.0))], self._clock, Inline(self._clock), self._board)
        self._sampler.tick()

    def after(self, seconds: float) -> "Daemon":
        """Let that much time pass."""
        self._clock.advance(seconds)
        self._sampler.tick()
        return self

    @property
    def samples(self) -> Samples:
        """The page."""
        return parsed(render(self._scene, Selection(Tier.STANDARD), 1000, catalogue(ROWS)))

    @property
    def up(self) -> bool | None:
        """Whether the source counts as up."""
        return self._scene.sources[0].up

    @property
    def _scene(self) -> Scene:
        return self._board.current(self._clock.monotonic_s())


def test_junk_in_the_directory_of_an_idle_node_does_not_bring_the_source_down() -> None:
    """A README there is counted; the source answers all the same."""
    daemon = Daemon(Node(files=MemoryTree([File("README", b"")])))

    assert (daemon.samples, daemon.up) == ({}, True)


def test_a_source_that_could_ask_nobody_is_down() -> None:
    """And a node without a driver is not: there is nothing to fail."""
    assert Daemon(Node(PidsUnknownError(Reason.TIMEOUT, "hangs"))).up is False
    assert Daemon(Node(PidsUnknownError(Reason.ABSENT, "no driver"))).up is True


def test_a_job_that_ended_leaves_the_page_with_the_next_pass() -> None:
    """Its series is not kept until it is stale."""
    node = Node({"gpu0": [7]})
    daemon = Daemon(node)
    before = len(daemon.samples)
    node.pids = {"gpu0": []}

    assert (before, daemon.after(15.0).samples) == (1, {})
