"""What each counter of a healthy NVLink says at a moment: its bytes, the clock and rare events, as a pure function. Knows no GPU's faults.

A counter goes by its field id, by the question for those that have a call too, or by its number among the port's registers.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from exporter.model.quantity import BITS_PER_BYTE, BYTES_PER_KIB
from exporter.simulator.gpu_models import (
    BLOCKS,
    BLOCKS_REPEATED,
    CRC_ERRORS,
    FEC_BINS,
    PACKET_ERRORS,
    RAW_ERRORS,
    RECOVERIES,
    REPLAYS,
)
from exporter.simulator.traffic import NS_PER_S, key_of, rare
from exporter.sources.nvml_session import LinkQuestion

PACKET_BYTES = 86
"""As GB200's own counters have it on average (NVIDIA/k8s-test-infra)."""
_RAW_PER_DATA = 9, 8
"""Raw bytes to payload bytes; a fabric's idle links carry next to nothing."""
_CODEWORD_BITS = 5440
"""RS(544, 514) of 10-bit symbols, as Ethernet of the same lane rate uses; NVLink's own is not public."""
_CODEWORDS_PER_CORRECTED = (1, 1_000_000, 1_000_000_000)
"""One codeword in so many had 0, 1, 2 symbols corrected; none more."""
BITS_PER_RAW_ERROR = 1_000_000_000
RAW_RATIO = 1 << 8 | 9
"""The same, packed: 1e-9."""
NO_ERRORS = 0xF << 8 | 0xFF
"""A packed ratio that means there were none (NVIDIA/DCGM common/DcgmGPUHardwareLimits.h)."""
_BYTES_PER_WAIT_TICK = 2_000_000
_CRC_ERROR_EVERY_NS = 12 * 3600 * NS_PER_S
_REPETITION_EVERY_NS = 6 * 3600 * NS_PER_S


class Register(NamedTuple):
    """One of the port's registers (PRM), by NVML's counter id."""

    number: int


class Carried(Protocol):
    """Bytes that a GPU's links have carried, by link; a link that is not wired is missing."""

    @property
    def sent(self) -> Mapping[int, int]:
        """Out of the GPU."""
        ...

    @property
    def received(self) -> Mapping[int, int]:
        """Into it."""
        ...


class LinkMoment(NamedTuple):
    """One link at a moment: what its rare events depend on, time since the node started, rate of its symbols, bytes of the GPU's links."""

    seed: int
    gpu: int
    link: int
    elapsed_ns: int
    rate_bytes_per_s: int
    carried: Carried

    @property
    def sent_bytes(self) -> int:
        """Out of the GPU."""
        return self.carried.sent.get(self.link, 0)

    @property
    def received_bytes(self) -> int:
        """Into it."""
        return self.carried.received.get(self.link, 0)

    @property
    def bits(self) -> int:
        """Bits that came in so far, idle ones included."""
        return self.elapsed_ns * self.rate_bytes_per_s * BITS_PER_BYTE // NS_PER_S

    def rare(self, name: str, every_ns: int) -> int:
        """How many there were of a rare event."""
        return rare(every_ns, key_of(self.seed, f"gpu{self.gpu}", str(self.link), name), self.elapsed_ns)


Counter: TypeAlias = int | LinkQuestion | Register
_NAMED: Mapping[int, LinkQuestion] = {
    REPLAYS: LinkQuestion.REPLAY,
    RECOVERIES: LinkQuestion.RECOVERY,
    CRC_ERRORS: LinkQuestion.CRC_FLIT,
}
QUIET: frozenset[Counter] = frozenset({
    LinkQuestion.REPLAY, LinkQuestion.RECOVERY, LinkQuestion.CRC_DATA, LinkQuestion.ECC_DATA, *PACKET_ERRORS,
    *(Register(number) for number in (1, 2, *range(101, 112), 302, 303, 305, 306, 307, 1001)),
})  # fmt: skip
"""Those that stay 0 on a healthy link."""


def counter_of(number: int) -> Counter:
    """The counter behind a field: three of them are also told by the error counter call."""
    return _NAMED.get(number, number)


def _corrected(symbols: int) -> Callable[[LinkMoment], int]:
    if symbols >= len(_CODEWORDS_PER_CORRECTED):
        return lambda _: 0
    return lambda at: at.bits // (_CODEWORD_BITS * _CODEWORDS_PER_CORRECTED[symbols])


def _raw_kib(payload_bytes: int) -> int:
    return payload_bytes * _RAW_PER_DATA[0] // (_RAW_PER_DATA[1] * BYTES_PER_KIB)


COUNTERS: Mapping[Counter, Callable[[LinkMoment], int]] = {
    138: lambda at: at.sent_bytes // BYTES_PER_KIB,
    139: lambda at: at.received_bytes // BYTES_PER_KIB,
    140: lambda at: _raw_kib(at.sent_bytes),
    141: lambda at: _raw_kib(at.received_bytes),
    201: lambda at: at.sent_bytes // PACKET_BYTES,
    202: lambda at: at.sent_bytes,
    203: lambda at: at.received_bytes // PACKET_BYTES,
    204: lambda at: at.received_bytes,
    LinkQuestion.CRC_FLIT: lambda at: at.rare("crc", _CRC_ERROR_EVERY_NS),
    **{number: _corrected(symbols) for symbols, number in enumerate(FEC_BINS)},
    **dict.fromkeys(RAW_ERRORS, lambda at: at.bits // (2 * BITS_PER_RAW_ERROR)),
    BLOCKS: lambda at: at.bits // _CODEWORD_BITS,
    BLOCKS_REPEATED: lambda at: at.rare("repetition", _REPETITION_EVERY_NS),
    Register(201): lambda at: at.sent_bytes // _BYTES_PER_WAIT_TICK,
    Register(301): lambda at: at.bits // _CODEWORD_BITS,
    Register(304): lambda at: at.bits // _CODEWORD_BITS,
    **dict.fromkeys(QUIET, lambda _: 0),
}
"""Every counter and what it says."""
