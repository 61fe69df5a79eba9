"""Which place on the board each GPU has, kept so that rails are numbered alike before the driver answers."""

import json
from pathlib import Path

import pytest

from exporter.runtime.gpu_modules import FILE, GPUS_MAX, VERSION, GpuModules
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.state_file import state_file

ONE, TWO = "0000:1b:00.0", "0000:43:00.0"


def modules_in(folder: Path) -> GpuModules:
    """As a daemon with that state directory has them at its start."""
    return GpuModules(state_file(open_state_dir(str(folder)), FILE, VERSION))


def test_places_are_kept_over_a_restart(tmp_path: Path) -> None:
    """Before any driver answered, what the last one said."""
    modules = modules_in(tmp_path)
    empty = dict(modules.ids())
    modules.note({ONE: 2, TWO: 1})
    assert modules.save_if_changed() is None

    assert [empty, modules_in(tmp_path).ids()] == [{}, {ONE: 2, TWO: 1}]


def test_a_gpu_that_is_not_named_keeps_its_place() -> None:
    """A lost one has not moved; a place that changed is the new one."""
    modules = GpuModules(None)
    modules.note({ONE: 2, TWO: 1})
    modules.note({ONE: 3})

    assert modules.ids() == {ONE: 3, TWO: 1}


def test_the_file_is_written_only_when_something_changed(tmp_path: Path) -> None:
    """Not by who notes, and not for the same news."""
    modules = modules_in(tmp_path)
    modules.note({ONE: 2})
    untouched = list(tmp_path.iterdir())
    modules.save_if_changed()
    written = (tmp_path / FILE).stat().st_ino
    modules.note({ONE: 2})
    modules.save_if_changed()

    assert [untouched, (tmp_path / FILE).stat().st_ino] == [[], written]


def test_memory_is_bounded(tmp_path: Path) -> None:
    """The newest stay, on disk as well."""
    modules = modules_in(tmp_path)
    modules.note({f"0000:{number:02x}:00.0": number for number in range(GPUS_MAX)})
    modules.note({"0001:00:00.0": 7})
    modules.save_if_changed()

    assert [len(modules.ids()), modules.ids()["0001:00:00.0"], "0000:00:00.0" in modules.ids()] == [GPUS_MAX, 7, False]
    assert modules_in(tmp_path).ids() == modules.ids()


@pytest.mark.parametrize("entry", [None, "2", True, 2.0, [2], {}])
def test_an_entry_that_is_not_ours_costs_only_itself(tmp_path: Path, entry: object) -> None:
    """The next one is believed."""
    document = {"version": VERSION, "modules": {ONE: entry, TWO: 1}}
    (tmp_path / FILE).write_text(json.dumps(document), encoding="utf-8")

    assert modules_in(tmp_path).ids() == {TWO: 1}


@pytest.mark.parametrize("text", ["", "[", "7", '{"version": 0, "modules": {"a": 1}}', '{"version": 1, "modules": [1]}'])
def test_a_file_that_is_not_ours_is_forgotten(tmp_path: Path, text: str) -> None:
    """As on the first day."""
    (tmp_path / FILE).write_text(text, encoding="utf-8")

    assert modules_in(tmp_path).ids() == {}


def test_a_disk_that_fails_is_told_and_tried_again(tmp_path: Path) -> None:
    """A line of what, where and why."""
    folder = tmp_path / "state"
    modules = modules_in(folder)
    modules.note({ONE: 2})
    (folder / FILE).mkdir()
    problem = modules.save_if_changed()
    (folder / FILE).rmdir()

    assert problem is not None
    assert FILE in problem
    assert [modules.save_if_changed(), modules_in(folder).ids()] == [None, {ONE: 2}]
