"""A FileSet: what one pass costs, what failure costs, and when a file is asked again. Time is virtual."""

import errno
from collections.abc import Mapping
from itertools import pairwise

import pytest

from exporter.catalog import limits
from exporter.simulator.archive import Entry, File, Refusal
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.file_set import FileSet

FOLDER = "counters"
NAMES = tuple("abcdefgh")


def _tree(refusing: Mapping[str, int] = {}) -> MemoryTree:
    entries: list[Entry] = [
        Refusal(f"{FOLDER}/{name}", refusing[name]) if name in refusing else File(f"{FOLDER}/{name}", b"%d\n" % position)
        for position, name in enumerate(NAMES)
    ]
    return MemoryTree(entries)


def _set(tree: MemoryTree) -> FileSet:
    return FileSet(tree, FOLDER, NAMES)


def _preads_of(tree: MemoryTree, files: FileSet, now_s: float) -> int:
    before = tree.preads
    files.read(now_s)
    return tree.preads - before


def test_a_pass_gives_every_file_under_its_own_name() -> None:
    """In the order asked for."""
    seen = _set(_tree()).read(0)

    assert dict(zip(seen.names, seen.raws, strict=True)) == {name: b"%d\n" % i for i, name in enumerate(NAMES)}
    assert seen.failures == ()


def test_each_pass_reads_afresh() -> None:
    """Kept open does not mean kept as it was."""
    tree = _tree()
    files = _set(tree)
    files.read(0)
    tree.write(f"{FOLDER}/a", b"77\n")

    assert files.read(5).raws[0] == b"77\n"


def test_a_steady_pass_is_one_call_a_file() -> None:
    """No open, no listing, no second look."""
    tree = _tree()
    files = _set(tree)
    files.read(0)
    opens = tree.opens

    assert _preads_of(tree, files, 5) == len(NAMES)
    assert tree.opens == opens


def test_names_are_the_same_object_while_nothing_changes() -> None:
    """Who reads them may keep what was derived from them."""
    files = _set(_tree())
    files.read(0)

    assert files.read(5).names is files.read(10).names


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM, errno.EISDIR, errno.EMFILE])
def test_a_file_that_refuses_is_read_once_and_then_rests(code: int) -> None:
    """Each refused PMA read costs a kernel log line."""
    tree = _tree({"c": code})
    files = _set(tree)
    first = files.read(0)
    steady = [_preads_of(tree, files, now_s) for now_s in (5, 30, limits.FILE_REST_S - 0.1)]

    assert [(name, error.errno) for name, error in first.failures] == [("c", code)]
    assert "c" not in first.names
    assert steady == [len(NAMES) - 1] * 3


def test_a_file_whose_rest_is_over_is_asked_again_and_shown_if_it_answers() -> None:
    """A setting or a reset may have brought it back."""
    tree = _tree({"c": errno.EINVAL})
    files = _set(tree)
    files.read(0)
    tree.fail(f"{FOLDER}/c", None)
    tree.write(f"{FOLDER}/c", b"5\n")

    assert "c" not in files.read(limits.FILE_REST_S - 1).names
    assert "c" in files.read(limits.FILE_REST_S).names
    assert files.read(limits.FILE_REST_S + 5).failures == ()


def test_a_rest_doubles_with_each_refusal_up_to_an_hour() -> None:
    """60 s, 120 s, 240 s …"""
    tree = _tree({"c": errno.EINVAL})
    files = _set(tree)
    asked = [second for second in range(0, 20_000, 5) if files.read(second).failures]
    rests = [later - earlier for earlier, later in pairwise(asked)]

    assert rests[:4] == [60, 120, 240, 480]
    assert max(rests) == limits.FILE_REST_MAX_S


def test_a_file_that_answered_again_starts_with_a_short_rest() -> None:
    """Old sins are forgotten."""
    tree = _tree({"c": errno.EINVAL})
    files = _set(tree)
    for now_s in (0, 60, 180):
        files.read(now_s)
    tree.fail(f"{FOLDER}/c", None)
    files.read(420)
    tree.fail(f"{FOLDER}/c", errno.EINVAL)
    files.read(425)

    assert files.read(425 + limits.FILE_REST_S).failures[0][0] == "c"


def test_a_file_set_to_rest_by_its_reader_is_left_alone() -> None:
    """`N/A (no PMA)` is an answer that need not be asked for at each pass."""
    tree = _tree()
    files = _set(tree)
    files.read(0)
    files.rest("b", 0)

    assert "b" not in files.read(5).names
    assert "b" in files.read(limits.FILE_REST_S).names


def test_a_device_that_fails_its_reads_is_asked_at_every_pass() -> None:
    """EIO is trouble that may pass at any time, not a refusal."""
    tree = _tree({"c": errno.EIO})
    files = _set(tree)

    assert [[name for name, _ in files.read(now_s).failures] for now_s in (0, 5, 10)] == [["c"], ["c"], ["c"]]


def test_a_folder_that_refuses_its_first_files_is_not_asked_further() -> None:
    """bnxt_re refuses all of counters/ (prometheus/procfs#675): three answers are enough."""
    tree = _tree(dict.fromkeys(NAMES, errno.EINVAL))
    files = _set(tree)
    seen = files.read(0)

    assert [name for name, _ in seen.failures] == list(NAMES[: limits.PROBE_FILES])
    assert tree.preads == limits.PROBE_FILES
    assert _preads_of(tree, files, 30) == 0


def test_a_folder_known_to_refuse_is_probed_with_one_file_when_its_rest_is_over() -> None:
    """One kernel log line then, not three."""
    tree = _tree(dict.fromkeys(NAMES, errno.EINVAL))
    files = _set(tree)
    files.read(0)

    assert _preads_of(tree, files, limits.FILE_REST_S) == 1


def test_a_folder_that_stops_refusing_comes_back_whole() -> None:
    """Files that were never tried are no worse off than those that were."""
    tree = _tree(dict.fromkeys(NAMES, errno.EINVAL))
    files = _set(tree)
    files.read(0)
    for name in NAMES:
        tree.fail(f"{FOLDER}/{name}", None)

    assert files.read(limits.FILE_REST_S).names == NAMES


def test_refusals_after_a_good_file_do_not_stop_the_rest() -> None:
    """Only a folder that refuses from its first file on is given up."""
    tree = _tree(dict.fromkeys("bcdef", errno.EINVAL))

    assert _set(tree).read(0).names == ("a", "g", "h")


def test_errors_of_other_kinds_do_not_stop_the_rest() -> None:
    """EACCES on three files says nothing about the fourth."""
    tree = _tree(dict.fromkeys("abc", errno.EACCES))

    assert _set(tree).read(0).names == tuple("defgh")


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.EINTR])
def test_try_again_is_tried_again_once(code: int) -> None:
    """And then it is the file's failure, for this pass only."""
    tree = _tree({"c": code})
    files = _set(tree)
    seen = files.read(0)

    assert tree.preads == len(NAMES) + 1
    assert [name for name, _ in seen.failures] == ["c"]
    assert [name for name, _ in files.read(5).failures] == ["c"]


def test_try_again_that_succeeds_the_second_time_is_no_failure() -> None:
    """An interrupted read costs nothing."""
    tree = _tree({"c": errno.EAGAIN})
    asked: list[str] = []

    def answer_the_second_time(path: str) -> None:
        asked.append(path)
        if asked.count(f"{FOLDER}/c") == 2:
            tree.fail(f"{FOLDER}/c", None)

    tree.before_read = answer_the_second_time

    assert _set(tree).read(0).names == NAMES


def test_stale_handles_are_opened_anew_in_the_same_pass() -> None:
    """A kept handle of a device that went answers ENODEV for ever, even when a device of that name is back."""
    tree = _tree()
    files = _set(tree)
    files.read(0)
    tree.add(tree.remove(FOLDER))
    seen = files.read(5)

    assert (seen.names, seen.failures) == (NAMES, ())
    assert tree.handles_open == len(NAMES)


def test_a_folder_that_is_gone_is_one_failure_and_holds_no_handles() -> None:
    """Not one failure a file."""
    tree = _tree()
    files = _set(tree)
    files.read(0)
    tree.remove(FOLDER)
    seen = files.read(5)

    assert seen.names == ()
    assert [(name, error.errno) for name, error in seen.failures] == [(FOLDER, errno.ENOENT)]
    assert tree.handles_open == 0


def test_a_folder_that_returns_is_read_at_once() -> None:
    """Whatever returns is another device: nothing rests on its account."""
    tree = _tree({"c": errno.EINVAL})
    files = _set(tree)
    files.read(0)
    gone = tree.remove(FOLDER)
    files.read(5)
    tree.add(entry if isinstance(entry, File) else File(entry.path, b"9\n") for entry in gone)

    assert files.read(10).names == NAMES


@pytest.mark.parametrize("code", [errno.ENODEV, errno.ENXIO])
def test_no_such_device_from_one_fresh_file_costs_only_that_file(code: int) -> None:
    """A driver may say so of one attribute; its neighbours answer, so the device is there."""
    tree = _tree({"c": code})
    seen = _set(tree).read(0)

    assert seen.names == tuple(name for name in NAMES if name != "c")
    assert [(name, error.errno) for name, error in seen.failures] == [("c", code)]


def test_no_such_device_from_every_fresh_file_is_a_folder_that_is_gone() -> None:
    """One failure for the whole."""
    tree = _tree(dict.fromkeys(NAMES, errno.ENODEV))

    assert [name for name, _ in _set(tree).read(0).failures] == [FOLDER]
    assert tree.handles_open == 0


def test_a_file_that_cannot_be_opened_costs_only_itself() -> None:
    """A security module may deny one file."""
    tree = _tree()
    tree.fail_open(f"{FOLDER}/c", errno.EACCES)
    seen = _set(tree).read(0)

    assert [name for name, _ in seen.failures] == ["c"]
    assert len(seen.names) == len(NAMES) - 1


def test_closing_gives_every_handle_back_and_the_next_read_opens_anew() -> None:
    """Counted: opens equal closes."""
    tree = _tree()
    files = _set(tree)
    files.read(0)
    files.close()

    assert (tree.handles_open, tree.closes) == (0, tree.opens)
    assert files.read(5).names == NAMES
