"""One job: where it ran, what it moved, and which links of its nodes were not well meanwhile. Set the time range to the job or wider."""

from dataclasses import replace

from dashboards import units
from dashboards.blind import what_a_node_cannot_see
from dashboards.board import Board, Scope, Section, Tile
from dashboards.panels import stat, state_timeline, timeseries, words
from dashboards.promql import RANGE, growth, highest_ever, last_seen, mean_over, rate, since, value
from dashboards.query import Query
from dashboards.sick import LINK, NO_FAULT, ONSETS, REASON, sick_links, sick_over_time
from dashboards.tables import Column, Label, table
from dashboards.variables import JOB, JOB_NODES, POOL
from dashboards.ways import JOB as UID
from dashboards.ways import TO_LINK, TO_NODE, TO_NODE_OF_SERIES
from dashboards.words import BLUE, HOLDS, ORANGE, RED
from exporter.catalog import gpu, infiniband, jobs, nvlink, signals

PORT = ("node", "device", "port")
NO_JOB = "no job is known"
NO_BURSTS = "the burst sampler is off"
MOST = 15
SCOPE = Scope({"pool": 'pool=~"$pool"', "job_id": 'job_id="$job_id"', "node": 'node=~"$node"'}, frozenset({"pool", "job_id"}))

_GPUS = highest_ever(jobs.JOB_INFO).max_by("node", "device").sometimes(NO_JOB)
"""GPUs that the job used at any moment of the time range, so that they stay in sight before and after it."""
_NODES = highest_ever(jobs.JOB_INFO).max_by("node").sometimes(NO_JOB)
_ONSETS = replace(
    ONSETS,
    query=since(signals.CONDITION_SINCE).max_by(*REASON).where_also(value(jobs.JOB_INFO).max_by("node"), "node").sometimes(NO_FAULT),
)
"""What fell sick on nodes of the job while it ran there."""
_PORTS = value(infiniband.PORT_INFO, gpu="!").max_by(*PORT, "gpu", "rail").where_also(_GPUS.relabelled("device", "gpu"), "node", "gpu")
"""RDMA ports that serve those GPUs."""
_RAILS = _PORTS.max_by(*PORT, "rail")


def _of_ports(query: Query) -> Query:
    return query.joined(_RAILS, *PORT, bring=("rail",))


def _of_gpus(query: Query) -> Query:
    return query.joined(_GPUS, "node", "device")


def _of_nodes(query: Query) -> Query:
    return query.where_also(_NODES, "node")


_SENT = _of_ports(rate(infiniband.TRANSMITTED, RANGE)).sum_by("node")
_SENT_BEFORE = _of_ports(rate(infiniband.TRANSMITTED, RANGE, before=RANGE)).sum_by("node").only("> 0", "nothing was sent before")


def _worst(title: str, text: str, column: str, query: Query, *, ascending: bool = False) -> Tile:
    labels = {"node": Label(width=150, way=TO_NODE), "fabric": Label(width=100), "device": Label(width=100), "port": Label()}
    return table(title, text, Column(column, query), labels=labels, sort=column, ascending=ascending, way=TO_LINK, w=12, h=7)


HOW = """\
1. **When did it slow?** The traffic of a job that computes and communicates in turn falls when its steps take longer. Find the edge below.
2. **What changed then?** Links that fell sick carry a red mark on every chart and stand in the first table, with their reasons.
3. **Is it guilty?** All ranks wait for the slowest rail: a node is as fast as the *number of its rails times its slowest*, so one of eight
   at half speed costs as much as all eight. What slows every node alike is a symptom, not the cause: look for the link that differs.
4. **Nothing differs?** Then it is not visible in the fabric's numbers of these nodes; see the last row for what a node cannot see.
"""

WHAT = Section(
    "The job",
    (
        stat("Nodes", "Nodes that the job used within the time range.", _NODES.count_by(), w=6, color=BLUE, none="no job"),
        stat("GPUs", "GPUs that the job used within the time range.", _GPUS.count_by(), w=6, color=BLUE, none="no job"),
        stat("Sick links on its nodes", "Links that were not ok at any moment of the time range.",
             highest_ever(signals.HEALTH).max_by(*LINK).only("> 0", NO_FAULT).where_also(_NODES, "node").count_by(), w=6,
             steps=((1, ORANGE),), none="none"),
        stat("Missing NVLinks", "NVLinks of its GPUs that should be active and are not.",
             _of_gpus(value(gpu.LINKS_EXPECTED).minus(value(gpu.LINKS_ACTIVE), "node", "device").max_by("node", "device")).sum_by(),
             w=6, steps=((1, RED),), none="no job"),
        words("How to read this board", "From a slow job to the link that held it up.", HOW, w=12, h=8),
        table("What ran", "The job as its scheduler names it, with the GPUs that it used.",
              Column("GPUs", last_seen(jobs.JOB_INFO).sometimes(NO_JOB)
                     .count_by("scheduler", "workload_namespace", "workload_pod", "node")),
              labels={"node": Label(width=170, way=TO_NODE), "scheduler": Label(width=110), "workload_namespace": Label(),
                      "workload_pod": Label()}, sort="node", ascending=True, w=12, h=8),
    ),
)  # fmt: skip

SUSPECTS = Section(
    "Certain: what was wrong with links of its nodes",
    (
        sick_links("Sick links of its nodes", "Links of the job's nodes that are not ok at the end of the time range, with each reason.",
                   with_node=True, h=8, only=_NODES),
        sick_over_time("Links of its nodes that were not well", "Health of each link of the job's nodes that was not ok at any "
                       "moment.", h=8,
                       only=_NODES),
        state_timeline("Reasons on its nodes", "When each reason held on any link of a node.",
                       _of_nodes(value(signals.CONDITION).max_by("node", "reason").sometimes(NO_FAULT)), words=HOLDS, h=6,
                       way=TO_NODE_OF_SERIES),
    ),
)  # fmt: skip

SYMPTOM = Section(
    "Symptom: what the job moved",
    (
        timeseries("When it ran", "GPUs in use by the job, by node.", value(jobs.JOB_INFO).count_by("node").sometimes(NO_JOB), stacked=True,
                   way=TO_NODE_OF_SERIES),
        timeseries("Sent over InfiniBand and RoCE by its ports", "Bytes per second of the ports beside its GPUs, by node, before and "
                   "after the job too.", _of_ports(rate(infiniband.TRANSMITTED)).sum_by("node"), way=TO_NODE_OF_SERIES),
        timeseries("Sent over NVLink by its GPUs", "Bytes per second, by node. A shared GPU counts in full.",
                   _of_gpus(rate(nvlink.TRANSMITTED).sum_by("node", "device")).sum_by("node"), way=TO_NODE_OF_SERIES),
        timeseries("Bytes by rail", "Bytes per second sent by the job's ports of each rail.",
                   _of_ports(rate(infiniband.TRANSMITTED)).sum_by("rail").called("rail {{rail}}")),
        table("Against the same span before", "Bytes that its ports sent in this time range, divided by those sent in the span of the "
              "same length before it.",
              Column("times", _SENT.over(_SENT_BEFORE, "node").in_unit(units.PLAIN)), labels={"node": Label(way=TO_NODE)}, sort="times",
              ascending=True, w=12, h=8),
        timeseries("Worst link of each node", "Health of the worst link, by node of the job.",
                   _of_nodes(value(signals.NODE_HEALTH).max_by("node")), most=3, way=TO_NODE_OF_SERIES),
    ),
)  # fmt: skip

HINTS = Section(
    "Hints: what differs between its links",
    (
        timeseries("Rails by speed within bursts", "As a share of the median of the node's rails: the culprit of a job that sends the "
                   "same over every rail. Needs the burst sampler.",
                   _of_nodes(value(signals.RAIL_BURST).min_by("node", "device").sometimes(NO_BURSTS)).bottom(MOST), steps=((0.7, ORANGE),),
                   way=TO_NODE_OF_SERIES),
        timeseries("Ports held back most", "Share of time in which a port had data to send and was held back.",
                   _of_ports(value(signals.CONGESTION).max_by(*PORT)).top(MOST), steps=((0.05, ORANGE),), way=TO_NODE_OF_SERIES),
        _worst("Least capacity of its nodes", "Present speed times width as a share of the expected; the least within the time range is "
               "in the timeline above.", "capacity", _of_nodes(value(signals.CAPACITY).min_by(*LINK)).only("< 1", NO_FAULT).bottom(MOST),
               ascending=True),
        _worst("Most flaps on its nodes", "Times a link went down within the time range.", "flaps",
               _of_nodes(growth(signals.FLAPS).sum_by(*LINK)).only("> 0", NO_FAULT).top(MOST)),
        _worst("Most retransmissions on its nodes", "Packets sent again within the time range.", "packets",
               _of_nodes(growth(signals.RETRANSMISSIONS).sum_by(*LINK)).only("> 0", NO_FAULT).top(MOST)),
        _worst("Most held back on its nodes", "Share of the time range in which a link had data to send and was held "
               "back.", "share of time",
               _of_nodes(mean_over(signals.CONGESTION).max_by(*LINK)).only("> 0", NO_FAULT).top(MOST)),
        timeseries("NVLink errors of its GPUs", "Errors per second, by GPU.",
                   _of_gpus(rate(nvlink.ERRORS).sum_by("node", "device")).only("> 0", NO_FAULT).top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Spread between its NVLinks", "Utilisation of a GPU's busiest link less that of its idlest.",
                   _of_gpus(value(signals.UTILIZATION, fabric="nvlink").max_by("node", "device").minus(
                       value(signals.UTILIZATION, fabric="nvlink").min_by("node", "device"), "node", "device")).top(MOST),
                   way=TO_NODE_OF_SERIES),
    ),
)  # fmt: skip

BOARD = Board(
    UID,
    "Fabric / Job post-mortem",
    "One job: where it ran, what it moved, and which links of its nodes were not well meanwhile.",
    SCOPE,
    (POOL, JOB, JOB_NODES),
    (WHAT, SUSPECTS, SYMPTOM, HINTS, what_a_node_cannot_see()),
    (_ONSETS,),
)
