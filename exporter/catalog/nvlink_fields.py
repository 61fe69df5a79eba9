"""Which NVML field holds which number of a link, in families that are asked for together. Data, no behaviour.

Where two fields hold the same number (bytes on Blackwell, KiB before), the first that the GPU answers is taken: generations are told by
their answers, never by product names. A family is one call a pass: fields of different families spoil each other on some drivers
(NVIDIA/dcgm-exporter#581). Numbers: nvml.h, NVML_FI_DEV_…
"""

from typing import NamedTuple

from exporter.catalog import gpu
from exporter.catalog.nvlink import (
    BIT_ERROR_RATIO,
    BLOCKS,
    BLOCKS_REPEATED,
    DATA_RATE,
    ERRORS,
    FEC,
    LINK_DOWNS,
    PACKETS_RECEIVED,
    PACKETS_TRANSMITTED,
    POWER_STATE,
    RATE,
    RAW_ERRORS,
    RECEIVED,
    RECOVERIES,
    REGISTER_EVENTS,
    REGISTER_LEVELS,
    STATE,
    TRANSMIT_WAIT,
    TRANSMITTED,
)
from exporter.model.metric import Cadence
from exporter.model.quantity import BYTES_PER_KIB
from exporter.model.snapshot import SeriesKey

LINK_COUNT, CONNECTED_COUNT, RECOVERY_ACTION = 91, 147, 230
"""About the GPU (scope 0)."""
PEER_LINK, VERSION = 146, 166
"""About a link; texts of its info series."""
C2C_COUNT, C2C_STATUS, C2C_BANDWIDTH, C2C_POWER = 170, 171, 172, 234
C2C_ERRORS = {231: "interrupt", 232: "replay", 233: "replay_back_to_back"}


class Field(NamedTuple):
    """One field, the series it goes to, and what one of its units is. `is_ratio` for the driver's packed bit error ratios."""

    number: int
    key: SeriesKey
    scale: int = 1
    is_ratio: bool = False


class Family(NamedTuple):
    """Fields that are asked for in one call. `spares_inactive`: inactive links are not asked; for bytes the call may fail whole if one is
    (NVIDIA/open-gpu-kernel-modules ctrl2080nvlink.h, READ_TP_COUNTERS). `is_full`: read for the full tier only."""

    name: str
    cadence: Cadence
    fields: tuple[Field, ...]
    spares_inactive: bool = False
    is_full: bool = False


STATE_FAMILY = Family("state", Cadence.FAST, (Field(165, STATE.key),))
BYTES_FAMILY = Family(
    "bytes",
    Cadence.FAST,
    (
        Field(202, TRANSMITTED.key),
        Field(204, RECEIVED.key),
        Field(138, TRANSMITTED.key, BYTES_PER_KIB),
        Field(139, RECEIVED.key, BYTES_PER_KIB),
    ),
    spares_inactive=True,
)
LEGACY_ERRORS = Family(
    "data link errors",
    Cadence.NORMAL,
    (Field(161, (ERRORS.key, "replay")), Field(162, (RECOVERIES.key, "any")), Field(163, (ERRORS.key, "crc"))),
)
PACKET_ERRORS = Family(
    "packet errors",
    Cadence.NORMAL,
    (
        Field(206, (ERRORS.key, "malformed_packet")),
        Field(207, (ERRORS.key, "buffer_overrun")),
        Field(208, (ERRORS.key, "receive")),
        Field(209, (ERRORS.key, "receive_remote")),
        Field(210, (ERRORS.key, "receive_general")),
        Field(211, (ERRORS.key, "local_link_integrity")),
        Field(212, (ERRORS.key, "transmit_discard")),
        Field(213, (RECOVERIES.key, "successful")),
        Field(214, (RECOVERIES.key, "failed")),
        Field(215, (RECOVERIES.key, "any")),
        Field(219, (ERRORS.key, "effective")),
        Field(221, (ERRORS.key, "symbol")),
    ),
)
RATIOS = Family(
    "bit error ratios",
    Cadence.NORMAL,
    (
        Field(220, (BIT_ERROR_RATIO.key, "effective"), is_ratio=True),
        Field(222, (BIT_ERROR_RATIO.key, "symbol"), is_ratio=True),
        Field(293, (BIT_ERROR_RATIO.key, "raw"), is_ratio=True),
        Field(291, (BIT_ERROR_RATIO.key, "raw_lane0"), is_ratio=True),
        Field(292, (BIT_ERROR_RATIO.key, "raw_lane1"), is_ratio=True),
    ),
)
REPETITION = Family("repetition", Cadence.NORMAL, (Field(294, BLOCKS.key), Field(295, BLOCKS_REPEATED.key)))
TRAINED = Family("rate and power", Cadence.NORMAL, (Field(164, RATE.key, 1_000_000), Field(167, POWER_STATE.key)), spares_inactive=True)
"""Of active links only: an inactive one answers a rate of 0, which is none."""
PACKETS = Family(
    "packets", Cadence.NORMAL, (Field(201, PACKETS_TRANSMITTED.key), Field(203, PACKETS_RECEIVED.key)), spares_inactive=True, is_full=True
)
HISTOGRAM = Family("FEC histogram", Cadence.NORMAL, tuple(Field(235 + n, (FEC.key, str(n))) for n in range(16)), is_full=True)
RAW = Family(
    "raw errors",
    Cadence.NORMAL,
    (Field(289, (RAW_ERRORS.key, "0")), Field(290, (RAW_ERRORS.key, "1")), Field(296, DATA_RATE.key)),
    is_full=True,
)

FAMILIES = (STATE_FAMILY, BYTES_FAMILY, PACKET_ERRORS, LEGACY_ERRORS, RATIOS, REPETITION, TRAINED, PACKETS, HISTOGRAM, RAW)
"""Of NVLinks. The error families exclude each other, the newer first: some drivers answer 0 to the old questions about links that they
count in the new way (NVIDIA/nvidia-resiliency-ext#302)."""

CHIP_TO_CHIP = Family(
    "chip to chip",
    Cadence.NORMAL,
    (
        Field(C2C_STATUS, gpu.C2C_STATUS.key),
        Field(C2C_BANDWIDTH, gpu.C2C_BANDWIDTH.key, 1_000_000),
        Field(C2C_POWER, gpu.C2C_POWER.key),
        *(Field(number, (gpu.C2C_ERRORS.key, kind)) for number, kind in C2C_ERRORS.items()),
    ),
)
"""Of the links between a GPU and its Grace CPU; the scope is the link."""

UNSHIFTED_PORT = frozenset({201})
"""Registers whose local port is the link's index; for all others it is one more (NVIDIA/DCGM DcgmCacheManager.cpp)."""

REGISTERS: tuple[tuple[int, SeriesKey], ...] = (
    (1, LINK_DOWNS.key),
    (201, TRANSMIT_WAIT.key),
)
"""Counters of the port's registers (PRM) that every tier from standard on shows."""
_EVENTS = {
    2: "successful_recovery_events", 101: "total_successful_recovery_events", 105: "total_time_in_host_serdes_feq_recovery",
    106: "total_host_serdes_feq_recovery_count", 107: "total_host_serdes_feq_successful_recovery_count",
    111: "total_successful_recovery_time", 301: "plr_rcv_codes", 302: "plr_rcv_code_err", 303: "plr_rcv_uncorrectable_code",
    304: "plr_xmit_codes", 305: "plr_xmit_retry_codes", 306: "plr_xmit_retry_events", 307: "plr_sync_events",
}  # fmt: skip
_LEVELS = {
    102: "time_since_last_recovery", 103: "time_between_last_two_recoveries", 104: "time_in_last_host_serdes_feq_recovery",
    108: "last_host_serdes_feq_attempts_count", 109: "last_successful_recovery_step_attempts", 110: "last_successful_recovery_time",
    1001: "oper_recovery",
}  # fmt: skip
FULL_REGISTERS: tuple[tuple[int, SeriesKey], ...] = (
    *((number, (REGISTER_EVENTS.key, name)) for number, name in _EVENTS.items()),
    *((number, (REGISTER_LEVELS.key, name)) for number, name in _LEVELS.items()),
)
"""The rest of them."""
