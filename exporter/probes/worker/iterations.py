"""Timing collectives on one rank: batches of them, each behind a barrier and between two events of the GPU. Knows no order and no process.

Launching from Python takes longer than a small collective does, so a batch is launched while the stream waits for a word of the host's: the
GPU then runs through all of it without us. A batch stays far below the 1,024 entries after which a launch would wait for the GPU."""

import ctypes
from collections.abc import Callable
from typing import NamedTuple

from exporter.probes.reasons import Failure
from exporter.probes.worker.cuda import Cuda
from exporter.probes.worker.gpu_buffers import Buffers
from exporter.probes.worker.waiting import Waiter

BATCH = 16
"""Iterations launched at once: some twelve entries each in the queue of the GPU."""


class Times(NamedTuple):
    """Seconds of each iteration, and of the barrier before it."""

    times_s: tuple[float, ...]
    waits_s: tuple[float, ...]


class Stopwatch:
    """A stream with its events. `look` raises for what went wrong while it waits."""

    def __init__(self, cuda: Cuda, waiter: Waiter, buffers: Buffers, look: Callable[[], None]) -> None:
        self._cuda, self._waiter, self._look = cuda, waiter, look
        self.stream = cuda.new_stream()
        self._before, self._start, self._end = ([cuda.new_event() for _ in range(BATCH)] for _ in range(3))
        self._gate = ctypes.c_uint32.from_address(buffers.gate)
        self._gate_address = buffers.gate

    def run(self, operation: Callable[[], None], barrier: Callable[[], None], iterations: int, deadline_s: float, *, held: bool) -> Times:
        """`iterations` times barrier and operation, which enqueue on our stream; each batch by deadline. Raises ProbeError."""
        times: list[float] = []
        waits: list[float] = []
        while len(times) < iterations:
            count = min(BATCH, iterations - len(times))
            self._launch(operation, barrier, count, held=held)
            self.wait(deadline_s, "a collective")
            times += [self._cuda.between_s(self._start[i], self._end[i]) for i in range(count)]
            waits += [self._cuda.between_s(self._before[i], self._start[i]) for i in range(count)]
        return Times(tuple(times), tuple(waits))

    def _launch(self, operation: Callable[[], None], barrier: Callable[[], None], count: int, *, held: bool) -> None:
        self._gate.value = 0
        if held:
            self._cuda.hold(self.stream, self._gate_address)
        try:
            for i in range(count):
                self._cuda.record(self._before[i], self.stream)
                barrier()
                self._cuda.record(self._start[i], self.stream)
                operation()
                self._cuda.record(self._end[i], self.stream)
        finally:
            self._gate.value = 1  # also when launching failed: nothing may wait for us for ever

    def wait(self, deadline_s: float, what: str) -> None:
        """Until all that was enqueued is done."""

        def done() -> bool:
            if self._cuda.is_idle(self.stream):
                return True
            self._look()
            return False

        self._waiter.until(done, deadline_s, Failure.ITER_TIMEOUT, what)

    def close(self) -> None:
        """Give stream and events back; only once all is done."""
        for event in (*self._before, *self._start, *self._end):
            self._cuda.end_event(event)
        self._cuda.end_stream(self.stream)
