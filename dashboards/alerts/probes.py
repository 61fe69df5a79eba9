"""Alerts about what probes measured. Silent as long as nothing probes: a site without probes has no such series."""

from dashboards.alerts.alert import Alert, Component, Guard, Runbook, Severity
from dashboards.alerts.expression import TARGET, happened, select
from dashboards.alerts.guards import MUTED
from exporter.catalog.internals import BUILD_INFO
from exporter.catalog.probes import BASELINE, LAST_SUCCESS, LEARNING, WRONG

LOW = 0.85
"""Of what the node reached in its good runs [D]; Azure's floors for H100 lie about there."""
FRESH_S = 1800

BANDWIDTH_LOW = Alert("FabricProbeBandwidthLow", Severity.WARNING, Component.NODE, select(BASELINE), "<", LOW,
    (Guard("learned", f"unless on (instance, node, kind, collective, size) {select(LEARNING)} == 1", "too few good runs to compare with"),
     Guard("fresh", f"and on (instance, node, kind) time() - {select(LAST_SUCCESS)} < {FRESH_S}",
           "an old figure is no figure: on a busy node probes are skipped for hours"),
     *MUTED),
    "{node} reaches {percent} of its usual bandwidth",
    "Probe {kind} ({collective}, {size} bytes) on {node} reaches {percent} of its good runs.",
    Runbook("Several probes in a row were slow on a node that was idle meanwhile. Runs beside other traffic are discarded and never "
            "counted.",
        ("all_reduce_perf -b 1G -e 1G -g 8 (nccl-tests), on the idle node", "fabric-exporter check --json"),
        ("Repeat it with another partner: a slow node stays slow, a slow path does not.", "Take the node's other alerts first."),
        "Host noise: governor, IRQs, another tenant's CPU load."),
    "20m", "20m")  # fmt: skip

WRONG_DATA = Alert("FabricProbeWrongData", Severity.CRITICAL, Component.NODE, happened(WRONG, "10m"), ">", 0,
    (Guard("known", f"and {TARGET} {select(BUILD_INFO)} offset 15m", "what a new Prometheus sees first is history, no event", "new"),
     *MUTED),
    "Numbers come out wrong on {node}", "Probe {collective} on {node} got wrong numbers: data is corrupted without an error.",
    Runbook("A collective over known numbers gave others. Jobs on this node compute nonsense.",
        ("all_reduce_perf -b 1G -e 1G -g 8 -c 1 (nccl-tests)", "dmesg | grep -iE 'xid|ecc'"),
        ("Drain the node at once.", "Repeat it per GPU pair to find the GPU; it goes back.")),
    "0s", "1h", "dmesg | grep -iE 'xid|ecc'")  # fmt: skip

ALERTS = (BANDWIDTH_LOW, WRONG_DATA)
