"""Alerts about errors: bits, packets of NVLink, PCIe, the driver's own reports. What may be called too many is judged on the node."""

from dashboards.alerts.alert import Alert, Component, Runbook, Severity
from dashboards.alerts.expression import happened, select
from dashboards.alerts.guards import MUTED, known
from exporter.catalog.infiniband import SATURATED
from exporter.catalog.signals import CONDITION
from exporter.catalog.xid import NVLINK_SXIDS, NVLINK_XIDS, SXID, XID
from exporter.catalog.xid import OFF_BUS as IN_WORDS
from exporter.model.entity import Fabric
from exporter.model.health import Why

HARMLESS = frozenset({121, 137})
"""Xids of NVLink that are no fault of a link: corrected, and an application's forbidden access."""
XIDS = "|".join(str(number) for number in NVLINK_XIDS if number not in HARMLESS)
SXIDS = "|".join(str(number) for number in NVLINK_SXIDS)
OFF_THE_BUS = "79"
"""Xid of a GPU that fell off the bus; its counter comes into being with its first event."""

BUDGET = Alert("FabricErrorBudget", Severity.WARNING, Component.LINK, select(CONDITION, reason=Why.ERROR_BUDGET), ">", 0, MUTED,
    "{link} on {node} spends its error budget",
    "{link} on {node} has far more bit errors than its rate allows, over an hour and five minutes.",
    Runbook(
        "Ten times the permitted errors per bit over an hour and over the last five minutes, and at least ten errors. The bound scales "
        "with "
        "the link's rate: a 400 Gb/s link may have errors that a 100 Gb/s link may not (NVIDIA/DCGM#184).",
        ("fabric-exporter check --json", "mlxlink -d DEVICE --show_ber --cable"),
        ("Clean the connectors, reseat the transceiver.", "Swap cable or transceiver; keep the link out of jobs until then."),
        "The far end's transmitter: swap ends to tell."),
    "0s", "15m")  # fmt: skip

TREND = Alert("FabricErrorTrend", Severity.INFO, Component.LINK, select(CONDITION, reason=Why.ERROR_TREND), ">", 0, MUTED,
    "{link} on {node} has had too many bit errors for days",
    "{link} on {node} spends its error budget slowly, over three days and six hours.",
    Runbook("Errors per bit above the permitted ones over three days and over six hours: a cable that ages.",
        ("fabric-exporter check --json", "mlxlink -d DEVICE --show_ber --cable"),
        ("Plan the swap of cable or transceiver for the next maintenance.",)),
    "1h", "1h")  # fmt: skip

NVLINK_ERRORS = Alert("FabricNVLinkErrors", Severity.WARNING, Component.LINK,
    select(CONDITION, fabric=Fabric.NVLINK.value, reason=f"~{Why.NVLINK_ERROR_STORM}|{Why.RECOVERIES}"), ">", 0, MUTED,
    "{link} on {node}: {reason}", "NVLink {port} of {device} on {node} has a hundred errors a second, or retrained three times in an hour.",
    Runbook("Replays or CRC errors by the hundred each second (DCGM's own limit), three recoveries within an hour, or one that failed.",
        ("fabric-exporter check --json", "nvidia-smi nvlink --errorcounters", "dmesg | grep -i xid"),
        ("Reset the GPU in the next gap between jobs.", "It comes back: drain the node, the GPU or its board goes back."),
        "Single replays and symbol errors are normal on PAM4 links and raise nothing."),
    "0s", "30m")  # fmt: skip

PCIE_ERRORS = Alert("FabricPCIeErrors", Severity.WARNING, Component.LINK, select(CONDITION, reason=Why.PCIE_LOST), ">", 0, MUTED,
    "PCIe of {device} on {node} lost something", "PCIe link {port} of {device} on {node} reported an error that it cannot correct.",
    Runbook("The function reported a nonfatal or fatal error (AER) within the last ten minutes.",
        ("fabric-exporter check --json", "dmesg | grep -i aer", "lspci -vv -s ADDRESS"),
        ("Once: watch it.", "Again: reseat card and riser, then replace them.")),
    "0s", "30m")  # fmt: skip

SATURATED_COUNTER = Alert("FabricCounterSaturated", Severity.INFO, Component.NODE,
    f"count by (job, instance, node, pool, field) ({select(SATURATED)} == 1)", ">", 0, MUTED,
    "{value} ports of {node} cannot count {field} any more",
    "Counter {field} of {value} ports of {node} stands at its ceiling: what it would tell is not known until somebody clears it.",
    Runbook("Old PMA counters stop at their width: link_downed at 255, port_xmit_wait at 2^32-1 (leptonai/gpud#943). It is no fault of the "
        "link, and raises none; rules that need the counter are blind, and the link's status may be unknown.",
        ("fabric-exporter scrape | grep saturated", "perfquery -x LID PORT"),
        ("Clear the counters in the next maintenance: `perfquery -R LID PORT`. The exporter itself never does.",)),
    "10m")  # fmt: skip


def _xid(name: str, severity: Severity, value: str, summary: str, description: str, runbook: Runbook) -> Alert:
    return Alert(name, severity, Component.GPU, value, ">", 0, (known("kernel_log"), *MUTED), summary, description, runbook, "0s", "30m",
                 "dmesg | grep -i xid")  # fmt: skip


NVLINK_XID = _xid("FabricNVLinkXid", Severity.WARNING, happened(XID, "10m", xid="~" + XIDS),
    "{device} on {node} reported Xid {xid}", "The driver of {device} on {node} reported Xid {xid}, an error of NVLink.",
    Runbook("The driver's own word on an NVLink error. 74 and 149 name the link, which then fails (FabricLinkFailed).",
        ("dmesg | grep -i xid", "fabric-exporter check --json", "nvidia-smi nvlink --status"),
        ("Look the number up in docs/metrics.md, Xids that speak of NVLink.",
         "Once, and no link is sick: watch the GPU. Again: reset it, then open a ticket."),
        "An application that was killed in mid-transfer."))  # fmt: skip
_LOST = "\nor\n".join((happened(XID, "10m", xid=OFF_THE_BUS), happened(IN_WORDS, "10m")))
OFF_BUS = _xid("FabricGPUFallenOffBus", Severity.CRITICAL, f"max by (job, instance, node, pool, device) (\n{_LOST}\n)",
    "{device} on {node} fell off the bus",
    "{device} on {node} does not answer on PCIe any more (Xid 79, or the kernel log says so in words).",
    Runbook("The GPU is gone for the driver: power, PCIe link, or the GPU itself. Its NVLinks and those of its peers go with it.",
        ("dmesg | grep -iE 'xid|fallen off'", "lspci -s ADDRESS", "nvidia-smi"),
        ("Drain the node and power-cycle it; a reset is not enough.", "It comes back: reseat the GPU, then replace it.")))  # fmt: skip
NVSWITCH_SXID = _xid("FabricNVSwitchSXid", Severity.WARNING, happened(SXID, "10m", sxid="~" + SXIDS),
    "NVSwitch {device} on {node} reported SXid {sxid}", "NVSwitch {device} on {node} reported SXid {sxid} on its port {port}.",
    Runbook("The NVSwitch's own word on a link: training failed, heartbeat lost, errors above its threshold, firmware fault.",
        ("dmesg | grep -i sxid", "systemctl status nvidia-fabricmanager", "fabric-exporter check --json"),
        ("On all switches at once: a GPU was lost; see its own alerts.",
         "On one port: reset the GPU at its other end, then open a ticket.")))  # fmt: skip

ALERTS = (BUDGET, TREND, NVLINK_ERRORS, PCIE_ERRORS, SATURATED_COUNTER, NVLINK_XID, OFF_BUS, NVSWITCH_SXID)
