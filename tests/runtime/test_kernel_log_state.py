"""How far the kernel log was read, on disk."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.xid import EventKey, EventKind, KernelLogState, Tally, XidEvent, key_of
from exporter.runtime.kernel_log_state import FILE, VERSION, KeptKernelLogState
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.state_file import state_file

BOOT = "6a1f5c0e-0000-4000-8000-00000000abcd"
KEY = key_of(XidEvent("0000:3b:00.0", 74, "7"))
STATE = KernelLogState(BOOT, 1844, {KEY: Tally(3, 1.8e9)})
ROW = ["xid", "0000:3b:00.0", "74", "7", 3, 1.8e9]


def _kept(folder: Path) -> KeptKernelLogState:
    return KeptKernelLogState(state_file(open_state_dir(str(folder)), FILE, VERSION))


def _write(folder: Path, **changed: object) -> None:
    document = {"version": VERSION, "boot_id": BOOT, "sequence": 1844, "counts": [ROW], **changed}
    (folder / FILE).write_text(json.dumps(document), encoding="utf-8")


def test_a_state_survives_a_restart(tmp_path: Path) -> None:
    """Counts and place together."""
    before = _kept(tmp_path)
    before.save(STATE)
    before.save_if_changed()

    assert _kept(tmp_path).load() == STATE


def test_saving_waits_for_no_disk(tmp_path: Path) -> None:
    """The reader's thread only remembers; the other one writes, and only when something changed."""
    kept = _kept(tmp_path)
    kept.save(STATE)
    untouched = list(tmp_path.iterdir())
    kept.save_if_changed()
    written = (tmp_path / FILE).stat().st_ino
    kept.save(KernelLogState(BOOT, 1844, {KEY: Tally(3, 1.8e9)}))
    kept.save_if_changed()

    assert (untouched, (tmp_path / FILE).stat().st_ino) == ([], written)


def test_without_a_place_to_keep_it_a_reload_still_finds_it() -> None:
    """It lives as long as the process."""
    kept = KeptKernelLogState(None)
    kept.save(STATE)

    assert (kept.save_if_changed(), kept.load()) == (None, STATE)


def test_a_boot_without_a_name_is_not_kept_on_disk(tmp_path: Path) -> None:
    """The next process could not tell whether the machine was started meanwhile."""
    kept = _kept(tmp_path)
    kept.save(KernelLogState("", 5))
    kept.save_if_changed()

    assert (kept.load(), list(tmp_path.iterdir())) == (KernelLogState("", 5), [])


def test_a_disk_that_refuses_is_tried_again(tmp_path: Path) -> None:
    """The problem is said, and gone once the folder takes it."""
    kept = _kept(tmp_path)
    kept.save(STATE)
    (tmp_path / FILE).mkdir()
    problem = kept.save_if_changed()
    (tmp_path / FILE).rmdir()

    assert problem is not None
    assert str(tmp_path / FILE) in problem
    assert (kept.save_if_changed(), _kept(tmp_path).load()) == (None, STATE)


@pytest.mark.parametrize(
    "row",
    [None, 8, [], ROW[:5], [*ROW, 1], ["xid", "a" * 33, "74", "7", 3, 1.0], ["yid", *ROW[1:]], [8, *ROW[1:]], [[], *ROW[1:]],
     [*ROW[:4], -1, 1.0], [*ROW[:4], True, 1.0], [*ROW[:4], 1.5, 1.0], [*ROW[:5], float("nan")], [*ROW[:5], "now"], [*ROW[:5], False]],
    ids=range(15),
)  # fmt: skip
def test_an_entry_that_is_not_ours_costs_only_itself(tmp_path: Path, row: object) -> None:
    """The next one is believed."""
    _write(tmp_path, counts=[row, ROW])

    assert _kept(tmp_path).load() == STATE


@pytest.mark.parametrize(
    "changed",
    [{"boot_id": ""}, {"boot_id": 7}, {"sequence": None}, {"sequence": -1}, {"sequence": True}, {"sequence": "5"}, {"counts": {}}],
    ids=str,
)
def test_a_state_that_does_not_say_how_far_or_of_which_boot_is_none(tmp_path: Path, changed: dict[str, object]) -> None:
    """Its counts would be counted once more."""
    _write(tmp_path, **changed)

    assert _kept(tmp_path).load() is None


texts = st.text(max_size=32)
keys = st.builds(EventKey, st.sampled_from(EventKind), texts, texts, texts)
tallies = st.dictionaries(keys, st.builds(Tally, st.integers(0, 2**53), st.floats(0, 4e9)), max_size=4)


@given(state=st.builds(KernelLogState, st.text(min_size=1), st.integers(0, 2**64 - 1), tallies))
def test_any_state_reads_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, state: KernelLogState) -> None:
    """Whatever a log could hold."""
    folder = tmp_path_factory.mktemp("state")
    kept = _kept(folder)
    kept.save(state)
    kept.save_if_changed()

    assert (kept.problem, _kept(folder).load()) == (None, state)
