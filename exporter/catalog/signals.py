"""Rows of what the rules derive: signals of each link, its health and the reasons, and the node's. Data, no behaviour.

Every row carries `fabric` beside `device` and `port`, so one query goes over NVLink, InfiniBand, RoCE, Ethernet and PCIe alike. A signal
that cannot be known (an input is missing, saturated or old) has no series.
"""

from exporter.model.metric import Cadence, Kind, Metric, Tier, Unit

LINK = ("fabric", "device", "port")
NAME = "fabric_link_"


def _signal(key: str, unit: Unit, help_text: str, tier: Tier = Tier.STANDARD, labels: tuple[str, ...] = (),
            absent: str = "an input is missing, saturated or too old", nvlink_tier: Tier | None = None,
            sick_tier: Tier | None = None, captured: bool = True) -> Metric:  # noqa: FBT001, FBT002  # a column of the table  # fmt: skip
    return Metric("signal_" + key, NAME + key, Kind.GAUGE, unit, (*LINK, *labels), help_text, tier, cadence=Cadence.FAST, absent=absent,
                  captured=captured, nvlink_tier=nvlink_tier, sick_tier=sick_tier)  # fmt: skip


def _events(key: str, help_text: str, nvlink_tier: Tier | None = None) -> Metric:
    return Metric("signal_" + key, f"{NAME}{key}_total", Kind.COUNTER, Unit.COUNT, LINK, help_text, Tier.BASIC, cadence=Cadence.FAST,
                  absent="the link counts nothing of the kind", nvlink_tier=nvlink_tier)  # fmt: skip


UTILIZATION = _signal("utilization_ratio", Unit.RATIO, "Data carried by the link as a share of what it can carry now, by direction.",
    Tier.BASIC, ("direction",), nvlink_tier=Tier.STANDARD)  # fmt: skip
CONGESTION = _signal("congestion_ratio", Unit.RATIO,
    "Share of time in which the link had data to send and was held back; tick_source tells how the length of the counter's tick is known.",
    Tier.BASIC, ("tick_source",), "the counter is pinned, or the length of its tick is unknown (NVLink)")  # fmt: skip
CONGESTION_CLASS = _signal("congestion_class", Unit.COUNT,
    "1 while the congestion looks like this from here: sender_blocked, receiver_slow, incast or victim. A node sees only its own side.",
    labels=("class",), absent="none of them holds", captured=False)  # fmt: skip
PAUSED = _signal("paused_ratio", Unit.RATIO,
    "Share of time in which a priority of the link was paused: receive means the network paused us, transmit that we paused it.",
    labels=("direction", "priority"))  # fmt: skip
MARKED = _signal("ecn_marked_ratio", Unit.RATIO, "Share of received packets that carry a congestion mark (ECN).", captured=False)
CNP_HANDLED = _signal("cnp_handled_ratio", Unit.RATIO, "Congestion notifications that throttled us, as a share of packets sent.",
    captured=False)  # fmt: skip
RETRANSMISSIONS = _events("retransmissions", "Packets that had to be sent again, whoever lost them, since the exporter has seen the link.")
RETRIES_EXCEEDED = _events("retries_exceeded", "Requests that ran out of retries, since the exporter has seen the link: connections broke.")
ERROR_RATIO = _signal("error_ratio", Unit.RATIO, "Errors per bit over the last hour, at the rate of the link.")
FLAPS = _events("flaps", "Times the link went down, by whichever evidence saw most, since the exporter has seen the link.",
    Tier.STANDARD)  # fmt: skip
CAPACITY = _signal("capacity_ratio", Unit.RATIO, "Present speed times width as a share of the expected.", Tier.BASIC)
SIBLING = _signal("sibling_ratio", Unit.RATIO,
    "Traffic of the link as a share of the median of the links that should carry the same.",
    absent="it has no siblings, or they carry too little to compare", captured=False)  # fmt: skip

BURST = _signal("burst_bytes_per_second", Unit.BYTES_PER_SECOND,
    "How fast the link was in samples in which it carried anything, over the last 100 s, by direction; stat is p50, p95, p99 or max.",
    labels=("direction", "stat"), absent="the burst sampler is off, or the link carried nothing", captured=False)  # fmt: skip
BURST_BUSY = _signal("busy_ratio", Unit.RATIO, "Share of the last 100 s in which the link carried anything, by direction.",
    labels=("direction",), absent="the burst sampler is off", captured=False)  # fmt: skip
BURST_RESOLVED = _signal("burst_resolved_ratio", Unit.RATIO,
    "Share of the busy samples that lie within a burst, neither its first nor its last. Near 0 bursts are too short for the sampler: their "
    "speed is not seen.", labels=("direction",), absent="the burst sampler is off, or the link carried nothing",
    captured=False)  # fmt: skip
SAMPLES = Metric("signal_sample_utilization", NAME + "sample_utilization_ratio", Kind.HISTOGRAM, Unit.RATIO, (*LINK, "direction"),
    "Samples of the burst sampler by load, since it began to sample the link, by direction.", Tier.FULL, cadence=Cadence.FAST,
    absent="the burst sampler is off", captured=False)  # fmt: skip
RAIL_BURST = Metric("rail_burst", "fabric_rail_burst_ratio", Kind.GAUGE, Unit.RATIO, ("device",),
    "Speed of the rail within bursts as a share of the median of the node's rails that carry the same.", Tier.STANDARD,
    cadence=Cadence.FAST, absent="the burst sampler is off, or the rails carry too little, not alike, or in bursts too short for it",
    captured=False)  # fmt: skip
RAIL_SHARE = Metric("rail_share", "fabric_rail_share_ratio", Kind.GAUGE, Unit.RATIO, ("device",),
    "Bytes of the rail as a share of an even part of what all rails of the node carried, over the last 100 s.", Tier.STANDARD,
    cadence=Cadence.FAST, absent="fewer than two rails carry anything worth it", captured=False)  # fmt: skip

HEALTH = _signal("health_status", Unit.COUNT, "Health of the link (0 ok, 1 suspect, 2 degraded, 3 failed).", Tier.BASIC,
    absent="it is unknown: see fabric_link_health_unknown; in the aggregate tier also while it is ok",
    sick_tier=Tier.AGGREGATE)  # fmt: skip
UNKNOWN = _signal("health_unknown", Unit.COUNT,
    "1 while nothing can be said of the link, with the reason: no_expectation, saturated, stale or grace.", Tier.BASIC, ("reason",),
    "its health is known")  # fmt: skip
CONDITION = _signal("condition", Unit.COUNT, "1 while this is wrong with the link.", Tier.AGGREGATE, ("reason",), "it is not")
CONDITION_SINCE = _signal("condition_since_timestamp_seconds", Unit.TIMESTAMP, "Since when this is wrong with the link, in Unix time.",
    Tier.AGGREGATE, ("reason",), "it is not")  # fmt: skip

NODE_HEALTH = Metric("node_health", "fabric_node_health_status", Kind.GAUGE, Unit.COUNT, (),
    "The worst health of any link of the node (0 ok, 1 suspect, 2 degraded, 3 failed).", Tier.AGGREGATE,
    absent="the health of no link is known")  # fmt: skip
NODE_LINKS = Metric("node_links", "fabric_node_links", Kind.GAUGE, Unit.COUNT, ("fabric", "status"),
    "Links of the node by fabric and health: ok, suspect, degraded, failed or unknown.", Tier.AGGREGATE, captured=True)  # fmt: skip
NODE_GRACE = Metric("node_grace", "fabric_node_grace_active", Kind.GAUGE, Unit.COUNT, (),
    "1 while the node, its driver or its NVLink domain is starting: nothing is raised for links that are not up.",
    Tier.AGGREGATE)  # fmt: skip
NODE_MAINTENANCE = Metric("node_maintenance", "fabric_node_maintenance", Kind.GAUGE, Unit.COUNT, (),
    "1 while somebody said that the node is being worked on: health is computed and shown, alerts should stay silent.",
    Tier.AGGREGATE)  # fmt: skip

ROWS = (UTILIZATION, CONGESTION, CONGESTION_CLASS, PAUSED, MARKED, CNP_HANDLED, RETRANSMISSIONS, RETRIES_EXCEEDED, ERROR_RATIO, FLAPS,
        CAPACITY, SIBLING, BURST, BURST_BUSY, BURST_RESOLVED, SAMPLES, RAIL_BURST, RAIL_SHARE, HEALTH, UNKNOWN,
        CONDITION, CONDITION_SINCE, NODE_HEALTH, NODE_LINKS, NODE_GRACE, NODE_MAINTENANCE)  # fmt: skip
