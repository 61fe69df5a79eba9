"""The grammar of /proc/PID/cgroup: which pod, container and Slurm job a process was put into. Pure; knows no file.

A process cannot leave its cgroup by itself, so what stands here is believed before its environment. Both versions; a reader in another
cgroup namespace sees `/../..` before the same names, so only names count, wherever in the path they stand. Spellings: cgroups(7);
kubernetes/kubernetes pkg/kubelet/cm/cgroup_manager_linux.go (pod folders, with the cgroupfs and the systemd driver);
containerd/containerd and opencontainers/runc (`slice:cri-containerd:id` where the two disagree about the driver);
SchedMD/slurm src/plugins/cgroup (`/slurm` and `/slurm_NODE` in version 1, `[NODE_]slurmstepd.scope` in version 2).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_UID = r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32}"
"""A pod's uid; systemd wants `_` for `-`. A pod of a file on the node (static) has a hash of 32 digits instead."""

_POD = re.compile(rf"(?:[\w.-]*kubepods[\w.-]*-)?pod({_UID})(?:\.slice)?", re.ASCII)
_CONTAINER = re.compile(r"(?:[a-z]+-)*([0-9a-f]{64})(?:\.scope)?")
_SLURM = re.compile(r"slurm(?:_[\w.-]+)?|(?:[\w.-]+_)?slurmstepd\.scope", re.ASCII)
_JOB = re.compile(r"job_([1-9][0-9]{0,9})")
_STEP = re.compile(r"step_((?:[0-9]{1,10}|batch|extern|interactive)(?:\+[0-9]{1,10})?)")
_SEPARATORS = re.compile(r"[/:]")


@dataclass(frozen=True, slots=True)
class CgroupPlace:
    """Where a process belongs; an empty text is: nowhere of that kind. `pod_uid` has its hyphens back, `container_id` is the runtime's 64
    digits, `slurm_step` a number, `batch`, `extern` or `interactive`."""

    pod_uid: str = ""
    container_id: str = ""
    slurm_job: str = ""
    slurm_step: str = ""


NOWHERE = CgroupPlace()


def place_in(text: str) -> CgroupPlace:
    """What the lines say together. A line that is none, or names nothing, says nothing; what two lines say differently is not known."""
    places = [place for line in text.splitlines() if (place := _place_of(line)) != NOWHERE]
    return CgroupPlace(
        _agreed(place.pod_uid for place in places),
        _agreed(place.container_id for place in places),
        _agreed(place.slurm_job for place in places),
        _agreed(place.slurm_step for place in places),
    )


def _place_of(line: str) -> CgroupPlace:
    """What one line (`hierarchy:controllers:path`) says."""
    parts = line.split(":", 2)
    if len(parts) < 3 or not parts[0].isdigit():
        return NOWHERE
    names = _SEPARATORS.split(parts[2].removesuffix(" (deleted)"))
    pod_at, pod_uid = _first(_POD, names)
    _, container_id = _first(_CONTAINER, names[pod_at + 1 :])
    slurm_at = next((at for at, name in enumerate(names) if _SLURM.fullmatch(name)), len(names))
    job_at, job = _first(_JOB, names[slurm_at + 1 :])
    step = _first(_STEP, names[slurm_at + job_at + 2 :])[1] if job else ""
    return CgroupPlace(pod_uid.replace("_", "-"), container_id, job, step)


def _first(pattern: re.Pattern[str], names: list[str]) -> tuple[int, str]:
    """Position and group of the first name of that pattern; (-1, "") if there is none. The first is the outermost: this node's own."""
    for at, name in enumerate(names):
        match = pattern.fullmatch(name)
        if match:
            return at, match[1]
    return -1, ""


def _agreed(values: Iterable[str]) -> str:
    said = set(values) - {""}
    return said.pop() if len(said) == 1 else ""
