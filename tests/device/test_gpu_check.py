"""The check of a GPU machine, over the fake driver: it finds nothing wrong with a machine that is well, changes nothing, and ends."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.device.machine_file import load, statements
from tests.nvml_library import BOARDS, FakeDriver, profile
from tests.nvml_library.scenario import Value

ROOT = Path(__file__).parents[2]
NO_TOOL = "nvidia-smi is not installed"
TOOL_ITEMS = 5
MOVING = frozenset({"took_us", "latency_us"})
SMALL: dict[str, Value] = {"gpus": 2, "driver": "550.90.07", "nvml": "12.550.90.07", "g*.name": "NVIDIA H100", "g*.links": 2, "g*.f91": 2,
                           "g*.l*.state": 1, "g*.l*.f165": 1}  # fmt: skip


class Checked:
    """One run of the command: its exit status, the lines it printed, what it saved, and the calls that it made."""

    def __init__(self, driver: FakeDriver, folder: Path, *arguments: str, tool: str = "") -> None:
        self.saved = folder / "machine.json"
        bin_folder = folder / "bin"
        bin_folder.mkdir(exist_ok=True)
        if tool:
            (bin_folder / "nvidia-smi").write_text(tool, encoding="utf-8")
            (bin_folder / "nvidia-smi").chmod(0o755)
        argv = [sys.executable, "-m", "tests.device.gpu_check", "--save", str(self.saved), *arguments]
        environment = {**os.environ, **driver.environment(), "PATH": str(bin_folder)}
        done = subprocess.run(argv, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
        self.status, self.lines, self.errors = done.returncode, done.stdout.splitlines(), done.stderr
        self.calls = driver.calls()

    def of(self, verdict: str) -> list[str]:
        """Items of that verdict, with their details."""
        return [line[8:] for line in self.lines if line.startswith(f"{verdict:8}")]


@pytest.fixture
def driver(tmp_path: Path) -> FakeDriver:
    """A driver of two small GPUs."""
    return FakeDriver(tmp_path / "driver").write(SMALL)


def _answers(machine: Any) -> Any:  # JSON
    """A machine without what differs from run to run."""
    if isinstance(machine, dict):
        return {key: _answers(value) for key, value in machine.items() if key not in MOVING}
    return [_answers(value) for value in machine] if isinstance(machine, list) else machine


def _texts(machine: Any) -> Iterator[str]:
    if isinstance(machine, dict):
        machine = list(machine.values())
    if isinstance(machine, list):
        for value in machine:
            yield from _texts(value)
    elif isinstance(machine, str):
        yield machine


@pytest.mark.parametrize("name", ["h100-nvl", "gb200"])
def test_a_machine_that_is_well_has_no_difference(tmp_path: Path, name: str) -> None:
    """Field by field, alone and through our source; where nvidia-smi is missing, its comparisons cannot be made. Nothing is changed."""
    checked = Checked(FakeDriver(tmp_path / "driver").write(profile(name)), tmp_path)

    assert (checked.status, checked.errors, checked.of("DIFFERS")) == (0, "", [])
    assert len(checked.of("PASS")) == 3
    assert [line for line in checked.of("CANNOT") if not line.endswith(NO_TOOL)] == []
    assert len(checked.of("CANNOT")) == TOOL_ITEMS
    assert not [call for call in checked.calls if call.changes_the_node]


@pytest.mark.parametrize("name", ["h100-nvl", "gb200", "l40s", "v100"])
def test_a_saved_machine_answers_again(tmp_path: Path, name: str) -> None:
    """The fake driver, told by the file, gives every answer with its type and code once more; in the file nothing is anybody's."""
    first = Checked(FakeDriver(tmp_path / "driver").write(profile(name)), tmp_path)
    machine = load(first.saved)
    (tmp_path / "again").mkdir()
    again = Checked(FakeDriver(tmp_path / "again" / "driver").write(statements(machine)), tmp_path / "again")

    assert _answers(load(again.saved)) == _answers(machine)
    found = {text for text in _texts(machine) if re.fullmatch(r"GPU-.*", text)}
    assert found == {f"GPU-{n:08d}-0000-0000-0000-{n:012d}" for n in range(1, BOARDS[name].gpus + 1)}
    assert not {gpu["identity"]["serial"]["value"] for gpu in machine["gpus"]} & {str(value) for value in profile(name).values()}


def test_an_inactive_link_that_spoils_a_call_is_told(tmp_path: Path) -> None:
    """A question that only hardware can answer: does it cost the whole call or only its value?"""
    driver = FakeDriver(tmp_path / "driver").write({**profile("h100-nvl"), "fields.poison_inactive": 1})
    beside = {line.partition(": ")[2] for line in Checked(driver, tmp_path).of("TOLD") if line.startswith("GPU 0: inactive")}

    assert beside == {"inactive link 4 beside active link 0, field 138: fails the whole call, codes [2, 2]",
                      "inactive link 4 beside active link 0, field 165: costs only its own value, codes [0, 0]"}  # fmt: skip


def test_a_call_that_never_returns_ends_the_check(driver: FakeDriver, tmp_path: Path) -> None:
    """With what it has by then, and the name of what it was asking; the file is written as well."""
    driver.change({"g1.call.nvmlDeviceGetFieldValues.sleep_ms": "forever"})
    checked = Checked(driver, tmp_path, "--minutes", "0.05")

    assert checked.status == 0
    assert checked.of("CANNOT") == ["the rest: stopped after 0.05 minutes, at: GPU 1: fields"]
    assert json.loads(checked.saved.read_text())["gpus"][0]["fields"]["91"]["value"] == 2


@pytest.mark.parametrize(("code", "word"), [(9, "the NVIDIA driver is not loaded"), (18, "different versions")])
def test_without_a_driver_nothing_can_be_checked(driver: FakeDriver, tmp_path: Path, code: int, word: str) -> None:
    """And that is no difference."""
    checked = Checked(driver.write({"init.ret": code}), tmp_path)

    assert checked.status == 0
    assert [word in line for line in checked.of("CANNOT")] == [True]


def test_a_number_that_is_not_the_fields_is_a_difference(driver: FakeDriver, tmp_path: Path) -> None:
    """State by call and by field: one of them is wrong, and the exit status says so."""
    checked = Checked(driver.change({"g1.l1.state": 0}), tmp_path)

    assert checked.status == 1
    assert checked.of("DIFFERS") == ["state and version by call and by field: GPU 1 link 1: state 0 by call, 1 by field 165"]


TOOL = """#!/bin/sh
case "$*" in
-L) printf 'GPU %s: NVIDIA H100 (UUID: GPU-%s)\\n' 0 a 1 b ;;
"nvlink -s") printf 'GPU 0: NVIDIA H100 (UUID: GPU-a)\\n\\t Link 0: 26.562 GB/s\\n\\t Link 1: <inactive>\\n' ;;
*) echo "not known: $*" >&2; exit 6 ;;
esac
"""


def test_the_tools_answers_stand_beside_ours(driver: FakeDriver, tmp_path: Path) -> None:
    """A difference says which, a command that fails what it said."""
    driver.write({**SMALL, "gpus": 1, "g0.uuid": "GPU-a", "g0.l*.f164": 26_562})
    checked = Checked(driver, tmp_path, tool=TOOL)

    assert "states and rates of links: GPU 0: active are [0] for the tool, [0, 1] by the state call" in checked.of("DIFFERS")
    assert "list of GPUs: the tool lists 2 GPUs, the driver counts 1" in checked.of("DIFFERS")
    assert checked.of("CANNOT")[-1] == "topology: nvidia-smi topo -m ended with 6: not known: topo -m"
