"""The fake NVIDIA driver as benchmarks use it: which machine it is, with or without its call log, and how our parts are told of it.

Knows tests/nvml_library; measures nothing. Raises OSError, here only, where that needs what is not installed.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.cli.gpus import REAL
from exporter.model.gpu_slots import in_pci_order
from exporter.runtime.child_source import ChildSource
from exporter.runtime.clock import Clock
from exporter.runtime.learned_nvlinks import LearnedNvlinks
from exporter.runtime.worker import Patience, Worker
from exporter.runtime.worker_messages import Setup
from exporter.simulator.profiles import Profile
from exporter.sources.pci_text import sysfs_address
from tests.benchmarks.trees import folder_in_memory
from tests.nvml_library import BOARDS, NOT_SUPPORTED, FakeDriver, profile, ull
from tests.nvml_library.scenario import Value

PROFILE = "h100-sxm"
BOTH = (PROFILE, "b200")
"""Before and from Blackwell on: other families of fields."""
GPUS, LINKS, FIELDS = 8, 18, 12
ERRORS, NO_ERRORS = (206, 207, 208, 209, 210, 212, 215), (161, 162, 163)
"""Seven error fields that no H100 has for the three that it has, so that 12 fields a link are asked for in each pass, as P2 wants it:
state, bytes both ways, rate, power state, and these."""
LOG = "FAKE_NVML_LOG"


@contextmanager
def fake_driver(name: str = PROFILE) -> Iterator[FakeDriver]:
    """A driver in memory whose counters stand still until its clock is moved. Raises OSError without a compiler or nvml.h."""
    with folder_in_memory() as folder:
        try:
            driver = FakeDriver(Path(folder))
        except (pytest.skip.Exception, pytest.fail.Exception) as lacking:
            raise OSError(str(lacking)) from None
        yield driver.write(scenario(name))


def scenario(name: str) -> Mapping[str, Value]:
    """The profile's statements; PROFILE's with other errors."""
    statements = profile(name)
    if name == PROFILE:
        endings = tuple(f".f{field}" for field in NO_ERRORS)
        statements |= {key: NOT_SUPPORTED for key in statements if key.endswith(endings)}
        statements |= {f"g*.l*.f{field}": ull(field) for field in ERRORS}
    return statements


def without_log(driver: FakeDriver) -> dict[str, str]:
    """The driver's environment for a process whose cost is measured: writing a line for each call would be most of it."""
    return {key: value for key, value in driver.environment().items() if key != LOG}


def seat(driver: FakeDriver, node: Profile) -> None:
    """Put the driver's GPUs where that simulated node's PCI bus has some, so that the two speak of the same GPUs."""
    driver.change({f"g{number}.pci": f"0000{gpu.pci}".upper() for number, gpu in enumerate(node.gpus)})


@contextmanager
def inherited(environment: Mapping[str, str]) -> Iterator[None]:
    """Children of this process that start meanwhile have these variables."""
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def names_of(name: str = PROFILE) -> dict[str, str]:
    """What the PCI bus would call the GPUs."""
    board = BOARDS[name]
    return dict(in_pci_order([sysfs_address(board.pci(gpu)) for gpu in range(board.gpus)]))


def setup() -> Setup:
    """What a child is told by default."""
    return Setup(opener=REAL, arguments=(None,), include=(), exclude=(), configured={}, learned={}, full=False, xid_events=False,
                 with_processes=False)  # fmt: skip


def gpus(clock: Clock, patience: Patience | None = None) -> tuple[ChildSource, Worker]:
    """The NVLink source over an NVML child of its own, which inherits the environment and so finds the fake library."""
    worker = Worker(setup, clock, patience)
    return ChildSource(worker, names_of, in_pci_order, LearnedNvlinks(None)), worker
