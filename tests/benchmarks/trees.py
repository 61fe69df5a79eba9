"""DGX-like InfiniBand trees of any size as real files, written by the simulator. Knows how large a node is wanted; knows no benchmark."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exporter.simulator.hcas import CONNECTX7_200GE, CONNECTX7_NDR, Hca, Use
from exporter.simulator.node import DiskNode
from exporter.simulator.profiles import Profile

AGE_S = 6 * 3600.0
"""Virtual age of the node, so that its counters have as many digits as those of a node in use."""
HCAS_PER_DOMAIN = 8
TMPFS = "/dev/shm"  # sysfs is memory too; a disk's writeback would disturb the rounds


def dgx(hcas: int) -> Profile:
    """A node of that many single-port HCAs, one in five a RoCE storage port (a DGX H100 has eight rails and two of those)."""
    return Profile(f"dgx-{hcas}", tuple(_storage(i) if i % 5 == 4 else _rail(i) for i in range(hcas)))


@contextmanager
def folder_in_memory() -> Iterator[str]:
    """A temporary folder, removed at the end. Yields its path."""
    folder = tempfile.mkdtemp(prefix="fabric-bench-", dir=TMPFS if os.access(TMPFS, os.W_OK) else None)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def tree_of(hcas: int) -> Iterator[str]:
    """The /sys of such a node. Yields its path."""
    with tree_after(dgx(hcas)) as (root, _):
        yield root


@contextmanager
def tree_after(profile: Profile) -> Iterator[tuple[str, DiskNode]]:
    """The /sys of a node of that profile, AGE_S old. Yields its path and the node, to let time pass."""
    with folder_in_memory() as folder:
        node = DiskNode(profile, 1, f"{folder}/sys")
        node.advance(AGE_S)
        yield f"{folder}/sys", node


def counter_files(root: str, *, hw_counters: bool) -> int:
    """How many counter files the ports below `root` have."""
    folders = ("counters", "hw_counters") if hw_counters else ("counters",)
    return sum(1 for folder in folders for _ in Path(root, "class/infiniband").glob(f"*/ports/*/{folder}/*"))


def _rail(index: int) -> Hca:
    return Hca(f"mlx5_{index}", CONNECTX7_NDR, Use.COMPUTE, "InfiniBand", "400 Gb/sec (4X NDR)", _pci_path(index), index % 2, _guid(index))


def _storage(index: int) -> Hca:
    return Hca(f"mlx5_{index}", CONNECTX7_200GE, Use.STORAGE, "Ethernet", "200 Gb/sec (4X HDR)", _pci_path(index), index % 2, _guid(index))


def _pci_path(index: int) -> tuple[str, ...]:
    domain, slot = divmod(index, HCAS_PER_DOMAIN)
    root = 0x10 + 0x10 * slot
    return (f"pci{domain:04x}:{root:02x}", f"{domain:04x}:{root:02x}:01.0", f"{domain:04x}:{root + 1:02x}:00.0")


def _guid(index: int) -> str:
    return f"a088:c203:00f0:{0x1000 + index:04x}"
