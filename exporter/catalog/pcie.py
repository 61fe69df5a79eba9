"""Rows of PCIe links as /sys/bus/pci shows them: of each GPU, HCA and NIC, and of every bridge above it. Data, no behaviour.

A link is named by the device it serves: `port` is `upstream` for the device's own link, else the PCI address of a bridge above it, whose
numbers stand once under each device below it. Files: torvalds/linux Documentation/ABI/testing/sysfs-bus-pci and
sysfs-bus-pci-devices-aer_stats. `raw` is the path below the function's folder.
"""

from collections.abc import Mapping

from exporter.model.metric import Cadence, Kind, Metric, Role, Tier, Unit

LINK = ("device", "port")
NAME = "fabric_pcie_"
LINK_UNKNOWN = "the kernel has no such file or says Unknown, 0, 63 or 255: a virtual machine, a bus that is not PCIe, or no answer"
NO_EXPECTATION = "the function does not say what it can do, and no expectation is configured"

SPEED = Metric("pcie_speed", NAME + "link_speed_transfers_per_second", Kind.GAUGE, Unit.TRANSFERS_PER_SECOND, LINK,
    "Transfers per second on each lane at which the link runs now (32 GT/s = 3.2e10); idle GPUs lower it to save power.",
    Tier.STANDARD, "current_link_speed", 1e9, Role.LANE_RATE, absent=LINK_UNKNOWN)  # fmt: skip
SPEED_EXPECTED = Metric("pcie_speed_expected", NAME + "link_speed_expected_transfers_per_second", Kind.GAUGE,
    Unit.TRANSFERS_PER_SECOND, LINK,
    "The least of what both ends of the link can do, what it proved limited to over time, and what is configured, in transfers per second.",
    Tier.FULL, "max_link_speed", 1e9, Role.EXPECTED_LANE_RATE, absent=NO_EXPECTATION)  # fmt: skip
WIDTH = Metric("pcie_width", NAME + "link_width_lanes", Kind.GAUGE, Unit.LANES, LINK, "Lanes the PCIe link trained with.",
    Tier.STANDARD, "current_link_width", 1, Role.WIDTH, absent=LINK_UNKNOWN)  # fmt: skip
WIDTH_EXPECTED = Metric("pcie_width_expected", NAME + "link_width_expected_lanes", Kind.GAUGE, Unit.LANES, LINK,
    "The least of what both ends of the link can do, what it proved limited to over time, and what is configured, in lanes.",
    Tier.FULL, "max_link_width", 1, Role.EXPECTED_WIDTH, absent=NO_EXPECTATION)  # fmt: skip
ERRORS = Metric("pcie_errors", NAME + "errors_total", Kind.COUNTER, Unit.COUNT, (*LINK, "severity", "kind"),
    "Errors the function saw on PCIe (AER) by severity (correctable, nonfatal, fatal) and the kernel's name; `other` holds the rest.",
    Tier.FULL, "aer_dev_*", 1, Role.ERRORS, absent="the function or the kernel keeps no AER statistics")  # fmt: skip
SEVERITIES = Metric("pcie_severities", NAME + "link_errors_total", Kind.COUNTER, Unit.COUNT, (*LINK, "severity"),
    "All errors the function saw on PCIe (AER) by severity: correctable, nonfatal, fatal.", Tier.STANDARD, "aer_dev_*",
    absent="the function or the kernel keeps no AER statistics")  # fmt: skip

INFO = Metric("pcie_info", NAME + "info", Kind.INFO, Unit.COUNT, ("device", "pci", "numa_node"),
    "Where a device sits on PCI; value is always 1. numa_node is empty where the firmware names none.", Tier.STANDARD,
    "numa_node", cadence=Cadence.SLOW, absent="the device is not on PCI")  # fmt: skip
DISTANCE = Metric("pcie_distance", NAME + "distance_info", Kind.INFO, Unit.COUNT, ("device", "peer", "distance"),
    "PCI distance from a GPU to each RDMA device and NIC as nvidia-smi topo -m says it (PIX, PXB, PHB, NODE, SYS); unknown where a "
    "virtual machine hides the path. Value is always 1.", Tier.FULL, absent="there is no GPU or no NIC")  # fmt: skip

ROWS = (SPEED, SPEED_EXPECTED, WIDTH, WIDTH_EXPECTED, SEVERITIES, ERRORS, INFO, DISTANCE)

AER_FILES: Mapping[str, str] = {
    "aer_dev_correctable": "correctable", "aer_dev_nonfatal": "nonfatal", "aer_dev_fatal": "fatal",
}  # fmt: skip
"""File → severity."""

AER_KINDS: Mapping[str, frozenset[str]] = {
    "correctable": frozenset({"RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout"}),
    "nonfatal": frozenset({"CmpltTO"}),
    "fatal": frozenset({"SDES"}),
}
"""Kinds shown by name: those of a poor link (receiver, bad packets, replays), lost completions, surprise down. The kernel counts 44 kinds
for each function; all of them for each link of a node would be more series than every other row together, so the rest is one sum,
`other`: what is shown adds up to the kernel's total, and each series exists at 0 before its first event."""
AER_OTHER = "other"
