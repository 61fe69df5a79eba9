"""Rows of Ethernet ports: what /sys/class/net and a driver's ethtool statistics add to a RoCE port, and all of a NIC without RDMA.

Data, no behaviour. A RoCE port's rows carry its RDMA device's `device` and `port`, so that they join `fabric_infiniband_*`; only a NIC
without an RDMA device carries its own name. `raw` is a path below class/net/<interface>/, or `ethtool` and names of statistics. Which
driver's statistic feeds which row: ethtool_names.py; what an event means: ethernet_events.py.
"""

from exporter.model.metric import Cadence, Kind, Metric, Role, Tier, Unit
from exporter.model.quantity import BYTES_PER_S_PER_MBIT

PORT = ("device", "port")
NAME = "fabric_ethernet_"
NO_STATISTIC = "the driver has no such statistic"
NO_PRIORITY = "the driver has no such statistic; mlx5 shows it only for priorities with PFC on, so missing is not zero"


def _counter(key: str, name: str, labels: tuple[str, ...], raw: str, help_text: str, tier: Tier = Tier.STANDARD, role: Role | None = None,
             unit: Unit = Unit.COUNT, absent: str = NO_STATISTIC) -> Metric:  # fmt: skip
    return Metric("eth_" + key, f"{NAME}{name}_total", Kind.COUNTER, unit, (*PORT, *labels), help_text, tier, raw, 1, role,
                  Cadence.NORMAL, absent)  # fmt: skip


CARRIER = Metric("eth_carrier", NAME + "carrier", Kind.GAUGE, Unit.COUNT, PORT,
    "1 if the interface has carrier, 0 if it has none or is switched off.", Tier.BASIC, "operstate", 1, Role.CARRIER,
    Cadence.NORMAL, "the file could not be read or holds no state that the kernel documents")  # fmt: skip
SPEED = Metric("eth_speed", NAME + "speed_bytes_per_second", Kind.GAUGE, Unit.BYTES_PER_SECOND, PORT,
    "Bytes per second one direction can carry, by the interface's driver.", Tier.BASIC, "speed", BYTES_PER_S_PER_MBIT, Role.SPEED,
    Cadence.NORMAL, "the interface has no carrier, or its driver does not know (virtual NICs)")  # fmt: skip
CARRIER_CHANGES = _counter("carrier_changes", "carrier_changes", (), "carrier_changes",
    "Times the interface won or lost carrier.", Tier.BASIC, Role.CARRIER_CHANGES, absent="the file could not be read")  # fmt: skip
CARRIER_DOWNS = _counter("carrier_downs", "carrier_downs", (), "carrier_down_count",
    "Times the interface lost carrier.", role=Role.CARRIER_DOWNS, absent="kernel before 4.16")  # fmt: skip

TRANSMITTED = _counter("transmitted_bytes", "transmitted_bytes", (), "statistics/tx_bytes",
    "Bytes sent by the interface of a NIC without an RDMA device.", Tier.BASIC, Role.TX_BYTES, Unit.BYTES,
    "the port is an RDMA device's: RDMA traffic bypasses this counter")  # fmt: skip
RECEIVED = _counter("received_bytes", "received_bytes", (), "statistics/rx_bytes",
    "Bytes received by the interface of a NIC without an RDMA device.", Tier.BASIC, Role.RX_BYTES, Unit.BYTES,
    "the port is an RDMA device's: RDMA traffic bypasses this counter")  # fmt: skip
PACKETS_TRANSMITTED = _counter("transmitted_packets", "transmitted_packets", (), "statistics/tx_packets",
    "Packets sent by the interface of a NIC without an RDMA device.", role=Role.TX_PACKETS,
    absent="the port is an RDMA device's: RDMA traffic bypasses this counter")  # fmt: skip
PACKETS_RECEIVED = _counter("received_packets", "received_packets", (), "statistics/rx_packets",
    "Packets received by the interface of a NIC without an RDMA device.", role=Role.RX_PACKETS,
    absent="the port is an RDMA device's: RDMA traffic bypasses this counter")  # fmt: skip

PAUSE_SECONDS = _counter("pause_seconds", "pause_seconds", ("direction", "priority"), "ethtool *_pause_duration",
    "Time in pause: receive, the network held this port back; transmit, this port held the network back. "
    "Priority 0 to 7, or global (802.3x).",
    role=Role.PAUSE, unit=Unit.SECONDS, absent=NO_PRIORITY)  # fmt: skip
PAUSE_FRAMES = _counter("pause_frames", "pause_frames", ("direction", "priority"), "ethtool *_pause",
    "Pause frames by direction and priority; global are 802.3x frames.", role=Role.PAUSE_FRAMES, absent=NO_PRIORITY)  # fmt: skip
PAUSE_TRANSITIONS = _counter("pause_transitions", "pause_transitions", ("direction", "priority"), "ethtool *_pause_transition",
    "Times a pause ended (XOFF to XON).", Tier.FULL, absent=NO_PRIORITY)  # fmt: skip
PRIORITY_DISCARDS = _counter("priority_discards", "priority_discards", ("priority", "kind"), "ethtool rx_prio*_discard*",
    "Packets received and dropped by priority: discards and buf_discard for lack of buffers, cong_discard for a congested host. "
    "On a lossless priority each is a fault.", role=Role.DISCARDS)  # fmt: skip
HOST_ECN_MARKED = _counter("host_ecn_marked", "host_ecn_marked_packets", ("priority",), "ethtool rx_prio*_marked",
    "Packets that the NIC itself marked with ECN because its host was congested; marks of the network are "
    "fabric_infiniband_hw_events_total{event=\"np_ecn_marked_roce_packets\"}.", role=Role.HOST_ECN_MARKED)  # fmt: skip
PRIORITY_BYTES = _counter("priority_bytes", "priority_bytes", ("direction", "priority"), "ethtool *_prio*_bytes",
    "Bytes on the wire by direction and priority, RDMA included.", Tier.FULL, unit=Unit.BYTES)  # fmt: skip
PRIORITY_PACKETS = _counter("priority_packets", "priority_packets", ("direction", "priority"), "ethtool *_prio*_packets",
    "Packets on the wire by direction and priority, RDMA included.", Tier.FULL)  # fmt: skip
WIRE_BYTES = _counter("wire_bytes", "wire_bytes", ("direction",), "ethtool *_bytes_phy",
    "Bytes on the wire of the physical port, RDMA and all its functions included.", Tier.FULL, unit=Unit.BYTES)  # fmt: skip
WIRE_PACKETS = _counter("wire_packets", "wire_packets", ("direction",), "ethtool *_packets_phy",
    "Packets on the wire of the physical port, RDMA and all its functions included.", Tier.FULL)  # fmt: skip

LINE_CAPACITY = _counter("line_capacity", "line_capacity_bytes", (), "ethtool rx_bits_phy",
    "Bytes the line could have brought since the counters began; divide bit errors by eight times this.", role=Role.LINE_CAPACITY,
    unit=Unit.BYTES)  # fmt: skip
CORRECTED_BITS = _counter("corrected_bit_errors", "corrected_bit_errors", (), "ethtool rx_corrected_bits_phy",
    "Bits received in error that FEC mended: the line's raw quality.", role=Role.CORRECTED_BITS)  # fmt: skip
SYMBOL_ERRORS = _counter("symbol_errors", "symbol_errors", (), "ethtool rx_pcs_symbol_err_phy",
    "Symbols received in error that FEC could not mend: traffic is lost.", role=Role.SYMBOL_ERRORS)  # fmt: skip
LANE_ERRORS = _counter("lane_errors", "lane_bit_errors", ("lane",), "ethtool rx_err_lane_*_phy",
    "Raw errors of one lane before FEC: one lane alone points to a connector or transceiver.", Tier.FULL)  # fmt: skip
PCI_STALLED = Metric("eth_pci_stalled", NAME + "pci_stalled_ratio", Kind.GAUGE, Unit.RATIO, (*PORT, "direction"),
    "Share of the last second in which the NIC waited for PCIe: transmit, to read what it should send; receive, to write what came.",
    Tier.STANDARD, "ethtool outbound_pci_stalled_*", 1, Role.HOST_STALL, Cadence.NORMAL, NO_STATISTIC)  # fmt: skip

EVENTS = _counter("events", "events", ("event",), "statistics/*, ethtool",
    "Errors and events by the driver's own name; rx_errors and its kin are the kernel's (known events: see the reference).")  # fmt: skip
INFO = Metric("eth_info", NAME + "info", Kind.INFO, Unit.COUNT, (*PORT, "netdev", "driver", "pci", "numa_node", "mtu", "bond", "is_vf"),
    "Where the interface sits; value is always 1. A label is empty where it cannot be known.", Tier.BASIC, "device/ mtu master", 1, None,
    Cadence.SLOW, "the interface could not be read")  # fmt: skip

FILES = {row.raw: row for row in (CARRIER_CHANGES, CARRIER_DOWNS)}
"""Path below class/net/<interface>/ → row, for every Ethernet port."""
TRAFFIC_FILES = {row.raw: row for row in (TRANSMITTED, RECEIVED, PACKETS_TRANSMITTED, PACKETS_RECEIVED)}
"""The same for NICs without an RDMA device only: of a RoCE port these count next to nothing (wentbackward/nv-monitor#41)."""

ROWS = (CARRIER, SPEED, CARRIER_CHANGES, CARRIER_DOWNS, TRANSMITTED, RECEIVED, PACKETS_TRANSMITTED, PACKETS_RECEIVED, PAUSE_SECONDS,
        PAUSE_FRAMES, PAUSE_TRANSITIONS, PRIORITY_DISCARDS, HOST_ECN_MARKED, PRIORITY_BYTES, PRIORITY_PACKETS, WIRE_BYTES,
        WIRE_PACKETS, LINE_CAPACITY, CORRECTED_BITS, SYMBOL_ERRORS, LANE_ERRORS, PCI_STALLED, EVENTS, INFO)  # fmt: skip
