"""One node: its sick links and why, then load, errors, PCIe, jobs and the exporter itself."""

from dashboards import units
from dashboards.blind import what_a_node_cannot_see
from dashboards.board import ONE_NODE, Board, Section
from dashboards.panels import heatmap, stat, status_history, timeseries
from dashboards.promql import growth, last_seen, rate, value
from dashboards.sick import LINK, NO_FAULT, ONSETS, sick_links, sick_over_time
from dashboards.tables import Column, Label, matrix, table
from dashboards.variables import NODE, POOL
from dashboards.ways import NODE as UID
from dashboards.ways import TO_JOB, TO_LINK_OF_NODE, TO_PCIE_OF_NODE
from dashboards.words import BLUE, HEALTH, OFF_ON, ORANGE, SILENT_ANSWERS, STATUS
from exporter.catalog import ethernet, gpu, infiniband, internals, jobs, nvlink, pcie, signals, xid

NO_NICS = "the node has no NIC without RDMA"

NOW = Section(
    "This node now",
    (
        stat("Worst link", "Health of the worst link of the node.", value(signals.NODE_HEALTH).max_by(), words=HEALTH, none="unknown"),
        stat("Sick links of this node", "Links that are suspect, degraded or failed.",
             value(signals.NODE_LINKS, status="~suspect|degraded|failed").sum_by(), steps=((1, ORANGE),)),
        stat("Links in all", "Links of the node, of all kinds, whatever their health.", value(signals.NODE_LINKS).sum_by(), color=BLUE),
        stat("Maintenance", "Somebody said that the node is being worked on: alerts stay silent.", value(signals.NODE_MAINTENANCE).max_by(),
             words=OFF_ON),
        stat("Starting", "The node, its driver or its NVLink domain is starting: nothing is raised for links that are not up.",
             value(signals.NODE_GRACE).max_by(), words=OFF_ON),
        stat("Jobs", "Batch jobs and pods that use GPUs of the node now.", value(jobs.JOB_INFO).count_by("job_id").count_by()
             .sometimes("no job is known"), color=BLUE, none="none known"),
        sick_links("What is wrong", "Every link of the node that is not ok, with each reason; the worst first.", with_node=False, h=8),
    ),
)  # fmt: skip

COURSE = Section(
    "How it came",
    (
        sick_over_time("Links that were not well", "Health of each link that was not ok at any moment of the time range.", h=8),
        status_history("Worst link of each fabric", "The worst link of each kind; a gap means that Prometheus had nothing from the node.",
                       value(signals.HEALTH).max_by("fabric"), words=HEALTH, w=12, h=7),
        matrix("Links of this node by health", "All links of the node.", value(signals.NODE_LINKS).sum_by("fabric", "status"), row="fabric",
               column="status", order=STATUS, h=7),
    ),
)  # fmt: skip

PORTS = Section(
    "InfiniBand, RoCE and Ethernet",
    (
        timeseries("Sent by port", "Bytes per second that each RDMA port sends.", rate(infiniband.TRANSMITTED).sum_by("device", "port")),
        timeseries("Received by port", "Bytes per second that each RDMA port receives.",
                   rate(infiniband.RECEIVED).sum_by("device", "port")),
        timeseries("Ports: share of capacity", "Utilisation of each port, the busier direction.",
                   value(signals.UTILIZATION, fabric="~infiniband|roce|ethernet").max_by("device", "port"), most=1),
        timeseries("Ports: held back", "Share of time in which a port had data to send and was held back by the network.",
                   value(signals.CONGESTION).max_by("device", "port"), steps=((0.05, ORANGE),)),
        timeseries("NICs without RDMA: sent", "Bytes per second that each other NIC sends.",
                   rate(ethernet.TRANSMITTED).sum_by("device", "port").sometimes(NO_NICS)),
        timeseries("NICs without RDMA: received", "Bytes per second that each other NIC receives.",
                   rate(ethernet.RECEIVED).sum_by("device", "port").sometimes(NO_NICS)),
    ),
)  # fmt: skip

NVLINKS = Section(
    "NVLink",
    (
        timeseries("NVLink: sent by GPU", "Bytes per second that each GPU sends over all its links.",
                   rate(nvlink.TRANSMITTED).sum_by("device")),
        timeseries("NVLink: received by GPU", "Bytes per second that each GPU receives over all its links.",
                   rate(nvlink.RECEIVED).sum_by("device")),
        heatmap("NVLinks by utilisation", "How many links of the node have that utilisation: a second band is a group of links that "
                "carries less.", value(signals.UTILIZATION, fabric="nvlink").max_by("device", "port")),
        timeseries("Missing NVLinks", "Links that should be active and are not, by GPU.",
                   value(gpu.LINKS_EXPECTED).minus(value(gpu.LINKS_ACTIVE), "node", "device").max_by("device")),
    ),
)  # fmt: skip

ERRORS = Section(
    "Errors",
    (
        timeseries("Errors per bit by port", "Errors per bit over the last hour, at the rate of the link.",
                   value(signals.ERROR_RATIO).max_by("fabric", "device", "port").in_unit(units.SCIENTIFIC)),
        timeseries("Retransmissions by port", "Packets sent again, per second.",
                   rate(signals.RETRANSMISSIONS).sum_by("fabric", "device", "port")),
        timeseries("NVLink errors by GPU", "Errors per second that a GPU's ends of its links saw, by kind.",
                   rate(nvlink.ERRORS).sum_by("device", "kind").only("> 0", NO_FAULT)),
        timeseries("PCIe errors by device", "AER errors per second on the device's own link and those above it, by severity.",
                   rate(pcie.SEVERITIES).sum_by("device", "severity").only("> 0", NO_FAULT)),
        table("Flaps", "Times each link went down within the time range.",
              Column("flaps", growth(signals.FLAPS).sum_by(*LINK).only("> 0", NO_FAULT)),
              labels={"fabric": Label(width=110), "device": Label(width=110), "port": Label()}, sort="flaps", way=TO_LINK_OF_NODE, w=12,
              h=7),
        table("Xids", "Errors that the driver reported within the time range; `port` is the NVLink that it names.",
              Column("times", growth(xid.XID).sum_by("device", "port", "xid").only("> 0", NO_FAULT)),
              labels={"device": Label(width=110), "port": Label(width=80), "xid": Label()}, sort="times", w=12, h=7),
    ),
)  # fmt: skip

PCIE = Section(
    "PCIe and GPUDirect",
    (
        table("PCIe links below what they should be", "Present speed times width as a share of the expected. A GPU lowers its speed "
              "while it idles; that is no fault and not counted as one.",
              Column("capacity", value(signals.CAPACITY, fabric="pcie").min_by(*LINK).only("< 1", NO_FAULT)),
              labels={"device": Label(width=110), "port": Label()}, sort="capacity", ascending=True, way=TO_PCIE_OF_NODE, w=12, h=7),
        timeseries("NICs waiting for PCIe", "Share of the last second in which a NIC waited for its host, by direction.",
                   value(ethernet.PCI_STALLED).max_by("device", "direction").sometimes("the driver has no such statistic"), h=7, most=1),
    ),
)  # fmt: skip

WORK = Section(
    "Jobs and the exporter",
    (
        table("Jobs by GPU", "Jobs that used GPUs of this node within the time range.",
              Column("seen", last_seen(jobs.JOB_INFO).max_by("job_id", "scheduler", "workload_namespace", "workload_pod", "device")
                     .sometimes("no job is known"), hidden=True),
              labels={"job_id": Label(width=220, way=TO_JOB), "scheduler": Label(width=110), "workload_namespace": Label(),
                      "workload_pod": Label(), "device": Label(width=90)}, sort="job_id", ascending=True, w=12, h=8),
        status_history("Sources", "1 while all that a source found answers. No hardware is no failure.",
                       value(internals.SOURCE_UP).min_by("source"), words=SILENT_ANSWERS, w=12),
        table("Devices of the node", "RDMA ports, where they sit, and the GPU and rail that they serve.",
              Column("seen", value(infiniband.PORT_INFO), hidden=True),
              labels={"device": Label(width=100), "port": Label(width=60), "netdev": Label(), "link_layer": Label(width=110),
                      "pci": Label(width=130), "numa_node": Label(width=90), "gpu": Label(width=80), "rail": Label(width=60),
                      "role": Label(width=100)}, sort="device", ascending=True, w=24, h=8),
        table("GPUs of the node", "Who each GPU is and where it sits.", Column("seen", value(gpu.INFO), hidden=True),
              labels={"device": Label(width=100), "name": Label(), "pci": Label(width=130), "uuid": Label(), "module_id": Label(width=90),
                      "clique_id": Label(width=90)}, sort="device", ascending=True, w=24, h=8),
    ),
    folded=True,
)  # fmt: skip

BOARD = Board(
    UID,
    "Fabric / Node",
    "One node: its sick links and why, its load, its errors. From here to the link and the job.",
    ONE_NODE,
    (POOL, NODE),
    (NOW, COURSE, PORTS, NVLINKS, ERRORS, PCIE, WORK, what_a_node_cannot_see()),
    (ONSETS,),
)
