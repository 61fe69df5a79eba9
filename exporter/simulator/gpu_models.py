"""Kinds of GPU as NVML shows them: ports, rate, and which questions each generation answers. Values only; serves `FakeNvml`.

Availability by generation after nvml.h and public threads: no throughput fields on V100 (kempnerpulse#21), no replay, recovery and CRC
fields from Blackwell on, where packet, recovery, bit error and FEC fields (201-250) and the ports' registers come. Field ids are spelt out
here and not taken from the catalogue, so that a mistake there is seen.
"""

from dataclasses import dataclass
from typing import NamedTuple

from exporter.model.gpu_fabric import HEALTHY, NIL_UUID, STATE_COMPLETED, STATE_UNSUPPORTED
from exporter.simulator.pci_layout import Card
from exporter.sources.nvml_session import FabricFacts, LinkQuestion

LINK_COUNT, SWITCH_LINK_COUNT, RECOVERY_ACTION = 91, 147, 230
"""About the GPU."""
PEER_LINK, RATE, STATE, VERSION, POWER_STATE = 146, 164, 165, 166, 167
C2C_COUNT, C2C_STATUS, C2C_BANDWIDTH, C2C_POWER = 170, 171, 172, 234
C2C_ERRORS = frozenset({231, 232, 233})
REPLAYS, RECOVERIES, CRC_ERRORS = 161, 162, 163

DATA_KIB, RAW_KIB = frozenset({138, 139}), frozenset({140, 141})
PACKETS_AND_BYTES = frozenset(range(201, 205))
THROUGHPUT = DATA_KIB | RAW_KIB | PACKETS_AND_BYTES
"""Fields whose whole call fails if a link in it is inactive (NVIDIA/open-gpu-kernel-modules ctrl2080nvlink.h, READ_TP_COUNTERS)."""
PACKET_ERRORS = frozenset(range(206, 216)) | {219, 221}
BIT_ERROR_RATIOS = frozenset({220, 222})
FEC_BINS = range(235, 251)
RAW_ERRORS, RAW_RATIOS, BLOCKS, BLOCKS_REPEATED, DATA_RATE = frozenset({289, 290}), frozenset({291, 292, 293}), 294, 295, 296

_OLD_ERRORS = frozenset({REPLAYS, RECOVERIES, CRC_ERRORS})
_TRAINED = frozenset({PEER_LINK, RATE, VERSION})
_OLD_CALLS = frozenset({LinkQuestion.REPLAY, LinkQuestion.RECOVERY, LinkQuestion.CRC_FLIT, LinkQuestion.CRC_DATA})
_NEWEST = RAW_ERRORS | RAW_RATIOS | {BLOCKS, BLOCKS_REPEATED, DATA_RATE}
"""Fields that only the newest drivers know."""


class Generation(NamedTuple):
    """What a generation answers: fields of a link and of the GPU, error calls, and whether it can be partitioned (MIG), has bandwidth modes
    set for the node, and tells its ports' registers, firmware and its own bandwidth mode."""

    version: int
    link_fields: frozenset[int]
    gpu_fields: frozenset[int]
    error_calls: frozenset[LinkQuestion]
    has_mig: bool = True
    has_node_modes: bool = False
    has_registers: bool = False


_AMPERE_FIELDS = _TRAINED | {STATE, POWER_STATE} | DATA_KIB | RAW_KIB | _OLD_ERRORS
_BLACKWELL_FIELDS = (
    _TRAINED | {STATE, POWER_STATE} | DATA_KIB | RAW_KIB | PACKETS_AND_BYTES | PACKET_ERRORS | BIT_ERROR_RATIOS | frozenset(FEC_BINS)
)
_COUNTS = frozenset({LINK_COUNT, SWITCH_LINK_COUNT})

VOLTA = Generation(2, _TRAINED, frozenset({LINK_COUNT}), _OLD_CALLS, has_mig=False)
AMPERE = Generation(4, _AMPERE_FIELDS, _COUNTS, _OLD_CALLS | {LinkQuestion.ECC_DATA})
HOPPER = Generation(6, _AMPERE_FIELDS, _COUNTS, _OLD_CALLS | {LinkQuestion.ECC_DATA}, has_node_modes=True)
BLACKWELL = Generation(7, _BLACKWELL_FIELDS, _COUNTS | {RECOVERY_ACTION}, frozenset(), has_node_modes=True, has_registers=True)
GRACE_BLACKWELL = BLACKWELL._replace(link_fields=_BLACKWELL_FIELDS | _NEWEST, gpu_fields=BLACKWELL.gpu_fields | {C2C_COUNT})
"""With the driver of a rack, newer than that of the boards."""


@dataclass(frozen=True, slots=True)
class GpuModel:
    """A product by NVML's name. `fabric` is what it says of its NVLink domain once it joined; None if the call is not for it."""

    product: str
    card: Card
    generation: Generation
    ports: int
    rate_mb_per_s: int
    fabric: FabricFacts | None = None
    c2c_links: int = 0


def _card(device: str, speed: str) -> Card:
    return Card("0x10de", device, "0x030200", "nvidia", f"{speed} GT/s PCIe", 16)


H100_SXM_CARD = _card("0x2330", "32.0")
"""H100 SXM5 80GB as lspci of an 8 × H100 node shows it (leptonai/gpud pkg/pci/testdata)."""

_ACCESS_TIMEOUT_NONE = 0x80
_ALL_WELL = 0xAA
"""Health masks with field access_timeout_recovery, and also degraded_bw, route_recovery and route_unhealthy, at 2 (false)."""

V100_SXM2 = GpuModel("Tesla V100-SXM2-32GB", _card("0x1db5", "8.0"), VOLTA, 6, 25_781)
A100_SXM4 = GpuModel("NVIDIA A100-SXM4-80GB", _card("0x20b2", "16.0"), AMPERE, 12, 25_781)
A100_PCIE = GpuModel("NVIDIA A100 80GB PCIe", _card("0x20b5", "16.0"), AMPERE, 12, 25_781)
H100_SXM5 = GpuModel("NVIDIA H100 80GB HBM3", H100_SXM_CARD, HOPPER, 18, 26_562, FabricFacts(STATE_COMPLETED, 0, NIL_UUID, 0, 0))
H100_PCIE = GpuModel("NVIDIA H100 PCIe", _card("0x2331", "32.0"), HOPPER._replace(has_node_modes=False), 18, 26_562,
                     FabricFacts(STATE_UNSUPPORTED, 0, NIL_UUID, 0, 0))  # fmt: skip
H200_SXM5 = GpuModel("NVIDIA H200", H100_SXM_CARD, HOPPER, 18, 26_562, FabricFacts(STATE_COMPLETED, 0, NIL_UUID, 0, 0, 0))
B200 = GpuModel("NVIDIA B200", _card("0x2901", "32.0"), BLACKWELL, 18, 53_125,
                FabricFacts(STATE_COMPLETED, 0, NIL_UUID, 0, _ACCESS_TIMEOUT_NONE, HEALTHY))  # fmt: skip
GB200 = GpuModel("NVIDIA GB200", _card("0x2941", "32.0"), GRACE_BLACKWELL, 18, 53_125,
                 FabricFacts(STATE_COMPLETED, 0, NIL_UUID, 0, _ALL_WELL, HEALTHY), c2c_links=5)  # fmt: skip
"""Five chip-to-chip links a GPU is an assumption; a GH200 has ten."""
