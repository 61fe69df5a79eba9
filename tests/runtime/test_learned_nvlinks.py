"""Which NVLinks proved to be wired: after ten minutes at a stretch, kept by UUID over restarts."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.limits import LEARN_NVLINK_AFTER_S, LEARNED_GPUS_MAX
from exporter.runtime.learned_nvlinks import FILE, VERSION, LearnedNvlinks
from exporter.runtime.state_dir import open_state_dir
from exporter.runtime.state_file import state_file

UUID, OTHER = "GPU-one", "GPU-two"
NONE: frozenset[int] = frozenset()


def links_in(folder: Path) -> LearnedNvlinks:
    """As a daemon with that state directory has them at its start."""
    return LearnedNvlinks(state_file(open_state_dir(str(folder)), FILE, VERSION))


def test_a_link_is_known_after_its_time_and_not_before() -> None:
    """Ten minutes without a break; each link has a time of its own."""
    links = LearnedNvlinks(None)
    links.note(UUID, {0}, 100.0)
    links.note(UUID, {0, 1}, 200.0)
    links.note(UUID, {0, 1}, 100.0 + LEARN_NVLINK_AFTER_S - 1)
    early = links.known(UUID)
    links.note(UUID, {0, 1}, 100.0 + LEARN_NVLINK_AFTER_S)
    first = links.known(UUID)
    links.note(UUID, {0, 1}, 200.0 + LEARN_NVLINK_AFTER_S)

    assert [early, first, links.known(UUID), links.known(OTHER)] == [NONE, {0}, {0, 1}, NONE]


def test_a_break_begins_the_time_anew() -> None:
    """A bridge that somebody tries out is not learned."""
    links = LearnedNvlinks(None)
    for moment in range(20):
        active = {3} if moment % 5 else NONE
        links.note(UUID, active, moment * LEARN_NVLINK_AFTER_S / 5)

    assert links.known(UUID) == NONE


def test_a_known_link_stays_known_when_it_is_down() -> None:
    """That is what it was learned for."""
    links = LearnedNvlinks(None)
    for moment_s in (0.0, LEARN_NVLINK_AFTER_S):
        links.note(UUID, {3, 4}, moment_s)
    links.note(UUID, NONE, LEARN_NVLINK_AFTER_S * 2)
    links.note(UUID, {4}, LEARN_NVLINK_AFTER_S * 50)

    assert links.known(UUID) == {3, 4}


def test_what_was_learned_survives_a_restart_and_goes_with_the_gpu(tmp_path: Path) -> None:
    """By UUID: another GPU in its slot starts anew."""
    links = links_in(tmp_path)
    for moment_s in (0.0, LEARN_NVLINK_AFTER_S):
        links.note(UUID, {0, 17}, moment_s)
    assert links.save_if_changed() is None
    after = links_in(tmp_path)

    assert [after.known(UUID), after.known(OTHER), after.everything] == [{0, 17}, NONE, {UUID: frozenset({0, 17})}]


def test_the_file_is_written_only_when_something_was_learned(tmp_path: Path) -> None:
    """Never by who notes, and not for news that are none."""
    links = links_in(tmp_path)
    for moment_s in (0.0, LEARN_NVLINK_AFTER_S):
        links.note(UUID, {0}, moment_s)
    untouched = list(tmp_path.iterdir())
    links.save_if_changed()
    written = (tmp_path / FILE).stat().st_ino
    links.note(UUID, {0, 1}, LEARN_NVLINK_AFTER_S * 1.5)
    links.merge({UUID: frozenset({0})})
    links.save_if_changed()

    assert [untouched, (tmp_path / FILE).stat().st_ino] == [[], written]


def test_what_another_process_learned_is_taken_in(tmp_path: Path) -> None:
    """Added to what is known, and written."""
    links = links_in(tmp_path)
    links.merge({UUID: frozenset({1, 2})})
    links.merge({UUID: frozenset({2, 3}), OTHER: frozenset({0})})
    links.save_if_changed()

    assert links_in(tmp_path).everything == {UUID: frozenset({1, 2, 3}), OTHER: frozenset({0})}


@pytest.mark.parametrize("entry", [None, 8, {}, [], "0", [True], [-1], ["0"], [0.5], [[0]], [10**9]], ids=range(11))
def test_an_entry_that_is_not_ours_costs_only_itself(tmp_path: Path, entry: object) -> None:
    """The next one is believed."""
    document = {"version": VERSION, "gpus": {UUID: entry, OTHER: [4, 5]}}
    (tmp_path / FILE).write_text(json.dumps(document), encoding="utf-8")
    links = links_in(tmp_path)

    assert links.everything == {OTHER: frozenset({4, 5})}
    assert links.problem is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 99}', '{"version": 1}', '{"version": 1, "gpus": []}', "\ufffd"])
def test_a_file_that_is_not_ours_is_forgotten(tmp_path: Path, text: str) -> None:
    """Nothing is known, and learning goes on."""
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    links = links_in(tmp_path)
    for moment_s in (0.0, LEARN_NVLINK_AFTER_S):
        links.note(UUID, {0}, moment_s)

    assert links.everything == {UUID: frozenset({0})}


def test_memory_is_bounded(tmp_path: Path) -> None:
    """GPUs that learned longest ago go first, on disk as well."""
    links = links_in(tmp_path)
    for number in range(LEARNED_GPUS_MAX + 3):
        links.merge({f"GPU-{number}": frozenset({0})})
    links.save_if_changed()

    assert len(links.everything) == LEARNED_GPUS_MAX
    assert [bool(links.known(f"GPU-{number}")) for number in (0, 2, 3, LEARNED_GPUS_MAX + 2)] == [False, False, True, True]
    assert links_in(tmp_path).everything == links.everything


def test_a_disk_that_fails_is_told_and_tried_again(tmp_path: Path) -> None:
    """A line of what, where and why; nothing that was learned is lost meanwhile."""
    folder = tmp_path / "state"
    links = links_in(folder)
    links.merge({UUID: frozenset({0})})
    (folder / FILE).mkdir()
    problem = links.save_if_changed()
    (folder / FILE).rmdir()

    assert problem is not None
    assert FILE in problem
    assert links.save_if_changed() is None
    assert links_in(folder).known(UUID) == {0}


@given(st.lists(st.tuples(st.frozensets(st.integers(0, 17)), st.floats(0, 400)), max_size=30))
def test_a_link_is_learned_exactly_if_it_was_active_long_enough(story: list[tuple[frozenset[int], float]]) -> None:
    """Whatever its sisters do meanwhile."""
    links = LearnedNvlinks(None)
    now_s, since_s = 0.0, dict.fromkeys(range(18), float("inf"))
    proved: set[int] = set()
    for active, pause_s in story:
        now_s += pause_s
        since_s = {link: min(start_s, now_s) if link in active else float("inf") for link, start_s in since_s.items()}
        proved |= {link for link, start_s in since_s.items() if now_s - start_s >= LEARN_NVLINK_AFTER_S}
        links.note(UUID, active, now_s)

    assert links.known(UUID) == proved
