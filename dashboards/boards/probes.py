"""Probes: collectives that idle nodes run, against what the same nodes reached before. Empty until nodes are probed."""

from dashboards.board import FLEET, Board, Section
from dashboards.panels import heatmap, stat, status_history, timeseries, words
from dashboards.promql import age, buckets, growth, rate, value
from dashboards.tables import Column, Label, matrix, table
from dashboards.variables import NODES, POOL
from dashboards.ways import PROBES as UID
from dashboards.ways import TO_NODE, TO_NODE_OF_SERIES
from dashboards.words import HOLDS, ORANGE, RED, YELLOW
from exporter.catalog import probes

MOST = 20
NOTE = """\
**Empty until nodes are probed**: `fabric-exporter probe` measures, by a timer, a prolog or a person, and `probes.enabled` shows it here.

Counters say what jobs happened to send; a probe says what the node *can* send. It runs only on GPUs that nobody uses, and its numbers are
compared with what the same node reached in its good runs (`fabric_probe_baseline_ratio`).
"""

NOW = Section(
    "Probes now",
    (
        words("About probes", "Why this board may be empty.", NOTE, w=12, h=4),
        stat("Least of its baseline", "Bandwidth of the worst probe as a share of its node's "
             "baseline.", value(probes.BASELINE).min_by(), w=3,
             steps=((0.85, "green"),), color=RED, none="no probe"),
        stat("Suspects", "GPUs, pairs, NICs and nodes that probes accuse.", value(probes.SUSPECT).sum_by(), w=3, steps=((1, ORANGE),),
             none="no probe"),
        stat("Wrong results", "Numbers that came out wrong within the time range: corrupt data.", growth(probes.WRONG).sum_by(), w=3,
             steps=((1, RED),), none="no probe"),
        stat("Probes given up", "Nodes on which probes are off after repeated failures.", value(probes.CIRCUIT_OPEN).sum_by(), w=3,
             steps=((1, YELLOW),), none="no probe"),
        table("Suspects by name", "What probes accuse.",
              Column("seen", value(probes.SUSPECT).max_by("node", "scope", "id").only("> 0", "nothing is accused"), hidden=True),
              labels={"node": Label(width=170), "scope": Label(width=100), "id": Label()}, sort="node", ascending=True, way=TO_NODE, w=12),
        timeseries("Bandwidth against the baseline", f"Share of what the node reached in its good runs; the {MOST} worst.",
                   value(probes.BASELINE).min_by("node", "collective").bottom(MOST), steps=((0.85, ORANGE),), way=TO_NODE_OF_SERIES),
    ),
)  # fmt: skip

MEASURED = Section(
    "What they measured",
    (
        timeseries("Bus bandwidth by size", "Mean over nodes, by collective and size of message.",
                   value(probes.BUS_BANDWIDTH).mean_by("collective", "size")),
        timeseries("Least bus bandwidth", f"The {MOST} slowest nodes.",
                   value(probes.BUS_BANDWIDTH).max_by("node", "collective").bottom(MOST),
                   way=TO_NODE_OF_SERIES),
        timeseries("Latency", "Of one collective, worst node, by collective and statistic.",
                   value(probes.LATENCY).max_by("collective", "stat")),
        timeseries("Jitter", f"Spread of the iterations as a share of their median; the {MOST} worst.",
                   value(probes.JITTER).max_by("node", "collective").top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Fitted bandwidth", f"Of the line through time over size; the {MOST} least. A bad link lowers it.",
                   value(probes.FIT_BANDWIDTH).min_by("node", "collective").bottom(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Fitted latency", f"Of the same line; the {MOST} greatest. A slow host or a longer path raises it.",
                   value(probes.FIT_LATENCY).max_by("node", "collective").top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Bandwidth to partner nodes by rail", "Mean over nodes, by rail and scope.",
                   value(probes.PEER_BANDWIDTH).mean_by("rail", "scope")),
        timeseries("Skew between ranks", "Time between the first and the last rank to finish; worst node.",
                   value(probes.RANK_SKEW).max_by("collective")),
        matrix("Bandwidth between GPUs", "From GPU (row) to GPU (column), the least over the nodes chosen: choose one node.",
               value(probes.PAIR_BANDWIDTH).min_by("src_device", "dst_device"), row="src_device", column="dst_device", w=12, h=9),
        heatmap("Iterations by time", "Single collectives of all probes. Needs tier full.", buckets(probes.ITERATIONS).sum_by("le"), h=9),
    ),
)  # fmt: skip

RUNS = Section(
    "How they run",
    (
        timeseries("Runs by outcome", "Per second.", rate(probes.RUNS).sum_by("outcome"), stacked=True),
        timeseries("Why they were skipped", "Per second, by the gate that was shut: on a busy fleet that is as it should be.",
                   rate(probes.SKIPPED).sum_by("reason"), stacked=True),
        timeseries("Why they failed", "Per second.", rate(probes.FAILURES).sum_by("reason"), stacked=True),
        timeseries("Time since the last success", "Of the node that waits longest, by kind.", age(probes.LAST_SUCCESS).max_by("kind")),
        timeseries("Time since the last run", "Of the node that waits longest, by kind.", age(probes.LAST_RUN).max_by("kind")),
        timeseries("Time of the last run by phase", "Of the slowest node.", value(probes.LAST_DURATION).max_by("phase")),
        timeseries("Bytes that probes cost", "Per second, of all nodes.", rate(probes.BYTES).sum_by("kind")),
        timeseries("GPU time that probes cost", "Share of one GPU's time, of all nodes together.", rate(probes.GPU_SECONDS).sum_by("kind")),
        table("NCCL and its transports", "Nodes by what NCCL chose in the last probe.",
              Column("nodes", value(probes.TRANSPORT).count_by("net", "gdr", "p2p", "shm", "hca_count")),
              labels={"net": Label(), "gdr": Label(), "p2p": Label(), "shm": Label(), "hca_count": Label()}, sort="nodes", w=12),
        status_history("Probes that are stuck", "Nodes whose probe cannot be ended.",
                       value(probes.STUCK).max_by("node").only("> 0", "nothing is stuck").top(MOST), words=HOLDS, w=12,
                       way=TO_NODE_OF_SERIES),
    ),
    folded=True,
)  # fmt: skip

BOARD = Board(
    UID,
    "Fabric / Probes",
    "What nodes can carry, measured by short collectives while nobody uses them. Empty in this version.",
    FLEET,
    (POOL, NODES),
    (NOW, MEASURED, RUNS),
)
