"""A scenario for each machine of `boards`: every value distinct per GPU, link and field, so that a swapped index is seen.

Field ids come from nvml.h. The machines are well: counters of bytes and packets rise with the clock, those of errors stand still at a
number other than 0, bit error ratios are low.
"""

from collections.abc import Iterable, Iterator

from tests.nvml_library.boards import BOARDS, HIDDEN_SWITCH, Board
from tests.nvml_library.header import constants, field_id
from tests.nvml_library.scenario import Amount, Ret, Value, ret, uint, ull

INVALID_ARGUMENT = Ret(2)
KIB = 1024
BYTES_PER_PACKET = 86
EVENT_TYPES = 0x1F
P2P_NOT_SUPPORTED = 5
KIB_FIELDS = ("NVLINK_THROUGHPUT_DATA_TX", "NVLINK_THROUGHPUT_DATA_RX", "NVLINK_THROUGHPUT_RAW_TX", "NVLINK_THROUGHPUT_RAW_RX")
NVLINK5_BYTES = ("NVLINK_COUNT_XMIT_BYTES", "NVLINK_COUNT_RCV_BYTES")
NVLINK5_PACKETS = ("NVLINK_COUNT_XMIT_PACKETS", "NVLINK_COUNT_RCV_PACKETS")
LEGACY_ERRORS = ("NVLINK_ERROR_DL_REPLAY", "NVLINK_ERROR_DL_RECOVERY", "NVLINK_ERROR_DL_CRC")
NVLINK5_ERRORS = (
    *("NVLINK_COUNT_MALFORMED_PACKET_ERRORS", "NVLINK_COUNT_BUFFER_OVERRUN_ERRORS", "NVLINK_COUNT_RCV_ERRORS"),
    *("NVLINK_COUNT_RCV_REMOTE_ERRORS", "NVLINK_COUNT_RCV_GENERAL_ERRORS", "NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS"),
    *("NVLINK_COUNT_XMIT_DISCARDS", "NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS", "NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS"),
    *("NVLINK_COUNT_LINK_RECOVERY_EVENTS", "NVLINK_COUNT_EFFECTIVE_ERRORS", "NVLINK_COUNT_SYMBOL_ERRORS"),
    *("NVLINK_COUNT_RAW_ERRORS_LANE0", "NVLINK_COUNT_RAW_ERRORS_LANE1", "NVLINK_PLR_XMIT_BLOCKS", "NVLINK_PLR_XMIT_RETRY_BLOCKS"),
    *(f"NVLINK_COUNT_FEC_HISTORY_{number}" for number in range(16)),
)
NO_ERRORS_BER = 15 << 8 | 255
PRM_PORT_COUNTERS = (1, 2, *range(101, 112), *range(301, 308), 1001)
"""At local port link + 1."""
PRM_XMIT_WAIT = 201
"""At the local port of the link's own number."""
HEALTHY_MASK = 2 | 2 << 2 | 2 << 4 | 2 << 6 | 1 << 8 | 1 << 12
"""Nothing degraded, recovering or unhealthy, configuration right, partition assigned."""
CLUSTER = "5f9c1d3e-70a4-4b62-8e0d-c2a6b18f3d47"
CLIQUE = 7


IDLE = {"memory_used": 5 << 20, "utilization": 0, "clocks_event_reasons": 1, "compute_mode": 0, "f230": 0}
"""What an idle GPU says of its occupancy, below gN; 1 is nvmlClocksEventReasonGpuIdle."""


def profile(name: str) -> dict[str, Value]:
    """The statements of one machine: `v100`, `a100-sxm`, … (the keys of BOARDS)."""
    board = BOARDS[name]
    statements: dict[str, Value] = {"gpus": board.gpus, "driver": board.driver, "nvml": f"12.{board.driver}", "cuda": 12_040}
    if "bw_mode" in board.families:
        statements["bw_mode"] = uint(0) if board.architecture == "HOPPER" else ret(3)
    for gpu in range(board.gpus):
        statements.update((f"g{gpu}.{key}", value) for key, value in _gpu(board, gpu))
    return statements


def uuid(gpu: int) -> str:
    """The UUID of a profile's GPU."""
    return f"GPU-{0x1B0A0000 + gpu:08x}-5c1e-4d2f-9a{gpu:02x}-{0xC0FFEE000000 + gpu * 0x1111:012x}"


def distinct(gpu: int, link: int, number: int) -> int:
    """A number that no other GPU, link or field has."""
    return (gpu + 1) * 1_000_000 + (link + 1) * 10_000 + number


def _gpu(board: Board, gpu: int) -> Iterator[tuple[str, Value]]:
    yield from _identity(board, gpu)
    yield from _fabric(board, gpu)
    yield from _pairs(board, gpu)
    yield f"f{field_id('NVLINK_LINK_COUNT')}", uint(board.ports) if board.ports else ret(3)
    if board.ports:
        yield "links", board.ports
        yield "links_max", board.ports_known_to_capability or board.ports
        yield f"f{field_id('NVLINK_SPEED_MBPS_COMMON')}", uint(board.speed_mb_per_s)
    if board.ports and board.architecture != "VOLTA":
        yield f"f{field_id('NVSWITCH_CONNECTED_LINK_COUNT')}", uint(len(board.active(gpu)) if board.switches else 0)
    for link in range(board.ports):
        of_link = _active_link(board, gpu, link) if link in board.active(gpu) else _inactive_link(board)
        yield from ((f"l{link}.{key}", value) for key, value in of_link)
    if "kib" in board.families and board.active(gpu):
        yield from ((f"all.f{field_id(name)}", _total(_kib(gpu, link, name) for link in board.active(gpu))) for name in KIB_FIELDS)
    if "prm" in board.families:
        yield from _prm(board, gpu)
    yield from _c2c(board, gpu)


def _identity(board: Board, gpu: int) -> Iterator[tuple[str, Value]]:
    yield "uuid", uuid(gpu)
    yield "name", board.name
    yield "serial", f"16520{gpu:02d}0117{gpu:02d}"
    yield "board_part", f"900-2G520-{gpu:04d}-000"
    yield "pci", board.pci(gpu)
    yield "pci_id", board.pci_id << 16 | 0x10DE
    yield "pci_subsystem", (0x16C0 + gpu) << 16 | 0x10DE
    yield "minor", board.gpus - 1 - gpu
    yield "module", gpu // 2 * 2 + 2 - gpu % 2  # 2, 1, 4, 3, …: not the PCI order
    yield "arch", constants()[f"NVML_DEVICE_ARCH_{board.architecture}"]
    yield "persistence", 1
    yield "virtualization", 0
    yield "event_types", EVENT_TYPES
    yield from ((f"pcie_generation{end}", board.pcie_generation) for end in ("", "_max"))
    yield from ((f"pcie_width{end}", 16) for end in ("", "_max"))
    yield "cpus", "0-31,64-95" if gpu < board.gpus / 2 else "32-63,96-127"
    yield "memory_nodes", str(int(gpu >= board.gpus / 2))
    if board.has_mig:
        yield "mig", int(gpu in board.mig_gpus)
    if "recovery_action" in board.families:
        yield f"f{field_id('GET_GPU_RECOVERY_ACTION')}", uint(0)


def _fabric(board: Board, gpu: int) -> Iterator[tuple[str, Value]]:
    if "fabric" in board.families:
        yield "fabric.state", constants()["NVML_GPU_FABRIC_STATE_COMPLETED"]
        yield "fabric.cluster_uuid", CLUSTER if board.is_rack else "0" * 32
        yield "fabric.clique", CLIQUE if board.is_rack else 0
        yield "fabric.clique_entry", (f"0 {CLIQUE}", f"1 {CLIQUE + 1}") if board.is_rack else ("0 0",)
        yield "fabric.health_mask", HEALTHY_MASK if "health" in board.families else 0
        yield "fabric.summary", int("health" in board.families)
    if "nvlink5" in board.families:
        yield "nvle", 0
        yield "firmware", tuple(f"{kind} 36 {2014 + kind} {1676 + gpu}" for kind in range(1, 6))
        yield "bw_mode", 0
        yield "bw_best", 1
        yield "bw_modes", "0 1 2"
    if board.is_rack:
        yield "platform.ib_guid", f"fe80{0:020x}{0xA0B0 + gpu:08x}"
        yield "platform.chassis_serial", "1821325170042"
        yield from ((f"platform.{key}", number) for key, number in (("slot", 11), ("tray", 9), ("host", 1), ("peer_type", 1)))
        yield "platform.module", gpu + 1
        yield "numa", 2 + 8 * gpu


def _pairs(board: Board, gpu: int) -> Iterator[tuple[str, Value]]:
    for peer in set(range(board.gpus)) - {gpu}:
        same_socket = (gpu < board.gpus / 2) == (peer < board.gpus / 2)
        yield f"g{peer}.ancestor", constants()["NVML_TOPOLOGY_NODE" if same_socket else "NVML_TOPOLOGY_SYSTEM"]
        reachable = peer in board.peers(gpu) and not {gpu, peer} & board.mig_gpus
        yield f"g{peer}.p2p2", 0 if reachable else P2P_NOT_SUPPORTED


def _inactive_link(board: Board) -> Iterator[tuple[str, Value]]:
    """A port without a partner: it answers for itself, and its throughput is refused."""
    yield "state", 0
    yield "version", board.version
    yield f"f{field_id('NVLINK_GET_STATE')}", uint(0)
    yield f"f{field_id('NVLINK_GET_VERSION')}", uint(board.version)
    yield f"f{field_id('NVLINK_GET_SPEED')}", uint(0)
    if "kib" in board.families:
        yield from ((f"f{field_id(name)}", INVALID_ARGUMENT) for name in KIB_FIELDS)


def _active_link(board: Board, gpu: int, link: int) -> Iterator[tuple[str, Value]]:
    far = board.far_end(gpu, link)
    yield "state", 1
    yield "version", board.version
    yield "remote_type", 2 if far.is_switch else 0
    yield "remote_pci", far.pci
    yield f"f{field_id('NVLINK_REMOTE_NVLINK_ID')}", uint(far.port)
    yield f"f{field_id('NVLINK_GET_STATE')}", uint(1)
    yield f"f{field_id('NVLINK_GET_VERSION')}", uint(board.version)
    yield f"f{field_id('NVLINK_GET_SPEED')}", uint(board.speed_mb_per_s)
    yield f"f{field_id('NVLINK_GET_POWER_STATE')}", uint(0)
    if "kib" in board.families:
        yield from ((f"f{field_id(name)}", _kib(gpu, link, name)) for name in KIB_FIELDS)
    yield from _legacy_errors(board, gpu, link)
    if "nvlink5" in board.families:
        yield from _nvlink5(gpu, link, board.speed_mb_per_s)


def _legacy_errors(board: Board, gpu: int, link: int) -> Iterator[tuple[str, Value]]:
    """Counters 0 to 3 and fields 161 to 163 count the same; the field of CRC errors is the sum of both kinds here."""
    replay, recovery, flits, payload, ecc = (distinct(gpu, link, kind) for kind in range(5))
    supported = "legacy" in board.families
    yield from ((f"counter{kind}", ull(n) if supported else ret(3)) for kind, n in enumerate((replay, recovery, flits, payload)))
    yield "counter4", ull(ecc) if "ecc" in board.families else ret(3)
    numbers = zip(LEGACY_ERRORS, (replay, recovery, flits + payload), strict=True)
    yield from ((f"f{field_id(name)}", ull(number) if supported else ret(3)) for name, number in numbers)


def _kib(gpu: int, link: int, name: str) -> Amount:
    """Some 2 GB/s, a little more with protocol. Bytes of NVLink5 are the same traffic."""
    nth = KIB_FIELDS.index(name)
    return ull(distinct(gpu, link, nth) * 1_000, 2_000_000 + gpu * 10_000 + link * 100 + nth)


def _nvlink5(gpu: int, link: int, speed_mb_per_s: int) -> Iterator[tuple[str, Value]]:
    for kib, of_bytes, of_packets in zip(KIB_FIELDS[:2], NVLINK5_BYTES, NVLINK5_PACKETS, strict=True):
        amount = _kib(gpu, link, kib)
        size, rate = int(amount.base) * KIB, int(amount.per_second) * KIB
        yield f"f{field_id(of_bytes)}", ull(size, rate)
        yield f"f{field_id(of_packets)}", ull(size // BYTES_PER_PACKET, rate // BYTES_PER_PACKET)
    yield from ((f"f{field_id(name)}", ull(distinct(gpu, link, field_id(name)))) for name in NVLINK5_ERRORS)
    low = (1 + link % 9) << 8
    yield f"f{field_id('NVLINK_COUNT_EFFECTIVE_BER')}", ull(NO_ERRORS_BER if link == 0 else low | 20 + gpu)
    yield f"f{field_id('NVLINK_COUNT_SYMBOL_BER')}", ull(NO_ERRORS_BER if link == 0 else low | 240 + gpu)
    yield f"f{field_id('NVLINK_COUNT_RAW_BER_V2')}", ull(low | 10 + gpu % 4)
    yield f"f{field_id('NVLINK_GET_DATA_RATE')}", uint(speed_mb_per_s - 1_000 - link)


def _total(amounts: Iterable[Amount]) -> Amount:
    kept = list(amounts)
    return ull(sum(int(one.base) for one in kept), sum(int(one.per_second) for one in kept))


def _prm(board: Board, gpu: int) -> Iterator[tuple[str, Value]]:
    yield "prm", 1
    for link in board.active(gpu):
        yield f"port{link}.prm{PRM_XMIT_WAIT}", ull(distinct(gpu, link, PRM_XMIT_WAIT), 1_000 + link)
        yield from ((f"port{link + 1}.prm{number}", ull(distinct(gpu, link, number))) for number in PRM_PORT_COUNTERS)


def _c2c(board: Board, gpu: int) -> Iterator[tuple[str, Value]]:
    if not board.c2c_links:
        return
    yield "c2c", 1
    yield f"f{field_id('C2C_LINK_COUNT')}", uint(board.c2c_links)
    for link in range(board.c2c_links):
        yield f"l{link}.f{field_id('C2C_LINK_GET_STATUS')}", uint(1)
        yield f"l{link}.f{field_id('C2C_LINK_GET_MAX_BW')}", uint(44_712 + link)
        for name in ("C2C_LINK_ERROR_INTR", "C2C_LINK_ERROR_REPLAY", "C2C_LINK_ERROR_REPLAY_B2B"):
            yield f"l{link}.f{field_id(name)}", ull(distinct(gpu, link, field_id(name)))
        yield f"l{link}.f{field_id('C2C_LINK_POWER_STATE')}", uint(0)


__all__ = ["BOARDS", "CLIQUE", "CLUSTER", "HIDDEN_SWITCH", "distinct", "profile", "uuid"]
