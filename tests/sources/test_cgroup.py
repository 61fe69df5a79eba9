"""Every spelling of a pod, a container and a Slurm job in /proc/PID/cgroup, and nothing from what is none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.sources.cgroup import NOWHERE, CgroupPlace, place_in

UID = "6f1d2c3b-0a9e-4d5f-8b7c-112233445566"
SYSTEMD_UID = UID.replace("-", "_")
STATIC_UID = "0123456789abcdef0123456789abcdef"
BOX = "c0ffee" * 10 + "abcd"
OUTER = "ab" * 32

pods = pytest.mark.parametrize(
    "path",
    [
        f"/kubepods/burstable/pod{UID}/{BOX}",
        f"/kubepods/besteffort/pod{UID}/{BOX}",
        f"/kubepods/pod{UID}/{BOX}",
        f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SYSTEMD_UID}.slice/cri-containerd-{BOX}.scope",
        f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{SYSTEMD_UID}.slice/crio-{BOX}.scope",
        f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{SYSTEMD_UID}.slice/crio-{BOX}.scope/container",
        f"/kubepods.slice/kubepods-pod{SYSTEMD_UID}.slice/docker-{BOX}.scope",
        f"/system.slice/containerd.service/kubepods-burstable-pod{SYSTEMD_UID}.slice:cri-containerd:{BOX}",
        f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{SYSTEMD_UID}.slice/cri-containerd-{BOX}.scope",
        f"/docker/{OUTER}/kubelet/kubepods/pod{UID}/{BOX}",
        f"/../../kubepods-pod{SYSTEMD_UID}.slice/cri-containerd-{BOX}.scope",
        f"/../../pod{UID}/{BOX}",
        f"/kubepods/pod{UID}/{BOX} (deleted)",
    ],
)


@pods
def test_every_spelling_of_a_pod_is_read(path: str) -> None:
    """Both drivers, each class of service, each runtime, nested kubelets, and a reader in a cgroup namespace of its own."""
    assert place_in(f"0::{path}\n") == CgroupPlace(UID, BOX)


@pods
def test_version_1_says_it_once_for_each_controller(path: str) -> None:
    """Lines that agree are one answer; controllers that are not used say nothing."""
    assert place_in(f"12:cpu,cpuacct:{path}\n5:devices:{path}\n1:name=systemd:{path}\n3:rdma:/\n0::/\n") == CgroupPlace(UID, BOX)


def test_a_pod_of_a_file_on_the_node_has_a_hash_for_its_uid() -> None:
    """Static pods: 32 digits without hyphens, left as they are."""
    text = f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{STATIC_UID}.slice/cri-containerd-{BOX}.scope"

    assert place_in(text) == CgroupPlace(STATIC_UID, BOX)


@pytest.mark.parametrize("path", [f"/docker/{BOX}", f"/system.slice/docker-{BOX}.scope", f"/machine.slice/libpod-{BOX}.scope/container"])
def test_a_container_without_a_pod_is_only_a_container(path: str) -> None:
    """Docker and podman by themselves."""
    assert place_in(f"0::{path}") == CgroupPlace("", BOX)


@pytest.mark.parametrize(
    ("path", "step"),
    [
        ("/slurm/uid_1000/job_4242/step_0", "0"),
        ("/slurm/uid_1000/job_4242/step_batch/task_0", "batch"),
        ("/slurm_node17/uid_1000/job_4242/step_extern", "extern"),
        ("/slurm/uid_1000/job_4242", ""),
        ("/system.slice/slurmstepd.scope/job_4242/step_0/user/task_0", "0"),
        ("/system.slice/slurmstepd.scope/job_4242/step_0+1/user/task_0", "0+1"),
        ("/system.slice/node17_slurmstepd.scope/job_4242/step_interactive/slurm", "interactive"),
        ("/../../../system.slice/slurmstepd.scope/job_4242/step_3/user/task_special", "3"),
    ],
)
def test_every_spelling_of_a_slurm_job_is_read(path: str, step: str) -> None:
    """Version 1 below /slurm, version 2 below slurmstepd's scope, several slurmd on one machine, each kind of step."""
    assert place_in(f"0::{path}\n") == CgroupPlace(slurm_job="4242", slurm_step=step)


def test_slurm_within_a_pod_is_both() -> None:
    """A slurmd that runs in a pod puts its jobs below the pod's own cgroup."""
    pod = f"/kubepods.slice/kubepods-pod{SYSTEMD_UID}.slice/cri-containerd-{BOX}.scope"

    assert place_in(f"0::{pod}/system.slice/slurmstepd.scope/job_7/step_0/user/task_0") == CgroupPlace(UID, BOX, "7", "0")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "0::/",
        "0::/user.slice/user-1000.slice/session-3.scope",
        "0::/system.slice/slurmd.service",
        "0::/htcondor/job_12/step_0",
        "0::/system.slice/slurmstepd.scope/system",
        "0::/slurm/uid_0/job_0",
        "0::/slurm/uid_0/job_",
        "0::/slurm/uid_0/job_12345678901",
        "0::/kubepods/burstable/pod",
        "0::/kubepods/burstable/pod1234",
        f"0::/somepod{UID}/x",
        f"0::/kubepods/pod{UID}0/x",
        f"no line of the kind /kubepods/pod{UID}/{BOX}",
        f"x::/kubepods/pod{UID}/{BOX}",
        f"0:/kubepods/pod{UID}/{BOX}",
    ],
)
def test_what_names_nobody_is_nowhere(text: str) -> None:
    """A folder called job_12 is Slurm's only below Slurm's own; a uid too long or too short is none."""
    assert place_in(text) == NOWHERE


def test_lines_that_disagree_say_nothing() -> None:
    """Which of two jobs a process belongs to is not guessed; what they agree on stays."""
    assert place_in("5:cpu:/slurm/uid_1/job_1/step_0\n4:memory:/slurm/uid_1/job_2/step_0\n") == CgroupPlace(slurm_step="0")


@given(st.text(alphabet=st.sampled_from("0123:/_.-abpodjslurmteKUBE\n \x00ü"), max_size=300) | st.text(max_size=200))
def test_junk_is_never_an_error_and_never_a_long_name(text: str) -> None:
    """Whatever stands there: four texts of their own grammar, or empty ones."""
    place = place_in(text)

    assert re.fullmatch(r"([0-9a-f]{32}|[0-9a-f-]{36})?", place.pod_uid)
    assert re.fullmatch(r"([0-9a-f]{64})?", place.container_id)
    assert re.fullmatch(r"([1-9][0-9]{0,9})?", place.slurm_job)
    assert re.fullmatch(r"([0-9]+|batch|extern|interactive)?(\+[0-9]+)?", place.slurm_step)


@given(st.uuids(), st.integers(1, 2**32 - 1), st.booleans())
def test_what_is_written_is_what_is_read(uid: object, job: int, systemd: bool) -> None:  # noqa: FBT001  # drawn
    """Any uid and any job number come back as they were."""
    name = f"kubepods-pod{str(uid).replace('-', '_')}.slice" if systemd else f"pod{uid}"

    assert place_in(f"0::/x/{name}/{BOX}\n") == CgroupPlace(str(uid), BOX)
    assert place_in(f"4:devices:/slurm/uid_5/job_{job}/step_0\n0::/\n").slurm_job == str(job)
