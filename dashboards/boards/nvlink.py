"""NVLink: links that are not there, traffic and its symmetry, errors and recoveries, the NVLink domain, what the driver reports."""

from dashboards import units
from dashboards.blind import what_a_node_cannot_see
from dashboards.board import DEVICES, Board, Section
from dashboards.panels import heatmap, stat, state_timeline, status_history, timeseries
from dashboards.promql import HOUR, growth, lowest_ever, rate, value
from dashboards.sick import NO_FAULT, SHOWN_MOST
from dashboards.tables import Column, Label, table
from dashboards.variables import GPUS, NODES, POOL
from dashboards.ways import NVLINK as UID
from dashboards.ways import TO_NODE, TO_NODE_OF_SERIES
from dashboards.words import BLUE, DOWN_UP, ORANGE, RED, STATES, YELLOW
from exporter.catalog import gpu, nvlink, signals, xid

GPU = ("node", "device")
LINK = ("node", "device", "port")
AT_GPU = {"node": Label(width=170), "device": Label(width=100)}
AT = {**AT_GPU, "port": Label(width=80)}
"""Where a row of a table is."""
BLACKWELL = "only Blackwell and later count it"
NO_DOMAIN = "the GPUs have no NVLink domain (before Hopper)"
NO_GRACE_CPU = "only Grace superchips have such links"
MOST = 20
"""Lines of a chart, at most."""

_NEVER_WIRED = lowest_ever(nvlink.PRESENCE).min_by(*LINK).only("== 5", NO_FAULT)
_LOST = lowest_ever(nvlink.STATE).min_by(*LINK).only("== 0", NO_FAULT).unless(_NEVER_WIRED, *LINK).bottom(SHOWN_MOST)
_NOT_JOINED = lowest_ever(gpu.FABRIC_STATE).min_by(*GPU).only("< 3", NO_FAULT).bottom(SHOWN_MOST)
_WORST_C2C = lowest_ever(gpu.C2C_STATUS).min_by(*GPU).sometimes(NO_GRACE_CPU).bottom(SHOWN_MOST)
_EXPECTED_DOWN = value(nvlink.PRESENCE).max_by(*LINK).only("== 4", NO_FAULT)
NOW = Section(
    "Links now",
    (
        stat("Active links", "NVLinks that are active now, those asleep included.", value(gpu.LINKS_ACTIVE).sum_by(), color=BLUE),
        stat("Missing links", "Links that should be active and are not.",
             value(gpu.LINKS_EXPECTED).minus(value(gpu.LINKS_ACTIVE), *GPU).sum_by(), steps=((1, RED),)),
        stat("GPUs not well in their domain", "GPUs that did not join their NVLink domain well, or say something bad of it.",
             value(gpu.FABRIC_HEALTHY).whether("== 0").sum_by().sometimes(NO_DOMAIN), steps=((1, RED),), none="no domain"),
        stat("Recoveries within the hour", "Times any link retrained.", growth(nvlink.RECOVERIES, HOUR, result="any").sum_by(),
             steps=((1, YELLOW), (3, ORANGE))),
        stat("Errors within the hour", "Errors that any end of a link saw.", growth(nvlink.ERRORS, HOUR).sum_by(), color=BLUE),
        stat("Xids within the hour", "Errors that the driver reported, of all numbers.",
             growth(xid.XID, HOUR).sum_by().sometimes("the kernel log cannot be read"), steps=((1, ORANGE),)),
        state_timeline("Links that were inactive", f"State of each link that was inactive at any moment of the time range and is expected; "
                       f"{SHOWN_MOST} at most. Links that were never wired are left out.",
                       value(nvlink.STATE).max_by(*LINK).where_also(_LOST, *LINK),
                       words=STATES[nvlink.STATE], w=12, way=TO_NODE_OF_SERIES),
        table("Links that are down", "Links that are expected and not active, with what they are.",
              Column("what it is", _EXPECTED_DOWN, words=STATES[nvlink.PRESENCE]),
              labels=AT, sort="node", ascending=True, way=TO_NODE,
              w=12),
    ),
)  # fmt: skip

LOAD = Section(
    "Traffic and symmetry",
    (
        timeseries("Busiest GPUs: sent", f"Bytes per second over all links of a GPU; the {MOST} busiest.",
                   rate(nvlink.TRANSMITTED).sum_by(*GPU).top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Busiest GPUs: received", f"Bytes per second over all links of a GPU; the {MOST} busiest.",
                   rate(nvlink.RECEIVED).sum_by(*GPU).top(MOST), way=TO_NODE_OF_SERIES),
        heatmap("GPUs by utilisation of their links", "How many GPUs have links of that mean utilisation, the busier direction.",
                value(signals.UTILIZATION, fabric="nvlink").mean_by(*GPU, "direction").max_by(*GPU)),
        timeseries("Spread between links of one GPU", f"Utilisation of the busiest link less that of the idlest; the {MOST} widest. "
                   "Links to switches carry alike.",
                   value(signals.UTILIZATION, fabric="nvlink").max_by(*GPU).minus(
                       value(signals.UTILIZATION, fabric="nvlink").min_by(*GPU), *GPU).top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Links that carry less than their siblings", "Traffic as a share of the median of the links that should carry the "
                   f"same; the {MOST} least.",
                   value(signals.SIBLING, fabric="nvlink").min_by(*LINK).sometimes("links carry too little to compare").bottom(MOST),
                   steps=((0.7, ORANGE),), way=TO_NODE_OF_SERIES),
        timeseries("Links by port number", "Bytes per second sent, mean of all GPUs: port numbers belong to NVSwitch planes, so a plane "
                   "that carries less shows on every GPU.", rate(nvlink.TRANSMITTED).mean_by("port").called("port {{port}}")),
    ),
)  # fmt: skip

ERRORS = Section(
    "Errors and recoveries",
    (
        timeseries("Errors by kind", "Errors per second of all links, by kind; which kinds there are depends on the generation.",
                   rate(nvlink.ERRORS).sum_by("kind")),
        timeseries("Links with most errors", f"Errors per second; the {MOST} worst.",
                   rate(nvlink.ERRORS).sum_by(*LINK).only("> 0", NO_FAULT).top(MOST), way=TO_NODE_OF_SERIES),
        timeseries("Recoveries within the hour, by link", "Times a link retrained; three within an hour make it degraded.",
                   growth(nvlink.RECOVERIES, HOUR, result="any").sum_by(*LINK).only("> 0", NO_FAULT).top(MOST), steps=((3, ORANGE),),
                   way=TO_NODE_OF_SERIES),
        timeseries("Blocks sent again", f"As a share of blocks sent (PLR); the {MOST} worst links. Blackwell and later.",
                   rate(nvlink.BLOCKS_REPEATED).sum_by(*LINK).over(rate(nvlink.BLOCKS).sum_by(*LINK), *LINK).sometimes(BLACKWELL).top(MOST)
                   .in_unit(units.SCIENTIFIC), way=TO_NODE_OF_SERIES),
        timeseries("Bit error ratio after FEC", f"As the driver states it; the {MOST} worst links. Blackwell and later.",
                   value(nvlink.BIT_ERROR_RATIO, kind="effective").max_by(*LINK).sometimes(BLACKWELL).top(MOST).in_unit(units.SCIENTIFIC),
                   way=TO_NODE_OF_SERIES),
        timeseries("Codewords that FEC mended hard", "Codewords with three and more symbols in error, per second, of all links. Needs "
                   "tier full and Blackwell.", rate(nvlink.FEC, bin="!~0|1|2").sum_by("bin").sometimes(BLACKWELL)),
        table("Links by errors in this time range", "Errors that this end of the link saw, by kind.",
              Column("errors", growth(nvlink.ERRORS).sum_by(*LINK, "kind").only("> 0", NO_FAULT).top(50)),
              labels={**AT, "kind": Label()}, sort="errors",
              way=TO_NODE, w=12),
        table("Xids and NVLink", "Errors that the driver reported within the time range; `port` is the link that it names.",
              Column("times", growth(xid.XID).sum_by(*LINK, "xid").only("> 0", NO_FAULT).top(50)),
              labels={**AT, "xid": Label()}, sort="times",
              way=TO_NODE, w=12),
    ),
)  # fmt: skip

DOMAIN = Section(
    "NVLink domain and chip-to-chip links",
    (
        status_history("How far GPUs got in joining their domain", "GPUs that have not completed it at some moment; completed alone "
                       "does not mean well.", value(gpu.FABRIC_STATE).max_by(*GPU).where_also(_NOT_JOINED, *GPU),
                       words=STATES[gpu.FABRIC_STATE], w=12, way=TO_NODE_OF_SERIES),
        table("What the driver wants done", "GPUs that the driver wants reset, drained or rebooted.",
              Column("action", value(gpu.RECOVERY_ACTION).max_by(*GPU).only("> 0", NO_FAULT), words=STATES[gpu.RECOVERY_ACTION]),
              labels={"node": Label(width=170), "device": Label()}, sort="action", way=TO_NODE, w=12),
        table("What GPUs say of their domain", "By field: 1 true, 2 false; summary is 1 healthy, 2 unhealthy, 3 limited capacity (see the "
              "reference). Blackwell and later.",
              Column("value", value(gpu.FABRIC_HEALTH).max_by(*GPU, "field").sometimes("the GPUs do not say")),
              labels={**AT_GPU, "field": Label()}, sort="node", ascending=True, way=TO_NODE, w=12),
        table("SXids of NVSwitches", "Errors that the driver reported of switches within the time range; `device` is the switch's PCI "
              "address, "
              "`port` its own link number.",
              Column("times", growth(xid.SXID, device="~.*").sum_by(*LINK, "sxid").only("> 0", NO_FAULT).top(50)),
              labels={"node": Label(width=170), "device": Label(width=130), "port": Label(width=80), "sxid": Label()}, sort="times",
              way=TO_NODE, w=12),
        stat("GPUs partitioned (MIG)", "While any GPU of a node is, its healthy NVLinks are hidden.", value(gpu.MIG_ENABLED).sum_by(), w=6,
             color=BLUE),
        stat("GPUs off the bus", "Times within the time range that the kernel log said so.",
             growth(xid.OFF_BUS, device="~.*").sum_by().sometimes("the kernel log cannot be read"), w=6, steps=((1, RED),)),
        stat("Links down by their register", "Times within the time range that a port's own register counted. Blackwell and later.",
             growth(nvlink.LINK_DOWNS).sum_by().sometimes(BLACKWELL), w=6, steps=((1, ORANGE),), none="not counted"),
        stat("GPUs in a reduced bandwidth mode", "Somebody set it: a setting, not a fault.",
             value(gpu.BANDWIDTH_MODE).whether("> 0").sum_by().sometimes("the driver does not say"), w=6, color=BLUE, none="not said"),
        table("Where links lead", "Links by far end and version.", Column("links", value(nvlink.INFO).count_by("peer_type", "version")),
              labels={"peer_type": Label(), "version": Label()}, sort="links", w=8, h=6),
        table("Who says how many links there should be", "GPUs by the source of the expectation.",
              Column("GPUs", value(gpu.EXPECTATION_INFO).count_by("source")), labels={"source": Label()}, sort="GPUs", w=8, h=6),
        table("NVLink firmware", "GPUs by firmware of each part: a mixture within one rack is worth a look.",
              Column("GPUs", value(gpu.FIRMWARE_INFO).count_by("part", "firmware_version").sometimes("the driver does not say")),
              labels={"part": Label(), "firmware_version": Label()}, sort="GPUs", w=8, h=6),
        status_history("Links to the Grace CPU", "Chip-to-chip links of GPUs.",
                       value(gpu.C2C_STATUS).min_by(*GPU).where_also(_WORST_C2C, *GPU), words=DOWN_UP, w=12, h=6),
        timeseries("Errors of links to the Grace CPU", "Per second, by kind.",
                   rate(gpu.C2C_ERRORS).sum_by("kind").sometimes(NO_GRACE_CPU), h=6),
    ),
    folded=True,
)  # fmt: skip

BOARD = Board(
    UID,
    "Fabric / NVLink",
    "NVLinks of all GPUs: presence, traffic and its symmetry, errors, the NVLink domain.",
    DEVICES,
    (POOL, NODES, GPUS),
    (NOW, LOAD, ERRORS, DOMAIN, what_a_node_cannot_see()),
)
