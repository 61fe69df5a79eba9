"""A job and the GPU it uses, as far as anybody said: a batch job, a pod, or a job of one within the other. Pure.

Knows what makes two findings the same job; where findings come from is the sources' knowledge.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

SLURM, KUBERNETES = "slurm", "kubernetes"


@dataclass(frozen=True, slots=True)
class GpuJob:
    """One job on one GPU. An empty text is not known, or does not apply.

    `job_id` is the batch job's number, else the pod's uid: never empty. `user` is filled where a site asked for it.
    """

    device: str
    job_id: str
    scheduler: str = ""
    namespace: str = ""
    pod: str = ""
    container: str = ""
    user: str = ""


_DETAILS = tuple(field.name for field in fields(GpuJob) if field.name not in {"device", "job_id"})


def one_each(jobs: Iterable[GpuJob]) -> tuple[GpuJob, ...]:
    """The findings with those of one job on one GPU made one, sorted by GPU and job. A detail that two of them name differently (a job
    that runs in two containers) is left empty: one row a job, so that a sum over jobs counts each once, and no row that is half true."""
    found: dict[tuple[str, str], list[GpuJob]] = {}
    for job in jobs:
        found.setdefault((job.device, job.job_id), []).append(job)
    return tuple(_agreed(found[key]) for key in sorted(found))


def _agreed(jobs: list[GpuJob]) -> GpuJob:
    if len(jobs) == 1:
        return jobs[0]
    details = {name: {getattr(job, name) for job in jobs} - {""} for name in _DETAILS}
    said = {name: values.pop() for name, values in details.items() if len(values) == 1}
    return GpuJob(jobs[0].device, jobs[0].job_id, **said)
