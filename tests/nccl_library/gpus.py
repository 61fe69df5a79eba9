"""Fake GPUs in a folder: the libraries, their knobs, their call log and the folder that stands for /dev/shm."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.nccl_library.library import CUDA, NCCL, build


class Call(NamedTuple):
    """One line of the call log. `device` is -1 where no GPU is concerned."""

    pid: int
    name: str
    device: int
    detail: str


class FakeGpus:
    """`FakeGpus(tmp_path, GPUS=4, LATENCY=20e-6)`: knobs by their names in the package's docstring, without FAKE_."""

    def __init__(self, folder: Path, without: Iterable[str] = (), **knobs: object) -> None:
        self.folder, self.shared_memory, self.calls_path = build(without), folder / "shm", folder / "calls"
        self.shared_memory.mkdir(parents=True, exist_ok=True)
        self.knobs = dict(knobs)

    @property
    def libcuda(self) -> str:
        """Its path."""
        return str(self.folder / CUDA)

    @property
    def libnccl(self) -> str:
        """Its path."""
        return str(self.folder / NCCL)

    def environment(self) -> dict[str, str]:
        """The variables that steer the libraries in a process that loads them."""
        places = {"FAKE_CALLS": str(self.calls_path), "FAKE_SHM": str(self.shared_memory)}
        return {**places, **{f"FAKE_{name}": str(value) for name, value in self.knobs.items()}}

    def calls(self, name: str | None = None) -> tuple[Call, ...]:
        """Every call so far, or those of one function, in the order in which they came."""
        text = self.calls_path.read_text(encoding="utf-8") if self.calls_path.exists() else ""
        calls = (_call(line) for line in text.splitlines())
        return tuple(call for call in calls if name is None or call.name == name)

    def left_behind(self) -> list[str]:
        """Names in the folder of shared memory."""
        return sorted(path.name for path in self.shared_memory.iterdir())


def _call(line: str) -> Call:
    pid, name, device, detail = line.split(" ", 3)
    return Call(int(pid), name, int(device), detail.strip())
