"""One rank's communicator: coming together, the collectives by their names, parting. Measures nothing.

Every call that may be in progress is waited for, with a deadline, before the next: an event recorded earlier would stand before the
operation, since NCCL launches it from a thread of its own."""

import os

from exporter.probes.collectives import Collective
from exporter.probes.messages import StartRank
from exporter.probes.pattern import ELEMENT_BYTES
from exporter.probes.reasons import Failure
from exporter.probes.worker.gpu_buffers import Buffers
from exporter.probes.worker.nccl import WITH_CHANNEL_LIMIT, Nccl
from exporter.probes.worker.waiting import Waiter


class Communicator:
    """Of the rank that `start` names; not joined yet."""

    def __init__(self, nccl: Nccl, waiter: Waiter, start: StartRank) -> None:
        self._nccl, self._waiter, self._start = nccl, waiter, start
        self._handle: int | None = None

    def join(self, unique_id: bytes, deadline_s: float) -> None:
        """Come together. Raises ProbeError."""
        start = self._start
        if self._nccl.number < WITH_CHANNEL_LIMIT:
            os.environ["NCCL_MAX_NCHANNELS"] = str(
                start.channels_max
            )  # read by the library in this process; its configuration has no such field
        self._handle = self._nccl.join(unique_id, start.rank, start.ranks, start.channels_max)
        self._settle("ncclCommInitRankConfig", deadline_s, Failure.INIT_TIMEOUT)

    def barrier(self, buffers: Buffers, stream: int, deadline_s: float) -> None:
        """Enqueue an all-reduce of one number."""
        handle = self._joined()
        self._nccl.all_reduce(buffers.barrier, buffers.barrier + BARRIER_RESULT, 1, handle, stream)
        self._settle("ncclAllReduce (barrier)", deadline_s)

    def enqueue(self, collective: Collective, buffers: Buffers, size_bytes: int, stream: int, deadline_s: float) -> None:
        """Enqueue one collective of `size_bytes` in all."""
        handle, ranks = self._joined(), self._start.ranks
        whole, each = size_bytes // ELEMENT_BYTES, size_bytes // ELEMENT_BYTES // ranks
        if collective is Collective.ALL_REDUCE:
            self._nccl.all_reduce(buffers.send, buffers.receive, whole, handle, stream)
        elif collective is Collective.ALL_GATHER:
            self._nccl.all_gather(buffers.send, buffers.receive, each, handle, stream)
        elif collective is Collective.REDUCE_SCATTER:
            self._nccl.reduce_scatter(buffers.send, buffers.receive, each, handle, stream)
        elif collective is Collective.BROADCAST:
            self._nccl.broadcast(buffers.send, buffers.receive, whole, handle, stream)
        else:
            self._grouped(collective, buffers, size_bytes, stream)
        self._settle(collective.value, deadline_s)

    def _grouped(self, collective: Collective, buffers: Buffers, size_bytes: int, stream: int) -> None:
        """Sends and receives that are one operation: a block to and from every rank, or all to the next and from the one before."""
        handle, rank, ranks = self._joined(), self._start.rank, self._start.ranks
        self._nccl.begin_group()
        if collective is Collective.ALL_TO_ALL:
            block = size_bytes // ranks
            for peer in range(ranks):
                self._nccl.send(buffers.send + peer * block, block // ELEMENT_BYTES, peer, handle, stream)
                self._nccl.receive(buffers.receive + peer * block, block // ELEMENT_BYTES, peer, handle, stream)
        else:
            self._nccl.send(buffers.send, size_bytes // ELEMENT_BYTES, (rank + 1) % ranks, handle, stream)
            self._nccl.receive(buffers.receive, size_bytes // ELEMENT_BYTES, (rank - 1) % ranks, handle, stream)
        self._nccl.end_group()

    def look(self) -> None:
        """Raises NcclError for what went wrong meanwhile, here or with another rank."""
        self._nccl.settled(self._joined(), "a collective")

    def part(self, deadline_s: float) -> None:
        """In peace, with all others."""
        if self._handle is None:
            return
        self._nccl.finalize(self._handle)
        self._settle("ncclCommFinalize", deadline_s)
        handle, self._handle = self._handle, None
        self._nccl.destroy(handle)

    def abort(self) -> None:
        """Without the others; may hang. Nothing if there is nothing to abort."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._nccl.abort(handle)

    def _joined(self) -> int:
        assert self._handle is not None, "not joined"  # noqa: S101  # orders come in order
        return self._handle

    def _settle(self, call: str, deadline_s: float, reason: Failure = Failure.ITER_TIMEOUT) -> None:
        handle = self._joined()
        self._waiter.until(lambda: self._nccl.settled(handle, call), deadline_s, reason, call)


BARRIER_RESULT = 128
"""Where the barrier's result goes, behind what it sends."""
