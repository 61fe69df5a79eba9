"""One link of any kind, by the signals that every kind has: its verdict and reasons, load, errors, and its siblings beside it."""

from dashboards import units
from dashboards.blind import what_a_node_cannot_see
from dashboards.board import ONE_LINK, Board, Section
from dashboards.panels import heatmap, stat, state_timeline, status_history, timeseries
from dashboards.promql import buckets, growth, since, value
from dashboards.sick import NO_FAULT, ONSETS
from dashboards.tables import Column, Label, table
from dashboards.variables import FABRIC, LINK_DEVICE, LINK_PORT, NODE, POOL
from dashboards.ways import LINK as UID
from dashboards.words import BLUE, HEALTH, HOLDS, ORANGE, REASONS, RED
from exporter.catalog import signals

NOT_ALL = "not every kind of link has it"
NO_BURSTS = "the burst sampler is off"

NOW = Section(
    "This link now",
    (
        stat("Health", "ok, suspect, degraded or failed; unknown where nothing can be said.", value(signals.HEALTH).max_by(), words=HEALTH,
             none="unknown"),
        stat("Capacity", "Present speed times width as a share of the expected.",
             value(signals.CAPACITY).min_by().sometimes(NOT_ALL), color=RED,
             steps=((0.99, "green"),)),
        stat("Flaps in this time", "Times the link went down within the time range.", growth(signals.FLAPS).sum_by().sometimes(NOT_ALL),
             steps=((1, ORANGE),)),
        stat("Retransmissions in this time", "Packets sent again within the time range.",
             growth(signals.RETRANSMISSIONS).sum_by().sometimes(NOT_ALL), color=BLUE),
        stat("Broken connections", "Requests that ran out of retries within the time range.",
             growth(signals.RETRIES_EXCEEDED).sum_by().sometimes(NOT_ALL), steps=((1, RED),)),
        stat("Congestion looks like", "What the congestion looks like from here, while there is any.",
             value(signals.CONGESTION_CLASS).max_by("class").called("{{class}}").sometimes("there is no "
                   "congestion"), none="none", trend=False,
             shows="name"),
        table("Reasons now", "What is wrong with the link, and since when.",
              Column("since", since(signals.CONDITION_SINCE).max_by("reason").sometimes(NO_FAULT), width=170),
              labels={"reason": Label(words=REASONS)}, sort="since", w=24, h=5),
    ),
)  # fmt: skip

COURSE = Section(
    "How it came",
    (
        status_history("Health over time", "The verdict at regular moments; a gap means unknown or not scraped.",
                       value(signals.HEALTH).max_by("fabric"), words=HEALTH, h=4),
        state_timeline("Reasons over time", "When each reason held.", value(signals.CONDITION).max_by("reason").sometimes(NO_FAULT),
                       words=HOLDS, h=6),
    ),
)  # fmt: skip

LOAD = Section(
    "Load",
    (
        timeseries("Utilisation", "Data carried as a share of what the link can carry now, by direction.",
                   value(signals.UTILIZATION).max_by("direction").sometimes("PCIe carries no counter of bytes"), most=1),
        timeseries("Held back and paused", "Share of time in which the link had data and was held back, and in which it was paused.",
                   value(signals.CONGESTION).max_by().called("held back").sometimes(NOT_ALL),
                   value(signals.PAUSED).max_by("direction", "priority").called("paused {{direction}} priority {{priority}}")
                   .sometimes(NOT_ALL)),
        timeseries("Speed within bursts", "Bytes per second in samples in which the link carried anything. Needs the burst sampler.",
                   value(signals.BURST).max_by("direction", "stat").sometimes(NO_BURSTS)),
        timeseries("Busy", "Share of time in which the link carried anything. Needs the burst sampler.",
                   value(signals.BURST_BUSY).max_by("direction").sometimes(NO_BURSTS), most=1),
        heatmap("Samples by load", "How loaded the link was at the sampler's ten samples a second. Needs the burst sampler and tier full.",
                buckets(signals.SAMPLES).sum_by("le").sometimes(NO_BURSTS)),
        timeseries("Against its siblings", "Traffic as a share of the median of the links that should carry the same.",
                   value(signals.SIBLING).max_by().called("this link").sometimes("no sibling carries enough to compare"),
                   steps=((0.7, ORANGE),)),
    ),
)  # fmt: skip

QUALITY = Section(
    "Quality",
    (
        timeseries("Errors per bit", "Errors per bit over the last hour, at the rate of the link.",
                   value(signals.ERROR_RATIO).max_by().called("errors per bit").in_unit(units.SCIENTIFIC).sometimes(NOT_ALL), w=8),
        timeseries("Capacity over time", "Present speed times width as a share of the expected.",
                   value(signals.CAPACITY).min_by().called("capacity").sometimes(NOT_ALL), most=1,
                   w=8),
        timeseries("ECN and CNP", "Share of received packets with a congestion mark, and of sent packets that were throttled (RoCE).",
                   value(signals.MARKED).max_by().called("marked").sometimes("only RoCE has it"),
                   value(signals.CNP_HANDLED).max_by().called("throttled").sometimes("only RoCE has it"), w=8),
    ),
)  # fmt: skip

BOARD = Board(
    UID,
    "Fabric / Link",
    "One link of any kind: its verdict, its reasons, its load and its quality.",
    ONE_LINK,
    (POOL, NODE, FABRIC, LINK_DEVICE, LINK_PORT),
    (NOW, COURSE, LOAD, QUALITY, what_a_node_cannot_see()),
    (ONSETS,),
)
