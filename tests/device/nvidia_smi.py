"""What `nvidia-smi` prints, as numbers. Runs it, and knows the layout of some of its answers; what they are compared with, others know.

Layouts differ between drivers: a line that is not understood is passed by, and what nobody understood is missing.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

TOOL = "nvidia-smi"
LIST, STATUS, THROUGHPUT, ERRORS, TOPOLOGY = ("-L",), ("nvlink", "-s"), ("nvlink", "-gt", "d"), ("nvlink", "-e"), ("topo", "-m")
TIMEOUT_S = 30.0
MEGABYTES_PER_GIGABYTE = 1000

_GPU = re.compile(r"^GPU (\d+): (.*?) \(UUID: ([^)\s]+)\)\s*$")
_RATE = re.compile(r"^\s*Link (\d+): (?:(\d+)(?:\.(\d+))? GB/s|<inactive>)\s*$")
_COUNT = re.compile(r"^\s*Link (\d+): ([A-Za-z][A-Za-z ]*?)\s*: (\d+)(?: KiB)?\s*$")


class ListedGpu(NamedTuple):
    """A line of `-L`."""

    number: int
    name: str
    uuid: str


class Rate(NamedTuple):
    """A link's rate in MB/s as far as it is shown: the true one is less than `step` above."""

    mb_per_s: int
    step: int

    def fits(self, true_mb_per_s: int) -> bool:
        """Whether that rate, cut or rounded to what is shown, is this one."""
        return self.mb_per_s - self.step < true_mb_per_s < self.mb_per_s + self.step


Counts = Mapping[int, Mapping[int, Mapping[str, int]]]
"""By GPU, link and name in lower case."""


class UnavailableError(Exception):
    """It has no answer, and why."""


def ask(arguments: Sequence[str]) -> str:
    """What it prints. Raises UnavailableError."""
    tool = shutil.which(TOOL)
    if tool is None:
        raise UnavailableError(f"{TOOL} is not installed")
    try:
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    except (subprocess.TimeoutExpired, OSError) as error:
        raise UnavailableError(f"{TOOL} {' '.join(arguments)}: {error}") from None
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[:200]
        raise UnavailableError(f"{TOOL} {' '.join(arguments)} ended with {done.returncode}: {said}")
    return done.stdout


def listed_gpus(text: str) -> list[ListedGpu]:
    """The GPUs of `-L`, in its order."""
    return [ListedGpu(int(match[1]), match[2], match[3]) for line in text.splitlines() if (match := _GPU.match(line))]


def rates(text: str) -> Mapping[int, Mapping[int, Rate | None]]:
    """Rate by GPU and link of `nvlink -s`; None for an inactive link."""
    found: dict[int, dict[int, Rate | None]] = {}
    for gpu, line in _by_gpu(text):
        of_gpu = found.setdefault(gpu, {})
        if match := _RATE.match(line):
            digits = match[3] or ""
            step = MEGABYTES_PER_GIGABYTE // 10 ** min(len(digits), 3)
            whole = int(match[2] or 0) * MEGABYTES_PER_GIGABYTE + int(digits[:3].ljust(3, "0"))
            of_gpu[int(match[1])] = Rate(whole, step) if match[2] else None
    return found


def counts(text: str) -> Counts:
    """Numbers by GPU, link and name of `nvlink -gt d` and `nvlink -e`; what is not supported is missing."""
    found: dict[int, dict[int, dict[str, int]]] = {}
    for gpu, line in _by_gpu(text):
        if match := _COUNT.match(line):
            found.setdefault(gpu, {}).setdefault(int(match[1]), {})[match[2].lower()] = int(match[3])
    return found


def _by_gpu(text: str) -> Iterator[tuple[int, str]]:
    """Each line with the index of the GPU it stands under, the heads included."""
    gpu: int | None = None
    for line in text.splitlines():
        if match := _GPU.match(line):
            gpu = int(match[1])
        if gpu is not None:
            yield gpu, line
