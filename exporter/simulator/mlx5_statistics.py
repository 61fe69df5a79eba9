"""What `ethtool -S` says of a simulated ConnectX port on Ethernet: PFC on priority 3 alone, wire and PHY counters, PCIe stalls.

Names: torvalds/linux Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst. Pure: totals and time → numbers and text.
"""

from collections.abc import Iterable, Iterator

from exporter.simulator.hcas import Hca
from exporter.simulator.traffic import NS_PER_S, PortTotals
from exporter.simulator.tree_ethtool import FOLDER

LOSSLESS = 3
"""The one priority with PFC, as RoCE clusters have it: mlx5 shows pause counters of priorities with PFC only."""
_PACKETS_PER_PAUSE = 1_000_000
_PAUSE_US = 8
"""Each pause of a healthy fabric is short: 400 Gb/s fill 400 kB of a switch's buffer in as long."""
_BITS_PER_CORRECTION = 100_000_000
"""A raw bit error ratio of 1e-8: FEC of 400 Gb/s links mends up to about 2e-4."""
_HEADER_BYTES = 62
"""Ethernet, IPv4, UDP and base transport headers, ICRC and FCS of a RoCE v2 packet."""
_QUIET = (
    "tx_discards_phy", "tx_errors_phy", "rx_crc_errors_phy", "rx_symbol_err_phy", "rx_discards_phy", "rx_out_of_buffer",
    "rx_pcs_symbol_err_phy", "rx_pause_ctrl_phy", "tx_pause_ctrl_phy", "rx_buffer_passed_thres_phy", "tx_pause_storm_warning_events",
    "tx_pause_storm_error_events", "link_down_events_phy", "module_unplug", "module_bus_stuck", "module_high_temp",
    "module_bad_shorted", "rx_pci_signal_integrity", "tx_pci_signal_integrity", "outbound_pci_stalled_rd", "outbound_pci_stalled_wr",
    "outbound_pci_stalled_rd_events", "outbound_pci_stalled_wr_events", "outbound_pci_buffer_overflow",
)  # fmt: skip
"""Statistics that stay 0 on a healthy port."""


def statistics_path(hca: Hca) -> str:
    """The file that stands for the ioctl (tree_ethtool.py)."""
    return f"{FOLDER}/{hca.netdev}/statistics"


def statistics_text(numbers: Iterable[tuple[str, int]]) -> bytes:
    """The whole file with these numbers."""
    lines = [f"     {name}: {number}\n" for name, number in numbers]
    return ("NIC statistics:\n" + "".join(lines)).encode()


def statistics(hca: Hca, totals: PortTotals, elapsed_s: float) -> Iterator[tuple[str, int]]:
    """Each statistic of a healthy port after `elapsed_s` of virtual time, in the driver's order."""
    sides = (
        ("rx", totals.received_packets, totals.received_bytes, totals.transmitted_packets),
        ("tx", totals.transmitted_packets, totals.transmitted_bytes, totals.received_packets),
    )
    bits = 8 * hca.line_bytes_per_s * round(elapsed_s * NS_PER_S) // NS_PER_S
    for side, packets, data, held_back in sides:
        wire = data + packets * _HEADER_BYTES
        yield f"{side}_packets_phy", packets
        yield f"{side}_bytes_phy", wire
        for priority in range(8):
            yield f"{side}_prio{priority}_bytes", wire if priority == LOSSLESS else 0
            yield f"{side}_prio{priority}_packets", packets if priority == LOSSLESS else 0
        pauses = held_back // _PACKETS_PER_PAUSE  # a pause that comes in holds back what goes out
        yield f"{side}_prio{LOSSLESS}_pause", 2 * pauses
        yield f"{side}_prio{LOSSLESS}_pause_duration", _PAUSE_US * pauses
        if side == "rx":
            yield f"rx_prio{LOSSLESS}_pause_transition", pauses
    yield from ((f"rx_prio{priority}_discards", 0) for priority in range(8))
    yield "rx_bits_phy", bits
    yield "rx_corrected_bits_phy", bits // _BITS_PER_CORRECTION
    for lane in range(4):
        yield f"rx_err_lane_{lane}_phy", bits // _BITS_PER_CORRECTION // 4
    yield from ((name, 0) for name in _QUIET)
