"""A FileSet: what one pass costs, what failure costs, and when a file is asked again. Time is virtual."""

import errno
from itertools import pairwise

import pytest

from exporter.catalog import limits
from tests.sources.small_folder import FOLDER, NAMES, file_set, folder_tree, preads_of


def test_a_pass_gives_every_file_under_its_own_name() -> None:
    """In the order asked for."""
    seen = file_set(folder_tree()).read(0)

    assert dict(zip(seen.names, seen.raws, strict=True)) == {name: b"%d\n" % i for i, name in enumerate(NAMES)}
    assert seen.failures == ()


def test_each_pass_reads_afresh() -> None:
    """Kept open does not mean kept as it was."""
    tree = folder_tree()
    files = file_set(tree)
    files.read(0)
    tree.write(f"{FOLDER}/a", b"77\n")

    assert files.read(5).raws[0] == b"77\n"


def test_a_steady_pass_is_one_call_a_file() -> None:
    """No open, no listing, no second look."""
    tree = folder_tree()
    files = file_set(tree)
    files.read(0)
    opens = tree.opens

    assert preads_of(tree, files, 5) == len(NAMES)
    assert tree.opens == opens


def test_names_are_the_same_object_while_nothing_changes() -> None:
    """Who reads them may keep what was derived from them."""
    files = file_set(folder_tree())
    files.read(0)

    assert files.read(5).names is files.read(10).names


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM, errno.EISDIR, errno.EMFILE])
def test_a_file_that_refuses_is_read_once_and_then_rests(code: int) -> None:
    """Each refused PMA read costs a kernel log line."""
    tree = folder_tree({"c": code})
    files = file_set(tree)
    first = files.read(0)
    steady = [preads_of(tree, files, now_s) for now_s in (5, 30, limits.FILE_REST_S - 0.1)]

    assert [(name, error.errno) for name, error in first.failures] == [("c", code)]
    assert "c" not in first.names
    assert steady == [len(NAMES) - 1] * 3


def test_a_file_whose_rest_is_over_is_asked_again_and_shown_if_it_answers() -> None:
    """A setting or a reset may have brought it back."""
    tree = folder_tree({"c": errno.EINVAL})
    files = file_set(tree)
    files.read(0)
    tree.fail(f"{FOLDER}/c", None)
    tree.write(f"{FOLDER}/c", b"5\n")

    assert "c" not in files.read(limits.FILE_REST_S - 1).names
    assert "c" in files.read(limits.FILE_REST_S).names
    assert files.read(limits.FILE_REST_S + 5).failures == ()


def test_a_rest_doubles_with_each_refusal_up_to_an_hour() -> None:
    """60 s, 120 s, 240 s …"""
    tree = folder_tree({"c": errno.EINVAL})
    files = file_set(tree)
    asked = [second for second in range(0, 20_000, 5) if files.read(second).failures]
    rests = [later - earlier for earlier, later in pairwise(asked)]

    assert rests[:4] == [60, 120, 240, 480]
    assert max(rests) == limits.FILE_REST_MAX_S


def test_a_file_that_answered_again_starts_with_a_short_rest() -> None:
    """Old sins are forgotten."""
    tree = folder_tree({"c": errno.EINVAL})
    files = file_set(tree)
    for now_s in (0, 60, 180):
        files.read(now_s)
    tree.fail(f"{FOLDER}/c", None)
    files.read(420)
    tree.fail(f"{FOLDER}/c", errno.EINVAL)
    files.read(425)

    assert files.read(425 + limits.FILE_REST_S).failures[0][0] == "c"


def test_a_file_set_to_rest_by_its_reader_is_left_alone() -> None:
    """`N/A (no PMA)` is an answer that need not be asked for at each pass."""
    tree = folder_tree()
    files = file_set(tree)
    files.read(0)
    files.rest("b", 0)

    assert "b" not in files.read(5).names
    assert "b" in files.read(limits.FILE_REST_S).names


def test_a_device_that_fails_its_reads_is_asked_at_every_pass() -> None:
    """EIO is trouble that may pass at any time, not a refusal."""
    tree = folder_tree({"c": errno.EIO})
    files = file_set(tree)

    assert [[name for name, _ in files.read(now_s).failures] for now_s in (0, 5, 10)] == [["c"], ["c"], ["c"]]


def test_a_folder_that_refuses_its_first_files_is_not_asked_further() -> None:
    """bnxt_re refuses all of counters/ (prometheus/procfs#675): three answers are enough."""
    tree = folder_tree(dict.fromkeys(NAMES, errno.EINVAL))
    files = file_set(tree)
    seen = files.read(0)

    assert [name for name, _ in seen.failures] == list(NAMES[: limits.PROBE_FILES])
    assert tree.preads == limits.PROBE_FILES
    assert preads_of(tree, files, 30) == 0


def test_a_folder_known_to_refuse_is_probed_with_one_file_when_its_rest_is_over() -> None:
    """One kernel log line then, not three."""
    tree = folder_tree(dict.fromkeys(NAMES, errno.EINVAL))
    files = file_set(tree)
    files.read(0)

    assert preads_of(tree, files, limits.FILE_REST_S) == 1


def test_a_folder_that_stops_refusing_comes_back_whole() -> None:
    """Files that were never tried are no worse off than those that were."""
    tree = folder_tree(dict.fromkeys(NAMES, errno.EINVAL))
    files = file_set(tree)
    files.read(0)
    for name in NAMES:
        tree.fail(f"{FOLDER}/{name}", None)

    assert files.read(limits.FILE_REST_S).names == NAMES


def test_refusals_after_a_good_file_do_not_stop_the_rest() -> None:
    """Only a folder that refuses from its first file on is given up."""
    tree = folder_tree(dict.fromkeys("bcdef", errno.EINVAL))

    assert file_set(tree).read(0).names == ("a", "g", "h")


def test_errors_of_other_kinds_do_not_stop_the_rest() -> None:
    """EACCES on three files says nothing about the fourth."""
    tree = folder_tree(dict.fromkeys("abc", errno.EACCES))

    assert file_set(tree).read(0).names == tuple("defgh")


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.EINTR])
def test_try_again_is_tried_again_once(code: int) -> None:
    """And then it is the file's failure, for this pass only."""
    tree = folder_tree({"c": code})
    files = file_set(tree)
    seen = files.read(0)

    assert tree.preads == len(NAMES) + 1
    assert [name for name, _ in seen.failures] == ["c"]
    assert [name for name, _ in files.read(5).failures] == ["c"]


def test_try_again_that_succeeds_the_second_time_is_no_failure() -> None:
    """An interrupted read costs nothing."""
    tree = folder_tree({"c": errno.EAGAIN})
    asked: list[str] = []

    def answer_the_second_time(path: str) -> None:
        asked.append(path)
        if asked.count(f"{FOLDER}/c") == 2:
            tree.fail(f"{FOLDER}/c", None)

    tree.before_read = answer_the_second_time

    assert file_set(tree).read(0).names == NAMES
