"""What surrounds a worker: its environment, the file of the library that it loaded, and shared memory that NCCL left behind."""

import mmap
import os
from pathlib import Path

from exporter.probes.environment import worker_environment
from exporter.probes.shared_memory import OLD_S, forgotten, remove, segments
from exporter.probes.worker.libraries import mapped_file

OURS = {
    "PATH": "/usr/bin", "HOME": "/root", "LD_PRELOAD": "evil.so", "CUDA_VISIBLE_DEVICES": "0", "NCCL_DEBUG": "TRACE", "NCCL_COMM_ID": "1:1",
    "NCCL_IB_HCA": "mlx5", "NCCL_SOCKET_IFNAME": "eth0", "NCCL_NET_PLUGIN": "aws", "NCCL_ALGO": "Tree", "FI_PROVIDER": "efa",
    "NCCL_TOPO_FILE": "/etc/topo.xml", "NCCL_TESTS_MIN_BW": "5", "PYTHONSTARTUP": "x.py",
}  # fmt: skip


def test_a_workers_environment_is_built_from_nothing() -> None:
    """What names the site's network stays; what a job or a person had set for NCCL, CUDA or Python does not."""
    found = worker_environment(OURS, "/run/probe", ("", "/opt/fabric"), {"NCCL_IB_SL": "1"})

    kept = {name for name in found if name in OURS}
    assert kept == {"PATH", "NCCL_DEBUG", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_NET_PLUGIN", "FI_PROVIDER", "NCCL_TOPO_FILE"}
    assert (found["NCCL_DEBUG"], found["NCCL_DEBUG_FILE"], found["NCCL_IB_SL"]) == ("INFO", "/run/probe/nccl.%p", "1")
    assert (found["NCCL_RAS_ENABLE"], found["PYTHONPATH"]) == ("0", "/opt/fabric")


def test_what_the_configuration_adds_wins() -> None:
    """As for a loopback through the NICs, which turns P2P and shared memory off."""
    found = worker_environment(OURS, "/run/probe", (), {"NCCL_P2P_DISABLE": "1", "NCCL_DEBUG_SUBSYS": "ALL"})

    assert (found["NCCL_P2P_DISABLE"], found["NCCL_DEBUG_SUBSYS"]) == ("1", "ALL")


def test_the_file_behind_an_address_is_found() -> None:
    """Its path may hold blanks; memory of no file has none, and neither has an address that is nobody's."""
    maps = (
        "7f0000000000-7f0000002000 r--p 00000000 08:01 77 /opt/my libs/libnccl.so.2.27.3\n"
        "7f0000002000-7f0000004000 rw-p 00000000 00:00 0 \n"
    )  # fmt: skip

    assert mapped_file(maps, 0x7F0000001FFF) == "/opt/my libs/libnccl.so.2.27.3"
    assert mapped_file(maps, 0x7F0000002000) == ""
    assert mapped_file(maps, 0x7F0000004000) == ""


def _mapped(path: Path) -> mmap.mmap:
    path.write_bytes(bytes(4096))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 4096)


def test_segments_of_a_process_are_those_that_it_has_mapped(tmp_path: Path) -> None:
    """Under their names of NCCL's; one that is unlinked already, another name and another folder are none."""
    with _mapped(tmp_path / "nccl-aaaaaa"), _mapped(tmp_path / "nccl-bbbbbb"), _mapped(tmp_path / "other"):
        (tmp_path / "nccl-bbbbbb").unlink()
        found = segments(tmp_path, [os.getpid(), 4_194_304])
        elsewhere = segments(tmp_path / "shm", [os.getpid()])

    assert found == {tmp_path / "nccl-aaaaaa"}
    assert elsewhere == frozenset()
    assert remove([*found, tmp_path / "nccl-bbbbbb"]) == 1
    assert not (tmp_path / "nccl-aaaaaa").exists()


def test_what_an_earlier_run_left_is_forgotten_only_if_old_and_nobodys(tmp_path: Path) -> None:
    """A new one may be a job's that starts now; one that is mapped is somebody's."""
    with _mapped(tmp_path / "nccl-mapped"):
        (tmp_path / "nccl-left").touch()
        (tmp_path / "other").touch()
        now_s = (tmp_path / "nccl-left").stat().st_ctime

        assert forgotten(tmp_path, now_s + OLD_S + 1) == {tmp_path / "nccl-left"}
        assert forgotten(tmp_path, now_s + OLD_S - 1) == frozenset()
        assert forgotten(tmp_path / "nowhere", now_s) == frozenset()
