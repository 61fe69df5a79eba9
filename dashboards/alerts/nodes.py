"""Alerts about nodes: many of a pool at once, too long in grace or maintenance, links of which nothing is known for long."""

from dashboards.alerts.alert import Alert, Component, Guard, Runbook, Severity
from dashboards.alerts.expression import select
from dashboards.alerts.guards import MAINTENANCE, MUTED
from exporter.catalog.internals import BUILD_INFO
from exporter.catalog.signals import NODE_GRACE, NODE_HEALTH, NODE_MAINTENANCE, UNKNOWN
from exporter.model.health import Level
from exporter.model.health import Unknown as Why

FAILED_NODES = f"count by (pool) (\n  {select(NODE_HEALTH)} > {Level.DEGRADED:d}⟦nodes⟧\n)"
MANY_SHARE, MANY_LEAST = 0.05, 3
"""A leaf switch serves more than a twentieth of a pool; three nodes at once are hardly chance [D]."""

MANY_FAILED = Alert("FabricManyNodesFailed", Severity.CRITICAL, Component.POOL,
    f"{FAILED_NODES}\n/\ncount by (pool) ({select(BUILD_INFO)})", ">", MANY_SHARE,
    (*(guard._replace(place="nodes") for guard in MUTED),
     Guard("several", f"and\n{FAILED_NODES} > {MANY_LEAST - 1}",
           "in a small pool one node is more than a share")),
    "{percent} of the nodes of pool {pool} have failed links",
    "{percent} of the nodes of pool {pool} have failed links: look for what they share.",
    Runbook("Many nodes at once are no coincidence of cables: a leaf switch, a subnet manager, Fabric Manager of a rack, power, or a "
            "rollout.",
        ("the fleet board: which rail, which leaf?", "ibdiagnet from a healthy node"),
        ("The same rail on all: that rail's leaf switch.", "All rails of one rack: power or Fabric Manager.",
         "After a rollout: roll back.")),
    "2m", "10m", "fabric-exporter check --json on two of the nodes")  # fmt: skip

HEALTH_UNKNOWN = Alert("FabricHealthUnknown", Severity.INFO, Component.LINK, select(UNKNOWN, reason=Why.STALE), ">", 0, MUTED,
    "Nothing is known of {link} on {node}", "Nothing has been seen of {link} on {node} for an hour: it is neither well nor sick.",
    Runbook("Its source does not answer for this device, or its series ended. Unknown is no fault, so it pages nobody; but a fault would "
            "not "
        "be seen. Ports of which nobody knows whether they should be up (`no_expectation`) are unknown for ever and are left out, and so "
        "are "
        "pinned counters, which have an alert of their own.",
        ("fabric-exporter check --json", "fabric-exporter scrape --timing"),
        ("See FabricSourceDown of the node first.", "A device that was taken out: it is forgotten at the next reboot.")),
    "1h", "10m")  # fmt: skip

GRACE_TOO_LONG = Alert("FabricGraceTooLong", Severity.WARNING, Component.NODE, select(NODE_GRACE), ">", 0, (MAINTENANCE,),
    "{node} has been starting for an hour", "{node} has been in grace for an hour, in which its links raise no alert.",
    Runbook("Grace lasts ten minutes after a boot or a driver's start, longer only while GPUs join their NVLink domain: they do not get "
            "there.",
        ("fabric-exporter check --json", "systemctl status nvidia-fabricmanager nvidia-imex", "journalctl -b | grep -i nvrm"),
        ("Look at Fabric Manager and IMEX.", "A driver that starts again and again: look why.")),
    "1h", "5m")  # fmt: skip

MAINTENANCE_FORGOTTEN = Alert("FabricMaintenanceForgotten", Severity.INFO, Component.NODE, select(NODE_MAINTENANCE), ">", 0, (),
    "{node} has been in maintenance for three days", "{node} has been in maintenance for three days, in which its links raise no alert.",
    Runbook("Somebody switched maintenance on, or a drain in Slurm or a taint in Kubernetes says so, and nobody took it back.",
        ("fabric-exporter check", "scontrol show node NODE", "kubectl describe node NODE"),
        ("Work is over: `fabric-exporter maintenance off`, or resume the node where it was drained.",)),
    "3d")  # fmt: skip

ALERTS = (MANY_FAILED, HEALTH_UNKNOWN, GRACE_TOO_LONG, MAINTENANCE_FORGOTTEN)
