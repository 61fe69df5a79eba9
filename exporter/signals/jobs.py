"""Which job uses each GPU, as the jobs source says: links are compared within one job only. Pure."""

from exporter.catalog.jobs import JOB_INFO
from exporter.model.entity import Device
from exporter.model.snapshot import Snapshot

SOURCE = "jobs"
NO_JOB = ""


class Jobs:
    """Of one node."""

    def __init__(self) -> None:
        self._of: dict[str, str] | None = None

    def take(self, snapshot: Snapshot) -> None:
        """A pass of the jobs source; it names every GPU that a job uses. One that could not look changes nothing."""
        if snapshot.faults and not snapshot.readings:
            return
        found: dict[str, set[str]] = {}
        for entity, values in snapshot.readings:
            if isinstance(entity, Device):
                found.setdefault(entity.name, set()).update(
                    key[1] for key in values if isinstance(key, tuple) and key[0] == JOB_INFO.key and len(key) > 1
                )
        self._of = {gpu: ",".join(sorted(jobs)) for gpu, jobs in found.items() if jobs} or None

    def of(self, gpu: str) -> str | None:
        """The job (several, in order, on a GPU that is shared); NO_JOB for a GPU that none uses while others have one; None while no job is
        known at all: then nobody can tell, and all links count as one job's."""
        return None if self._of is None else self._of.get(gpu, NO_JOB)


def group_of(group: str, gpu: str, jobs: Jobs) -> str:
    """The group among which a link of that GPU ("" if unknown) is compared: its own within its job; "" (none) where no job uses the GPU."""
    job = jobs.of(gpu) if group and gpu else None
    if job is None:
        return group
    return f"{group}/{job}" if job != NO_JOB else ""
