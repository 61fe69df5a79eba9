"""Alerts about the exporter itself: silent, blind in one source, stuck, or losing what it should keep. Whoever watches needs watching."""

from dashboards.alerts.alert import Alert, Component, Guard, NoData, Runbook, Severity
from dashboards.alerts.expression import OURS, increase, select
from dashboards.alerts.guards import GRACE, MAINTENANCE, MAINTENANCE_BEFORE
from exporter.catalog.internals import (
    BUILD_INFO,
    GPU_PROCESS_STUCK,
    GPUS_RELEASED,
    RECORDER_DROPPED,
    RELOAD_OK,
    SERIES_DROPPED,
    SOURCE_LAST_SUCCESS,
    SOURCE_UP,
    STATE_WRITABLE,
)
from exporter.catalog.signals import NODE_MAINTENANCE

MISSING_SHARE, MISSING_LEAST = 0.05, 2
"""One node of a hundred is a ticket; a twentieth of a pool is a rollout or a network [D]."""
_DOWN = f"count by (pool) ({OURS} == 0⟦nodes⟧)"


def _own(name: str, value: str, compare: str, summary: str, description: str, runbook: Runbook, wait: str, keep: str,
         severity: Severity = Severity.WARNING, guards: tuple[Guard, ...] = (MAINTENANCE,),
         component: Component = Component.EXPORTER, evidence: str = "journalctl -u fabric-exporter",
         no_data: NoData = NoData.OK) -> Alert:  # fmt: skip
    bound = 1 if compare == "<" else 0
    return Alert(name, severity, component, value, "<" if compare == "<" else ">", bound, guards, summary, description, runbook, wait,
                 keep, evidence, no_data=no_data)  # fmt: skip


DOWN = _own("FabricExporterDown", OURS, "<", "fabric-exporter on {node} does not answer",
    "Prometheus has not reached fabric-exporter on {node} for a quarter of an hour: nothing is known of its links. Alerts of links that "
    "were "
    "failing when it was last seen go on firing.",
    Runbook("The node is down, the exporter is, or the network between it and Prometheus. Longer than a reboot takes.",
        ("ping NODE; ssh NODE systemctl status fabric-exporter", "kubectl -n monitoring get pods -o wide | grep NODE"),
        ("Node down: your own alert says so, and this one can wait.", "Node up: read the journal, restart the exporter.")),
    "15m", "10m", guards=(MAINTENANCE_BEFORE,), no_data=NoData.FAULT)  # fmt: skip

MANY_DOWN = Alert("FabricExportersMissing", Severity.WARNING, Component.POOL,
    f"{_DOWN}\n/\ncount by (pool) ({OURS})", ">", MISSING_SHARE,
    (MAINTENANCE_BEFORE._replace(place="nodes"),
     Guard("several", f"and {_DOWN} > {MISSING_LEAST - 1}", "in a small pool one node is more than a share")),
    "{percent} of the exporters of pool {pool} do not answer", "Prometheus does not reach {percent} of the exporters of pool {pool}.",
    Runbook("A rollout that failed, a network or firewall change, certificates that ran out.",
        ("Prometheus' page of targets: which error?",), ("Roll back, or mend the network. Until then links of these nodes are not watched.",
         )),
    "10m", "10m", "Prometheus, Status, Targets")  # fmt: skip

VANISHED = _own("FabricNodeVanished", f'count by (pool, node) (present_over_time({select(BUILD_INFO, node="!")}[6h]))', ">",
    "{node} is no target any more", "{node} was watched within the last six hours and is no target any more: nobody would notice its "
        "faults.",
    Runbook("The node was taken out of the cluster or of service discovery. Rules on `up` are blind to a target that does not exist.",
        ("kubectl get node NODE", "Prometheus' page of service discovery"),
        ("Taken out on purpose: nothing to do, this ends by itself.", "Otherwise mend service discovery or the DaemonSet's selector.")),
    "30m", "0s", Severity.INFO,
    (Guard("target", f"unless on (node) {OURS}", "the node is a target, perhaps under another address: a pod that was made anew"),
     Guard("maintenance", f"unless on (node) last_over_time({select(NODE_MAINTENANCE, node='!')}[6h]) == 1",
           "somebody works on the node and said so before it went")))  # fmt: skip

SOURCE_DOWN = _own("FabricSourceDown", select(SOURCE_UP), "<", "Source {source} of {node} does not answer",
    "Source {source} on {node} hangs or cannot be read. What it showed has left the page; verdicts that it raised stay.",
    Runbook("The driver hangs, files cannot be read, or rights are missing.",
        ("fabric-exporter scrape --timing", "curl -s localhost:29100/metrics | grep source_faults",
         "ps -eo pid,stat,wchan,cmd | grep ' D'"),
        ("`nvlink`: the driver hangs; `nvidia-smi` will, too: drain and reboot.",
         "`kernel_log`: give the exporter CAP_SYSLOG, or set sources.kernel_log.enabled to false and do without Xids.",
         "`slurm`, `kubernetes`: docs/health.md, Maintenance."),
        "A new node on which drivers are still being installed is in grace (NVIDIA/NVSentinel#1423)."),
    "10m", "10m", guards=(MAINTENANCE, GRACE))  # fmt: skip

STALE = _own("FabricSourceStale", f"changes({select(SOURCE_LAST_SUCCESS)}[15m])", "<", "Source {source} of {node} stands still",
    "No pass of source {source} on {node} has come back for a quarter of an hour, and the exporter does not say why.",
    Runbook("The page is served and not renewed: the daemon's loop or the source's thread is stuck. Told by the time of the last pass not "
        "changing, so a clock that is wrong or was set does not matter.",
        ("fabric-exporter healthcheck", "py-spy dump --pid PID, or the journal", "fabric-exporter scrape --timing"),
        ("Restart the exporter; keep its journal for a bug report.",)),
    "5m", "10m",
    guards=(Guard("older", f"and {select(SOURCE_LAST_SUCCESS)} offset 15m", "a source that just began may pass each five minutes only"),
            MAINTENANCE))  # fmt: skip

DROPPED = _own("FabricSeriesDropped", increase(SERIES_DROPPED, "10m"), ">", "{node} leaves series off its page: {reason}",
    "fabric-exporter on {node} leaves series off its page (reason {reason}).",
    Runbook("`limit`: the page would be longer than exposition.series_cap. `duplicate`, `invalid`: a bug of ours.",
        ("curl -s localhost:29100/metrics | grep fabric_exporter_series",),
        ("`limit`: a lower tier, fewer devices, or a higher cap (docs/cardinality.md).", "Otherwise report it with the journal.")),
    "0s", "30m")  # fmt: skip

RELOAD_FAILED = _own("FabricReloadFailed", select(RELOAD_OK), "<", "{node} runs with an old configuration",
    "The last reload of fabric-exporter's configuration on {node} failed; the old one is in force.",
    Runbook("The new file has a mistake.", ("fabric-exporter config check FILE",),
        ("Mend the line that it names, then `fabric-exporter reload`.",)),
    "5m", "5m")  # fmt: skip

STATE_LOST = _own("FabricStateNotWritable", select(STATE_WRITABLE), "<", "{node} cannot keep its state",
    "The state directory on {node} cannot be written: verdicts and what was learned are lost at the next restart.",
    Runbook("Disk full, read-only, or not owned by the exporter's user.",
        ("df -h /var/lib/fabric-exporter; ls -ld /var/lib/fabric-exporter",),
        ("Free the disk or mend the owner; no restart is needed.",)),
    "15m", "5m", Severity.INFO)  # fmt: skip

STUCK = _own("FabricGPUProcessStuck", select(GPU_PROCESS_STUCK), ">", "The NVIDIA driver of {node} hangs",
    "A call into the NVIDIA driver on {node} does not return and cannot be killed: nothing is known of the GPUs.",
    Runbook("The kernel holds the call. The exporter starts no second one.", ("ps -eo pid,stat,wchan,cmd | grep ' D'",
        "dmesg | grep -i nvrm"),
        ("Drain and reboot; nothing else frees it.",)),
    "5m", "10m")  # fmt: skip

RELEASED = _own("FabricGPUsReleased", select(GPUS_RELEASED), ">", "{node} has not watched its GPUs for four hours",
    "`fabric-exporter release` was called on {node} four hours ago and not `resume`: nothing is known of its GPUs.",
    Runbook("A GPU reset or driver reload that was forgotten, or a script that failed between the two.", ("fabric-exporter check",),
        ("`fabric-exporter resume`.",)),
    "4h", "5m", Severity.INFO)  # fmt: skip

RECORDER = _own("FabricRecorderLosing", increase(RECORDER_DROPPED, "15m"), ">", "The flight recorder of {node} has gaps",
    "The flight recorder on {node} could not write {value} ticks: a post-mortem of these minutes will lack them.",
    Runbook("The disk is full, slow or broken.", ("df -h /var/lib/fabric-exporter", "journalctl -u fabric-exporter | grep -i record"),
        ("Free the disk, or lower recorder.size_max.",)),
    "15m", "15m", Severity.INFO)  # fmt: skip

ALERTS = (DOWN, MANY_DOWN, VANISHED, SOURCE_DOWN, STALE, DROPPED, RELOAD_FAILED, STATE_LOST, STUCK, RELEASED, RECORDER)
