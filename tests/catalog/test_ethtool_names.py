"""The allow-list of ethtool statistics: each documented name is shown or left out for a reason, and means one thing."""

import re

import pytest

from exporter.catalog import CATALOGUE
from exporter.catalog.ethernet import EVENTS, PCI_STALLED
from exporter.catalog.ethernet_events import BNXT_EVENTS, CLOUD_EVENTS, ETHERNET_EVENTS, ICE_EVENTS, KERNEL_EVENTS, MLX5_EVENTS
from exporter.catalog.ethtool_names import FAMILIES, LEFT_OUT, target_of
from exporter.model.snapshot import metric_key
from tests.requires import need_data

PRIORITIES = range(8)
MLX5 = (
    *(f"rx_prio{p}_{name}" for p in PRIORITIES for name in ("pause", "pause_duration", "pause_transition", "discards", "buf_discard",
                                                           "cong_discard", "marked", "bytes", "packets")),
    *(f"tx_prio{p}_{name}" for p in PRIORITIES for name in ("pause", "pause_duration", "bytes", "packets")),
    *(f"{side}_global_pause{name}" for side in ("rx", "tx") for name in ("", "_duration")), "rx_global_pause_transition",
    "rx_pause_ctrl_phy", "tx_pause_ctrl_phy", "tx_pause_storm_warning_events", "tx_pause_storm_error_events", "rx_discards_phy",
    "tx_discards_phy", "rx_out_of_buffer", "outbound_pci_stalled_rd", "outbound_pci_stalled_wr", "outbound_pci_stalled_rd_events",
    "outbound_pci_stalled_wr_events", "outbound_pci_buffer_overflow", "rx_pci_signal_integrity", "tx_pci_signal_integrity",
    "rx_corrected_bits_phy", "rx_pcs_symbol_err_phy", "rx_bits_phy", *(f"rx_err_lane_{lane}_phy" for lane in range(8)),
    "link_down_events_phy", "module_unplug", "module_bus_stuck", "module_high_temp", "module_bad_shorted", "rx_crc_errors_phy",
    "rx_symbol_err_phy", "tx_errors_phy", "rx_buffer_passed_thres_phy", "rx_bytes_phy", "tx_bytes_phy", "rx_packets_phy",
    "tx_packets_phy", "dev_out_of_buffer", "rx_steer_missed_packets", "rx_in_range_len_errors_phy", "rx_out_of_range_len_phy",
    "rx_oversize_pkts_phy", "rx_undersize_pkts_phy", "rx_fragments_phy", "rx_jabbers_phy", "rx_unsupported_op_phy",
)  # fmt: skip
"""Port, priority, PHY and device counters of Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst."""


def _left_out(driver: str, name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in LEFT_OUT.get(driver, {}))


def test_every_mlx5_counter_of_port_priority_phy_and_pcie_has_a_row() -> None:
    """None of them is left out: together they are the pause, loss, ECN, PHY and PCIe picture of a RoCE port."""
    assert [name for name in MLX5 if target_of("mlx5_core", name) is None] == []


def test_no_two_mlx5_counters_share_a_series() -> None:
    """The second would be lost without a word."""
    series = [target.series for name in MLX5 if (target := target_of("mlx5_core", name)) is not None]

    assert len(series) == len(set(series))


@pytest.mark.parametrize("dump", ["mlx5-roce-pfc-prio3", "mlx5-no-pfc", "bnxt-roce-pfc"])
def test_every_statistic_of_a_dump_is_shown_or_left_out_for_a_reason(dump: str) -> None:
    """A name that nobody looked at must not pass in silence."""
    driver = "mlx5_core" if dump.startswith("mlx5") else "bnxt_en"
    lines = (need_data() / "rewritten" / "ethtool" / f"{dump}.txt").read_text(encoding="utf-8").splitlines()[1:]
    names = [line.strip().rpartition(": ")[0] for line in lines]

    assert [name for name in names if target_of(driver, name) is None and not _left_out(driver, name)] == []


@pytest.mark.parametrize("driver", LEFT_OUT)
def test_what_is_left_out_is_not_shown(driver: str) -> None:
    """A reason for leaving out what is shown would be a lie. Names of a family's events stand for what is shown."""
    shown = [name for name in ETHERNET_EVENTS if target_of(driver, name) is not None]

    assert [name for name in shown if _left_out(driver, name)] == []


@pytest.mark.parametrize(
    "name", ["rx_packets", "[0]: rx_discards", "rx0_packets", "queue_0_tx_cnt", "rx_prio8_pause", "rx_prio3_pause_x", ""]
)
def test_what_nobody_documents_is_not_shown(name: str) -> None:
    """Whole names only: a ring's counter is not the port's, and there is no priority 8."""
    assert [driver for driver in FAMILIES if target_of(driver, name) is not None] == []


def test_a_driver_without_a_table_shows_nothing() -> None:
    """The same name may mean anything there."""
    assert target_of("e1000e", "rx_discards_phy") is None


def test_directions_are_the_house_s_words() -> None:
    """Always transmit and receive; the NIC reads from the host what it will send."""
    received, read = target_of("mlx5_core", "rx_prio3_pause_duration"), target_of("mlx5_core", "outbound_pci_stalled_rd")

    assert received is not None
    assert read is not None
    assert received.series == ("eth_pause_seconds", "receive", "3")
    assert read.series == (PCI_STALLED.key, "transmit")


def test_every_rule_fills_the_labels_of_its_row() -> None:
    """As many values as the row has labels of its own."""
    rules = [rule for family in FAMILIES.values() for rule in family]

    assert [rule for rule in rules if len(rule.labels) != len(rule.row.own_labels)] == []
    assert {rule.row.key for rule in rules} <= set(CATALOGUE)


def test_no_driver_s_event_has_the_name_of_a_kernel_s() -> None:
    """Both stand under one label: the second would overwrite the first."""
    tables = [KERNEL_EVENTS, MLX5_EVENTS, BNXT_EVENTS, ICE_EVENTS, CLOUD_EVENTS]

    assert sum(map(len, tables)) == len(ETHERNET_EVENTS)


def test_every_event_that_a_driver_can_show_is_explained() -> None:
    """The label's values are a closed set."""
    events = [
        name for driver in FAMILIES for name in ETHERNET_EVENTS if (t := target_of(driver, name)) and metric_key(t.series) == EVENTS.key
    ]

    assert set(events) | set(KERNEL_EVENTS) == set(ETHERNET_EVENTS)
    assert [event for event in ETHERNET_EVENTS.values() if not event.help.endswith(".")] == []
