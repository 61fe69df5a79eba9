"""The collectives that probes run: their names, what a link carries for them, and the bytes that one of them sends. Knows no library."""

from enum import Enum


class Collective(Enum):
    """What the ranks do together; the value is the `collective` label. SEND_RECV is every rank sending to the next and receiving from the
    one before; ALL_TO_ALL is grouped sends and receives. A size is always that of the whole message: the per-rank block times the ranks
    for ALL_GATHER, REDUCE_SCATTER and ALL_TO_ALL (NVIDIA/nccl-tests, src/*.cu)."""

    __hash__ = object.__hash__
    """Members are single objects and keys of look-ups."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    BROADCAST = "broadcast"
    ALL_TO_ALL = "all_to_all"
    SEND_RECV = "send_recv"


BLOCKWISE = frozenset({Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL})
"""Collectives whose message is one block for each rank, so that its size must be a multiple of the ranks."""


def bus_factor(collective: Collective, ranks: int) -> float | None:
    """What algorithm bandwidth is multiplied with to get bus bandwidth, the load of a link whatever the number of ranks: 2(p-1)/p for an
    all-reduce, (p-1)/p for blockwise collectives, 1 for the others (NVIDIA/nccl-tests, doc/PERFORMANCE.md and src/*.cu). None for fewer
    than two ranks, where nothing crosses a link (NVIDIA/nccl-tests#294)."""
    if ranks < 2:
        return None
    if collective is Collective.ALL_REDUCE:
        return 2.0 * (ranks - 1) / ranks
    if collective in BLOCKWISE:
        return (ranks - 1) / ranks
    return 1.0


def algorithm_bandwidth(size_bytes: int, time_s: float) -> float | None:
    """Bytes per second of the message (nccl-tests: algbw). None where the time is not a positive number: nothing was measured."""
    return size_bytes / time_s if time_s > 0 else None


def bus_bandwidth(collective: Collective, ranks: int, size_bytes: int, time_s: float) -> float | None:
    """Bytes per second that each link must have carried (nccl-tests: busbw). None for a single rank or a time that is not positive."""
    factor, bandwidth = bus_factor(collective, ranks), algorithm_bandwidth(size_bytes, time_s)
    return None if factor is None or bandwidth is None else factor * bandwidth


def wire_bytes(collective: Collective, ranks: int, size_bytes: int) -> int:
    """Bytes that one rank sends for one collective of that size, as a ring does it; 0 for a single rank. Rounded up: a budget must not be
    underrated. NVLS and trees send less."""
    factor = bus_factor(collective, ranks)
    return 0 if factor is None else -int(-size_bytes * factor // 1)


def whole_size(collective: Collective, ranks: int, size_bytes: int, element_bytes: int = 4) -> int:
    """The largest size up to `size_bytes` that splits into whole elements, and into equal blocks for every rank where the collective needs
    blocks; 0 where not even one element for each fits."""
    step = element_bytes * ranks if collective in BLOCKWISE else element_bytes
    return size_bytes // step * step
