"""Real files below a folder: bounded handles, things that are no files, and this machine's own /sys."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.model.metric import Cadence
from exporter.simulator.archive import read_archive, unpack
from exporter.sources.hca import HcaReader
from exporter.sources.infiniband import InfiniBandSource
from exporter.sources.sysfs import RealFiles
from tests.machine import MACHINES, Machine, everything, machine, port_value

KEEP = 5
PORT = "class/infiniband/mlx5_0/ports/1"


@pytest.fixture(scope="module")
def h100(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The H100 machine as real files; read only."""
    folder = tmp_path_factory.mktemp("h100")
    unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), folder)
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A machine of few devices as real files, to be spoilt."""
    unpack(read_archive(MACHINES / "hdr100-split.tree"), tmp_path)
    return tmp_path


def _held_below(root: Path) -> list[str]:
    """What this process has open below a folder."""
    held: list[str] = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            held.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue  # the descriptor of this very listing
    return [path for path in held if path.startswith(f"{root}/")]


@pytest.fixture
def running() -> Iterator[list[Machine]]:
    """Machines that are stopped when the test ends."""
    machines: list[Machine] = []
    yield machines
    for seen in machines:
        seen.sampler.stop()


def _machine(root: Path, keep: int, running: list[Machine]) -> Machine:
    running.append(Machine(RealFiles(str(root), keep)))
    return running[-1]


def test_real_files_give_the_page_of_the_same_tree_in_memory(h100: Path, running: list[Machine]) -> None:
    """The fake that every other test uses behaves as the kernel's files do."""
    assert _machine(h100, 10_000, running).run(20).page == machine("h100-8x-ndr400").run(20).page


def test_a_process_short_of_handles_shows_the_same_page(h100: Path, running: list[Machine]) -> None:
    """Files beyond the bound are opened at each read, relative to a folder that is kept."""
    assert _machine(h100, KEEP, running).run(20).page == _machine(h100, 10_000, running).run(20).page


def test_a_process_short_of_handles_holds_no_more_than_it_may(h100: Path, running: list[Machine]) -> None:
    """So many files, and one handle for each folder that holds further ones: device, port, counters and hw_counters of ten HCAs, and the
    folders of two interfaces."""
    _machine(h100, KEEP, running).run(20)
    held = _held_below(h100)
    files = [path for path in held if not Path(path).is_dir()]
    folders = [path for path in held if Path(path).is_dir()]

    assert len(files) == KEEP
    assert len(folders) == len(set(folders)) <= 42


@pytest.mark.parametrize("keep", [0, KEEP, 10_000])
def test_stopping_closes_every_descriptor(h100: Path, keep: int) -> None:
    """Kept files and kept folders."""
    seen = Machine(RealFiles(str(h100), keep))
    seen.run(20)
    seen.sampler.stop()

    assert _held_below(h100) == []


def test_handles_that_are_given_back_are_kept_open_again_by_others(small: Path) -> None:
    """The bound counts what is open now, not what ever was."""
    files = RealFiles(str(small), keep=1)
    first = files.open(f"{PORT}/state")
    second = files.open(f"{PORT}/rate")
    files.close(first)
    third = files.open(f"{PORT}/state")
    kept = (first >= 0, second >= 0, third >= 0)
    files.close(second)
    files.close(third)

    assert kept == (True, False, True)


def test_a_file_that_cannot_be_opened_beyond_the_bound_leaves_no_handle(small: Path) -> None:
    """Not even the folder's."""
    files = RealFiles(str(small), keep=0)
    with pytest.raises(FileNotFoundError):
        files.open(f"{PORT}/no-such-file")

    assert _held_below(small) == []


def _put_in_place(path: Path, kind: str) -> None:
    """Something else where a file is expected."""
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path.name)


@pytest.mark.parametrize("kind", ["fifo", "folder", "loop"])
@pytest.mark.parametrize("keep", [0, 10_000])
def test_something_else_in_place_of_a_file_costs_its_series_and_does_not_hang(
    small: Path, running: list[Machine], kind: str, keep: int
) -> None:
    """A pipe without a writer would hang a plain open for ever."""
    for file in ("state", "counters/link_downed", "counters/port_xmit_data", "hw_counters/out_of_buffer", "link_layer"):
        _put_in_place(small / PORT / file, kind)
    samples = _machine(small, keep, running).run(20).samples
    names = ("state_id", "link_downed_total", "port_data_transmitted_bytes_total", "physical_state_id", "symbol_error_total")

    assert [port_value(samples, name, "mlx5_0") is None for name in names] == [True, True, True, False, False]
    assert port_value(samples, "state_id", "mlx5_1") == 4
    assert samples["fabric_exporter_source_faults_total", (("reason", "parse"), ("source", "infiniband"))] >= 4


def test_something_else_in_place_of_a_folder_does_not_hang(small: Path, running: list[Machine]) -> None:
    """Pipes named as a device, as a port and as vital product data, which is read before all else."""
    device = small / "class/infiniband/mlx5_0"
    os.mkfifo(small / "class/infiniband/mlx5_7")
    os.mkfifo(device / "ports/2")
    os.mkfifo(device / "device/vpd")
    samples = _machine(small, 10_000, running).run(20).samples

    assert port_value(samples, "state_id", "mlx5_0") == 4
    assert port_value(samples, "state_id", "mlx5_0", "2") is None
    assert samples["fabric_exporter_source_devices", (("source", "infiniband"),)] == 4


def test_a_file_longer_than_any_attribute_is_refused(small: Path, running: list[Machine]) -> None:
    """A number that goes on beyond what is read is not the number it begins with."""
    (small / PORT / "counters/link_downed").write_text("7" * 100_000)

    assert port_value(_machine(small, 10_000, running).samples, "link_downed_total", "mlx5_0") is None


def test_a_link_that_leaves_the_root_is_not_followed_for_facts(small: Path) -> None:
    """A container's mount may hold links to what it does not show."""
    (small / "outside").symlink_to("/proc")

    with pytest.raises(FileNotFoundError):
        RealFiles(str(small), 10).resolve("outside")


def test_the_source_starts_on_this_machine_and_says_what_it_looked_for() -> None:
    """Whatever hardware this is: the scan gives readers or one `absent` fault, each reader reads, nothing raises."""
    source = InfiniBandSource(RealFiles("/sys", 100), everything)
    scan = source.scan(0.0, 0.0)
    snapshots = [reader.read(cadence, 0.0, 0.0) for reader in scan.readers for cadence in HcaReader.cadences]
    for reader in scan.readers:
        reader.close()

    assert source.looked_for == "InfiniBand and RoCE devices in /sys/class/infiniband"
    assert bool(scan.readers) or [fault.reason.value for fault in scan.snapshot.faults] in ([], ["absent"])
    assert len(snapshots) == len(scan.readers) * len(Cadence)
