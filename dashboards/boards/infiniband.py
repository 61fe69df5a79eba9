"""InfiniBand and RoCE ports: state and rate, load and congestion, errors, what Ethernet adds to RoCE, and the rails side by side."""

from dashboards import units
from dashboards.blind import what_a_node_cannot_see
from dashboards.board import DEVICES, Board, Section
from dashboards.panels import heatmap, stat, state_timeline, timeseries
from dashboards.promql import HOUR, buckets, growth, highest_ever, lowest_ever, rate, value
from dashboards.sick import NO_FAULT, SHOWN_MOST
from dashboards.tables import Column, Label, table
from dashboards.variables import NODES, POOL, RDMA
from dashboards.ways import INFINIBAND as UID
from dashboards.ways import TO_NODE, TO_NODE_OF_SERIES
from dashboards.words import BLUE, ORANGE, RED, STATES, YELLOW
from exporter.catalog import CATALOGUE, ethernet, infiniband, signals
from exporter.catalog.hw_events import HW_EVENTS_KNOWN
from exporter.model.metric import Metric, Role

PORT = ("node", "device", "port")
RDMA_FABRICS = "~infiniband|roce"
ACTIVE = 4
"""Value of infiniband.STATE of a port that works."""
NO_ROCE = "there is no RoCE port, or its driver has no such statistic"
NO_BURSTS = "the burst sampler is off"
MOST = 20
"""Lines of a chart, at most: the greatest at each moment."""
AT_DEVICE = {"node": Label(width=160), "device": Label(width=100)}
AT = {**AT_DEVICE, "port": Label(width=70)}
"""Where a row of a table is."""
NORMAL_EVENTS = ("rx_write_requests", "rx_read_requests", "rx_atomic_requests", "rx_dct_connect", "tx_pkts", "rx_pkts",
                 "req_cqe_flush_error", "resp_cqe_flush_error", "iwRdmaInv")  # fmt: skip
"""Events of traffic and of a queue's normal end."""
LINK_ERRORS = ("ib_symbol_error", "ib_link_error_recovery", "ib_link_downed", "ib_errors_received", "ib_local_link_integrity_errors",
               "ib_excessive_buffer_overrun_errors", "ib_discards_transmitted")  # fmt: skip
"""Keys of the counters that speak of the cable or of the port's buffers."""


def _events(role: Role) -> str:
    """Pattern of the drivers' names of events of that role."""
    return "~" + "|".join(name for name, event in HW_EVENTS_KNOWN.items() if event.role is role)


def _named(row: Metric) -> str:
    return row.name.removeprefix(infiniband.NAME).removesuffix("_total").replace("_", " ")


_ODD_EVENTS = growth(infiniband.HW_EVENTS, event="!~" + "|".join(NORMAL_EVENTS))
_NOT_ALWAYS = lowest_ever(infiniband.STATE).min_by(*PORT).only(f"< {ACTIVE}", NO_FAULT)
_WANTED = (highest_ever(infiniband.STATE).max_by(*PORT).only(f">= {ACTIVE}", NO_FAULT)
           .or_else(highest_ever(signals.HEALTH, fabric=RDMA_FABRICS).max_by(*PORT).only("> 0", NO_FAULT), *PORT))  # fmt: skip
_LOST = _NOT_ALWAYS.where_also(_WANTED, *PORT).bottom(SHOWN_MOST)
"""Ports that were not active at some moment and were at another, or whose health says that they should have been."""
_BELOW = value(signals.CAPACITY, fabric=RDMA_FABRICS).min_by(*PORT).only("< 0.99", NO_FAULT)
NOW = Section(
    "Ports now",
    (
        stat("Ports", "Ports of RDMA devices.", value(infiniband.STATE).count_by(), color=BLUE),
        stat("Ports not active", "Ports in any state but active, those that nobody expects to be up included.",
             value(infiniband.STATE).whether(f"< {ACTIVE}").sum_by(), steps=((1, YELLOW),)),
        stat("Ports below their rate", "Ports whose speed times width is less than expected.",
             value(signals.CAPACITY, fabric=RDMA_FABRICS).whether("< 0.99").sum_by(), steps=((1, ORANGE),)),
        stat("Links down within the hour", "Times any port went down.", growth(signals.FLAPS, HOUR, fabric=RDMA_FABRICS).sum_by(),
             steps=((1, ORANGE),)),
        stat("Broken within the hour", "Connections whose requests ran out of retries.",
             growth(signals.RETRIES_EXCEEDED, HOUR, fabric=RDMA_FABRICS).sum_by(), steps=((1, RED),)),
        stat("Counters at their ceiling", "Counters that stopped counting; somebody must clear them.",
             value(infiniband.SATURATED).count_by().sometimes("every counter still counts"), none="none", steps=((1, YELLOW),)),
        state_timeline("Ports that were not active", "State of each port that was not active at some moment of the time range. Ports "
                       "that nobody expects to be up are left out.",
                       value(infiniband.STATE).max_by(*PORT).where_also(_LOST, *PORT), words=STATES[infiniband.STATE], w=12,
                       way=TO_NODE_OF_SERIES),
        table("Ports below their rate, one by one", "Capacity is speed times width as a share of the expected; lane rate falls when "
              "speed falls back, lanes when a lane is lost.",
              Column("capacity", _BELOW),
              Column("lanes", value(infiniband.WIDTH).max_by(*PORT).where_also(_BELOW, *PORT)),
              Column("lane rate", value(infiniband.LANE_RATE).max_by(*PORT).where_also(_BELOW, *PORT)),
              labels=AT, sort="capacity", ascending=True,
              way=TO_NODE, w=12),
    ),
)  # fmt: skip

LOAD = Section(
    "Load and congestion",
    (
        timeseries("Busiest ports: sent", f"Bytes per second; the {MOST} busiest at each moment.",
                   rate(infiniband.TRANSMITTED).sum_by(*PORT).top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Busiest ports: received", f"Bytes per second; the {MOST} busiest at each moment.",
                   rate(infiniband.RECEIVED).sum_by(*PORT).top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Busiest ports of EFA and bnxt_re", f"Bytes per second of ports whose driver counts them apart; the {MOST} busiest.",
                   rate(infiniband.HW_BYTES).sum_by(*PORT, "direction").sometimes("there is no such device").top(MOST), w=24, h=6,
                   way=TO_NODE_OF_SERIES),
        heatmap("Ports by utilisation", "How many ports carry that share of what they can carry, the busier direction.",
                value(signals.UTILIZATION, fabric=RDMA_FABRICS).max_by(*PORT)),
        heatmap("Ports by samples", "How loaded ports were at the sampler's ten samples a second. Needs the burst sampler and tier full.",
                buckets(signals.SAMPLES, fabric=RDMA_FABRICS).sum_by("le").sometimes(NO_BURSTS)),
        timeseries("Held back most", f"Share of time in which a port had data to send and was held back; the {MOST} worst. High on an "
                   "idle port it means nothing.", value(signals.CONGESTION, fabric=RDMA_FABRICS).max_by(*PORT).top(MOST),
                   steps=((0.05, YELLOW), (0.15, RED)), way=TO_NODE_OF_SERIES),
        timeseries("What congestion looks like", "Ports by class: sender_blocked, receiver_slow, incast or victim. A node sees only its "
                   "own side.", value(signals.CONGESTION_CLASS, fabric=RDMA_FABRICS).count_by("class").sometimes("there is no congestion"),
                   stacked=True),
    ),
)  # fmt: skip

RAILS = Section(
    "Rails",
    (
        timeseries("Rails by speed within bursts", f"Speed within bursts as a share of the median of the node's rails; the {MOST} "
                   "slowest. The rail below 0.7 holds its node up though it carries the same bytes. Needs the burst sampler.",
                   value(signals.RAIL_BURST).min_by("node", "device").sometimes(NO_BURSTS).bottom(MOST), steps=((0.7, ORANGE),),
                   way=TO_NODE_OF_SERIES),
        timeseries("Rails by share of bytes", "Bytes as a share of an even part: far from 1 is a matter of binding, not of the cable. "
                   "Needs the burst sampler.", value(signals.RAIL_SHARE).max_by("node", "device").sometimes(NO_BURSTS).top(MOST)),
        timeseries("Bursts long enough to be seen", "Share of the busy samples that lie within a burst. Near 0 bursts are too short for "
                   "the sampler: "
                   "choose a shorter interval.",
                   value(signals.BURST_RESOLVED, fabric=RDMA_FABRICS).min_by(*PORT).sometimes(NO_BURSTS).bottom(MOST), most=1),
        timeseries("Time busy", f"Share of time in which a port sent anything; the {MOST} busiest. A slow rail is busy longer for the "
                   "same bytes.",
                   value(signals.BURST_BUSY, fabric=RDMA_FABRICS, direction="transmit").max_by(*PORT).sometimes(NO_BURSTS).top(MOST),
                   most=1, way=TO_NODE_OF_SERIES),
        timeseries("Speed within bursts, 99th percentile", f"Bytes per second sent in busy samples; the {MOST} slowest.",
                   value(signals.BURST, fabric=RDMA_FABRICS, direction="transmit", stat="p99").min_by(*PORT).sometimes(NO_BURSTS)
                   .bottom(MOST)),
        timeseries("Mean by rail", "Bytes per second sent, mean of all ports of a rail: finds a rail that differs on every node.",
                   rate(infiniband.TRANSMITTED).joined(value(infiniband.PORT_INFO, rail="!").max_by(*PORT, "rail"), *PORT,
                                                       bring=("rail",)).mean_by("rail").called("rail {{rail}}")),
    ),
)  # fmt: skip

ERRORS = Section(
    "Errors",
    (
        timeseries("Errors per bit, worst ports", f"Errors per bit over the last hour, at the rate of the link; the {MOST} worst.",
                   value(signals.ERROR_RATIO, fabric=RDMA_FABRICS).max_by(*PORT).top(MOST).in_unit(units.SCIENTIFIC),
                   way=TO_NODE_OF_SERIES),
        timeseries("Retransmissions, worst ports", f"Packets sent again, per second; the {MOST} worst.",
                   rate(signals.RETRANSMISSIONS, fabric=RDMA_FABRICS).sum_by(*PORT).top(MOST), steps=((10, YELLOW),),
                   way=TO_NODE_OF_SERIES),
        timeseries("Link errors within the hour", "All ports together, by counter.",
                   *(growth(CATALOGUE[key], HOUR).sum_by().called(_named(CATALOGUE[key])) for key in LINK_ERRORS)),
        timeseries("Bad packets that others marked", "Packets that an upstream port had marked bad: the fault lies farther away.",
                   rate(CATALOGUE["ib_remote_physical_errors"]).sum_by(*PORT).only("> 0", NO_FAULT).top(MOST)),
        timeseries("Lost to a slow host", "Packets dropped for lack of a receive request, per second: the host was slow.",
                   rate(infiniband.HW_EVENTS, event=_events(Role.OVERRUNS)).sum_by(*PORT).only("> 0", NO_FAULT).top(MOST)),
        table("Driver's events", "What the driver counted within the time range, by its own name; plain traffic is left out.",
              Column("times", _ODD_EVENTS.sum_by(*PORT, "event").only("> 0", NO_FAULT).top(50)), labels={**AT, "event": Label()},
              sort="times", way=TO_NODE, w=12),
        table("Counters that stopped counting", "They stand at their ceiling and say nothing about now until somebody clears them.",
              Column("seen", value(infiniband.SATURATED).max_by(*PORT, "field").sometimes("every counter still counts"), hidden=True),
              labels={**AT, "field": Label()}, sort="node",
              ascending=True, way=TO_NODE, w=24, h=6),
    ),
)  # fmt: skip

ROCE = Section(
    "RoCE: pause, ECN, discards",
    (
        timeseries("Paused by the network", f"Share of time in which the network held a priority back; the {MOST} worst.",
                   value(signals.PAUSED, direction="receive").max_by(*PORT, "priority").sometimes(NO_ROCE).top(MOST),
                   steps=((0.05, YELLOW), (0.2, RED)), way=TO_NODE_OF_SERIES),
        timeseries("Pausing the network", f"Share of time in which a port held the network back: its host is slow; the {MOST} worst.",
                   value(signals.PAUSED, direction="transmit").max_by(*PORT, "priority").sometimes(NO_ROCE).top(MOST),
                   steps=((0.05, YELLOW),), way=TO_NODE_OF_SERIES),
        timeseries("Marked by the network (ECN)", f"Share of received packets with a congestion mark; the {MOST} worst.",
                   value(signals.MARKED).max_by(*PORT).sometimes(NO_ROCE).top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Throttled by notifications (CNP)", f"Notifications that throttled a sender, as a share of packets sent; the {MOST} "
                   "worst.",
                   value(signals.CNP_HANDLED).max_by(*PORT).sometimes(NO_ROCE).top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Dropped by priority", "Packets received and dropped per second. On a lossless priority each is a fault.",
                   rate(ethernet.PRIORITY_DISCARDS).sum_by(*PORT, "priority", "kind").only("> 0", NO_FAULT).top(MOST)),
        timeseries("NICs waiting for their host", f"Share of the last second in which a NIC waited for PCIe; the {MOST} worst.",
                   value(ethernet.PCI_STALLED).max_by(*PORT, "direction").sometimes(NO_ROCE).top(MOST)),
        timeseries("Marked by the own NIC", f"Packets per second that a NIC marked itself because its host was slow; the {MOST} worst.",
                   rate(ethernet.HOST_ECN_MARKED).sum_by(*PORT, "priority").sometimes(NO_ROCE).top(MOST)),
        timeseries("Pause frames", f"Frames per second by direction; the {MOST} worst.",
                   rate(ethernet.PAUSE_FRAMES).sum_by(*PORT, "direction").sometimes(NO_ROCE).top(MOST)),
        timeseries("Interfaces that lost carrier", "Times within the hour, of NICs with and without RDMA.",
                   growth(ethernet.CARRIER_DOWNS, HOUR).sum_by(*PORT).only("> 0", NO_FAULT).top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Interface errors", f"Errors of the kernel's and the driver's lists, per second; the {MOST} worst.",
                   rate(ethernet.EVENTS, event="~.*(err|discard|drop).*").sum_by(*PORT, "event").only("> 0", NO_FAULT).top(MOST),
                   way=TO_NODE_OF_SERIES),
        timeseries("Symbols that FEC could not mend", "Per second: traffic is lost.",
                   rate(ethernet.SYMBOL_ERRORS).sum_by(*PORT).sometimes(NO_ROCE).top(MOST)),
        timeseries("Bits that FEC mended", "Share of the line's bits that came in error: its raw quality.",
                   rate(ethernet.CORRECTED_BITS).sum_by(*PORT).per_bit(rate(ethernet.LINE_CAPACITY).sum_by(*PORT), *PORT)
                   .sometimes(NO_ROCE).top(MOST)),
    ),
)  # fmt: skip

ALL = Section(
    "All ports",
    (
        table("Ports one by one", "State, printed rate and lanes of every port; a port that is down prints a default rate.",
              Column("state", value(infiniband.STATE).max_by(*PORT), words=STATES[infiniband.STATE]),
              Column("physical state", value(infiniband.PHYSICAL_STATE).max_by(*PORT), words=STATES[infiniband.PHYSICAL_STATE]),
              Column("rate", value(infiniband.RATE).max_by(*PORT)),
              Column("data rate", value(infiniband.DATA_RATE).max_by(*PORT)),
              labels=AT, sort="node", ascending=True, way=TO_NODE,
              h=10),
        table("What ports are", "Link layer, driver and role of each port.",
              Column("seen", value(infiniband.PORT_INFO), hidden=True),
              labels={**AT, "link_layer": Label(), "driver": Label(),
                      "netdev": Label(), "gpu": Label(width=80), "rail": Label(width=70), "role": Label(width=100),
                      "is_vf": Label(width=80)},
              sort="node", ascending=True, way=TO_NODE, h=10),
        table("Ports without counters", "They show neither counters nor hw_counters, as a device seen from outside the host's network "
              "namespace "
              "does.", Column("seen", value(infiniband.COUNTERS_VISIBLE).max_by(*PORT).only("== 0", NO_FAULT), hidden=True),
              labels=AT, sort="node", ascending=True, way=TO_NODE, w=12),
        table("Devices left alone", "On purpose, by reason.",
              Column("seen", value(infiniband.EXCLUDED_INFO).sometimes("none is left alone"), hidden=True),
              labels={**AT_DEVICE, "reason": Label()}, sort="node", ascending=True, way=TO_NODE, w=12),
    ),
    folded=True,
)  # fmt: skip

BOARD = Board(
    UID,
    "Fabric / InfiniBand and RoCE",
    "Ports of RDMA devices: state, load, congestion, rails, errors.",
    DEVICES,
    (POOL, NODES, RDMA),
    (NOW, LOAD, RAILS, ERRORS, ROCE, ALL, what_a_node_cannot_see()),
)
