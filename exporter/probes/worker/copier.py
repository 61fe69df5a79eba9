"""Copies between the GPUs of one node by the driver alone, from one process that takes them all: the cheapest test of each link. There is
nobody to wait for, so it cannot deadlock, and NCCL is not loaded."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from exporter.probes.messages import Answer, Copied, CopiesReady, Copy, Finish, Finished, Order, StartCopies
from exporter.probes.reasons import Failure
from exporter.probes.trouble import ProbeError
from exporter.probes.worker.cuda import Cuda
from exporter.probes.worker.waiting import Waiter


class _Gpu(NamedTuple):
    """One GPU that was taken: what leaves it goes through `stream`."""

    device: int
    context: int
    outgoing: int
    incoming: int
    stream: int


class Copier:
    """Started by its first order: all GPUs are taken, and answered that they are. Raises ProbeError."""

    def __init__(self, start: StartCopies, waiter: Waiter, tell: Callable[[Answer], None]) -> None:
        self._waiter, self._tell, self._size_bytes = waiter, tell, start.buffer_bytes
        if 2 * start.buffer_bytes > start.memory_bytes:
            raise ProbeError(Failure.OOM, f"two buffers of {start.buffer_bytes >> 20} MiB are more than a probe may take on a GPU")
        self._cuda = Cuda(start.libcuda)
        self._gpus = tuple(self._taken(gpu) for gpu in start.gpus)
        indirect = []
        for source, one in enumerate(self._gpus):
            for target, other in enumerate(self._gpus):
                if source != target and not self._connected(one, other):
                    indirect += [source, target]
        tell(CopiesReady(tuple(indirect)))

    def _taken(self, gpu: str) -> _Gpu:
        index = self._cuda.index_of(gpu)
        context = self._cuda.retain(index)
        outgoing, incoming = self._cuda.allocate(self._size_bytes), self._cuda.allocate(self._size_bytes)
        return _Gpu(index, context, outgoing, incoming, self._cuda.new_stream())

    def _connected(self, one: _Gpu, other: _Gpu) -> bool:
        """Whether copies go straight; without this permission the driver takes them through the host."""
        if not self._cuda.can_reach(one.device, other.device):
            return False
        self._cuda.use(one.context)
        self._cuda.enable_peer(other.context)
        return True

    def obey(self, order: Order) -> bool:
        """Carry it out and answer. False once there is nothing more to do. Raises ProbeError and EndAskedError."""
        if isinstance(order, Copy):
            self._copy(order)
            return True
        if isinstance(order, Finish):
            self._finish()
            return False
        raise TypeError(f"no order to a copier: {type(order).__name__}")

    def abort(self) -> None:
        """A copy ends by itself or with the process: there is nothing to call."""

    def _copy(self, order: Copy) -> None:
        pairs = [(self._gpus[source], self._gpus[target]) for source, target in zip(order.sources, order.targets, strict=True)]
        marks = [self._enqueued(source, target, order) for source, target in pairs]
        for source, _ in pairs:
            self._cuda.use(source.context)
            idle = partial(self._cuda.is_idle, source.stream)
            self._waiter.until(idle, order.deadline_s, Failure.ITER_TIMEOUT, f"a copy from GPU {source.device}")
        times = []
        for (source, _), events in zip(pairs, marks, strict=True):
            self._cuda.use(source.context)
            times += [self._cuda.between_s(events[i], events[i + 1]) for i in range(1, order.repeats + 1)]
            for event in events:
                self._cuda.end_event(event)
        self._tell(Copied(order.number, tuple(times)))

    def _enqueued(self, source: _Gpu, target: _Gpu, order: Copy) -> list[int]:
        """One copy to warm and `repeats` to measure: a mark before each and one behind the last."""
        self._cuda.use(source.context)
        events = [self._cuda.new_event() for _ in range(order.repeats + 2)]
        for event in events[:-1]:
            self._cuda.record(event, source.stream)
            self._cuda.copy_to_peer((target.incoming, target.context), (source.outgoing, source.context), order.size_bytes, source.stream)
        self._cuda.record(events[-1], source.stream)
        return events

    def _finish(self) -> None:
        for gpu in self._gpus:
            self._cuda.use(gpu.context)
            self._cuda.end_stream(gpu.stream)
            self._cuda.free(gpu.outgoing)
            self._cuda.free(gpu.incoming)
        for gpu in self._gpus:
            self._cuda.release(gpu.device)
        self._tell(Finished(2 * self._size_bytes))
