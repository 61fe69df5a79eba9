"""Rows of InfiniBand and RoCE ports as /sys/class/infiniband shows them. Data, no behaviour.

Names and numbers follow node_exporter's infiniband collector with `fabric_` for `node_` wherever it has one, so a board moves by a
prefix. Widths and meanings: torvalds/linux drivers/infiniband/core/sysfs.c and Documentation/ABI/stable/sysfs-class-infiniband.
`raw` is the path below ports/<n>/ (or below the device for rows without a port).
"""

from collections.abc import Mapping

from exporter.model.metric import Cadence, Kind, Metric, Role, Tier, Unit
from exporter.model.quantity import BYTES_PER_IB_WORD, SECONDS_PER_MS, clamp_of

PORT = ("device", "port")
NAME = "fabric_infiniband_"
DRIVER_LACKS = "the driver has no such file, or refuses to read it"
BELIEVED = "absent unless the port is ACTIVE and LinkUp: a port that is down reports a default rate (linux-rdma/rdma-core#847)"


def _state(key: str, name: str, file: str, role: Role, help_text: str) -> Metric:
    return Metric(key, NAME + name, Kind.GAUGE, Unit.STATE, PORT, help_text, Tier.BASIC, file, 1, role, Cadence.FAST,
                  "the file could not be read or holds neither a number nor a state the kernel documents")  # fmt: skip


STATE = _state("ib_state", "state_id", "state", Role.STATE,
    "Logical port state (0 no change, 1 down, 2 init, 3 armed, 4 active, 5 active deferred).")  # fmt: skip
PHYSICAL_STATE = _state("ib_physical_state", "physical_state_id", "phys_state", Role.PHYSICAL_STATE,
    "Physical port state (0 no change, 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 error recovery, 7 phy test).")  # fmt: skip


def _rate(key: str, name: str, unit: Unit, tier: Tier, help_text: str, absent: str, role: Role | None = None) -> Metric:
    return Metric(key, NAME + name, Kind.GAUGE, unit, PORT, help_text, tier, "rate", 1, role, Cadence.FAST, absent)


RATE = _rate("ib_rate", "rate_bytes_per_second", Unit.BYTES_PER_SECOND, Tier.BASIC,
    "Rate the port prints, in bytes per second, whatever its state; a port that is down prints a default here.",
    "the file could not be read or holds no rate")  # fmt: skip
DATA_RATE = _rate("ib_data_rate", "data_rate_bytes_per_second", Unit.BYTES_PER_SECOND, Tier.STANDARD,
    "Data bytes per second the link can carry: the printed rate less line coding (8b/10b up to QDR, 64b/66b at FDR).", BELIEVED,
    Role.CAPACITY)  # fmt: skip
WIDTH = _rate("ib_width", "width_lanes", Unit.LANES, Tier.STANDARD, "Lanes the link trained with.", BELIEVED, Role.WIDTH)
LANE_RATE = _rate("ib_lane_rate", "lane_rate_bytes_per_second", Unit.BYTES_PER_SECOND, Tier.STANDARD,
    "Printed rate of one lane: falls when speed falls back, unlike the width when a lane is lost.", BELIEVED, Role.LANE_RATE)  # fmt: skip


def _counter(key: str, name: str, file: str, help_text: str, tier: Tier = Tier.STANDARD, role: Role | None = None,
             cadence: Cadence = Cadence.NORMAL) -> Metric:  # fmt: skip
    return Metric("ib_" + key, f"{NAME}{name}_total", Kind.COUNTER, Unit.COUNT, PORT, help_text, tier, file, 1, role, cadence,
                  DRIVER_LACKS)  # fmt: skip


def _data(key: str, name: str, file: str, help_text: str, tier: Tier, role: Role) -> Metric:
    return Metric("ib_" + key, f"{NAME}{name}_bytes_total", Kind.COUNTER, Unit.BYTES, PORT, help_text, tier, file,
                  BYTES_PER_IB_WORD, role, Cadence.FAST, DRIVER_LACKS)  # fmt: skip


TRANSMITTED = _data("data_transmitted", "port_data_transmitted", "counters/port_xmit_data",
    "Data bytes sent by the port on all virtual lanes (the file counts 4-byte words).", Tier.BASIC, Role.TX_BYTES)  # fmt: skip
RECEIVED = _data("data_received", "port_data_received", "counters/port_rcv_data",
    "Data bytes received by the port on all virtual lanes (the file counts 4-byte words).", Tier.BASIC, Role.RX_BYTES)  # fmt: skip
TRANSMIT_WAIT = _counter("transmit_wait", "port_transmit_wait", "counters/port_xmit_wait",
    "Ticks in which the port had data to send and sent none, for lack of credits or of arbitration; 32 bit, clamps at 4294967295.",
    Tier.BASIC, Role.STALL, Cadence.FAST)  # fmt: skip

ERRORS = (
    _counter("symbol_error", "symbol_error", "counters/symbol_error",
             "Minor errors on one or more lanes (after FEC on EDR and later).", role=Role.SYMBOL_ERRORS),
    _counter("link_error_recovery", "link_error_recovery", "counters/link_error_recovery",
             "Times the link recovered from an error state by retraining.", role=Role.RECOVERIES),
    _counter("link_downed", "link_downed", "counters/link_downed",
             "Times the link failed to recover from an error state and went down.", role=Role.LINK_DOWNS),
    _counter("errors_received", "port_errors_received", "counters/port_rcv_errors",
             "Packets received with an error (bad CRC, malformed, overrun).", role=Role.ERRORS),
    _counter("remote_physical_errors", "port_receive_remote_physical_errors", "counters/port_rcv_remote_physical_errors",
             "Packets received that an upstream port had marked bad: the fault lies farther away.", role=Role.REMOTE_ERRORS),
    _counter("switch_relay_errors", "port_receive_switch_relay_errors", "counters/port_rcv_switch_relay_errors",
             "Packets a switch could not relay; on an HCA usually multicast loops."),
    _counter("discards_transmitted", "port_discards_transmitted", "counters/port_xmit_discards",
             "Packets to send that the port discarded because it was down or congested.", role=Role.DISCARDS),
    _counter("discards_received", "port_discards_received", "counters/port_rcv_discards",
             "Received packets that the port discarded because it was down or congested (few drivers have it)."),
    _counter("constraint_errors_transmitted", "port_constraint_errors_transmitted", "counters/port_xmit_constraint_errors",
             "Packets not sent because of a partition key or raw filter rule."),
    _counter("constraint_errors_received", "port_constraint_errors_received", "counters/port_rcv_constraint_errors",
             "Packets received and dropped because of a partition key or raw filter rule."),
    _counter("local_link_integrity_errors", "local_link_integrity_errors", "counters/local_link_integrity_errors",
             "Times local physical errors exceeded their threshold.", role=Role.ERRORS),
    _counter("excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors", "counters/excessive_buffer_overrun_errors",
             "Times buffer overruns persisted over consecutive flow control periods.", role=Role.OVERRUNS),
    _counter("vl15_dropped", "vl15_dropped", "counters/VL15_dropped",
             "Incoming management (VL15) packets dropped for lack of resources."),
)  # fmt: skip

PACKETS = (
    _counter("packets_transmitted", "port_packets_transmitted", "counters/port_xmit_packets",
             "Packets sent on all virtual lanes, bad ones included.", role=Role.TX_PACKETS),
    _counter("packets_received", "port_packets_received", "counters/port_rcv_packets",
             "Packets received on all virtual lanes, bad ones included.", role=Role.RX_PACKETS),
    _counter("unicast_packets_transmitted", "unicast_packets_transmitted", "counters/unicast_xmit_packets",
             "Unicast packets sent, bad ones included.", Tier.FULL),
    _counter("unicast_packets_received", "unicast_packets_received", "counters/unicast_rcv_packets",
             "Unicast packets received, bad ones included.", Tier.FULL),
    _counter("multicast_packets_transmitted", "multicast_packets_transmitted", "counters/multicast_xmit_packets",
             "Multicast packets sent, bad ones included.", Tier.FULL),
    _counter("multicast_packets_received", "multicast_packets_received", "counters/multicast_rcv_packets",
             "Multicast packets received, bad ones included.", Tier.FULL),
)  # fmt: skip

LEGACY_TRANSMITTED = _data("legacy_data_transmitted", "legacy_data_transmitted", "counters_ext/port_xmit_data_64",
    "Data bytes sent, from the 64-bit counter that kernels before 4.5 keep apart.", Tier.BASIC, Role.TX_BYTES_64)  # fmt: skip
LEGACY_RECEIVED = _data("legacy_data_received", "legacy_data_received", "counters_ext/port_rcv_data_64",
    "Data bytes received, from the 64-bit counter that kernels before 4.5 keep apart.", Tier.BASIC, Role.RX_BYTES_64)  # fmt: skip
LEGACY_PACKETS = (
    _counter("legacy_packets_transmitted", "legacy_packets_transmitted", "counters_ext/port_xmit_packets_64",
             "Packets sent, from the 64-bit counter that kernels before 4.5 keep apart."),
    _counter("legacy_packets_received", "legacy_packets_received", "counters_ext/port_rcv_packets_64",
             "Packets received, from the 64-bit counter that kernels before 4.5 keep apart."),
    _counter("legacy_unicast_packets_transmitted", "legacy_unicast_packets_transmitted", "counters_ext/port_unicast_xmit_packets",
             "Unicast packets sent, from the counter that kernels before 4.5 keep apart.", Tier.FULL),
    _counter("legacy_unicast_packets_received", "legacy_unicast_packets_received", "counters_ext/port_unicast_rcv_packets",
             "Unicast packets received, from the counter that kernels before 4.5 keep apart.", Tier.FULL),
    _counter("legacy_multicast_packets_transmitted", "legacy_multicast_packets_transmitted",
             "counters_ext/port_multicast_xmit_packets",
             "Multicast packets sent, from the counter that kernels before 4.5 keep apart.", Tier.FULL),
    _counter("legacy_multicast_packets_received", "legacy_multicast_packets_received", "counters_ext/port_multicast_rcv_packets",
             "Multicast packets received, from the counter that kernels before 4.5 keep apart.", Tier.FULL),
)  # fmt: skip

PORT_COUNTERS = (TRANSMITTED, RECEIVED, TRANSMIT_WAIT, *ERRORS, *PACKETS, LEGACY_TRANSMITTED, LEGACY_RECEIVED, *LEGACY_PACKETS)
"""Every row that is one number in one file of counters/ or counters_ext/."""

CLAMPS: Mapping[str, int] = {
    "symbol_error": clamp_of(16), "link_error_recovery": clamp_of(8), "link_downed": clamp_of(8), "port_rcv_errors": clamp_of(16),
    "port_rcv_remote_physical_errors": clamp_of(16), "port_rcv_switch_relay_errors": clamp_of(16),
    "port_xmit_discards": clamp_of(16), "port_rcv_discards": clamp_of(16), "port_xmit_constraint_errors": clamp_of(8),
    "port_rcv_constraint_errors": clamp_of(8), "local_link_integrity_errors": clamp_of(4),
    "excessive_buffer_overrun_errors": clamp_of(4), "VL15_dropped": clamp_of(16), "port_xmit_wait": clamp_of(32),
}  # fmt: skip
"""File in counters/ → raw value at which it stops counting (IBTA PMA; seen live on H100 nodes: leptonai/gpud#943)."""

CLAMPS_32: Mapping[str, int] = dict.fromkeys(("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets"), clamp_of(32))
"""The same for drivers whose plain PMA table has these as 32 bit: told by the missing unicast_* files beside them."""

SATURATED = Metric("ib_saturated", NAME + "saturated", Kind.GAUGE, Unit.COUNT, (*PORT, "field"),
    "1 while this counter stands at its ceiling: it stopped counting and says nothing about now until someone clears it.",
    Tier.STANDARD, "", 1, Role.SATURATED, Cadence.NORMAL, "the counter still counts")  # fmt: skip
COUNTERS_VISIBLE = Metric("ib_counters_visible", NAME + "counters_visible", Kind.GAUGE, Unit.COUNT, PORT,
    "0 if the port shows neither counters nor hw_counters, as a device seen from outside the host's network namespace does.",
    Tier.STANDARD, cadence=Cadence.SLOW, absent="the port's folder could not be listed")  # fmt: skip

HW_EVENTS = Metric("ib_hw_events", NAME + "hw_events_total", Kind.COUNTER, Unit.COUNT, (*PORT, "event"),
    "Driver counters of the port by the driver's own name (known events: see the reference).", Tier.STANDARD, "hw_counters/*",
    absent=DRIVER_LACKS)  # fmt: skip
HW_BYTES = Metric("ib_hw_bytes", NAME + "hw_bytes_total", Kind.COUNTER, Unit.BYTES, (*PORT, "direction"),
    "Bytes the RDMA device moved, for drivers that count them only in hw_counters (EFA, bnxt_re).", Tier.STANDARD,
    "hw_counters/{tx,rx}_bytes", absent=DRIVER_LACKS)  # fmt: skip
HW_OPERATION_BYTES = Metric("ib_hw_operation_bytes", NAME + "hw_operation_bytes_total", Kind.COUNTER, Unit.BYTES,
    (*PORT, "operation"), "Bytes by kind of operation, by the driver's own name (EFA rdma_read, irdma ip4InOctets).", Tier.FULL,
    "hw_counters/*_bytes, hw_counters/*Octets", absent=DRIVER_LACKS)  # fmt: skip
HW_LEVELS = Metric("ib_hw_levels", NAME + "hw_level", Kind.GAUGE, Unit.COUNT, (*PORT, "name"),
    "Driver numbers that go up and down, by the driver's own name (bnxt_re active_qps).", Tier.FULL, "hw_counters/active_*",
    absent=DRIVER_LACKS)  # fmt: skip
HW_LIFESPAN = Metric("ib_hw_lifespan", NAME + "hw_counters_lifespan_seconds", Kind.GAUGE, Unit.SECONDS, PORT,
    "How long the driver may answer hw_counters from its cache; a setting, not a counter.", Tier.FULL, "hw_counters/lifespan",
    SECONDS_PER_MS, cadence=Cadence.NORMAL, absent=DRIVER_LACKS)  # fmt: skip
DEVICE_HW_EVENTS = Metric("ib_device_hw_events", NAME + "device_hw_events_total", Kind.COUNTER, Unit.COUNT, ("device", "event"),
    "Driver counters of the whole device by the driver's own name (EFA admin commands).", Tier.FULL, "hw_counters/*",
    absent=DRIVER_LACKS)  # fmt: skip

DEVICE_INFO = Metric("ib_info", NAME + "info", Kind.INFO, Unit.COUNT, ("device", "board_id", "firmware_version", "hca_type"),
    "Text facts of the device; value is always 1. A label is empty where the driver lacks the file.", Tier.STANDARD,
    "board_id fw_ver hca_type", cadence=Cadence.SLOW, absent="the device could not be read")  # fmt: skip
PORT_INFO = Metric("ib_port_info", NAME + "port_info", Kind.INFO, Unit.COUNT,
    (*PORT, "pci", "numa_node", "netdev", "driver", "link_layer", "is_vf", "gpu", "rail", "role"),
    "Where the port sits; value is always 1. A label is empty where it cannot be known.", Tier.BASIC,
    "link_layer device/", cadence=Cadence.SLOW, absent="the port could not be read")  # fmt: skip
EXCLUDED_INFO = Metric("ib_excluded", NAME + "excluded_info", Kind.INFO, Unit.COUNT, ("device", "reason"),
    "A device left alone on purpose: limited_pf (Fabric Manager owns it; reading its counters spams the kernel log) or configuration.",
    Tier.STANDARD, "device/vpd", cadence=Cadence.NORMAL, absent="no device is left alone")  # fmt: skip

ROWS = (STATE, PHYSICAL_STATE, RATE, DATA_RATE, WIDTH, LANE_RATE, *PORT_COUNTERS, SATURATED, COUNTERS_VISIBLE, HW_EVENTS, HW_BYTES,
        HW_OPERATION_BYTES, HW_LEVELS, HW_LIFESPAN, DEVICE_HW_EVENTS, DEVICE_INFO, PORT_INFO, EXCLUDED_INFO)  # fmt: skip
