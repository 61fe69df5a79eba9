"""Verdicts on disk: what was kept comes back for the same boot, and no file is too odd to read."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.entity import Fabric, Link
from exporter.model.health import Level, Unknown, Why
from exporter.runtime.kept_verdicts import FILE, VERSION, KeptState, KeptVerdicts
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.state_file import StateFile, state_file
from exporter.signals.verdict import LinkState, ReasonState

PORT, NVLINK, BRIDGE = Link(Fabric.INFINIBAND, "mlx5_3", "1"), Link(Fabric.NVLINK, "gpu0", "4"), Link(Fabric.PCIE, "gpu0", "0000:17:02.0")
CARD = "0000:19:00.0"
SICK = LinkState(Level.FAILED, 1.8e9, {Why.DOWN: ReasonState(0b111, 1.8e9, "state down")}, None, None, 1.7e9, 3)
BOOT = "boot-1"
GOOD = {"identity": CARD, "level": 3, "since": 1.8e9, "sick": 1.7e9, "relapses": 3, "reasons": {"down": [7, 1.8e9, "state down"]}}


def verdicts(folder: Path) -> KeptVerdicts:
    """As the daemon makes them."""
    return KeptVerdicts(state_file(open_state_dir(str(folder)), FILE, VERSION))


def written(folder: Path, links: object) -> KeptVerdicts:
    """A file with these links, of this boot."""
    (folder / FILE).write_text(json.dumps({"version": VERSION, "boot_id": BOOT, "links": links}))
    return verdicts(folder)


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    """For the same boot: level, reasons, evidence, relapses. A hold that was running does not: nobody looked meanwhile."""
    kept = verdicts(tmp_path)
    kept.keep(BOOT, {PORT: (CARD, SICK._replace(calm_since_s=77.0, unknown=Unknown.STALE)), NVLINK: ("", SICK), BRIDGE: (CARD, SICK)})
    kept.save_if_changed()

    assert verdicts(tmp_path).load(BOOT) == {PORT: (CARD, SICK), NVLINK: ("", SICK), BRIDGE: (CARD, SICK)}


@pytest.mark.parametrize("boot_id", ["boot-2", ""])
def test_another_boot_knows_nothing(tmp_path: Path, boot_id: str) -> None:
    """And that is no problem."""
    kept = written(tmp_path, {str(PORT): GOOD})

    assert (kept.load(boot_id), kept.problem) == ({}, None)


def test_without_a_boot_id_nothing_is_kept(tmp_path: Path) -> None:
    """Nobody could tell later whose it was."""
    kept = verdicts(tmp_path)
    kept.keep("", {PORT: (CARD, SICK)})
    kept.save_if_changed()

    assert not (tmp_path / FILE).exists()


def test_the_file_is_written_only_when_something_changed(tmp_path: Path) -> None:
    """Not with each tick."""
    kept = verdicts(tmp_path)
    inodes = []
    for _ in range(2):
        kept.keep(BOOT, {PORT: (CARD, SICK)})
        kept.save_if_changed()
        inodes.append((tmp_path / FILE).stat().st_ino)

    assert inodes[0] == inodes[1]


def test_what_could_not_be_written_is_tried_again(tmp_path: Path) -> None:
    """With a line that says why."""
    (tmp_path / "gone").mkdir()
    kept = KeptVerdicts(StateFile(str(tmp_path / "gone" / FILE), VERSION))
    (tmp_path / "gone").rmdir()
    kept.keep(BOOT, {PORT: (CARD, SICK)})
    problem = kept.save_if_changed()
    (tmp_path / "gone").mkdir()

    assert "what is learned is lost at a restart" in (problem or "")
    assert kept.save_if_changed() is None
    assert (tmp_path / "gone" / FILE).exists()


def test_without_a_file_it_remembers_nothing() -> None:
    """Nothing is kept where nothing can be written, and that was said elsewhere."""
    kept = KeptVerdicts(None)
    kept.keep(BOOT, {PORT: (CARD, SICK)})

    assert (kept.load(BOOT), kept.save_if_changed()) == ({}, None)


ODD_ENTRIES = [
    None, 3, [], {}, {**GOOD, "level": 4}, {**GOOD, "level": "failed"}, {**GOOD, "level": [3]}, {**GOOD, "identity": 7},
    {**GOOD, "relapses": 1.5}, {**GOOD, "relapses": True}, {**GOOD, "since": None}, {**GOOD, "since": 10**400}, {**GOOD, "since": -1},
    {**GOOD, "sick": "yesterday"}, {**GOOD, "since": float("nan")}, {**GOOD, "reasons": [1]}, {"identity": CARD, "level": 3},
]  # fmt: skip


@pytest.mark.parametrize("entry", ODD_ENTRIES, ids=range(len(ODD_ENTRIES)))
def test_an_odd_entry_costs_only_itself_and_is_said(tmp_path: Path, entry: object) -> None:
    """Once; the others come back."""
    kept = written(tmp_path, {str(PORT): entry, str(NVLINK): GOOD})

    assert kept.load(BOOT) == {NVLINK: (CARD, SICK)}
    assert kept.problem == f"{tmp_path / FILE}: not all of it is understood; verdicts of the other links are forgotten and judged anew"


@pytest.mark.parametrize("name", ["", "nvlink", "nvlink/", "nvlink/gpu0", "nvlink//1", "ethereal/eth0/1", "nvlink/\ud800/1"])
def test_a_name_that_is_no_links_is_left_out(tmp_path: Path, name: str) -> None:
    """It would be shown as a label."""
    kept = written(tmp_path, {name: GOOD})

    assert kept.load(BOOT) == {}
    assert kept.problem


@pytest.mark.parametrize(
    "reason", [None, [], [7, 1.8e9], [7.5, 1.8e9, ""], [256, 1.8e9, ""], [-1, 1.8e9, ""], [7, "now", ""], [7, 1.8e9, 3], [7, 10**400, ""]]
)
def test_an_odd_reason_is_left_out_and_its_level_stays(tmp_path: Path, reason: object) -> None:
    """The link was failed; it falls by its hold. So is a reason of a later version."""
    document: Mapping[str, object] = {**GOOD, "reasons": {"down": reason, "haunted": [1, 1.0, ""]}}

    assert written(tmp_path, {str(PORT): document}).load(BOOT) == {PORT: (CARD, SICK._replace(reasons={}))}


def test_evidence_of_a_file_is_bounded_and_printable(tmp_path: Path) -> None:
    """It goes to the log."""
    kept = written(tmp_path, {str(PORT): {**GOOD, "reasons": {"down": [7, 1.8e9, "\ud800" + "x" * 10_000]}}})
    evidence = kept.load(BOOT)[PORT][1].reasons[Why.DOWN].evidence

    assert evidence.encode()
    assert len(evidence) == 500


@pytest.mark.parametrize("content", [b"", b"{", b"\x00" * 100, b"[1]", b'{"version": 2, "boot_id": "boot-1"}', b"[" * 100_000])
def test_a_file_that_is_not_ours_is_forgotten_and_said(tmp_path: Path, content: bytes) -> None:
    """Empty after a crash, torn, of a newer version, another program's."""
    (tmp_path / FILE).write_bytes(content)
    kept = verdicts(tmp_path)

    assert kept.load(BOOT) == {}
    assert (kept.problem or "").startswith(f"{tmp_path / FILE}: ")
    assert (kept.problem or "").endswith("what was learned before is forgotten")


words = st.sampled_from([*GOOD, "down", "paused"]) | st.text(max_size=3)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([3, 7, 1.8e9, "down", CARD]),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(words, children, max_size=6),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([str(PORT), str(NVLINK), "x"]), json_values) | json_values)
def test_no_document_raises_and_what_comes_back_can_be_kept(tmp_path_factory: pytest.TempPathFactory, links: object) -> None:
    """And comes back the same."""
    folder = tmp_path_factory.mktemp("state")
    known = written(folder, links).load(BOOT)
    kept = verdicts(folder)
    kept.keep(BOOT, known)
    kept.save_if_changed()

    assert verdicts(folder).load(BOOT) == known


held = st.builds(ReasonState, st.integers(0, 255), st.none() | st.floats(0, 4e9), st.text(max_size=9))
reasons = st.dictionaries(st.sampled_from(Why), held, max_size=3)
states = st.builds(LinkState, st.sampled_from(Level), st.floats(0, 4e9), reasons, st.none(), st.none(), st.none() | st.floats(0, 4e9),
                   st.integers(0, 10**6))  # fmt: skip


@given(st.dictionaries(st.sampled_from([PORT, NVLINK, BRIDGE]), st.tuples(st.text(max_size=9), states)))
def test_whatever_is_kept_comes_back(tmp_path_factory: pytest.TempPathFactory, kept_states: dict[Link, KeptState]) -> None:
    """Any level, any reasons, any evidence."""
    folder = tmp_path_factory.mktemp("state")
    kept = verdicts(folder)
    kept.keep(BOOT, kept_states)
    kept.save_if_changed()

    assert verdicts(folder).load(BOOT) == kept_states
