"""The memory of one rank on its GPU: a buffer to send from and one to receive into, each between two guard zones, and the few words of the
barrier. Knows what is sent and what must arrive; sends nothing."""

from typing import NamedTuple

from exporter.probes.collectives import Collective
from exporter.probes.pattern import (
    ELEMENT_BYTES,
    GUARD_BYTES,
    GUARD_WORD,
    POISON_WORD,
    compare,
    expected,
    guard,
    received_elements,
    sent,
    source_of,
)
from exporter.probes.worker.cuda import Cuda

BARRIER_BYTES = 256
HOST_BYTES = 4096


class Buffers(NamedTuple):
    """Addresses: `send` and `receive` of `size_bytes` each, `barrier` of BARRIER_BYTES, and `gate`, a word of the host's."""

    send: int
    receive: int
    barrier: int
    gate: int
    size_bytes: int


def allocate(cuda: Cuda, size_bytes: int) -> Buffers:
    """All of them, on the current GPU. Raises ProbeError of OOM."""
    whole = size_bytes + 2 * GUARD_BYTES
    send, receive = cuda.allocate(whole), cuda.allocate(whole)
    for address in (send, receive):
        cuda.fill(address, GUARD_WORD, GUARD_BYTES // ELEMENT_BYTES)
        cuda.fill(address + GUARD_BYTES, 0, size_bytes // ELEMENT_BYTES)
        cuda.fill(address + GUARD_BYTES + size_bytes, GUARD_WORD, GUARD_BYTES // ELEMENT_BYTES)
    barrier = cuda.allocate(BARRIER_BYTES)
    cuda.fill(barrier, 0, BARRIER_BYTES // ELEMENT_BYTES)
    return Buffers(send + GUARD_BYTES, receive + GUARD_BYTES, barrier, cuda.allocate_host(HOST_BYTES), size_bytes)


def free(cuda: Cuda, buffers: Buffers) -> None:
    """Give them back."""
    cuda.free(buffers.send - GUARD_BYTES)
    cuda.free(buffers.receive - GUARD_BYTES)
    cuda.free(buffers.barrier)
    cuda.free_host(buffers.gate)


class Part(NamedTuple):
    """One rank's part in a collective of that many elements in all."""

    collective: Collective
    rank: int
    ranks: int
    elements: int


def prepare(cuda: Cuda, buffers: Buffers, part: Part, seed: int) -> None:
    """Put this rank's numbers into the send buffer and poison into the receive buffer."""
    cuda.write(buffers.send, sent(part.collective, part.rank, part.ranks, part.elements, seed))
    cuda.fill(buffers.receive, POISON_WORD, buffers.size_bytes // ELEMENT_BYTES)


class Compared(NamedTuple):
    """As messages.Checked has it."""

    wrong: int
    first: int
    source: int
    spilt: bool


def judge(cuda: Cuda, buffers: Buffers, part: Part, seed: int) -> Compared:
    """Compare what arrived with what must, to the last bit, and look at the guard zones and at what lies behind the message: nobody may
    have written there."""
    count = received_elements(part.collective, part.rank, part.ranks, part.elements)
    got = cuda.read(buffers.receive, count * ELEMENT_BYTES)
    found = compare(got, expected(part.collective, part.rank, part.ranks, part.elements, seed))
    spilt = _spilt(cuda, buffers, count * ELEMENT_BYTES)
    if found is None:
        return Compared(0, -1, -1, spilt)
    source = source_of(part.collective, part.rank, part.ranks, part.elements, found.first)
    return Compared(found.elements, found.first, -1 if source is None else source, spilt)


def _spilt(cuda: Cuda, buffers: Buffers, received_bytes: int) -> bool:
    """A guard zone that is no more as it was, or a first zone's worth behind the message that is no poison."""
    intact = guard()
    zones = [start + end for start in (buffers.send, buffers.receive) for end in (-GUARD_BYTES, buffers.size_bytes)]
    if any(cuda.read(zone, GUARD_BYTES) != intact for zone in zones):
        return True
    behind = min(GUARD_BYTES, buffers.size_bytes - received_bytes)
    poison = POISON_WORD.to_bytes(ELEMENT_BYTES, "little") * (behind // ELEMENT_BYTES)
    return cuda.read(buffers.receive + received_bytes, behind) != poison
