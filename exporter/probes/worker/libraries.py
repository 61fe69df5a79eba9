"""Loads the two libraries of a probe in the order that tells what is missing: the driver's library, the driver, a GPU, NCCL. For a process
of its own only: what the driver's library has opened stays open."""

from pathlib import Path
from typing import NamedTuple

from exporter.probes.worker import cuda, nccl
from exporter.probes.worker.cuda import Cuda
from exporter.probes.worker.nccl import Nccl

MAPS = Path("/proc/self/maps")


class Places(NamedTuple):
    """Where to look: a path, or a name for the loader."""

    libcuda: str = cuda.SONAME
    libnccl: str = nccl.SONAME


class Libraries(NamedTuple):
    """Both, ready for use."""

    cuda: Cuda
    nccl: Nccl


class Versions(NamedTuple):
    """Of the libraries that are really loaded: NCCL as "2.27.3", the driver's CUDA as "12.8", and the file of libnccl ("" if unknown):
    several may be installed, and not the expected one be loaded (verl-project/verl#6621)."""

    nccl: str
    cuda_driver: str
    path: str


def load(places: Places) -> Libraries:
    """Both libraries. Raises ProbeError: NO_LIBCUDA in words for no library, no driver or no GPU; NO_LIBNCCL; NCCL_TOO_OLD."""
    return Libraries(Cuda(places.libcuda), Nccl(places.libnccl))


def versions(libraries: Libraries, maps: Path = MAPS) -> Versions:
    """What was loaded."""
    return Versions(libraries.nccl.version, libraries.cuda.version, mapped_file(maps.read_text("utf-8", "replace"), libraries.nccl.address))


def mapped_file(maps: str, address: int) -> str:
    """The file that is mapped at an address, by the text of /proc/PID/maps; "" if there is none."""
    for line in maps.splitlines():
        span, *rest = line.split(maxsplit=5)
        start, _, behind = span.partition("-")
        if int(start, 16) <= address < int(behind, 16):
            return rest[4] if len(rest) == 5 else ""
    return ""
