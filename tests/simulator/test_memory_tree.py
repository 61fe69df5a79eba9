"""MemoryTree behaves as the kernel's sysfs does, so that what is tested on it holds on a machine."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.simulator.archive import Directory, Entry, File, Refusal, Symlink, unpack
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.sysfs import Files, RealFiles, read_once

DEVICE = "devices/pci0000:15/0000:19:00.0/infiniband/mlx5_0"
RATE = f"{DEVICE}/ports/1/rate"
MACHINE: tuple[Entry, ...] = (
    File(RATE, b"400 Gb/sec (4X NDR)\n"),
    File("devices/pci0000:15/0000:19:00.0/numa_node", b"0\n"),
    Symlink(f"{DEVICE}/device", "../../../0000:19:00.0"),
    Symlink("class/infiniband/mlx5_0", f"../../{DEVICE}"),
    Symlink("class/infiniband/mlx5_9", "../../devices/missing"),
    Symlink("loop", "loop"),
    Symlink("outside", "../../../../../../../../etc"),
    Symlink("absolute", "/etc/hostname"),
    Directory("bus/empty"),
    Refusal("refuses/read", errno.EINVAL),
    Refusal("refuses/open", errno.EACCES, at_open=True),
)
LINKED = "class/infiniband/mlx5_0/ports/1/rate"


@pytest.fixture
def tree() -> MemoryTree:
    """The machine above, untouched."""
    return MemoryTree(MACHINE)


def _code(call: Callable[[], object]) -> int | None:
    """The errno a call fails with; None if it does not fail."""
    try:
        call()
    except OSError as error:
        return error.errno
    return None


PATHS = (
    "", "class", "class/infiniband", LINKED, RATE, "class/infiniband/mlx5_0", "class/infiniband/mlx5_0/device/numa_node", "bus/empty",
    "class/infiniband/mlx5_9", "class/infiniband/mlx5_9/ports", "loop", "absent", "absent/file", RATE + "/below",
    "class/./infiniband/", "class/../class",
)  # fmt: skip


def _resolved(files: Files, path: str) -> str:
    return files.resolve(path)


def _listed(files: Files, path: str) -> list[str]:
    return sorted(files.listdir(path))


def _read(files: Files, path: str) -> bytes:
    return read_once(files, path, 100)


def _outcome(ask: Callable[[Files, str], object], files: Files, path: str) -> object:
    """What a call returns, or the errno it fails with."""
    try:
        return ask(files, path)
    except OSError as error:
        return errno.errorcode[error.errno or 0]


@pytest.mark.parametrize(
    ("ask", "path"),
    [(ask, path) for ask in (_resolved, _listed, _read) for path in PATHS]
    + [(ask, RATE + tail) for ask in (_listed, _read) for tail in ("/", "/..", "/.")],
)
def test_memory_and_real_files_answer_alike(ask: Callable[[Files, str], object], path: str, tree: MemoryTree, tmp_path: Path) -> None:
    """The same tree in memory and on disk: same bytes, same names, same errno from every call."""
    unpack(MACHINE, tmp_path)
    real = RealFiles(str(tmp_path), 100)

    assert _outcome(ask, tree, path) == _outcome(ask, real, path)


@pytest.mark.parametrize("ask", [_listed, _read])
def test_forty_links_are_followed_and_no_more(ask: Callable[[Files, str], object], tmp_path: Path) -> None:
    """As Linux bounds it, in memory as on disk."""
    chain: tuple[Entry, ...] = (File("link0", b"x\n"), *(Symlink(f"link{number}", f"link{number - 1}") for number in range(1, 42)))
    unpack(chain, tmp_path)
    tree, real = MemoryTree(chain), RealFiles(str(tmp_path), 10)

    assert _outcome(ask, tree, "link40") == _outcome(ask, real, "link40") != "ELOOP"
    assert _outcome(ask, tree, "link41") == _outcome(ask, real, "link41") == "ELOOP"


@pytest.mark.parametrize("path", ["outside", "absolute"])
def test_a_link_out_of_the_tree_leads_nowhere(path: str, tree: MemoryTree) -> None:
    """Nothing of the machine that runs the test can leak in."""
    assert _code(lambda: tree.open(path)) == errno.ENOENT
    assert _code(lambda: tree.resolve(path)) == errno.ENOENT


def test_a_kept_handle_gives_fresh_bytes(tree: MemoryTree) -> None:
    """As on sysfs, where each pread asks the driver again."""
    handle = tree.open(LINKED)
    before = tree.pread(handle, 100, 0)
    tree.write(RATE, b"200 Gb/sec (4X HDR)\n")

    assert before == b"400 Gb/sec (4X NDR)\n"
    assert tree.pread(handle, 100, 0) == b"200 Gb/sec (4X HDR)\n"
    assert tree.pread(handle, 3, 4) == b"Gb/"


def test_a_handle_of_a_removed_device_is_dead_for_ever(tree: MemoryTree) -> None:
    """A device of the same name that returns is another device: the old handle stays ENODEV, a new open works."""
    handle = tree.open(LINKED)
    gone = tree.remove("class/infiniband/mlx5_0")
    while_gone = _code(lambda: tree.pread(handle, 100, 0))
    tree.add(gone)

    assert while_gone == errno.ENODEV
    assert _code(lambda: tree.pread(handle, 100, 0)) == errno.ENODEV
    assert read_once(tree, LINKED, 100) == b"400 Gb/sec (4X NDR)\n"


def test_a_removed_device_takes_the_links_to_it_along(tree: MemoryTree) -> None:
    """The class entry goes with the device, other entries stay."""
    tree.remove("class/infiniband/mlx5_0/device")

    assert tree.listdir("class/infiniband") == ["mlx5_9"]
    assert _code(lambda: tree.open(RATE)) == errno.ENOENT
    assert tree.listdir("bus") == ["empty"]


def test_a_dangling_link_is_removed_alone(tree: MemoryTree) -> None:
    """It leads to nothing that could go with it."""
    gone = tree.remove("class/infiniband/mlx5_9")

    assert gone == (Symlink("class/infiniband/mlx5_9", "../../devices/missing"),)


def test_what_was_removed_and_added_again_is_the_same_tree(tree: MemoryTree) -> None:
    """Unplug and return leave nothing behind."""
    tree.add(tree.remove("class/infiniband/mlx5_0"))

    assert set(tree.entries()) == set(MACHINE)


def test_refusals_fail_where_the_archive_says(tree: MemoryTree) -> None:
    """`Errno: EINVAL` at the read, `Errno: EACCES open` at the open; both are listed."""
    handle = tree.open("refuses/read")

    assert sorted(tree.listdir("refuses")) == ["open", "read"]
    assert _code(lambda: tree.pread(handle, 10, 0)) == errno.EINVAL
    assert _code(lambda: tree.open("refuses/open")) == errno.EACCES


def test_a_failure_begins_and_ends_under_a_kept_handle(tree: MemoryTree) -> None:
    """The file is the same before and after."""
    handle = tree.open(LINKED)
    tree.fail(LINKED, errno.EIO)
    during = _code(lambda: tree.pread(handle, 100, 0))
    tree.fail(LINKED, None)

    assert during == errno.EIO
    assert tree.pread(handle, 100, 0).startswith(b"400")


def test_a_folder_can_refuse_to_be_listed(tree: MemoryTree) -> None:
    """As a container's restricted /sys does."""
    tree.fail_open("class/infiniband", errno.EACCES)

    assert _code(lambda: tree.listdir("class/infiniband")) == errno.EACCES
    assert read_once(tree, LINKED, 3) == b"400"


def test_each_call_is_counted_and_each_opened_path_is_known(tree: MemoryTree) -> None:
    """Tests assert counts of calls, never seconds; a failed open is a call too."""
    handle = tree.open(LINKED)
    tree.pread(handle, 10, 0)
    tree.pread(handle, 10, 0)
    tree.listdir("class")
    _code(lambda: tree.open("absent"))
    open_before_close = tree.handles_open
    tree.close(handle)

    assert (tree.opens, tree.preads, tree.listdirs, tree.closes) == (2, 2, 1, 1)
    assert tree.opened == {LINKED: 1, "absent": 1}
    assert (open_before_close, tree.handles_open) == (1, 0)


def test_a_closed_handle_is_a_bad_descriptor(tree: MemoryTree) -> None:
    """A double close or a late read is a bug of the reader, and shows."""
    handle = tree.open(LINKED)
    tree.close(handle)

    assert _code(lambda: tree.pread(handle, 1, 0)) == errno.EBADF
    assert _code(lambda: tree.close(handle)) == errno.EBADF
    assert _code(lambda: os.close(handle)) == errno.EBADF


def test_a_read_that_hangs_holds_up_no_other_reader(tree: MemoryTree) -> None:
    """The hook may wait for ever: it is called outside the lock."""
    entered, release = threading.Event(), threading.Event()

    def hang(path: str) -> None:
        if path == LINKED:
            entered.set()
            release.wait(30)

    tree.before_read = hang
    stuck = threading.Thread(target=read_once, args=(tree, LINKED, 10))
    stuck.start()
    entered.wait(30)
    other = read_once(tree, "class/infiniband/mlx5_0/device/numa_node", 10)
    release.set()
    stuck.join()

    assert other == b"0\n"


def test_writing_makes_a_missing_file_and_its_folders(tree: MemoryTree) -> None:
    """A test may grow a machine; a file cannot take a folder's place."""
    tree.write("class/infiniband/mlx5_0/ports/2/state", b"1: DOWN\n")

    assert tree.listdir(f"{DEVICE}/ports") == ["1", "2"]
    assert _code(lambda: tree.write("class", b"")) == errno.EISDIR
    assert _code(lambda: tree.write(RATE + "/below", b"")) == errno.ENOTDIR
    assert _code(lambda: tree.add([Directory(RATE)])) == errno.EEXIST


def test_several_readers_lose_no_count(tree: MemoryTree) -> None:
    """Sources read in parallel threads."""
    handle = tree.open(LINKED)
    readers = [threading.Thread(target=lambda: [tree.pread(handle, 10, 0) for _ in range(2000)]) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()

    assert tree.preads == 8000
