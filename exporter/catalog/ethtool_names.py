"""The allow-list: which ethtool statistic of which driver feeds which row, and what is left out on purpose. Data and one look-up.

An ethtool statistic has a name and nothing else: no unit, no kind. So only names whose meaning the kernel's documentation or the driver's
source gives are shown; a driver without a table is never asked. Sources: see ethernet_events.py.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from exporter.catalog import ethernet as rows
from exporter.catalog.ethernet_events import BNXT_EVENTS, CLOUD_EVENTS, ICE_EVENTS, MLX5_EVENTS
from exporter.model.metric import Metric
from exporter.model.quantity import BITS_PER_BYTE, MICROSECONDS_PER_S, PERCENT
from exporter.model.snapshot import SeriesKey

GLOBAL = "global"
_WORDS = {"rx": "receive", "tx": "transmit", "rd": "transmit", "wr": "receive", GLOBAL: GLOBAL}
"""Words within a statistic's name → label value. The NIC reads from the host what it sends, and writes what it received."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where one statistic goes: the raw number ÷ `divisor` under `series`. Above `most` it is no such number."""

    series: SeriesKey
    divisor: int = 1
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Statistics whose whole name matches `pattern` go to `row`; `labels` are the values of its own labels, as `re.Match.expand` takes."""

    pattern: re.Pattern[str]
    row: Metric
    labels: tuple[str, ...] = ()
    divisor: int = 1
    most: int | None = None


def _rule(pattern: str, row: Metric, *labels: str, divisor: int = 1, most: int | None = None) -> Rule:
    return Rule(re.compile(pattern), row, labels, divisor, most)


def _events(names: Mapping[str, object]) -> Rule:
    return _rule(f"({'|'.join(map(re.escape, names))})", rows.EVENTS, r"\1")


_MLX5 = (
    _events(MLX5_EVENTS),
    _rule(r"(rx|tx)_prio([0-7])_pause_duration", rows.PAUSE_SECONDS, r"\1", r"\2", divisor=MICROSECONDS_PER_S),
    _rule(r"(rx|tx)_global_pause_duration", rows.PAUSE_SECONDS, r"\1", GLOBAL, divisor=MICROSECONDS_PER_S),
    _rule(r"(rx|tx)_prio([0-7])_pause", rows.PAUSE_FRAMES, r"\1", r"\2"),
    _rule(r"(rx|tx)_global_pause", rows.PAUSE_FRAMES, r"\1", GLOBAL),
    _rule(r"(rx|tx)_prio([0-7])_pause_transition", rows.PAUSE_TRANSITIONS, r"\1", r"\2"),
    _rule(r"(rx|tx)_global_pause_transition", rows.PAUSE_TRANSITIONS, r"\1", GLOBAL),
    _rule(r"rx_prio([0-7])_(discards|buf_discard|cong_discard)", rows.PRIORITY_DISCARDS, r"\1", r"\2"),
    _rule(r"rx_prio([0-7])_marked", rows.HOST_ECN_MARKED, r"\1"),
    _rule(r"(rx|tx)_prio([0-7])_bytes", rows.PRIORITY_BYTES, r"\1", r"\2"),
    _rule(r"(rx|tx)_prio([0-7])_packets", rows.PRIORITY_PACKETS, r"\1", r"\2"),
    _rule(r"(rx|tx)_bytes_phy", rows.WIRE_BYTES, r"\1"),
    _rule(r"(rx|tx)_packets_phy", rows.WIRE_PACKETS, r"\1"),
    _rule(r"rx_bits_phy", rows.LINE_CAPACITY, divisor=BITS_PER_BYTE),
    _rule(r"rx_corrected_bits_phy", rows.CORRECTED_BITS),
    _rule(r"rx_pcs_symbol_err_phy", rows.SYMBOL_ERRORS),
    _rule(r"rx_err_lane_([0-9]{1,2})_phy", rows.LANE_ERRORS, r"\1"),
    _rule(r"outbound_pci_stalled_(rd|wr)", rows.PCI_STALLED, r"\1", divisor=PERCENT, most=PERCENT),
)
_BNXT = (
    _events(BNXT_EVENTS),
    _rule(r"pfc_pri([0-7])_(rx|tx)_duration_us", rows.PAUSE_SECONDS, r"\2", r"\1", divisor=MICROSECONDS_PER_S),
    _rule(r"(rx|tx)_pfc_ena_frames_pri([0-7])", rows.PAUSE_FRAMES, r"\1", r"\2"),
    _rule(r"(rx|tx)_pause_frames", rows.PAUSE_FRAMES, r"\1", GLOBAL),
    _rule(r"pfc_pri([0-7])_(rx|tx)_transitions", rows.PAUSE_TRANSITIONS, r"\2", r"\1"),
    _rule(r"(rx|tx)_bytes_pri([0-7])", rows.PRIORITY_BYTES, r"\1", r"\2"),
    _rule(r"(rx|tx)_packets_pri([0-7])", rows.PRIORITY_PACKETS, r"\1", r"\2"),
    _rule(r"(rx|tx)_bytes", rows.WIRE_BYTES, r"\1"),
    _rule(r"(rx|tx)_total_frames", rows.WIRE_PACKETS, r"\1"),
    _rule(r"rx_bits", rows.LINE_CAPACITY, divisor=BITS_PER_BYTE),
    _rule(r"rx_corrected_bits", rows.CORRECTED_BITS),
    _rule(r"rx_pcs_symbol_err", rows.SYMBOL_ERRORS),
)
_ICE = (
    _events(ICE_EVENTS),
    _rule(r"(rx|tx)_priority_([0-7])_xoff\.nic", rows.PAUSE_FRAMES, r"\1", r"\2"),
    _rule(r"link_xoff_(rx|tx)\.nic", rows.PAUSE_FRAMES, r"\1", GLOBAL),
    _rule(r"(rx|tx)_bytes\.nic", rows.WIRE_BYTES, r"\1"),
)
_CLOUD = (_events(CLOUD_EVENTS),)

FAMILIES: Mapping[str, tuple[Rule, ...]] = {
    "mlx5_core": _MLX5, "bnxt_en": _BNXT, "ice": _ICE, "ena": _CLOUD, "gve": _CLOUD, "virtio_net": _CLOUD,
}  # fmt: skip
"""Driver (name of its folder in bus/*/drivers) → rules. Drivers that are not here are not asked."""

LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "mlx5_core": {
        r"(rx|tx)_vport_rdma_(unicast|multicast)_(packets|bytes)": "the RDMA device's own counters say the same (fabric_infiniband_*)",
        r"(rx|tx)_(packets|bytes)": "traffic of the kernel's stack: statistics/ has it, and a RoCE port carries next to none",
        r"(rx|tx)\d+_.*": "one ring of many: a node has thousands, and no ring tells of the fabric",
        r"rx_(\d+_to_\d+|64)_bytes_phy": "sizes of packets, no health",
        r"rx_wqe_err": "no documented meaning",
    },
    "bnxt_en": {
        r"\[\d+\]: .*": "one ring of many; the driver sums them up in *_total_discard_pkts",
        r"(rx|tx)_pfc_frames": "the sum of *_pfc_ena_frames_pri*",
        r"rx_uncorrected_bits": "no documented meaning",
    },
    "ice": {r"(rx|tx)_priority_[0-7]_xon\.nic": "each answers an xoff", r"link_xon_(rx|tx)\.nic": "each answers an xoff"},
    "ena": {r"queue_\d+_.*": "one queue of many"},
    "gve": {r".*\[\d+\]": "one queue of many", r"(rx|tx)_dropped": "statistics/ has it under the same name"},
    "virtio_net": {r"(rx|tx)\d+_.*": "one queue of many", r"(rx|tx)_(xdp_.*|kicks)": "how the driver works, no health"},
}
"""Driver → pattern of statistics that were looked at and are not shown → why."""


def target_of(driver: str, name: str) -> Target | None:
    """Where the statistic `name` of `driver` goes; None if it is not shown."""
    for rule in FAMILIES.get(driver, ()):
        match = rule.pattern.fullmatch(name)
        if match:
            values = [match.expand(label) for label in rule.labels]
            labels = tuple(_WORDS.get(value, value) for value in values)
            return Target((rule.row.key, *labels) if labels else rule.row.key, rule.divisor, rule.most)
    return None
