"""The fleet: which links are sick, since when, why; then how it came, what is loaded, what is worst, what is installed."""

from dashboards import units
from dashboards.blind import what_a_node_cannot_see
from dashboards.board import FLEET, Board, Section, Tile
from dashboards.panels import bars, heatmap, stat, state_timeline, timeseries
from dashboards.promql import buckets, growth, highest_ever, mean_over, rate, value
from dashboards.query import Query
from dashboards.sick import LINK, NO_FAULT, ONSETS, SHOWN_MOST, sick_links
from dashboards.tables import Column, Label, matrix, table
from dashboards.variables import NODES, POOL
from dashboards.ways import FLEET as UID
from dashboards.ways import TO_EXPORTER, TO_LINK, TO_NODE, TO_NODE_OF_SERIES
from dashboards.words import BLUE, HEALTH, ORANGE, RED, STATUS, YELLOW
from exporter.catalog import gpu, infiniband, internals, nvlink, signals

WORST = 15
"""Rows of a table of the worst."""
NO_BURSTS = "the burst sampler is off"


def _links(status: str) -> Query:
    return value(signals.NODE_LINKS, status=status).sum_by()


def _worst(title: str, text: str, column: str, query: Query, *, ascending: bool = False) -> Tile:
    """A table of links by one number."""
    labels = {"node": Label(width=150, way=TO_NODE), "fabric": Label(width=90), "device": Label(width=90), "port": Label(width=70)}
    return table(title, text, Column(column, query), labels=labels, sort=column, ascending=ascending, way=TO_LINK, w=12, h=8)


NOW = Section(
    "Which links are sick, since when, why",
    (
        stat("Nodes reporting", "Nodes whose exporter Prometheus reaches now.", value(internals.BUILD_INFO).count_by("node").count_by(),
             color=BLUE),
        stat("Failed links", "Links that do not do their work.", _links("failed"), steps=((1, RED),)),
        stat("Degraded links", "Links that do their work badly: they slow whoever waits for them.", _links("degraded"),
             steps=((1, ORANGE),)),
        stat("Suspect links", "Links of which something is odd; look when there is time.", _links("suspect"), steps=((1, YELLOW),)),
        stat("Links of unknown health", "Links of which nothing can be said; the board of a node says why.", _links("unknown"),
             steps=((1, "#8e8e8e"),)),
        stat("Nodes excused", "Nodes in maintenance or starting: alerts stay silent for them.",
             value(signals.NODE_MAINTENANCE).plus(value(signals.NODE_GRACE), "node").whether("> 0").sum_by(), color=BLUE),
        sick_links("Sick links", "Every link that is not ok, with each reason. A link without a reason is getting well: its status "
                   "falls one level at a time, ten minutes after its last reason went.", with_node=True),
    ),
)  # fmt: skip

_EVER_SICK = highest_ever(signals.NODE_HEALTH).max_by("node").only("> 0", NO_FAULT).top(SHOWN_MOST)
COURSE = Section(
    "How it came",
    (
        state_timeline("Nodes that were not well", f"The worst link of each node, for nodes that were not well at any moment of the time "
                       f"range; {SHOWN_MOST} at most.",
                       value(signals.NODE_HEALTH).max_by("node").where_also(_EVER_SICK, "node"), words=HEALTH, way=TO_NODE_OF_SERIES),
        timeseries("Links that are not ok", "Links of all nodes by health.",
                   value(signals.NODE_LINKS, status="~suspect|degraded|failed").sum_by("status"), stacked=True, words=STATUS),
        timeseries("Reasons", "Links by what is wrong with them; a link with two reasons counts twice.",
                   value(signals.CONDITION).count_by("reason").sometimes(NO_FAULT), stacked=True),
    ),
)  # fmt: skip

KINDS = Section(
    "Links by kind",
    (
        matrix("Links by fabric and health", "All links of the nodes chosen.", value(signals.NODE_LINKS).sum_by("fabric", "status"),
               row="fabric", column="status", order=STATUS, h=7),
        bars("Sick links by fabric", "Links that are suspect, degraded or failed.",
             value(signals.NODE_LINKS, status="~suspect|degraded|failed").sum_by("fabric"), w=6, h=7, color=ORANGE),
        bars("Why health is unknown", "Links of which nothing can be said, by reason: no_expectation, saturated, stale, grace.",
             value(signals.UNKNOWN).count_by("reason").sometimes("everything is known"), w=6, h=7),
    ),
)  # fmt: skip

_PORTS = "~infiniband|roce|ethernet"
LOAD = Section(
    "Load of ports",
    (
        timeseries("Traffic over InfiniBand and RoCE", "Bytes per second of all ports of all nodes, by direction.",
                   rate(infiniband.TRANSMITTED).sum_by().called("sent"), rate(infiniband.RECEIVED).sum_by().called("received")),
        heatmap("Nodes by their busiest port", "How many nodes have a busiest port (InfiniBand, RoCE, Ethernet) of that utilisation.",
                value(signals.UTILIZATION, fabric=_PORTS).max_by("node")),
        heatmap("Samples of the burst sampler by load", "How loaded ports were at the sampler's ten samples a second: what means hide. "
                "Needs the burst sampler and tier full.", buckets(signals.SAMPLES).sum_by("le").sometimes(NO_BURSTS)),
        timeseries("Rails across the fleet", "Bytes per second sent, mean of all ports of a rail: a rail that differs on every node.",
                   rate(infiniband.TRANSMITTED).joined(value(infiniband.PORT_INFO, rail="!").max_by("node", "device", "port", "rail"),
                                                       "node", "device", "port", bring=("rail",)).mean_by("rail").called("rail {{rail}}")),
    ),
)  # fmt: skip

NVLINKS = Section(
    "Load of NVLinks: many series, slow on a large fleet",
    (
        timeseries("Traffic over NVLink", "Bytes per second of all links of all GPUs, by direction.",
                   rate(nvlink.TRANSMITTED).sum_by().called("sent"), rate(nvlink.RECEIVED).sum_by().called("received")),
        heatmap("Nodes by the mean of their NVLinks", "How many nodes have NVLinks of that mean utilisation.",
                value(signals.UTILIZATION, fabric="nvlink").mean_by("node")),
    ),
    folded=True,
)  # fmt: skip

WORST_LINKS = Section(
    "The worst links of this time range",
    (
        _worst("Least capacity", "Present speed times width as a share of the expected, now.", "capacity",
               value(signals.CAPACITY).min_by(*LINK).only("< 1", NO_FAULT).bottom(WORST), ascending=True),
        _worst("Most flaps", "Times the link went down.", "flaps",
               growth(signals.FLAPS).sum_by(*LINK).only("> 0", NO_FAULT).top(WORST)),
        _worst("Most errors per bit", "Errors per bit over the last hour, at the rate of the link.", "errors per bit",
               value(signals.ERROR_RATIO).max_by(*LINK).only("> 0", NO_FAULT).top(WORST).in_unit(units.SCIENTIFIC)),
        _worst("Most retransmissions", "Packets that had to be sent again.", "packets",
               growth(signals.RETRANSMISSIONS).sum_by(*LINK).only("> 0", NO_FAULT).top(WORST)),
        _worst("Most held back", "Share of the time range in which the link had data to send and was held back.", "share of time",
               mean_over(signals.CONGESTION).max_by(*LINK).only("> 0", NO_FAULT).top(WORST)),
        table("Slowest rails in bursts", "Speed within bursts as a share of the median of the node's rails. Needs the burst sampler.",
              Column("share", value(signals.RAIL_BURST).min_by("node", "device").sometimes(NO_BURSTS).bottom(WORST)),
              labels={"node": Label(width=150, way=TO_NODE), "device": Label()}, sort="share", ascending=True, w=12, h=8),
    ),
)  # fmt: skip

INSTALLED = Section(
    "What is installed",
    (
        table("Exporters", "Nodes by version of the exporter.", Column("nodes", value(internals.BUILD_INFO).count_by("version")),
              labels={"version": Label()}, sort="nodes", w=6, h=6),
        table("NVIDIA drivers", "Nodes by version of the NVIDIA driver.",
              Column("nodes", value(gpu.DRIVER_INFO).count_by("driver_version")),
              labels={"driver_version": Label()}, sort="nodes", w=6, h=6),
        table("Firmware of RDMA devices", "Devices by type and firmware: a mixture within one type is worth a look.",
              Column("devices", value(infiniband.DEVICE_INFO).count_by("hca_type", "firmware_version")),
              labels={"hca_type": Label(width=120), "firmware_version": Label()}, sort="devices", w=6, h=6),
        table("GPUs", "GPUs by name.", Column("GPUs", value(gpu.INFO).count_by("name")), labels={"name": Label(width=220)}, sort="GPUs",
              w=6, h=6),
        table("Exporters with a source that fails", "Sources that hang or cannot be read, by node.",
              Column("seen", value(internals.SOURCE_UP).min_by("node", "source").only("== 0", NO_FAULT), hidden=True),
              labels={"node": Label(way=TO_EXPORTER), "source": Label()}, sort="node", ascending=True, w=24, h=5),
    ),
    folded=True,
)  # fmt: skip

BOARD = Board(
    UID,
    "Fabric / Fleet",
    "Which links of the fleet are sick, since when, why. From here to the node and the link.",
    FLEET,
    (POOL, NODES),
    (NOW, COURSE, KINDS, LOAD, NVLINKS, WORST_LINKS, INSTALLED, what_a_node_cannot_see()),
    (ONSETS,),
)
