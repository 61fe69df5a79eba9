"""A job and the GPU it uses, as far as anybody said: a batch job, a pod, or a job of one within the other. Pure.

Knows what makes two findings the same job; where findings come from is the sources' knowledge.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

SLURM, KUBERNETES = "slurm", "kubernetes"


@dataclass(frozen=True, slots=True)
class GpuJob:
    """One job on one GPU. An empty text is not known, or does not apply.

    `job_id` is the batch job's number, else the pod's uid, else `namespace/pod`: never empty. `user` is filled where a site asked for it.
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


def with_allocated(running: Iterable[GpuJob], allocated: Sequence[GpuJob]) -> list[GpuJob]:
    """What was seen to run on GPUs, and the pods that were given them, as one list: a pod in which something runs is no job beside that.

    It is the same pod by namespace and name, or by its uid where a process tells no name. What runs keeps its number and its container (a
    Slurm job within a pod is the Slurm job) and takes the names; a pod in which nothing was seen to run stands for itself.
    """
    by_name = {(pod.device, pod.namespace, pod.pod): pod for pod in allocated}
    by_uid = {(pod.device, pod.job_id): pod for pod in allocated}
    found: list[GpuJob] = []
    taken: set[tuple[str, str]] = set()
    for job in running:
        pod = by_name.get((job.device, job.namespace, job.pod)) or by_uid.get((job.device, job.pod))
        if pod is None:
            found.append(job)
        else:
            taken.add((pod.device, pod.job_id))
            found.append(replace(job, namespace=pod.namespace, pod=pod.pod, container=job.container or pod.container))
    return found + [pod for pod in allocated if (pod.device, pod.job_id) not in taken]


def _agreed(jobs: list[GpuJob]) -> GpuJob:
    if len(jobs) == 1:
        return jobs[0]
    details = {name: {getattr(job, name) for job in jobs} - {""} for name in _DETAILS}
    said = {name: values.pop() for name, values in details.items() if len(values) == 1}
    return GpuJob(jobs[0].device, jobs[0].job_id, **said)
