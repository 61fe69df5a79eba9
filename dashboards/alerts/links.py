"""Alerts about the state of links: failed, missing, slower than they should be, flapping. All follow the verdict of docs/health.md.

What holds over passes, hysteresis and expectations are the node's business, where thresholds are configured; the rules add who must not be
woken, and that silence is no recovery.
"""

from dashboards.alerts.alert import Alert, Component, Guard, Runbook, Severity
from dashboards.alerts.expression import LINK, select
from dashboards.alerts.guards import MUTED, MUTED_BEFORE
from dashboards.rules.last_known import LAST_KNOWN
from exporter.catalog.gpu import LINKS_ACTIVE, LINKS_EXPECTED
from exporter.catalog.signals import CONDITION, HEALTH
from exporter.model.entity import Fabric
from exporter.model.health import Level, Why

PCIE = Fabric.PCIE.value
DOWNGRADES = "|".join((Why.SPEED_DOWNGRADE, Why.WIDTH_DOWNGRADE, Why.WRONG_LINK_LAYER))
NAMED = "|".join((Why.SPEED_DOWNGRADE, Why.WIDTH_DOWNGRADE, Why.WRONG_LINK_LAYER, Why.ERROR_BUDGET, Why.NVLINK_ERROR_STORM, Why.RECOVERIES,
                  Why.PCIE_LOST, Why.PAUSE_STORM, Why.FLAPPING))  # fmt: skip
"""Reasons that make a link degraded and have an alert of their own."""
STATUS = f"({select(HEALTH)} > {Level.SUSPECT:d} or {LAST_KNOWN})"
"""Status of each link that is degraded or failed, or its last known one while its exporter is silent (microsoft/pai#4942). Healthy links
are left out first: of a hundred thousand, few are sick."""

FAILED = Alert("FabricLinkFailed", Severity.CRITICAL, Component.LINK, STATUS, ">", Level.DEGRADED, MUTED_BEFORE,
    "{link} on {node} has failed", "{link} on {node} does not do its work: {reasons}. Jobs on this node hang or crawl.",
    Runbook(
        "The link is down, its device is gone, the driver reported a fatal error of this link (Xid 74 or 149), or the GPU is not well in "
        "its NVLink domain. The verdict stays for an hour after the link came back: a link that mends itself is not mended. It also stays "
        "while the exporter is silent.",
        ("fabric-exporter check --json", "fabric-exporter topology", "dmesg | grep -iE 'xid|mlx5|link'",
         "ibstat; nvidia-smi nvlink --status"),
        ("Drain the node: `scontrol update nodename=NODE state=drain reason=fabric` or `kubectl cordon NODE`.",
         "InfiniBand, RoCE, Ethernet: look at the switch's side of the port, then reseat or swap cable and transceiver.",
         "NVLink: `fabric-exporter release`, `nvidia-smi --gpu-reset`, `fabric-exporter resume`; then open a ticket with the Xid.",
         "`missing`: power-cycle the node; if the device stays away, reseat or replace it."),
        "The far end may be the culprit: several nodes of one leaf at once point to the switch (FabricManyNodesFailed)."),
    "1m", "10m")  # fmt: skip

DEGRADED = Alert("FabricLinkDegraded", Severity.WARNING, Component.LINK, STATUS, ">", Level.SUSPECT,
    (Guard("failed", f"unless {LINK} {STATUS} > {Level.DEGRADED:d}", "a failed link has an alert of its own"),
     Guard("named", f'unless {LINK} {select(CONDITION, reason="~" + NAMED)} == 1', "one incident, one alert: these reasons have their own"),
     *MUTED_BEFORE),
    "{link} on {node} is degraded", "{link} on {node} does its work badly: {reasons}. It slows whoever waits for it.",
    Runbook(
        "Several independent signs speak against the link, or a reason without an alert of its own (traffic disabled, flapping, "
        "GPUDirect).",
        ("fabric-exporter check --json",),
        ("Read the reasons: docs/health.md says what each means.", "Take the link's other alerts first, if there are any.",
         "Nothing found: run a bandwidth test between this node and a healthy one, and swap the cable if it is slow.")),
    "5m", "10m")  # fmt: skip

NVLINK_MISSING = Alert("FabricNVLinkMissing", Severity.CRITICAL, Component.GPU,
    f"{select(LINKS_EXPECTED)} - {select(LINKS_ACTIVE)}", ">", 0, MUTED,
    "{device} on {node} lacks {value} NVLinks", "{device} on {node} has {value} NVLinks fewer than it should have.",
    Runbook(
        "NVLinks of the GPU are down that the board, the configuration, this node's past or the GPU's sisters say should be up. Links that "
        "sleep count as up; links hidden by MIG and links that were never wired are not expected.",
        ("fabric-exporter check --json", "nvidia-smi nvlink --status", "dmesg | grep -i xid", "systemctl status nvidia-fabricmanager"),
        ("Drain the node.", "All links of all GPUs: look at Fabric Manager and the NVSwitches first.",
         "Some links of one GPU: reset the GPU; if they stay away, the GPU or its board goes back."),
        "A card with half-wired bridges by design: say so in `expect` (docs/nvlink.md)."),
    "3m", "10m")  # fmt: skip

DOWNGRADED = Alert("FabricLinkDowngraded", Severity.CRITICAL, Component.LINK,
    select(CONDITION, fabric="!" + PCIE, reason="~" + DOWNGRADES), ">", 0, MUTED,
    "{link} on {node} runs below its speed: {reason}",
    "{link} on {node} trained slower or narrower than it should ({reason}): every rank of a job waits for it.",
    Runbook(
        "The link came up with a lower lane rate or fewer lanes than this port was seen with, than `expect.ports` says, or than its rail "
        "sisters have; or it speaks the wrong link layer. One NIC at half speed costs a job like all of them at half speed.",
        ("fabric-exporter check --json", "ibstat DEVICE", "mlxlink -d DEVICE --cable --eye"),
        ("`speed_downgrade`: cable class, FEC and transceiver of both ends; reseat, then swap.",
         "`width_downgrade`: a lane is lost: swap the cable.",
         "`misconfigured_link_layer`: set LINK_TYPE with mlxconfig, or mend `expect.ports`.")),
    "2m", "10m")  # fmt: skip

PCIE_DOWNGRADED = Alert("FabricPCIeDowngraded", Severity.WARNING, Component.LINK,
    select(CONDITION, fabric=PCIE, reason=f"~{Why.SPEED_DOWNGRADE}|{Why.WIDTH_DOWNGRADE}"), ">", 0, MUTED,
    "PCIe of {device} on {node} runs below its speed: {reason}",
    "PCIe link {port} of {device} on {node} runs slower or narrower than both ends can ({reason}).",
    Runbook(
        "The device, or a bridge above it, trained below what both ends can do and what it was ever seen with. A GPU's speed counts only "
        "while the GPU works: idle ones sleep at 2.5 GT/s (local-inference-lab/rtx6kpro#88).",
        ("fabric-exporter check --json", "lspci -vv -s ADDRESS | grep -E 'LnkCap|LnkSta'", "dmesg | grep -i 'limited by'"),
        ("Reboot the node once.", "Reseat card and riser; look for bent pins.", "Update the BIOS; then replace the riser, then the card."),
        "A slot with fewer lanes by design is learned within a week; `expect` says it at once."),
    "5m", "10m")  # fmt: skip

FLAPPING = Alert("FabricLinkFlapping", Severity.WARNING, Component.LINK,
    f"max without (reason) ({select(CONDITION, reason=f'~{Why.FLAPPING}|{Why.FLAPS}')})", ">", 0, MUTED,
    "{link} on {node} flaps", "{link} on {node} went down and up three times within an hour, or five times within a day.",
    Runbook(
        "The link goes down and up again. Counted are downs since the exporter first saw the link, by whichever evidence saw most, so what "
        "its counters held before is no flap. `increase(fabric_link_flaps_total[1h])` is the number; a rule that asks it of every link of "
        "a thousand nodes reads fifty million samples, so the node counts.",
        ("fabric-exporter check --json", "dmesg | grep -iE 'link (up|down)'", "mlxlink -d DEVICE --cable"),
        ("Swap cable and transceiver: a marginal one works between flaps.", "Look at the switch's log of the same minutes."),
        "Somebody who works at the switch without maintenance set on the nodes behind it."),
    "0s", "30m")  # fmt: skip

ALERTS = (FAILED, DEGRADED, NVLINK_MISSING, DOWNGRADED, PCIE_DOWNGRADED, FLAPPING)
