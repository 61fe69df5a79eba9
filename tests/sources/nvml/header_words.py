"""What a profile's links and GPUs must show: numbers from the scenario, field ids and units from nvml.h's own words.

The names of the series stand here once more on purpose: taken from the exporter's tables, a wrong id in those would not be seen.
"""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from exporter.model.snapshot import Number, SeriesKey
from tests.nvml_library import answer, constants, field_id, fields, header_path
from tests.nvml_library.scenario import Statements

ERRORS, RECOVERIES, RATIO = "nvlink_errors", "nvlink_recoveries", "nvlink_bit_error_ratio"
KIB_BYTES: Mapping[str, SeriesKey] = {
    "NVLINK_THROUGHPUT_DATA_TX": "nvlink_transmitted",
    "NVLINK_THROUGHPUT_DATA_RX": "nvlink_received",
}
NVLINK5_BYTES: Mapping[str, SeriesKey] = {"NVLINK_COUNT_XMIT_BYTES": "nvlink_transmitted", "NVLINK_COUNT_RCV_BYTES": "nvlink_received"}
LEGACY: Mapping[str, SeriesKey] = {
    "NVLINK_ERROR_DL_REPLAY": (ERRORS, "replay"),
    "NVLINK_ERROR_DL_RECOVERY": (RECOVERIES, "any"),
    "NVLINK_ERROR_DL_CRC": (ERRORS, "crc"),
}
NVLINK5: Mapping[str, SeriesKey] = {
    "NVLINK_COUNT_MALFORMED_PACKET_ERRORS": (ERRORS, "malformed_packet"),
    "NVLINK_COUNT_BUFFER_OVERRUN_ERRORS": (ERRORS, "buffer_overrun"),
    "NVLINK_COUNT_RCV_ERRORS": (ERRORS, "receive"),
    "NVLINK_COUNT_RCV_REMOTE_ERRORS": (ERRORS, "receive_remote"),
    "NVLINK_COUNT_RCV_GENERAL_ERRORS": (ERRORS, "receive_general"),
    "NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS": (ERRORS, "local_link_integrity"),
    "NVLINK_COUNT_XMIT_DISCARDS": (ERRORS, "transmit_discard"),
    "NVLINK_COUNT_EFFECTIVE_ERRORS": (ERRORS, "effective"),
    "NVLINK_COUNT_SYMBOL_ERRORS": (ERRORS, "symbol"),
    "NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS": (RECOVERIES, "successful"),
    "NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS": (RECOVERIES, "failed"),
    "NVLINK_COUNT_LINK_RECOVERY_EVENTS": (RECOVERIES, "any"),
    "NVLINK_COUNT_EFFECTIVE_BER": (RATIO, "effective"),
    "NVLINK_COUNT_SYMBOL_BER": (RATIO, "symbol"),
    "NVLINK_COUNT_RAW_BER_V2": (RATIO, "raw"),
    "NVLINK_COUNT_RAW_BER_LANE0_V2": (RATIO, "raw_lane0"),
    "NVLINK_COUNT_RAW_BER_LANE1_V2": (RATIO, "raw_lane1"),
    "NVLINK_PLR_XMIT_BLOCKS": "nvlink_blocks",
    "NVLINK_PLR_XMIT_RETRY_BLOCKS": "nvlink_blocks_repeated",
    "NVLINK_COUNT_XMIT_PACKETS": "nvlink_packets_transmitted",
    "NVLINK_COUNT_RCV_PACKETS": "nvlink_packets_received",
    "NVLINK_COUNT_RAW_ERRORS_LANE0": ("nvlink_raw_errors", "0"),
    "NVLINK_COUNT_RAW_ERRORS_LANE1": ("nvlink_raw_errors", "1"),
    "NVLINK_GET_DATA_RATE": "nvlink_data_rate",
    **{f"NVLINK_COUNT_FEC_HISTORY_{number}": ("nvlink_fec", str(number)) for number in range(16)},
}
TRAINED: Mapping[str, SeriesKey] = {"NVLINK_GET_SPEED": "nvlink_rate", "NVLINK_GET_POWER_STATE": "nvlink_power_state"}
STATE: Mapping[str, SeriesKey] = {"NVLINK_GET_STATE": "nvlink_state"}
OF_LINKS: Mapping[str, SeriesKey] = {**STATE, **KIB_BYTES, **NVLINK5_BYTES, **LEGACY, **NVLINK5, **TRAINED}
"""Of two with the same series the later one wins where a GPU answers both."""
OF_C2C: Mapping[str, SeriesKey] = {
    "C2C_LINK_GET_STATUS": "c2c_status",
    "C2C_LINK_GET_MAX_BW": "c2c_bandwidth",
    "C2C_LINK_POWER_STATE": "c2c_power",
    "C2C_LINK_ERROR_INTR": ("c2c_errors", "interrupt"),
    "C2C_LINK_ERROR_REPLAY": ("c2c_errors", "replay"),
    "C2C_LINK_ERROR_REPLAY_B2B": ("c2c_errors", "replay_back_to_back"),
}
HEALTH = {"degraded_bw": "DEGRADED_BW", "route_recovery": "ROUTE_RECOVERY", "route_unhealthy": "ROUTE_UNHEALTHY",
          "access_timeout_recovery": "ACCESS_TIMEOUT_RECOVERY", "incorrect_configuration": "INCORRECT_CONFIGURATION",
          "partition_assigned": "PARTITION_ASSIGNED", "gfm_connected": "GFM_STATE"}  # fmt: skip
MASK = "NVML_GPU_FABRIC_HEALTH_MASK_"
XMIT_WAIT, LINK_DOWNS = "port_xmit_wait", "link_down_events"
_REGISTER = re.compile(r"^\s+NVML_PRM_COUNTER_ID_\w+ = (\d+),\s+//!< PP\w+(?: group \w+)?, (\w+)$", re.MULTILINE)
_LEVEL = re.compile(r"time_|last_|oper_")
"""How names of registers begin that tell of the last recovery, and so need not grow."""


def unit_of(name: str) -> int:
    """How many base units (bytes, bytes per second, or one) one of the field's is, by the header's remark on it."""
    remark = fields()[name].remark
    if "KiB" in remark:
        return 1024
    return 1_000_000 if "MBps" in remark else 1


def ratio_of(packed: int) -> float:
    """Errors per bit: four bits of mantissa over a power of ten; all ones mean that there were none."""
    mantissa, exponent = packed >> 8 & 0xF, packed & 0xFF
    return 0.0 if exponent == 0xFF else float(Fraction(mantissa, 10**exponent))


def registers() -> Mapping[int, tuple[str, SeriesKey]]:
    """Register by id: the header's word for it, and its series."""
    found = _REGISTER.findall(header_path().read_text(encoding="utf-8"))
    return {int(number): (word, _series_of_register(word)) for number, word in found}


def _series_of_register(word: str) -> SeriesKey:
    if word in (XMIT_WAIT, LINK_DOWNS):
        return "nvlink_transmit_wait" if word == XMIT_WAIT else "nvlink_downs"
    return "nvlink_register_levels" if _LEVEL.match(word) else "nvlink_register_events", word


def of_link(statements: Statements, gpu: int, link: int, at_ns: int) -> dict[SeriesKey, Number]:
    """Every number of an active link; its state of one that is not."""
    numbers = dict(_numbers(statements, f"g{gpu}.l{link}", OF_LINKS, at_ns))
    if not numbers["nvlink_state"]:
        return {"nvlink_state": 0}
    for number, (word, key) in registers().items():
        port = link if word == XMIT_WAIT else link + 1
        value = answer(statements, f"g{gpu}.port{port}.prm{number}", at_ns)
        if isinstance(value, int):
            numbers[key] = value
    return numbers


def of_c2c(statements: Statements, gpu: int, link: int, at_ns: int) -> dict[SeriesKey, Number]:
    """Every number of a chip-to-chip link."""
    return dict(_numbers(statements, f"g{gpu}.l{link}", OF_C2C, at_ns))


def health_mask(**values: int) -> int:
    """A mask in which the fields of HEALTH say these."""
    return sum(value << constants()[f"{MASK}SHIFT_{HEALTH[name]}"] for name, value in values.items())


def version_text(number: int) -> str:
    """The version that an enumerator of nvmlNvlinkVersion_t means: `5.0` of NVML_NVLINK_VERSION_5_0."""
    prefix = "NVML_NVLINK_VERSION_"
    return next(name.removeprefix(prefix).replace("_", ".") for name, value in constants().items()
                if re.fullmatch(prefix + r"\d+_\d+", name) and value == number)  # fmt: skip


def _numbers(statements: Statements, owner: str, names: Mapping[str, SeriesKey], at_ns: int) -> Iterator[tuple[SeriesKey, Number]]:
    for name, key in names.items():
        value = answer(statements, f"{owner}.f{field_id(name)}", at_ns)
        if isinstance(value, int | float):
            yield key, ratio_of(int(value)) if key[0] == RATIO else value * unit_of(name)
