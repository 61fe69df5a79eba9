"""A FileSet whose files or folder go away, come back, or say that there is no such device."""

import errno

import pytest

from exporter.simulator.archive import File
from tests.sources.small_folder import FOLDER, NAMES, file_set, folder_tree


def test_stale_handles_are_opened_anew_in_the_same_pass() -> None:
    """A kept handle of a device that went answers ENODEV for ever, even when a device of that name is back."""
    tree = folder_tree()
    files = file_set(tree)
    files.read(0)
    tree.add(tree.remove(FOLDER))
    seen = files.read(5)

    assert (seen.names, seen.failures) == (NAMES, ())
    assert tree.handles_open == len(NAMES)


def test_a_folder_that_is_gone_is_one_failure_and_holds_no_handles() -> None:
    """Not one failure a file."""
    tree = folder_tree()
    files = file_set(tree)
    files.read(0)
    tree.remove(FOLDER)
    seen = files.read(5)

    assert seen.names == ()
    assert [(name, error.errno) for name, error in seen.failures] == [(FOLDER, errno.ENOENT)]
    assert tree.handles_open == 0


def test_a_folder_that_returns_is_read_at_once() -> None:
    """Whatever returns is another device: nothing rests on its account."""
    tree = folder_tree({"c": errno.EINVAL})
    files = file_set(tree)
    files.read(0)
    gone = tree.remove(FOLDER)
    files.read(5)
    tree.add(entry if isinstance(entry, File) else File(entry.path, b"9\n") for entry in gone)

    assert files.read(10).names == NAMES


@pytest.mark.parametrize("code", [errno.ENODEV, errno.ENXIO])
def test_no_such_device_from_one_fresh_file_costs_only_that_file(code: int) -> None:
    """A driver may say so of one attribute; its neighbours answer, so the device is there."""
    tree = folder_tree({"c": code})
    seen = file_set(tree).read(0)

    assert seen.names == tuple(name for name in NAMES if name != "c")
    assert [(name, error.errno) for name, error in seen.failures] == [("c", code)]


def test_no_such_device_from_every_fresh_file_is_a_folder_that_is_gone() -> None:
    """One failure for the whole."""
    tree = folder_tree(dict.fromkeys(NAMES, errno.ENODEV))

    assert [name for name, _ in file_set(tree).read(0).failures] == [FOLDER]
    assert tree.handles_open == 0


def test_a_file_that_cannot_be_opened_costs_only_itself() -> None:
    """A security module may deny one file."""
    tree = folder_tree()
    tree.fail_open(f"{FOLDER}/c", errno.EACCES)
    seen = file_set(tree).read(0)

    assert [name for name, _ in seen.failures] == ["c"]
    assert len(seen.names) == len(NAMES) - 1


def test_closing_gives_every_handle_back_and_the_next_read_opens_anew() -> None:
    """Counted: opens equal closes."""
    tree = folder_tree()
    files = file_set(tree)
    files.read(0)
    files.close()

    assert (tree.handles_open, tree.closes) == (0, tree.opens)
    assert files.read(5).names == NAMES
