"""What others publish of such hardware, as a floor: below it something is wrong whatever this node's own past says. Data and one look-up.

Never an expectation: two sites published all-gathers of the same hardware that differ by 2. It applies to long messages only
(PROBE_EXPECTED_MIN_BYTES), for the figures were measured with 1 to 16 GiB; the usual short probe has its own past alone. Bus bandwidth in
bytes per second. A LIMIT is somebody's line between good and bad; a MEASURED one is what good hardware did, of which a share is asked.
"""

from enum import Enum
from typing import NamedTuple

from exporter.catalog.limits import PROBE_EXPECTED_MIN_BYTES, PROBE_EXPECTED_SHARE, PROBE_MEASURED_SHARE
from exporter.probes.collectives import Collective

GB, GBIT, GIB = 1e9, 1e9 / 8, 2**30

AZURE = "Azure/azurehpc-health-checks:conf/"
STAS00 = "stas00/ml-engineering:network/README.md"
COREWEAVE = "coreweave/nccl-tests:README.md"


class Basis(Enum):
    """How a figure came about."""

    LIMIT = "limit"
    MEASURED = "measured"


class Path(Enum):
    """Over what the message went."""

    WITHIN_NODE = "within_node"
    BETWEEN_NODES = "between_nodes"
    PER_NIC = "per_nic"
    LOOPBACK = "loopback"


class Published(NamedTuple):
    """One figure. `board` is the GPU's product name without the vendor, or its beginning if that ends in "-"; `gpus` how many a node has;
    `collective` None for perftest; `algorithm` the one it holds for, "" for any; `nodes` 0 where it does not matter."""

    board: str
    gpus: int
    path: Path
    collective: Collective | None
    bytes_per_s: float
    at_bytes: int
    basis: Basis
    source: str
    algorithm: str = ""
    nodes: int = 1


def _reduced(board: str, gpus: int, gb: float, at_gib: int, basis: Basis, source: str, algorithm: str = "") -> Published:
    return Published(board, gpus, Path.WITHIN_NODE, Collective.ALL_REDUCE, gb * GB, at_gib * GIB, basis, source, algorithm)


def _between(board: str, nodes: int, gb: float, at_gib: int, source: str) -> Published:
    return Published(board, 8, Path.BETWEEN_NODES, Collective.ALL_REDUCE, gb * GB, at_gib * GIB, Basis.MEASURED, source, nodes=nodes)


def _nic(board: str, gbit: float, source: str) -> Published:
    return Published(board, 8, Path.PER_NIC, None, gbit * GBIT, PROBE_EXPECTED_MIN_BYTES, Basis.LIMIT, source, nodes=0)


PUBLISHED = (
    _reduced("V100-SXM2-", 8, 110, 8, Basis.LIMIT, AZURE + "nd40rs_v2.conf"),
    _reduced("A100-SXM4-", 8, 228, 8, Basis.LIMIT, AZURE + "nd96asr_v4.conf"),
    _reduced("A100 80GB PCIe", 2, 193, 16, Basis.LIMIT, AZURE + "nc48ads_a100_v4.conf"),
    _reduced("A100 80GB PCIe", 4, 25, 8, Basis.LIMIT, AZURE + "nc96ads_a100_v4.conf"),
    _reduced("H100 NVL", 2, 208, 8, Basis.LIMIT, AZURE + "nc80adis_h100_v5.conf"),
    _reduced("H100 80GB HBM3", 8, 460, 16, Basis.LIMIT, AZURE + "nd96isr_h100_v5.conf", "NVLS"),
    _reduced("H200", 8, 431, 16, Basis.LIMIT, AZURE + "nd96isr_h200_v5.conf", "NVLS"),
    _reduced("H200", 8, 366, 8, Basis.MEASURED, STAS00, "RING"),
    Published("H100 80GB HBM3", 8, Path.WITHIN_NODE, Collective.ALL_GATHER, 183 * GB, GIB, Basis.MEASURED, COREWEAVE),
    Published("H200", 8, Path.WITHIN_NODE, Collective.ALL_GATHER, 361 * GB, 8 * GIB, Basis.MEASURED, STAS00),
    Published("H200", 8, Path.WITHIN_NODE, Collective.REDUCE_SCATTER, 363 * GB, 8 * GIB, Basis.MEASURED, STAS00),
    _reduced("B200", 8, 838, 8, Basis.MEASURED, STAS00, "NVLS"),
    _reduced("B200", 8, 682, 8, Basis.MEASURED, STAS00, "RING"),
    _reduced("B200", 4, 673, 8, Basis.MEASURED, STAS00),
    _between("A100-SXM4-", 2, 164, 8, "NVIDIA/NVSentinel:ADR-026"),
    _between("A100-SXM4-", 3, 160, 8, "NVIDIA/NVSentinel:ADR-026"),
    _between("H100 80GB HBM3", 4, 331, 8, "NVIDIA/NVSentinel:values.yaml"),
    _between("H100 80GB HBM3", 8, 356, 1, COREWEAVE),
    _nic("V100-SXM2-", 78, AZURE + "nd40rs_v2.conf"),
    _nic("A100-SXM4-", 180, AZURE + "nd96asr_v4.conf"),
    _nic("H100 80GB HBM3", 380, AZURE + "nd96isr_h100_v5.conf"),
    _nic("H200", 360, AZURE + "nd96isr_h200_v5.conf"),
    Published("A100-SXM4-", 8, Path.LOOPBACK, Collective.ALL_REDUCE, 18 * GB, 8 * GIB, Basis.LIMIT, AZURE + "nd96asr_v4.conf"),
    Published("H100 80GB HBM3", 8, Path.LOOPBACK, Collective.ALL_REDUCE, 40 * GB, 16 * GIB, Basis.LIMIT, AZURE + "nd96isr_h100_v5.conf"),
)


def floor(product: str, gpus: int, collective: Collective | None, size_bytes: int, algorithm: str = "", path: Path = Path.WITHIN_NODE,
          nodes: int = 1) -> Published | None:  # fmt: skip
    """The least that is asked of a node with `gpus` GPUs that NVML calls `product`. `bytes_per_s` is already lowered for measured figures
    and for messages shorter than the published one; the lowest if several hold. None below PROBE_EXPECTED_MIN_BYTES and for what nobody
    published; an `algorithm` that NCCL did not tell ("") may have been any."""
    if size_bytes < PROBE_EXPECTED_MIN_BYTES:
        return None
    holding = [
        one._replace(bytes_per_s=_asked(one, size_bytes))
        for one in PUBLISHED
        if _is_of(one.board, product) and one.gpus == gpus and one.collective is collective and one.path is path and one.nodes in {0, nodes}
        and (not algorithm or not one.algorithm or one.algorithm.upper() == algorithm.upper())
    ]  # fmt: skip
    return min(holding, key=lambda one: one.bytes_per_s, default=None)


def _is_of(board: str, product: str) -> bool:
    name = product.removeprefix("NVIDIA ").removeprefix("Tesla ")
    return name.startswith(board) if board.endswith("-") else name == board


def _asked(one: Published, size_bytes: int) -> float:
    share = PROBE_MEASURED_SHARE if one.basis is Basis.MEASURED else 1.0
    return one.bytes_per_s * share * (1.0 if size_bytes >= one.at_bytes else PROBE_EXPECTED_SHARE)
