"""What ranks send and what must arrive, to the last bit: whole numbers as float32, so small that no order of adding them rounds. Pure.

Element k of rank r is (high bits of (k mod 65521) * 40503, + r * 977 + seed) mod 2048. Sums over 4096 ranks stay below 2^24, so they are
exact and any difference is corrupt data; no tolerance is needed (NVIDIA/nccl-tests#176) and none is given. The period is a prime that no
chunk of NCCL's divides, and its high bits differ between elements any power of two apart: a chunk that lands in the wrong place shows.
Buffers are one block repeated, and one comparison of memory finds them whole; only a wrong one is looked at element by element.
"""

from array import array
from functools import lru_cache
from operator import ne
from typing import NamedTuple

from exporter.probes.collectives import BLOCKWISE, Collective

ELEMENT_BYTES = 4
"""A float32."""
PERIOD = 65_521
"""Elements before the pattern repeats: the largest prime below 2^16."""
VALUES = 2048
RANKS_MAX = 4096
"""2047 * 4096 < 2^24, the last whole number up to which float32 holds all of them."""
MULTIPLIER, RANK_STEP, HIGH_BITS = 40_503, 977, 5
"""The first is odd, so that products are different mod 2^16; of those 16 bits the upper 11 are the value."""

POISON_WORD = 0x7FC0DEAD
"""Filled into receive buffers beforehand: a NaN of our own, so what was never written cannot pass for a result."""
GUARD_WORD = 0xA5A5A5A5
"""Filled into the zones before and after each buffer."""
GUARD_BYTES = 4096
"""Each zone; a write outside the buffer lands there first."""


class Wrong(NamedTuple):
    """Elements that are not what they must be: how many, and the first one's place, counted from 0."""

    elements: int
    first: int


def sent_elements(collective: Collective, rank: int, ranks: int, elements: int, root: int = 0) -> int:
    """How many of a message's `elements` this rank hands in: its block for an all-gather, all of it for the others (a broadcast's root
    alone sends). Raises ValueError for ranks and elements that no message can have."""
    _check(rank, ranks, elements, collective)
    if collective is Collective.ALL_GATHER:
        return elements // ranks
    return 0 if collective is Collective.BROADCAST and rank != root else elements


def received_elements(collective: Collective, rank: int, ranks: int, elements: int) -> int:
    """How many elements arrive at this rank: its block for a reduce-scatter, the whole message for the others. Raises as above."""
    _check(rank, ranks, elements, collective)
    return elements // ranks if collective is Collective.REDUCE_SCATTER else elements


def sent(collective: Collective, rank: int, ranks: int, elements: int, seed: int, root: int = 0) -> bytearray:
    """The send buffer of this rank, for a message of `elements` in all. Raises as above."""
    return _repeated(_block(rank, seed), 0, sent_elements(collective, rank, ranks, elements, root))


def expected(collective: Collective, rank: int, ranks: int, elements: int, seed: int, root: int = 0) -> bytearray:
    """The receive buffer of this rank once the collective is over: sums for all-reduce and reduce-scatter (its own block of the sum), the
    blocks of all ranks in their order for all-gather, block `rank` of every rank for all-to-all, the root's message for broadcast, the
    message of the rank before for send/recv. Raises as above."""
    count = received_elements(collective, rank, ranks, elements)
    if collective is Collective.ALL_REDUCE:
        return _repeated(_summed(ranks, seed), 0, count)
    if collective is Collective.REDUCE_SCATTER:
        return _repeated(_summed(ranks, seed), rank * count, count)
    if collective is Collective.BROADCAST:
        return _repeated(_block(root, seed), 0, count)
    if collective is Collective.SEND_RECV:
        return _repeated(_block((rank - 1) % ranks, seed), 0, count)
    each, whole = elements // ranks, bytearray()
    start = rank * each if collective is Collective.ALL_TO_ALL else 0
    for source in range(ranks):
        whole += _repeated(_block(source, seed), start, each)
    return whole


def compare(got: bytes | bytearray | memoryview, wanted: bytearray) -> Wrong | None:
    """None if `got` is `wanted` to the last bit, so -0.0 is not 0.0. Raises ValueError if they differ in length or hold no whole
    elements: then somebody compares the wrong things."""
    view = memoryview(got).cast("B")
    if len(view) != len(wanted) or len(view) % ELEMENT_BYTES:
        raise ValueError(f"compared {len(view)} bytes with {len(wanted)}: must be as many, and whole elements of {ELEMENT_BYTES}")
    if wanted == view:
        return None
    count, first, target, step = 0, -1, memoryview(wanted), PERIOD * ELEMENT_BYTES
    for start in range(0, len(view), step):
        piece = wanted[start : start + step]
        if piece == view[start : start + step]:
            continue
        ours, theirs = target[start : start + step].cast("I"), view[start : start + step].cast("I")
        if first < 0:
            first = start // ELEMENT_BYTES + next(at for at, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
        count += sum(map(ne, ours, theirs))
    return Wrong(count, first)


def source_of(collective: Collective, rank: int, ranks: int, elements: int, first: int, root: int = 0) -> int | None:
    """The rank whose data belongs at place `first` of this rank's receive buffer; None for sums, to which all ranks add."""
    if collective in {Collective.ALL_REDUCE, Collective.REDUCE_SCATTER}:
        return None
    if collective is Collective.BROADCAST:
        return root
    if collective is Collective.SEND_RECV:
        return (rank - 1) % ranks
    return first // (elements // ranks)


def guard() -> bytearray:
    """What a guard zone holds as long as nobody wrote there."""
    return bytearray(GUARD_WORD.to_bytes(ELEMENT_BYTES, "little") * (GUARD_BYTES // ELEMENT_BYTES))


def _check(rank: int, ranks: int, elements: int, collective: Collective) -> None:
    if not 1 <= ranks <= RANKS_MAX or not 0 <= rank < ranks:
        raise ValueError(f"rank {rank} of {ranks}: the data check needs 1 to {RANKS_MAX} ranks, counted from 0")
    if elements < 1 or (collective in BLOCKWISE and elements % ranks):
        raise ValueError(f"{elements} elements for {collective.value} of {ranks} ranks: need at least 1, and equal blocks for each rank")


def _number(place: int) -> int:
    return place * MULTIPLIER % 2**16 >> HIGH_BITS


@lru_cache(maxsize=4)
def _block(rank: int, seed: int) -> bytes:
    """One period of what a rank sends."""
    offset = rank * RANK_STEP + seed
    return array("f", ((_number(place) + offset) % VALUES for place in range(PERIOD))).tobytes()


@lru_cache(maxsize=1)
def _summed(ranks: int, seed: int) -> bytes:
    """One period of the sum over ranks; each of the 2048 values a rank can hold is summed once."""
    sums = [sum((value + rank * RANK_STEP + seed) % VALUES for rank in range(ranks)) for value in range(VALUES)]
    return array("f", (sums[_number(place)] for place in range(PERIOD))).tobytes()


def _repeated(block: bytes, start: int, count: int) -> bytearray:
    """`count` elements of the endless pattern from place `start` on."""
    skipped = start % PERIOD
    whole = bytearray(block[skipped * ELEMENT_BYTES :])
    missing = count * ELEMENT_BYTES - len(whole)
    if missing > 0:
        whole += block * (missing // len(block)) + block[: missing % len(block)]
    del whole[count * ELEMENT_BYTES :]
    return whole
