"""From the processes on a GPU to the jobs they belong to: by cgroup, else by environment. A process that cannot be looked at is left out
and counted; nothing is guessed from a neighbour.

Knows the order in which evidence counts and what to remember; cgroup.py knows the cgroup's grammar, pod_names.py the pods' names.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from exporter.catalog.jobs import GPU_PROCESSES_MAX
from exporter.model.fault import Reason
from exporter.model.job import KUBERNETES, SLURM, GpuJob
from exporter.model.quoted import printable
from exporter.sources.cgroup import CgroupPlace, place_in
from exporter.sources.fault_list import FaultList
from exporter.sources.pod_names import Place, PodName, PodNames
from exporter.sources.sysfs import reason_of

SUBJECT = "processes"
"""Of every Fault here: numbers of processes would make a new line in the log for each process that ever ran."""

_SLURM_JOB = re.compile(r"[1-9][0-9]{0,9}")
_USER = re.compile(r"[!-~]{1,64}")
_NO_NAME = PodName("", "")


class Processes(Protocol):
    """What is asked about a process. Each raises OSError: ESRCH if it is not there, EACCES or EPERM if it may not be asked."""

    def identity(self, pid: int) -> object:
        """Equal at two calls if it is the same process: a number is used again once its process is gone."""
        ...

    def cgroup(self, pid: int) -> str:
        """The text of /proc/PID/cgroup."""
        ...

    def environ(self, pid: int) -> Mapping[str, str]:
        """Its environment."""
        ...

    def username(self, pid: int) -> str:
        """The name of its user, or the user's number."""
        ...


class Finding(NamedTuple):
    """What is known of one process for as long as it lives. Empty texts: no Slurm job, no pod, no user asked for."""

    identity: object
    slurm_job: str
    place: Place
    user: str


class ProcessJobs:
    """Jobs by the processes on each GPU. A process is looked at once; later passes only make sure that it is still the same one.

    `with_user` fills the jobs' user. Used by one thread. `procfs_root` is what a person should be told was looked at.
    """

    def __init__(self, processes: Processes, pods: PodNames, *, procfs_root: str = "/proc", with_user: bool = False) -> None:
        self._processes = processes
        self._pods = pods
        self._root = procfs_root.rstrip("/")
        self._with_user = with_user
        self._known: dict[int, Finding] = {}
        self._missing: set[int] = set()

    def jobs_of(self, pids: Mapping[str, Sequence[int]], faults: FaultList) -> Mapping[str, tuple[GpuJob, ...]]:
        """The jobs of each GPU in `pids` (GPU → processes on it), one for each process that has one; of a process without a job none."""
        findings = self._findings({pid: gpu for gpu, numbers in pids.items() for pid in numbers}, faults)
        names = self._pods.names_of({finding.place for finding in findings.values() if finding.place[0]}, faults)
        return {
            gpu: tuple(
                job_of(gpu, findings[pid], names)
                for pid in dict.fromkeys(numbers)
                if pid in findings and (findings[pid].slurm_job or findings[pid].place[0])
            )
            for gpu, numbers in pids.items()
        }

    def _findings(self, gpu_of: Mapping[int, str], faults: FaultList) -> Mapping[int, Finding]:
        """What is known of each of these processes; those that are not among them are forgotten."""
        looked_at = sorted(gpu_of)[:GPU_PROCESSES_MAX]
        if len(gpu_of) > len(looked_at):
            faults.add(SUBJECT, Reason.LIMIT, f"{len(gpu_of)} run on GPUs, of which {len(looked_at)} are looked at")
        known: dict[int, Finding] = {}
        missing: set[int] = set()
        for pid in looked_at:
            try:
                known[pid] = self._finding(pid)
            except ProcessLookupError:
                missing.add(pid)
            except OSError as error:
                self._add_unread(pid, gpu_of[pid], error, faults)
        for pid in sorted(missing):
            self._add_missing(pid, gpu_of[pid], faults, lasting=not known and pid in self._missing)
        self._known, self._missing = known, missing
        return known

    def _finding(self, pid: int) -> Finding:
        """Remembered if it is the same process, else fresh. Raises OSError; ESRCH also for a number that changed hands meanwhile."""
        if pid <= 0:
            raise ProcessLookupError(pid)
        identity = self._processes.identity(pid)
        known = self._known.get(pid)
        if known is not None and known.identity == identity:
            return known
        place = place_in(self._processes.cgroup(pid))
        environ = {} if place.slurm_job and not self._with_user else self._environ(pid, place)
        said = environ.get("SLURM_JOB_ID", "")
        job = place.slurm_job or (said if _SLURM_JOB.fullmatch(said) else "")
        user = self._user(pid, environ) if self._with_user else ""
        if self._processes.identity(pid) != identity:
            raise ProcessLookupError(pid)
        return Finding(identity, job, (place.pod_uid, place.container_id if place.pod_uid else ""), user)

    def _environ(self, pid: int, place: CgroupPlace) -> Mapping[str, str]:
        """The environment; empty if it may not be read and the cgroup says enough without it. Raises OSError."""
        try:
            return self._processes.environ(pid)
        except PermissionError:
            if place.slurm_job or place.pod_uid:
                return {}
            raise

    def _user(self, pid: int, environ: Mapping[str, str]) -> str:
        """Whose process it is; where this machine has only a number for that, the name Slurm gave the job. Anybody may write what he likes
        into an environment, so it comes second."""
        owner = self._processes.username(pid)
        said = environ.get("SLURM_JOB_USER", "")
        return said if owner.isdigit() and _USER.fullmatch(said) else printable(owner)

    def _add_missing(self, pid: int, gpu: str, faults: FaultList, *, lasting: bool) -> None:
        """A process may end between the driver's look and ours. `lasting` if the driver names it again, and none that it names is there."""
        where = f"process {pid} on {gpu} is not in {self._root}"
        if lasting:
            faults.add(SUBJECT, Reason.DENIED, f"{where}, nor is any other: this container numbers processes apart from the host, or they "
                       "are hidden; run it with hostPID (docker: --pid=host), or let sources.procfs_root be the host's")  # fmt: skip
        else:
            faults.add(SUBJECT, Reason.ABSENT, f"{where}: it ended meanwhile; nothing to do")

    def _add_unread(self, pid: int, gpu: str, error: OSError, faults: FaultList) -> None:
        reason = reason_of(error)
        advice = "; where the cgroup names no job, its environment takes CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH to read"
        why = (error.strerror or str(error)) + (advice if reason is Reason.DENIED else "")
        faults.add(SUBJECT, reason, f"process {pid} on {gpu} cannot be looked at in {self._root}: {why}")


def job_of(gpu: str, finding: Finding, names: Mapping[Place, PodName]) -> GpuJob:
    """The job of one process: Slurm's, if Slurm started it, within whatever pod; else the pod. A pod without a known name goes by its uid,
    and its namespace and container stay empty."""
    uid = finding.place[0]
    name = names.get(finding.place, _NO_NAME)
    job_id, scheduler = (finding.slurm_job, SLURM) if finding.slurm_job else (uid, KUBERNETES)
    return GpuJob(gpu, job_id, scheduler, name.namespace, name.pod or uid, name.container, finding.user)
