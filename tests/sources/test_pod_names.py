"""Names of pods and containers from the folders in which the kubelet keeps their logs."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.fault import Reason
from exporter.simulator.archive import File
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.fault_list import FaultList
from exporter.sources.pod_names import PodName, PodNames

UID, OTHER = "6f1d2c3b-0a9e-4d5f-8b7c-112233445566", "7e1d2c3b-0a9e-4d5f-8b7c-112233445566"
BOX, SIDE = "ab" * 32, "cd" * 32
POD = f"pods/batch_llama-worker-0_{UID}"


def logs(*paths: str) -> MemoryTree:
    """A folder of logs; the files say nothing."""
    return MemoryTree([File(path, b"") for path in paths])


def name_of(tree: MemoryTree, uid: str = UID, container_id: str = BOX) -> PodName | None:
    """The name of one place, asked afresh."""
    return PodNames(tree).names_of([(uid, container_id)], FaultList("jobs")).get((uid, container_id))


def test_a_pod_with_one_container_is_named_by_its_folder() -> None:
    """Namespace, pod and container; no log is opened."""
    tree = logs(f"{POD}/trainer/0.log")

    assert name_of(tree) == PodName("batch", "llama-worker-0", "trainer")
    assert tree.opens == 0


def test_one_of_several_containers_is_found_by_its_log() -> None:
    """Sidecars and init containers have folders too; the log's name bears the container's id."""
    tree = logs(f"{POD}/trainer/0.log", f"{POD}/proxy/0.log", f"containers/llama-worker-0_batch_proxy-{SIDE}.log",
                f"containers/llama-worker-0_batch_trainer-{BOX}.log")  # fmt: skip

    assert name_of(tree) == PodName("batch", "llama-worker-0", "trainer")
    assert name_of(tree, container_id=SIDE) == PodName("batch", "llama-worker-0", "proxy")


@pytest.mark.parametrize("container_id", ["", "ef" * 32])
def test_one_of_several_containers_without_a_log_stays_unnamed(container_id: str) -> None:
    """Not guessed."""
    tree = logs(f"{POD}/trainer/0.log", f"{POD}/proxy/0.log", f"containers/llama-worker-0_batch_proxy-{SIDE}.log")

    assert name_of(tree, container_id=container_id) == PodName("batch", "llama-worker-0", "")


@pytest.mark.parametrize(
    "folder", [f"batch_{UID}", f"_x_{UID}", f"batch_Upper_{UID}", f"a_b_c_{UID}", f"batch_x_{UID}0", "lost+found", f"batch_x\n_{UID}"]
)
def test_a_folder_of_another_grammar_names_nobody(folder: str) -> None:
    """Whatever stands in /var/log/pods besides."""
    assert name_of(logs(f"pods/{folder}/trainer/0.log")) is None


def test_what_is_known_is_not_listed_again_and_what_is_gone_is_forgotten() -> None:
    """A pod's name never changes; the memory is as large as what is asked for."""
    tree = logs(f"{POD}/trainer/0.log", f"pods/batch_other_{OTHER}/x/0.log")
    names, faults = PodNames(tree), FaultList("jobs")
    names.names_of([(UID, BOX), (OTHER, SIDE)], faults)
    listed = tree.listdirs

    assert names.names_of([(UID, BOX)], faults) == {(UID, BOX): PodName("batch", "llama-worker-0", "trainer")}
    assert tree.listdirs == listed
    tree.remove(f"pods/batch_other_{OTHER}")
    assert names.names_of([(OTHER, SIDE)], faults) == {}


def test_a_folder_that_comes_later_is_found_then() -> None:
    """A pod without a name is looked for at each pass."""
    tree, faults = logs("pods/a_b_" + OTHER + "/x/0.log"), FaultList("jobs")
    names = PodNames(tree)

    assert names.names_of([(UID, BOX)], faults) == {}
    tree.add([File(f"{POD}/trainer/0.log", b"")])
    assert names.names_of([(UID, BOX)], faults)[UID, BOX].pod == "llama-worker-0"


@pytest.mark.parametrize(("code", "reason"), [(errno.ENOENT, Reason.ABSENT), (errno.EACCES, Reason.DENIED)])
def test_folders_that_cannot_be_listed_are_a_fault_and_no_name(code: int, reason: Reason) -> None:
    """Where the container does not see the host's /var/log."""
    tree, faults = logs(f"{POD}/trainer/0.log"), FaultList("jobs")
    tree.fail_open("pods", code)

    assert PodNames(tree).names_of([(UID, BOX)], faults) == {}
    assert [(fault.subject, fault.reason) for fault in faults.faults] == [("/var/log/pods", reason)]


def test_nothing_is_listed_for_nobody() -> None:
    """A node without Kubernetes has no such folder, and that is no Fault."""
    tree, faults = MemoryTree(), FaultList("jobs")

    assert (PodNames(tree).names_of([], faults), tree.listdirs, faults.faults) == ({}, 0, [])


dns = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)


@given(dns, dns, dns)
def test_what_the_kubelet_writes_is_what_is_read(namespace: str, pod: str, container: str) -> None:
    """Any names that Kubernetes allows, also such as end like an id."""
    tree = logs(f"pods/{namespace}_{pod}_{UID}/{container}/0.log", f"pods/{namespace}_{pod}_{UID}/{container}-x/0.log",
                f"containers/{pod}_{namespace}_{container}-{BOX}.log")  # fmt: skip

    assert name_of(tree) == PodName(namespace, pod, container)
