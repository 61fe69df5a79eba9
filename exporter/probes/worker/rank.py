"""One rank of a probe: one process on one GPU that does what it is ordered and answers. Loads the libraries; waits only by asking, each
time with a deadline; starts no thread and reads no pipe."""

from collections.abc import Callable

from exporter.probes.messages import Answer, Check, Checked, Finish, Finished, Join, Joined, Loaded, Measure, Measured, Order, StartRank
from exporter.probes.pattern import ELEMENT_BYTES
from exporter.probes.reasons import Failure
from exporter.probes.trouble import ProbeError
from exporter.probes.worker import gpu_buffers
from exporter.probes.worker.communicator import Communicator
from exporter.probes.worker.gpu_buffers import Buffers, Part
from exporter.probes.worker.iterations import Stopwatch
from exporter.probes.worker.libraries import Places, load, versions
from exporter.probes.worker.waiting import Waiter

FILL_DEADLINE_S = 5.0
"""Filling and copying our own buffers takes milliseconds; a GPU that takes longer hangs."""


class Rank:
    """Started by its first order: the GPU is taken, and answered that it is. Raises ProbeError."""

    def __init__(self, start: StartRank, waiter: Waiter, tell: Callable[[Answer], None]) -> None:
        self._start, self._waiter, self._tell = start, waiter, tell
        if 2 * start.buffer_bytes > start.memory_bytes:
            raise ProbeError(Failure.OOM, f"two buffers of {start.buffer_bytes >> 20} MiB are more than the {start.memory_bytes >> 20} MiB "
                             "that a probe may take on a GPU: plan smaller messages")  # fmt: skip
        libraries = load(Places(start.libcuda, start.libnccl))
        self._cuda = libraries.cuda
        found = versions(libraries)
        unique_id = libraries.nccl.new_unique_id().hex() if start.wants_id else ""
        self._index = self._cuda.index_of(start.gpu)
        self._cuda.retain(self._index)
        self._free_at_first, _ = self._cuda.memory()
        self._most_bytes = 0
        self._buffers: Buffers = gpu_buffers.allocate(self._cuda, start.buffer_bytes)
        self._communicator = Communicator(libraries.nccl, waiter, start)
        self._stopwatch = Stopwatch(self._cuda, waiter, self._buffers, self._communicator.look)
        self._settle()
        tell(Loaded(found.nccl, found.cuda_driver, found.path, self._cuda.uuid(self._index), unique_id))

    def obey(self, order: Order) -> bool:
        """Carry it out and answer. False once there is nothing more to do. Raises ProbeError and EndAskedError."""
        if isinstance(order, Join):
            self._communicator.join(bytes.fromhex(order.unique_id), order.deadline_s)
            self._tell(Joined(self._memory()))
        elif isinstance(order, Measure):
            self._measure(order)
        elif isinstance(order, Check):
            self._check(order)
        elif isinstance(order, Finish):
            self._finish(order)
            return False
        else:
            raise TypeError(f"no order to a rank that runs: {type(order).__name__}")
        return True

    def abort(self) -> None:
        """Stop what runs, without the others; may hang. What the GPU holds goes with the process."""
        self._communicator.abort()

    def _measure(self, order: Measure) -> None:
        def operation() -> None:
            self._communicator.enqueue(order.collective, self._buffers, order.size_bytes, self._stopwatch.stream, order.deadline_s)

        def barrier() -> None:
            self._communicator.barrier(self._buffers, self._stopwatch.stream, order.deadline_s)

        self._fits(order.size_bytes)
        found = self._stopwatch.run(operation, barrier, order.iterations, order.deadline_s, held=order.held)
        self._memory()
        self._tell(Measured(order.number, found.times_s, found.waits_s))

    def _check(self, order: Check) -> None:
        self._fits(order.size_bytes)
        part = Part(order.collective, self._start.rank, self._start.ranks, order.size_bytes // ELEMENT_BYTES)
        gpu_buffers.prepare(self._cuda, self._buffers, part, order.seed)
        self._settle()
        self._communicator.enqueue(order.collective, self._buffers, order.size_bytes, self._stopwatch.stream, order.deadline_s)
        self._stopwatch.wait(order.deadline_s, order.collective.value)
        found = gpu_buffers.judge(self._cuda, self._buffers, part, order.seed)
        self._tell(Checked(order.number, found.wrong, found.first, found.source, found.spilt))

    def _fits(self, size_bytes: int) -> None:
        if not 0 < size_bytes <= self._buffers.size_bytes or size_bytes % ELEMENT_BYTES:
            raise ValueError(f"a message of {size_bytes} bytes, with buffers of {self._buffers.size_bytes}")

    def _finish(self, order: Finish) -> None:
        self._memory()
        self._communicator.part(order.deadline_s)
        self._stopwatch.close()
        gpu_buffers.free(self._cuda, self._buffers)
        self._cuda.release(self._index)
        self._tell(Finished(self._most_bytes))

    def _settle(self) -> None:
        """Until our own fills and copies are done: they are the default stream's, which ours does not wait for."""
        self._waiter.until(lambda: self._cuda.is_idle(DEFAULT_STREAM), FILL_DEADLINE_S, Failure.ITER_TIMEOUT, "filling a buffer")

    def _memory(self) -> int:
        """Bytes taken since the context was made. Raises ProbeError of OOM when that is more than allowed."""
        free, _ = self._cuda.memory()
        taken = max(0, self._free_at_first - free)
        self._most_bytes = max(self._most_bytes, taken)
        if taken > self._start.memory_bytes:
            raise ProbeError(Failure.OOM, f"the probe takes {taken >> 20} MiB on {self._start.gpu}, more than the "
                             f"{self._start.memory_bytes >> 20} MiB that it may: plan smaller messages or fewer channels")  # fmt: skip
        return taken


DEFAULT_STREAM = 0
