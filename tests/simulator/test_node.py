"""A simulated node in memory and on disk: the same machine, moved forward under a reader."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.catalog.infiniband import CLAMPS
from exporter.simulator.archive import Entry, File, Symlink, format_archive, parse_archive, unpack
from exporter.simulator.layout import node_entries
from exporter.simulator.node import DiskNode, SimulatedNode, rewrite
from exporter.simulator.profiles import HGX_H100, PROFILES, Profile
from exporter.sources.sysfs import RealFiles, read_once

SENT = "class/infiniband/mlx5_3/ports/1/counters/port_xmit_data"


def _on_disk(folder: Path) -> set[Entry]:
    """Every file and link below a folder, links unresolved."""
    found: set[Entry] = set()
    for place in folder.rglob("*"):
        path = str(place.relative_to(folder))
        if place.is_symlink():
            found.add(Symlink(path, os.readlink(place)))
        elif place.is_file():
            found.add(File(path, place.read_bytes()))
    return found


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_disk_and_memory_hold_the_same_tree(profile: Profile, tmp_path: Path) -> None:
    """Same paths, same bytes, at rest and after an hour."""
    memory, disk = SimulatedNode(profile, 7), DiskNode(profile, 7, tmp_path)
    at_rest = set(memory.tree().entries()) == _on_disk(tmp_path)
    memory.advance(3600)
    disk.advance(3600)

    assert at_rest
    assert set(memory.tree().entries()) == _on_disk(tmp_path)


def test_a_node_is_an_archive() -> None:
    """So that a machine fixture can be written from a profile."""
    entries = node_entries(HGX_H100)

    assert parse_archive(format_archive(entries)) == entries


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_every_link_of_a_node_leads_somewhere_in_it(profile: Profile) -> None:
    """A real /sys has no dangling links of its own."""
    tree = SimulatedNode(profile, 1).tree()
    links = [entry.path for entry in tree.entries() if isinstance(entry, Symlink)]

    assert links
    assert [link for link in links if not tree.exists(link)] == []


def test_a_device_is_laid_out_as_the_kernel_does() -> None:
    """From class/infiniband one reaches PCI address, NUMA node, driver and interface."""
    tree = SimulatedNode(HGX_H100, 1).tree()
    base = "class/infiniband/mlx5_0"

    assert sorted(tree.listdir("class/infiniband")) == [f"mlx5_{index}" for index in range(10)]
    assert tree.resolve(f"{base}/device") == "devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:19:00.0"
    assert tree.resolve(f"{base}/device/driver") == "bus/pci/drivers/mlx5_core"
    assert tree.resolve("bus/pci/devices/0000:19:00.0") == tree.resolve(f"{base}/device")
    assert read_once(tree, f"{base}/device/net/ibp25s0/dev_port", 10) == b"0\n"
    assert read_once(tree, f"{base}/ports/1/rate", 100) == b"400 Gb/sec (4X NDR)\n"


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 99), st.lists(st.floats(0, 90_000), min_size=1, max_size=6).map(sorted))
def test_one_step_or_many_give_the_same_files(seed: int, moments_s: list[float]) -> None:
    """The files depend on seed and time, not on how often someone looked."""
    many, one = SimulatedNode(HGX_H100, seed), SimulatedNode(HGX_H100, seed)
    for moment_s in moments_s:
        many.advance(moment_s)
    one.advance(moments_s[-1])

    assert many.tree().entries() == one.tree().entries()


def test_clamping_counters_stop_at_their_ceiling() -> None:
    """As the hardware's do: after months of healthy stall ticks port_xmit_wait stands at 2^32 - 1."""
    node = SimulatedNode(HGX_H100, 1)
    node.advance(90 * 86_400)

    assert read_once(node.tree(), SENT.replace("port_xmit_data", "port_xmit_wait"), 100) == b"%d\n" % CLAMPS["port_xmit_wait"]


def test_a_kept_handle_follows_the_node_in_memory() -> None:
    """One open, many reads."""
    node = SimulatedNode(HGX_H100, 1)
    handle = node.tree().open(SENT)
    before = node.tree().pread(handle, 100, 0)
    node.advance(100)

    assert before == b"0\n"
    assert int(node.tree().pread(handle, 100, 0)) > 10**11


def test_a_kept_handle_follows_the_node_on_disk(tmp_path: Path) -> None:
    """The inode stays: a daemon that keeps its files open sees every step."""
    node, files = DiskNode(HGX_H100, 1, tmp_path), RealFiles(str(tmp_path), 10)
    handle = files.open(SENT)
    before = files.pread(handle, 100, 0)
    node.advance(100)
    after = files.pread(handle, 100, 0)
    files.close(handle)

    assert before == b"0\n"
    assert int(after) > 10**11


def test_only_files_that_change_are_written(tmp_path: Path) -> None:
    """A step in which nothing was sent touches no file."""
    node = DiskNode(HGX_H100, 1, tmp_path)
    node.advance(8)
    rates = tmp_path / "class/infiniband/mlx5_0/ports/1/rate"
    os.utime(rates, ns=(1, 1))
    os.utime(tmp_path / SENT, ns=(1, 1))
    node.advance(8.5)

    assert rates.stat().st_mtime_ns == (tmp_path / SENT).stat().st_mtime_ns == 1


def test_a_shorter_text_leaves_no_old_digits(tmp_path: Path) -> None:
    """A counter that was reset is written in the same inode and cut to its length."""
    file = tmp_path / "counter"
    file.write_bytes(b"123456\n")
    inode = file.stat().st_ino
    rewrite(file, b"5\n")

    assert file.read_bytes() == b"5\n"
    assert file.stat().st_ino == inode


def test_a_reader_between_write_and_cut_finds_the_new_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never the new digit followed by old ones."""
    file = tmp_path / "counter"
    file.write_bytes(b"123456\n")
    between: list[bytes] = []
    monkeypatch.setattr(os, "ftruncate", lambda *_: between.append(file.read_bytes()))
    rewrite(file, b"5\n")

    assert [int(text) for text in between] == [5]


def test_a_removed_device_does_not_come_back_by_itself(tmp_path: Path) -> None:
    """Traffic never re-creates what a fault took away, in memory or on disk."""
    memory, disk = SimulatedNode(HGX_H100, 1), DiskNode(HGX_H100, 1, tmp_path)
    device = memory.tree().resolve("class/infiniband/mlx5_3")
    memory.tree().remove("class/infiniband/mlx5_3")
    os.unlink(os.path.realpath(tmp_path / SENT))
    memory.advance(100)
    disk.advance(100)

    assert not memory.tree().exists(device)
    assert not (tmp_path / SENT).exists()


def test_time_cannot_go_back() -> None:
    """Counters that fall would be a reset nobody asked for."""
    node = SimulatedNode(HGX_H100, 1)
    node.advance(10)

    with pytest.raises(ValueError, match="cannot go back"):
        node.advance(9)


def test_a_node_is_not_unpacked_over_another(tmp_path: Path) -> None:
    """Two nodes in one folder would mix their devices."""
    unpack(node_entries(HGX_H100), tmp_path)

    with pytest.raises(FileExistsError):
        DiskNode(HGX_H100, 1, tmp_path)
