"""The check of a GPU machine's NCCL, over the fake libraries: it finds nothing wrong with what is right, sees what is wrong, and ends."""

import os
import subprocess
import sys
from pathlib import Path

from tests.nccl_library import FakeGpus

ROOT = Path(__file__).parents[2]
FAST = {"GPUS": 1, "LATENCY": 10e-6, "BANDWIDTH": 4e11}


def _checked(folder: Path, *arguments: str, **knobs: object) -> tuple[int, list[str], FakeGpus]:
    """Exit status, lines printed, and the GPUs."""
    gpus = FakeGpus(folder, **{**FAST, **knobs})
    environment = {**os.environ, **gpus.environment(), "FAKE_SHM": "/dev/shm"}
    argv = [
        sys.executable,
        "-m",
        "tests.device.nccl_check",
        "--libcuda",
        gpus.libcuda,
        "--libnccl",
        gpus.libnccl,
        "--longest",
        "8",
        *arguments,
    ]
    done = subprocess.run(argv, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    return done.returncode, [*done.stdout.splitlines(), *done.stderr.splitlines()], gpus


def test_a_machine_that_is_well_shows_nothing_that_differs(tmp_path: Path) -> None:
    """All questions are asked: one rank, memory, two ranks, every collective, a stopped peer, a killed worker, a refusal."""
    status, lines, _ = _checked(tmp_path)

    passed = [line for line in lines if line.startswith("PASS")]
    assert [line for line in lines if line.startswith(("DIFFERS", "CANNOT"))] == []
    assert (status, len(passed)) == (0, 12)


def test_corrupt_data_differs(tmp_path: Path) -> None:
    """One element is enough; told with its rank and place."""
    status, lines, _ = _checked(tmp_path, "--minutes", "0.04", CORRUPT="0:5")

    assert status == 1
    assert any(line.startswith("DIFFERS") and "WrongData(rank=0, elements=1, first=5" in line for line in lines)


def test_without_libraries_the_check_says_so_and_ends(tmp_path: Path) -> None:
    """A machine that has no GPU is no failure."""
    status, lines, _ = _checked(tmp_path, GPUS=0)

    assert status == 0
    assert any(line.startswith("CANNOT") and "shows no GPU" in line for line in lines)


def test_the_check_ends_at_its_time_even_if_nccl_never_does(tmp_path: Path) -> None:
    """Whatever hangs, what was found so far is printed, and no process stays."""
    status, lines, gpus = _checked(tmp_path, "--minutes", "0.03", HANG="init_call:0")

    assert status == 0
    assert any(line.startswith("CANNOT") and "stopped after 0.03 minutes, at: one rank" in line for line in lines)
    assert all(not Path(f"/proc/{call.pid}").exists() for call in gpus.calls())
