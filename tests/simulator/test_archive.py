"""The .tree format: what it says comes back as it was, and what is wrong is named with its line."""

import contextlib
import errno
import os
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.simulator.archive import (
    ArchiveError,
    Directory,
    Entry,
    File,
    Refusal,
    Symlink,
    format_archive,
    parse_archive,
    read_archive,
    unpack,
)
from tests.requires import need_data

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\n\0"), min_size=1, max_size=8).filter(
    lambda name: name not in {".", ".."}
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
entries = st.one_of(
    st.builds(File, paths, st.binary(max_size=40)),
    st.builds(Symlink, paths, st.lists(names | st.just(".."), min_size=1, max_size=4).map("/".join)),
    st.builds(Directory, paths),
    st.builds(Refusal, paths, st.sampled_from([errno.EINVAL, errno.EACCES, errno.ENODEV]), st.booleans()),
)


def _standing(found: list[Entry]) -> tuple[Entry, ...]:
    """Those of the entries that can stand side by side: no path twice, none below another."""
    kept: dict[str, Entry] = {}
    for entry in found:
        above = set(accumulate(entry.path.split("/"), "{}/{}".format))
        if not above & kept.keys() and not any(path.startswith(entry.path + "/") for path in kept):
            kept[entry.path] = entry
    return tuple(kept.values())


trees = st.lists(entries, max_size=12).map(_standing)


@given(trees)
def test_a_formatted_tree_parses_to_the_same_entries(tree: tuple[Entry, ...]) -> None:
    """Any bytes, any names, links and refusals survive the text."""
    assert parse_archive(format_archive(tree)) == tree


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["Path: a", "Path: a/b", "Lines: 1", "Lines: 9", "Errno: EIO", "x", ""])).map("\n".join)
)
def test_any_text_is_a_tree_or_an_archive_error(text: str) -> None:
    """Bad text never ends in another exception; what parses formats to a text with the same meaning."""
    tree: tuple[Entry, ...] = ()
    with contextlib.suppress(ArchiveError):
        tree = parse_archive(text)

    assert parse_archive(format_archive(tree)) == tree


def test_each_kind_of_entry_is_understood() -> None:
    """The format of the documentation, remarks and an empty line included."""
    text = (
        "# remark\nPath: a/b\nLines: 2\none\n# two\nPath: a/c\nLines: 1 no-newline\nx\nPath: a/d\nLines: 0\n\n"
        "Path: l\nSymlink: ../x\nDirectory: e\nPath: f\nErrno: EINVAL\nPath: g\nErrno: EACCES open\n"
    )
    expected = (
        File("a/b", b"one\n# two\n"),
        File("a/c", b"x"),
        File("a/d", b""),
        Symlink("l", "../x"),
        Directory("e"),
        Refusal("f", errno.EINVAL),
        Refusal("g", errno.EACCES, at_open=True),
    )

    assert parse_archive(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Path: ../etc/passwd\nLines: 0", "line 1: path leaves the tree: ../etc/passwd"),
        ("Path: /etc/passwd\nLines: 0", "line 1: path leaves the tree: /etc/passwd"),
        ("Directory: a/../../b", "line 1: path leaves the tree: a/../../b"),
        ("# x\nPath: a//b\nLines: 0", "line 2: path is not plain: 'a//b'"),
        ("Path: a\nLines: 3\none\ntwo", "line 2: 3 lines announced, 2 left in the text"),
        ("Path: a\nLines: many", "line 2: Lines: N [no-newline], Symlink: TARGET or Errno: NAME [open] expected, not Lines: many"),
        ("Path: a\nErrno: EWRONG", "line 2: no errno is called EWRONG"),
        ("Path: a", "line 1: the text ends before saying what a is"),
        ("Lines: 1\nx", "line 1: Path: or Directory: expected, not 'Lines: '"),
        ("Path: a\nLines: 0\nPath: a\nLines: 0", "line 3: a is there already"),
        ("Path: a\nSymlink: /etc\nPath: a/passwd\nLines: 0", "line 3: a cannot hold a/passwd"),
        ("Path: a/b\nLines: 0\nPath: a\nLines: 0", "line 3: a is there already"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, message: str) -> None:
    """One line that says where and what; a path that leaves the tree is refused."""
    with pytest.raises(ArchiveError) as raised:
        parse_archive(text)

    assert str(raised.value) == message


@pytest.mark.parametrize("entry", [Directory("a\nb"), Directory(".."), Symlink("a", "x\ny"), Refusal("a", 99999), File("", b"")])
def test_what_the_format_cannot_say_is_refused_when_formatted(entry: Entry) -> None:
    """A tree never turns into a text that means another tree."""
    with pytest.raises(ArchiveError):
        format_archive([entry])


def test_a_tree_is_unpacked_as_real_files_and_refusals_are_listed(tmp_path: Path) -> None:
    """Files byte for byte, links unresolved, empty folders made; what a folder cannot show is left out and named."""
    skipped = unpack(
        [File("a/b", b"1\xff\n"), Symlink("a/l", "../missing"), Directory("e/f"), Refusal("a/x", errno.EINVAL)], tmp_path / "sys"
    )

    assert skipped == ("a/x",)
    assert (tmp_path / "sys/a/b").read_bytes() == b"1\xff\n"
    assert os.readlink(tmp_path / "sys/a/l") == "../missing"
    assert (tmp_path / "sys/e/f").is_dir()
    assert not (tmp_path / "sys/a/x").exists()


def test_unpacking_never_writes_outside_the_folder(tmp_path: Path) -> None:
    """Entries made by hand are held to the same rule as a text."""
    with pytest.raises(ArchiveError, match="leaves the tree"):
        unpack([File("../outside", b"")], tmp_path / "sys")

    assert not (tmp_path / "outside").exists()


def test_an_archive_file_is_read_byte_for_byte(tmp_path: Path) -> None:
    """Carriage returns and bytes that are not UTF-8 stay what they are."""
    (tmp_path / "m.tree").write_bytes(b"Path: a\nLines: 1\nx\r\xfe\n")

    assert read_archive(tmp_path / "m.tree") == (File("a", b"x\r\xfe\n"),)


def test_captured_trees_of_real_nodes_parse_and_format_again() -> None:
    """Trees that nobody on our side wrote."""
    captured = sorted((need_data() / "sysfs").glob("*.tree"))

    assert captured
    for file in captured:
        tree = read_archive(file)
        assert len(tree) > 1
        assert parse_archive(format_archive(tree)) == tree
