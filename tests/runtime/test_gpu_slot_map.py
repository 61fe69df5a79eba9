"""The GPU slot map on disk: names that outlive the process, and files that are not what was written."""

import json
from pathlib import Path

import pytest

from exporter.model.gpu_slots import GpuSlots
from exporter.runtime.gpu_slot_map import FILE, VERSION, GpuSlotMap
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.state_file import StateFile, state_file

FOUR = ("0000:19:00.0", "0000:3b:00.0", "0000:4c:00.0", "0000:5d:00.0")


def _map(folder: Path) -> GpuSlotMap:
    return GpuSlotMap(state_file(open_state_dir(str(folder)), FILE, VERSION))


def test_names_survive_a_restart_with_a_gpu_lost(tmp_path: Path) -> None:
    """After the reboot gpu1 is missing; the others are who they were."""
    _map(tmp_path).names(FOUR)

    assert _map(tmp_path).names((FOUR[0], *FOUR[2:])) == {FOUR[0]: "gpu0", FOUR[2]: "gpu2", FOUR[3]: "gpu3"}


def test_the_file_is_written_only_when_the_map_changes(tmp_path: Path) -> None:
    """A scan comes every fifteen seconds."""
    slots = _map(tmp_path)
    slots.names(FOUR)
    written = (tmp_path / FILE).stat().st_ino
    slots.names(FOUR[:2])
    slots.names(FOUR)

    assert (tmp_path / FILE).stat().st_ino == written


def test_without_a_place_to_keep_it_the_process_still_remembers() -> None:
    """Until it ends."""
    slots = GpuSlotMap(None)
    slots.names(FOUR)

    assert slots.names(FOUR[3:]) == {FOUR[3]: "gpu3"}
    assert slots.problem is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"version": 1}', '{"version": 2, "most_present": 4, "numbers": {"0000:19:00.0": 3}}',
     '{"version": 1, "most_present": "4", "numbers": {}}', '{"version": 1, "most_present": 4, "numbers": {"gpu": 0}}',
     '{"version": 1, "most_present": 4, "numbers": {"0000:19:00.0": -1}}',
     '{"version": 1, "most_present": 4, "numbers": {"0000:19:00.0": "0"}}',
     '{"version": 1, "most_present": 4, "numbers": {"0000:19:00.0": 1, "0000:3b:00.0": 1}}', "\x00\xff", "[" * 100_000],
    ids=range(13),
)  # fmt: skip
def test_a_file_that_is_not_ours_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    """Torn by a power cut, edited by hand, of a later version: numbered afresh, and written again."""
    (tmp_path / FILE).write_text(text, encoding="utf-8")

    assert _map(tmp_path).names(FOUR)[FOUR[1]] == "gpu1"
    assert json.loads((tmp_path / FILE).read_text(encoding="utf-8"))["most_present"] == 4


def test_a_torn_file_is_said_in_one_line(tmp_path: Path) -> None:
    """It names the file and what follows."""
    (tmp_path / FILE).write_text('{"version": 1, "numb', encoding="utf-8")

    assert _map(tmp_path).problem == f"{tmp_path}/{FILE}: is torn or no JSON; what was learned before is forgotten"


def test_a_file_that_cannot_be_written_costs_no_names(tmp_path: Path) -> None:
    """A folder that went away, a full disk."""
    slots = GpuSlotMap(StateFile(str(tmp_path / "gone" / FILE), VERSION))

    assert slots.names(FOUR)[FOUR[2]] == "gpu2"
    assert slots.problem == f"{tmp_path}/gone/{FILE}: No such file or directory; what is learned is lost at a restart"


def test_a_write_leaves_nothing_but_the_file(tmp_path: Path) -> None:
    """The new text stands beside the old one only for as long as it is written."""
    slots = _map(tmp_path)
    slots.names(FOUR[:1])
    slots.names(FOUR)

    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert slots.slots == GpuSlots({address: number for number, address in enumerate(FOUR)}, 4)
