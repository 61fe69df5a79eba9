"""The jobs source: which batch job or pod uses which GPU, from the scheduler's job files, the processes on the GPUs and the kubelet's list.

Knows how the three are put together and shown; job_directory.py knows the files, process_jobs.py the processes, kubelet_jobs.py the list.
Which processes are on a GPU is the driver's knowledge and comes in as a parameter.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from exporter.catalog.jobs import JOB_INFO, JOBS_PER_GPU_MAX
from exporter.model.entity import Device
from exporter.model.fault import Reason
from exporter.model.job import GpuJob, one_each, with_allocated
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.sources.fault_list import FaultList
from exporter.sources.job_directory import JobDirectory
from exporter.sources.kubelet_jobs import KubeletJobs
from exporter.sources.process_jobs import ProcessJobs

SOURCE = "jobs"
SUBJECT = "gpus"

Pids: TypeAlias = Callable[[], Mapping[str, Sequence[int]]]
"""Gives the processes on each GPU: GPU name → their numbers, none on an idle GPU. Raises PidsUnknownError while that cannot be known. It is
called in the source's thread and must not wait."""


class PidsUnknownError(Exception):
    """The GPU side cannot be asked now which processes it runs; `reason` and `detail` are for the Fault."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class JobsReader:
    """Reads all GPUs in one go, in those of the three ways that there are."""

    subject = SUBJECT
    cadences = (Cadence.NORMAL,)

    def __init__(self, pids: Pids, processes: ProcessJobs | None, directory: JobDirectory | None, kubelet: KubeletJobs | None) -> None:
        self._pids = pids
        self._processes = processes
        self._directory = directory
        self._kubelet = kubelet

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """A Reading for each GPU that was asked about, with a series for each job; an idle GPU's is empty. A way that cannot be asked is a
        Fault, and the others' jobs are shown."""
        faults = FaultList(SOURCE)
        jobs: dict[str, list[GpuJob]] = {}
        for asked in (self._listed(faults), self._running(faults)):
            for gpu, found in asked.items():
                jobs.setdefault(gpu, []).extend(found)
        for gpu, given in (self._kubelet.read(monotonic_s, faults) if self._kubelet is not None else {}).items():
            jobs[gpu] = with_allocated(jobs.get(gpu, ()), given)
        readings = tuple(
            Reading(Device(gpu), _values(gpu, one_each(jobs[gpu]), faults)) for gpu in sorted(jobs, key=lambda gpu: (len(gpu), gpu))
        )
        return Snapshot(Feed(SOURCE, SUBJECT, cadence), wall_s, monotonic_s, readings, tuple(faults.faults))

    def close(self) -> None:
        """Nothing is kept open."""

    def _listed(self, faults: FaultList) -> Mapping[str, Sequence[GpuJob]]:
        """Jobs by the directory; nothing if there is none or it cannot be listed."""
        return (self._directory.read(faults) or {}) if self._directory is not None else {}

    def _running(self, faults: FaultList) -> Mapping[str, Sequence[GpuJob]]:
        """Jobs by the processes; nothing if they are not wanted or the GPUs cannot be asked."""
        if self._processes is None:
            return {}
        try:
            pids = self._pids()
        except PidsUnknownError as error:
            faults.add("processes", error.reason, error.detail)
            return {}
        return self._processes.jobs_of(pids, faults)


@dataclass(frozen=True, slots=True)
class JobsScan:
    """The one reader, always the same; a scan itself finds nothing."""

    readers: tuple[JobsReader, ...]
    snapshot: Snapshot


class JobsSource:
    """Jobs of this node."""

    name = SOURCE

    def __init__(self, pids: Pids, *, processes: ProcessJobs | None = None, directory: JobDirectory | None = None,
                 kubelet: KubeletJobs | None = None) -> None:  # fmt: skip
        ways = ["the processes on each GPU"] if processes is not None else []
        ways += [f"job files in {directory.root}"] if directory is not None else []
        ways += [f"pods by the kubelet on {kubelet.path}"] if kubelet is not None else []
        self.looked_for = " and ".join(ways) or "nothing: jobs.processes is off, jobs.directory and jobs.pod_resources are not set"
        self.is_elsewhere = kubelet is not None
        """The kubelet may keep a pass waiting: then never in the sampler's own thread."""
        self._reader = JobsReader(pids, processes, directory, kubelet)

    def scan(self, wall_s: float, monotonic_s: float) -> JobsScan:
        """The reader."""
        return JobsScan((self._reader,), Snapshot(Feed(SOURCE, "", Cadence.NORMAL), wall_s, monotonic_s, ()))


def _values(gpu: str, jobs: Sequence[GpuJob], faults: FaultList) -> Mapping[SeriesKey, Number]:
    """One info series a job, as many as the bound allows."""
    if len(jobs) > JOBS_PER_GPU_MAX:
        faults.add(gpu, Reason.LIMIT, f"is used by {len(jobs)} jobs, of which {JOBS_PER_GPU_MAX} are shown")
    return dict.fromkeys(_keys(jobs[:JOBS_PER_GPU_MAX]), 1)


def _keys(jobs: Iterable[GpuJob]) -> list[SeriesKey]:
    """The labels, in the row's order."""
    return [(JOB_INFO.key, job.job_id, job.scheduler, job.namespace, job.pod, job.container, job.user) for job in jobs]
