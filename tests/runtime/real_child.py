"""A Worker over the real NVML child and the C stand-in of the driver's library: who was started, and which signals they were sent."""

import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest

from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Snapshot
from exporter.runtime.child_process import ChildProcess, launch_child
from exporter.runtime.clock import ManualClock
from exporter.runtime.worker import Patience, Worker, WorkerError
from exporter.runtime.worker_messages import ReadRequest, ScanAnswer, ScanRequest, Setup
from exporter.sources.pci_text import sysfs_address
from tests.nvml_library import BOARDS, FakeDriver, profile
from tests.real.listener import poll

BOARD = "h100-nvl"
BOUND_S = 60.0
"""Bound of every wait in these tests; reached only where something is broken."""
BACK_OFF_S, BACK_OFF_MAX_S = 2.0, 10.0
PATIENT = Patience(BOUND_S, BOUND_S, BOUND_S, BACK_OFF_S, BACK_OFF_MAX_S)
SHORT_S = 0.2
"""What a call that never returns surely overruns; nothing is asserted about it."""
GPUS = tuple(f"gpu{number}" for number in range(BOARDS[BOARD].gpus))
NAMES = {sysfs_address(BOARDS[BOARD].pci(number)): name for number, name in enumerate(GPUS)}
SCAN, READ = ScanRequest(NAMES), ReadRequest(GPUS, (Cadence.FAST,))
HANG = "g1.call.nvmlDeviceGetFieldValues.sleep_ms"


class Watched:
    """A child whose signals are noted; `on_signal` is told of each once it is sent."""

    def __init__(self, process: ChildProcess, on_signal: Callable[[int], object]) -> None:
        self.pid = process.pid
        self.signals: list[int] = []
        self._process = process
        self._on_signal = on_signal

    def poll(self) -> int | None:
        """As it says."""
        return self._process.poll()

    def wait(self, timeout: float) -> int:
        """As it does."""
        return self._process.wait(timeout)

    def send_signal(self, number: int) -> None:
        """Note and send it."""
        self.signals.append(number)
        self._process.send_signal(number)
        self._on_signal(number)


class Unkillable:
    """A process in the kernel's hands: it keeps its end of the socket, says nothing and outlives every signal until it is `gone`."""

    pid = 4_194_303

    def __init__(self, descriptor: int) -> None:
        self.signals: list[int] = []
        self.gone = False
        self._descriptor = os.dup(descriptor)

    def poll(self) -> int | None:
        """Its end, once it is gone."""
        return 0 if self.gone else None

    def wait(self, timeout: float) -> int:
        """At once: it is gone or it stays."""
        if not self.gone:
            raise subprocess.TimeoutExpired("unkillable", timeout)
        return 0

    def send_signal(self, number: int) -> None:
        """Note it."""
        self.signals.append(number)

    def let_go(self) -> None:
        """It ends, as the kernel would have it."""
        self.gone = True
        os.close(self._descriptor)


@dataclass
class Nursery:
    """One worker, its clock, and every child that was started for it."""

    driver: FakeDriver
    clock: ManualClock = field(default_factory=ManualClock)
    children: list[Watched] = field(default_factory=list)
    on_signal: Callable[[int], object] | None = None
    on_launch: Callable[[], object] | None = None
    library: str | None = None
    full: bool = False

    def __post_init__(self) -> None:
        self.worker = Worker(self.setup, self.clock, PATIENT, self.launch)

    def setup(self) -> Setup:
        """What the next child is told."""
        library = self.library or str(self.driver.library)
        return Setup("exporter.sources.nvml:open_library", (library,), (), (), {}, {}, self.full, xid_events=False, with_processes=False)

    def launch(self, descriptor: int) -> ChildProcess:
        """A real child."""
        if self.on_launch is not None:
            self.on_launch()
        self.children.append(Watched(launch_child(descriptor), self._signalled))
        return self.children[-1]

    def _signalled(self, number: int) -> None:
        if self.on_signal is not None:
            self.on_signal(number)

    def be_quick(self, answer_s: float = SHORT_S, term_s: float = BOUND_S, kill_s: float = BOUND_S) -> None:
        """From now on wait so long only. Not before a child has answered: a start may take its time."""
        self.worker._patience = replace(PATIENT, answer_s=answer_s, term_s=term_s, kill_s=kill_s)

    def be_patient(self) -> None:
        """Wait for a start again."""
        self.worker._patience = PATIENT

    def scan(self) -> tuple[Snapshot, ScanAnswer]:
        """A scan's Snapshot and answer. Raises WorkerError."""
        snapshots, answer = self.worker.ask(SCAN)
        assert isinstance(answer, ScanAnswer)
        return snapshots[0], answer

    def read(self) -> tuple[Snapshot, ...]:
        """A fast pass of all GPUs. Raises WorkerError."""
        return self.worker.ask(READ)[0]

    def refused(self) -> WorkerError:
        """Why a fast pass gets no answer."""
        with pytest.raises(WorkerError) as caught:
            self.read()
        return caught.value

    def reason(self) -> Reason:
        """The reason of it."""
        return self.refused().reason

    def in_a_call(self, function: str = "nvmlDeviceGetFieldValues") -> bool | None:
        """True once that function was called since the log was forgotten."""
        return bool(self.driver.calls(function)) or None

    def asking(self, found: list[object]) -> threading.Thread:
        """A thread that reads; puts the Snapshots, or the WorkerError, into `found`."""

        def ask() -> None:
            try:
                found.append(self.read())
            except WorkerError as error:
                found.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        return thread

    def hanging(self) -> tuple[threading.Thread, list[object]]:
        """A thread whose question hangs in the driver, and where its answer will be."""
        self.scan()
        self.driver.change({HANG: "forever"})
        self.driver.forget_calls()
        found: list[object] = []
        thread = self.asking(found)
        poll(self.in_a_call, BOUND_S, "the call hangs")
        return thread, found

    def end(self) -> None:
        """No process of the test may live on."""
        self.on_signal = None
        self.worker.close()
        for child in self.children:
            with suppress(ProcessLookupError):
                child._process.send_signal(9)
            child.wait(BOUND_S)


def nursery(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Nursery:
    """A worker on a well machine of that board; its children find the stand-in by this process's environment."""
    for name, value in driver.environment().items():
        monkeypatch.setenv(name, value)
    driver.write(profile(BOARD))
    return Nursery(driver)
