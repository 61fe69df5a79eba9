"""PCIe and topology: links below what they should be, errors, what waits for the host, GPUDirect, and how GPUs and NICs are joined."""

from dashboards import units
from dashboards.board import DEVICES, Board, Section
from dashboards.panels import stat, status_history, timeseries, words
from dashboards.promql import HOUR, growth, lowest_ever, rate, value
from dashboards.sick import NO_FAULT, SHOWN_MOST
from dashboards.tables import Column, Label, matrix, table
from dashboards.variables import NODES, PCIE, POOL
from dashboards.ways import PCIE as UID
from dashboards.ways import TO_NODE, TO_NODE_OF_SERIES
from dashboards.words import BLUE, LACKS_HAS, ORANGE, RED, YELLOW
from exporter.catalog import ethernet, gpudirect, pcie, signals

LINK = ("node", "device", "port")
NO_MACHINE = "the kernel does not say (a virtual machine)"
NO_STATISTIC = "no driver here has such a statistic"
NO_NEIGHBOUR = "no NIC has a GPU beside it"
MOST = 20
_BELOW = value(signals.CAPACITY, fabric="pcie").min_by(*LINK).only("< 0.99", NO_FAULT)
_BROKEN_PATH = lowest_ever(gpudirect.AVAILABLE).min_by("node", "device").where_also(
    value(gpudirect.EXPECTED).max_by("node", "device").only("== 1", NO_NEIGHBOUR), "node", "device").bottom(SHOWN_MOST)  # fmt: skip
PLACE = {"node": Label(width=170), "device": Label(width=100), "port": Label(width=140)}

NOW = Section(
    "Links now",
    (
        stat("PCIe links", "Links of GPUs, RDMA devices and NICs, and of every bridge above them.",
             value(pcie.WIDTH).count_by(), color=BLUE),
        stat("Links below what they should be", "Speed times width is less than expected. A GPU that idles at low speed is not counted.",
             value(signals.CAPACITY, fabric="pcie").whether("< 0.99").sum_by(), steps=((1, ORANGE),)),
        stat("Errors that lost something", "AER errors within the hour that PCIe could not correct.",
             growth(pcie.SEVERITIES, HOUR, severity="~nonfatal|fatal").sum_by(), steps=((1, RED),)),
        stat("Corrected errors", "AER errors within the hour that PCIe corrected.", growth(pcie.SEVERITIES, HOUR, severity="correctable")
             .sum_by(), steps=((100, YELLOW),)),
        stat("NICs without GPUDirect", "NICs that should reach the memory of GPUs without the CPU and do not.",
             value(gpudirect.EXPECTED).minus(value(gpudirect.AVAILABLE), "node", "device").whether("> 0").sum_by().sometimes(NO_NEIGHBOUR),
             steps=((1, ORANGE),)),
        stat("Devices on PCIe", "GPUs, RDMA devices and NICs.", value(pcie.INFO).count_by(), color=BLUE),
        table("Links below their capacity", "Capacity is speed times width as a share of the expected; `port` is `upstream` for the "
              "device's own link, else the address of a bridge above it.",
              Column("capacity", _BELOW),
              Column("lanes", value(pcie.WIDTH).max_by(*LINK).where_also(_BELOW, *LINK)),
              Column("speed", value(pcie.SPEED).max_by(*LINK).where_also(_BELOW, *LINK)),
              labels=PLACE, sort="capacity", ascending=True, way=TO_NODE, w=12),
        table("Expected of those links", "What both ends can do, what the link proved limited to, and what is configured. Needs tier full.",
              Column("lanes expected", value(pcie.WIDTH_EXPECTED).max_by(*LINK).where_also(_BELOW, *LINK)),
              Column("speed expected", value(pcie.SPEED_EXPECTED).max_by(*LINK).where_also(_BELOW, *LINK)),
              labels=PLACE, sort="node", ascending=True, way=TO_NODE, w=12),
    ),
)  # fmt: skip

COURSE = Section(
    "Speed, width and errors over time",
    (
        timeseries("Links by width", "Links by the number of lanes that they run with.", value(pcie.WIDTH).counted_values("lanes"),
                   stacked=True),
        timeseries("Links by speed", "Links by billions of transfers per second on each lane (GT/s); idle GPUs lower it to save power.",
                   value(pcie.SPEED).times(1e-9, units.COUNT).counted_values("speed"), stacked=True),
        timeseries("Errors by severity", "AER errors per second of all links.", rate(pcie.SEVERITIES).sum_by("severity")),
        timeseries("Links with most errors", f"AER errors per second, the {MOST} worst.",
                   rate(pcie.SEVERITIES).sum_by(*LINK, "severity").only("> 0", NO_FAULT).top(MOST), way=TO_NODE_OF_SERIES),
        table("Errors by kind in this time range", "AER errors by the kernel's name. Needs tier full.",
              Column("errors", growth(pcie.ERRORS).sum_by(*LINK, "severity", "kind").only("> 0", NO_FAULT).top(50)),
              labels={**PLACE, "severity": Label(width=110), "kind": Label()}, sort="errors", way=TO_NODE, w=12),
        timeseries("NICs that wait for PCIe", f"Share of the last second in which a NIC waited for its host; the {MOST} worst.",
                   value(ethernet.PCI_STALLED).max_by(*LINK, "direction").sometimes(NO_STATISTIC).top(MOST), way=TO_NODE_OF_SERIES),
    ),
)  # fmt: skip

PATHS = Section(
    "GPUDirect RDMA",
    (
        status_history("NICs that should reach GPUs directly", f"Whether they do; {SHOWN_MOST} at most, those that did not first.",
                       value(gpudirect.AVAILABLE).min_by("node", "device").where_also(_BROKEN_PATH, "node", "device"), words=LACKS_HAS,
                       w=12, way=TO_NODE_OF_SERIES),
        table("What is missing for it", "Requirements that are not met: software (nvidia-peermem or DMA-BUF), path, acs_off. Needs tier "
              "full.",
              Column("met", value(gpudirect.REQUIREMENT).min_by("node", "device", "requirement").only("== 0", NO_FAULT), words=LACKS_HAS),
              labels={"node": Label(width=170), "device": Label(width=110), "requirement": Label()}, sort="node", ascending=True,
              way=TO_NODE, w=12),
    ),
)  # fmt: skip

TOPOLOGY = Section(
    "Topology",
    (
        matrix("How near GPUs and NICs are", "PCI distance as nvidia-smi topo -m says it: PIX and PXB share switches, PHB and NODE "
               "cross the host's bridge, SYS crosses sockets. Choose one node. Needs tier full.",
               value(pcie.DISTANCE).max_by("device", "peer", "distance"), row="device", column="peer", cell="distance", w=14, h=10),
        table("Where devices sit", "Address and NUMA node of each device.", Column("seen", value(pcie.INFO), hidden=True),
              labels={"node": Label(width=170), "device": Label(width=110), "pci": Label(), "numa_node": Label(width=100)}, sort="node",
              ascending=True, way=TO_NODE, w=10, h=10),
        words("What PCIe numbers cannot say", "The limits of what is shown.",
              "- In a virtual machine the kernel knows neither speed nor distance: those series are missing.\n"
              "- A bridge's link stands once under each device below it: count devices, not lines.\n"
              "- Bytes over PCIe are not counted: only the NIC's waiting shows that the host is slow.\n"
              "- GPUs lower their speed while they idle; it is judged only while they work.\n", h=5),
    ),
)  # fmt: skip

BOARD = Board(
    UID,
    "Fabric / PCIe and topology",
    "PCIe links of GPUs and NICs: speed, width, errors, GPUDirect, and how near devices are to each other.",
    DEVICES,
    (POOL, NODES, PCIE),
    (NOW, COURSE, PATHS, TOPOLOGY),
)
