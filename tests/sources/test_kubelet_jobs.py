"""From the kubelet's list to the pods on each GPU: how ids are spelt, whose uid is known, and what is counted in place of a guess."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.jobs import ALLOCATIONS_MAX, POD_RESOURCES_REST_S
from exporter.model.fault import Reason
from exporter.model.job import GpuJob
from exporter.simulator.archive import File
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.fault_list import FaultList
from exporter.sources.kubelet_jobs import DRA_DRIVER, Allocation, KubeletJobs, PodListError, gpu_id
from exporter.sources.pod_names import PodNames

UID, OTHER = "6f1d2c3b-0a9e-4d5f-8b7c-112233445566", "7e1d2c3b-0a9e-4d5f-8b7c-112233445566"
GPU0, GPU1, MIG = "GPU-aaaa-0000", "GPU-bbbb-1111", "MIG-cccc-2222"
IDS = {GPU0: "gpu0", "nvidia1": "gpu0", GPU1: "gpu1", "nvidia0": "gpu1", MIG: "gpu1"}
"""Device files are not in the order of the GPUs' names."""
PATH = "/var/lib/kubelet/pod-resources/kubelet.sock"


class Node:
    """What the kubelet lists and the driver tells, with pods' folders; `asked` counts questions to the kubelet."""

    def __init__(self, *listed: Allocation, ids: Mapping[str, str] | None = IDS, folders: Sequence[str] = ()) -> None:
        self.listed: Sequence[Allocation] | PodListError = listed
        self.asked = 0
        pods = PodNames(MemoryTree([File(f"pods/{name}/trainer/0.log", b"") for name in folders]))
        self.jobs = KubeletJobs(self._ask, lambda: ids, pods, path=PATH)
        self.faults = FaultList("jobs")

    def _ask(self) -> Sequence[Allocation]:
        self.asked += 1
        if isinstance(self.listed, PodListError):
            raise self.listed
        return self.listed

    def read(self, monotonic_s: float = 0.0) -> Mapping[str, tuple[GpuJob, ...]]:
        """One pass; its Faults are in `faults`."""
        self.faults = FaultList("jobs")
        return self.jobs.read(monotonic_s, self.faults)

    def reasons(self) -> list[tuple[str, Reason]]:
        """Of the last pass."""
        return [(fault.subject, fault.reason) for fault in self.faults.faults]


def given_to(device: str, pod: str = "worker-0", resource: str = "nvidia.com/gpu", container: str = "trainer") -> Allocation:
    """A device of a pod of the namespace batch."""
    return Allocation("batch", pod, container, resource, device)


def job(gpu: str, pod: str = "worker-0", job_id: str = "", container: str = "trainer") -> GpuJob:
    """The job that comes of it."""
    return GpuJob(gpu, job_id or f"batch/{pod}", "kubernetes", "batch", pod, container)


@pytest.mark.parametrize(
    ("resource", "device", "known_by"),
    [
        ("nvidia.com/gpu", "GPU-1b0a-01", "GPU-1b0a-01"),
        ("nvidia.com/gpu", "GPU-1b0a-01::3", "GPU-1b0a-01"),
        ("nvidia.com/gpu.shared", "GPU-1b0a-01::0", "GPU-1b0a-01"),
        ("nvidia.com/h100-of-ours", "GPU-1b0a-01", "GPU-1b0a-01"),
        ("nvidia.com/mig-1g.10gb", "MIG-77aa", "MIG-77aa"),
        ("nvidia.com/mig-1g.10gb.shared", "MIG-77aa::1", "MIG-77aa"),
        ("nvidia.com/gpu", "MIG-77aa", "MIG-77aa"),
        ("nvidia.com/mig-1g.5gb", "MIG-GPU-1b0a-01/7/0", "GPU-1b0a-01"),
        ("nvidia.com/mig-1g.5gb", "MIG-GPU-1b0a-01/7/0::2", "GPU-1b0a-01"),
        ("nvidia.com/gpu", "nvidia0", "nvidia0"),
        ("nvidia.com/gpu", "nvidia12/vgpu1", "nvidia12"),
        ("nvidia.com/gpu", "nvidia0/gi3", "nvidia0"),
        ("nvidia.com/gpu", "nvidia0/gi3/vgpu0", "nvidia0"),
        (DRA_DRIVER, "gpu-3", "nvidia3"),
        (DRA_DRIVER, "gpu-3-mig-1g.10gb-19-0", "nvidia3"),
        (DRA_DRIVER, "gpu-vfio-0", "gpu-vfio-0"),
        ("nvidia.com/gpu", "0", "0"),
        ("nvidia.com/gpu", "GPU-1b0a-01\n", "GPU-1b0a-01\n"),
        ("nvidia.com/hostdev", "0000:3b:00.1", None),
        ("nvidia.com/mlnx_rdma", "mlx5_0", None),
        ("compute-domain.nvidia.com", "channel-0", None),
        ("amd.com/gpu", "GPU-1b0a-01", None),
        ("", "", None),
    ],
)
def test_a_gpu_is_known_by_its_uuid_or_device_file(resource: str, device: str, known_by: str | None) -> None:
    """Replicas, shares and instances are their GPU's; what is no GPU is passed over; what a GPU's resource may not be called is kept as it
    is, for the count."""
    assert gpu_id(resource, device) == known_by


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_id_is_a_gpu_or_none(resource: str, device: str) -> None:
    """Never an exception."""
    found = gpu_id(f"nvidia.com/{resource}", device)

    assert found is None or isinstance(found, str)


def test_pods_are_shown_by_gpu_and_idle_gpus_have_none() -> None:
    """Whole GPUs: one pod with one, the other idle."""
    assert Node(given_to(GPU0)).read() == {"gpu0": (job("gpu0"),), "gpu1": ()}
    assert Node().read() == {"gpu0": (), "gpu1": ()}


def test_a_shared_gpu_has_each_pod_once() -> None:
    """Time slices of one GPU, several of them one pod's; a MIG device and a share of GKE's kind on another."""
    node = Node(given_to(f"{GPU0}::0"), given_to(f"{GPU0}::1"), given_to(f"{GPU0}::2", "worker-1"), given_to(MIG, "worker-2"),
                given_to("nvidia0/vgpu1", "worker-3"))  # fmt: skip

    assert node.read() == {"gpu0": (job("gpu0"), job("gpu0", "worker-1")), "gpu1": (job("gpu1", "worker-2"), job("gpu1", "worker-3"))}
    assert node.reasons() == []


def test_device_files_are_not_taken_for_the_gpus_numbers() -> None:
    """GKE's nvidia0 and a claim's gpu-0 are the file /dev/nvidia0, which here is gpu1's."""
    node = Node(given_to("nvidia0"), given_to("gpu-1", "worker-1", DRA_DRIVER))

    assert node.read() == {"gpu0": (job("gpu0", "worker-1"),), "gpu1": (job("gpu1"),)}


def test_the_uid_is_taken_from_the_folder_of_its_logs() -> None:
    """One listing; a pod that has no folder, or two of them (made anew under its name), goes by its name."""
    node = Node(given_to(GPU0), given_to(GPU1, "worker-1"), given_to(MIG, "worker-2"),
                folders=[f"batch_worker-0_{UID}", f"batch_worker-1_{UID}", f"batch_worker-1_{OTHER}", f"web_worker-2_{UID}"])  # fmt: skip

    assert node.read() == {"gpu0": (job("gpu0", job_id=UID),), "gpu1": (job("gpu1", "worker-1"), job("gpu1", "worker-2"))}
    assert node.reasons() == []


def test_a_gpu_that_the_driver_does_not_show_is_one_counted_fault() -> None:
    """However many; the others are shown, and nobody's GPU is guessed."""
    node = Node(given_to("GPU-dddd", "lost"), given_to("nvidia9", "lost"), given_to("gpu-vfio-0", "lost", DRA_DRIVER), given_to(GPU0))

    assert node.read() == {"gpu0": (job("gpu0"),), "gpu1": ()}
    assert node.reasons() == [("gpus of pods", Reason.ABSENT)]
    assert node.faults.faults[0].detail == (
        "the kubelet gave 3 GPUs or MIG devices to pods that the driver does not show here, "
        'the first "GPU-dddd" to batch/lost; they are left out'
    )


def test_devices_of_other_kinds_are_passed_over() -> None:
    """Network adapters of the same vendor among them."""
    node = Node(given_to("0000:3b:00.1", resource="nvidia.com/hostdev"), given_to("mlx5_0", resource="rdma/hca"))

    assert (node.read(), node.reasons()) == ({"gpu0": (), "gpu1": ()}, [])


@pytest.mark.parametrize("name", ["", "Upper", "a/b", 'a"b', "x" * 300, "a\nb"])
def test_what_is_no_name_of_a_pod_becomes_no_label(name: str) -> None:
    """Kubernetes knows no such names: the answer is somebody else's."""
    node = Node(Allocation("batch", name, "trainer", "nvidia.com/gpu", GPU0), given_to(GPU0))

    assert node.read()["gpu0"] == (job("gpu0"),)
    assert node.reasons() == [(PATH, Reason.PARSE)]


def test_more_devices_than_the_bound_are_cut_and_counted() -> None:
    """The first are looked at."""
    node = Node(*[given_to("x", resource="a.b/c")] * ALLOCATIONS_MAX, given_to(GPU0))

    assert (node.read()["gpu0"], node.reasons()) == ((), [(PATH, Reason.LIMIT)])


def test_without_word_of_the_driver_the_kubelet_is_not_asked() -> None:
    """Nothing could be said of any GPU, nor that it is idle."""
    node = Node(given_to(GPU0), ids=None)

    assert (node.read(), node.reasons(), node.asked) == ({}, [("gpus", Reason.ABSENT)], 0)


@pytest.mark.parametrize("reason", [Reason.ABSENT, Reason.LOST, Reason.DENIED, Reason.PARSE, Reason.LIMIT])
def test_a_kubelet_that_gives_no_list_is_a_fault_and_asked_again_by_the_next_pass(reason: Reason) -> None:
    """No GPU is called idle meanwhile."""
    node = Node()
    node.listed = PodListError(reason, "why")

    assert (node.read(0.0), node.reasons()) == ({}, [(PATH, reason)])
    node.listed = (given_to(GPU0),)
    assert (node.read(15.0)["gpu0"], node.reasons(), node.asked) == ((job("gpu0"),), [], 2)


def test_a_kubelet_that_hangs_is_left_alone_for_a_while() -> None:
    """Each pass says why there is nothing; the others need not wait for it each time."""
    node = Node()
    node.listed = PodListError(Reason.TIMEOUT, "did not answer within 1 s")
    node.read(0.0)
    node.listed = (given_to(GPU0),)

    assert [node.read(at_s) for at_s in (15.0, POD_RESOURCES_REST_S - 0.1)] == [{}, {}]
    assert (node.reasons(), node.asked) == ([(PATH, Reason.TIMEOUT)], 1)
    assert node.read(POD_RESOURCES_REST_S)["gpu0"] == (job("gpu0"),)
