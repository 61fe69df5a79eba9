"""What every file of the state directory has in common: written when something changed, and nothing is lost on the way."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.model.expected_ports import PortSpeed
from exporter.runtime import gpu_modules, learned_ports
from exporter.runtime.gpu_modules import GpuModules
from exporter.runtime.kept import Kept
from exporter.runtime.learned_ports import LearnedPorts
from exporter.runtime.state_file import StateFile


@dataclass(frozen=True)
class SlowFile(StateFile):
    """Takes so long to write that something else happens meanwhile."""

    meanwhile: Callable[[], None]

    def save(self, document: object) -> str | None:
        """Something happens, then it is written."""
        self.meanwhile()
        return super().save(document)  # type: ignore[arg-type]


def modules_of(path: Path, meanwhile: Callable[[], None]) -> tuple[Kept, Callable[[int], None]]:
    """Places of GPUs, and how to note another one."""
    kept = GpuModules(SlowFile(str(path), gpu_modules.VERSION, meanwhile))
    return kept, lambda number: kept.note({f"0000:{number:02x}:00.0": number})


def ports_of(path: Path, meanwhile: Callable[[], None]) -> tuple[Kept, Callable[[int], None]]:
    """Speeds of ports, and how to note another one."""
    kept = LearnedPorts(SlowFile(str(path), learned_ports.VERSION, meanwhile))
    return kept, lambda number: kept.note(f"infiniband/mlx5_{number}/1", "0000:1b:00.0", PortSpeed(lanes=4))


@pytest.mark.parametrize("made", [modules_of, ports_of])
def test_what_is_noted_while_the_file_is_written_is_written_next(tmp_path: Path, made: Callable) -> None:
    """It came too late for that file, and is no older for it."""
    late: list[int] = []
    kept, note = made(tmp_path / "kept.json", lambda: [note(number) for number in late] and late.clear())
    note(1)
    late.append(2)
    kept.save_if_changed()
    kept.save_if_changed()

    document = json.loads((tmp_path / "kept.json").read_text())
    entries = next(value for name, value in document.items() if name != "version")
    assert len(entries) == 2
