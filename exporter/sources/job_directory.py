"""The job-mapping directory of HPC sites: a file for each GPU that names the jobs on it, written by the scheduler's prolog.

The format is dcgm-exporter's (NVIDIA/dcgm-exporter internal/pkg/transformation/hpc.go), so that one prolog serves both: a file is named by
the GPU's index in NVML, `3`, or by index and MIG instance, `3.1`, and holds one job id a line. Other names are passed over there, UUIDs
among them, which is what CUDA_VISIBLE_DEVICES holds since Slurm 25.11 (SlinkyProject/slurm-operator#112). Knows the format; which GPU has
which index is the caller's knowledge.
"""

import errno
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from exporter.catalog.jobs import JOB_FILE_SIZE_BYTES, JOB_FILES_MAX, JOB_ID_LENGTH_MAX, JOBS_PER_GPU_MAX
from exporter.model.fault import Reason
from exporter.model.job import SLURM, GpuJob
from exporter.model.quoted import shown
from exporter.sources.fault_list import FaultList
from exporter.sources.sysfs import Files, read_once

_NAME = re.compile(r"(0|[1-9][0-9]{0,3})(?:\.[0-9]{1,4})?")
_JOB_ID = re.compile(rf"[!-~]{{1,{JOB_ID_LENGTH_MAX}}}")
NO_JOB = "0"
"""What some prolog programs leave in the file of an idle GPU; no scheduler numbers a job so."""


class JobLines(NamedTuple):
    """Text of one job file: its job ids, each once and in order, the lines that are none, and how many ids the bound cut off."""

    job_ids: tuple[str, ...]
    junk: tuple[str, ...]
    cut_off: int


def job_lines(raw: bytes) -> JobLines:
    """The lines of a file. Empty ones and NO_JOB say that there is no job."""
    lines = [line.strip() for line in raw.decode("utf-8", "replace").split("\n")]
    said = dict.fromkeys(line for line in lines if line and line != NO_JOB)
    job_ids = [line for line in said if _JOB_ID.fullmatch(line)]
    junk = tuple(line for line in said if not _JOB_ID.fullmatch(line))
    return JobLines(tuple(job_ids[:JOBS_PER_GPU_MAX]), junk, len(job_ids[JOBS_PER_GPU_MAX:]))


class JobDirectory:
    """The directory that is the root of `files`, called `root` before a person.

    `gpus` says which GPU has which NVML index now. `scheduler` is who fills the directory: the files do not say. Every pass reads the files
    anew: there are as many as GPUs, and a time stamp can miss a file that was written twice within one tick of the kernel's clock.
    """

    def __init__(self, files: Files, gpus: Callable[[], Mapping[int, str]], *, root: str, scheduler: str = SLURM) -> None:
        self.root = root.rstrip("/")
        self._files = files
        self._gpus = gpus
        self._scheduler = scheduler

    def read(self, faults: FaultList) -> Mapping[str, tuple[GpuJob, ...]] | None:
        """Jobs of every GPU that has an index, none for an idle one; None if the directory cannot be listed. What is wrong with one file
        costs that file."""
        try:
            names = self._files.listdir("")
        except OSError as error:
            self._add_unlisted(error, faults)
            return None
        gpus = self._gpus()
        found: dict[str, list[GpuJob]] = {gpu: [] for gpu in gpus.values()}
        for name in self._job_files(names, faults):
            index = int(name.partition(".")[0])
            if index not in gpus:
                faults.add(f"{self.root}/{name}", Reason.ABSENT, f"names a GPU of index {index}, and there is none now; remove the file")
                continue
            found[gpus[index]] += [GpuJob(gpus[index], job_id, self._scheduler) for job_id in self._job_ids(name, faults)]
        return {gpu: tuple(jobs) for gpu, jobs in found.items()}

    def _add_unlisted(self, error: OSError, faults: FaultList) -> None:
        if error.errno == errno.ENOENT:
            faults.add(self.root, Reason.ABSENT, "is not there: no prolog has made it yet, or the container does not see the host's; "
                                                 "set jobs.directory to where the prolog writes")  # fmt: skip
        else:
            faults.add_error(self.root, error)

    def _job_files(self, names: Iterable[str], faults: FaultList) -> list[str]:
        """Names of the format, in order; the others are one Fault, but for hidden ones, which hold no jobs on any site."""
        visible = sorted(name for name in names if not name.startswith("."))
        named = [name for name in visible if _NAME.fullmatch(name)]
        others = [name for name in visible if not _NAME.fullmatch(name)]
        if others:
            faults.add(self.root, Reason.PARSE, f"{len(others)} of its files have no GPU index for a name, the first {shown(others[0])}; "
                                                "expected 3, or 3.1 for a MIG instance (SLURM_JOB_GPUS holds indices)")  # fmt: skip
        if len(named) > JOB_FILES_MAX:
            faults.add(self.root, Reason.LIMIT, f"holds {len(named)} job files; the first {JOB_FILES_MAX} are read")
        return named[:JOB_FILES_MAX]

    def _job_ids(self, name: str, faults: FaultList) -> tuple[str, ...]:
        path = f"{self.root}/{name}"
        try:
            self._files.resolve(name)  # a link that leads out of the directory would show lines of any file as jobs
            raw = read_once(self._files, name, JOB_FILE_SIZE_BYTES + 1)
        except FileNotFoundError:
            faults.add(path, Reason.ABSENT, "went away while it was read, or is a link that leads out of the directory")
            return ()
        except OSError as error:
            faults.add_error(path, error)
            return ()
        if len(raw) > JOB_FILE_SIZE_BYTES:
            faults.add(path, Reason.PARSE, f"is longer than {JOB_FILE_SIZE_BYTES} bytes: no list of jobs; expected one job id a line")
            return ()
        job_ids, junk, cut_off = job_lines(raw)
        if junk:
            faults.add(path, Reason.PARSE, f"{len(junk)} of its lines are no job id, the first is {shown(junk[0])}; expected one a line")
        if cut_off:
            faults.add(path, Reason.LIMIT, f"names {cut_off} jobs beyond the first {JOBS_PER_GPU_MAX}, which are left out")
        return job_ids
