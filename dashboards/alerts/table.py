"""The alert table: every alert, in groups. One row, one runbook page, one rule for Prometheus and one for Grafana."""

from collections.abc import Mapping

from dashboards.alerts import errors, exporters, links, load, nodes, probes
from dashboards.alerts.alert import Alert

GROUPS: Mapping[str, tuple[Alert, ...]] = {
    "fabric-links": links.ALERTS,
    "fabric-errors": errors.ALERTS,
    "fabric-load": load.ALERTS,
    "fabric-nodes": nodes.ALERTS,
    "fabric-probes": probes.ALERTS,
    "fabric-exporters": exporters.ALERTS,
}
"""Rule group → its alerts."""

ALERTS: Mapping[str, Alert] = {alert.name: alert for alerts in GROUPS.values() for alert in alerts}
"""Every alert by name, in order."""
