"""The rules as a PrometheusRule manifest of the Prometheus operator. The chart ships the same document with its own labels."""

from typing import Any

from dashboards.alerts.prometheus import alert_groups
from dashboards.alerts.wording import Place
from dashboards.rules.recording import recording_groups

NAME = "fabric-exporter"


def manifest(place: Place) -> dict[str, Any]:
    """One PrometheusRule with all groups. An operator that selects rules by label needs that label added (docs/alerts.md)."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": NAME, "labels": {"app.kubernetes.io/name": NAME}},
        "spec": {"groups": [*recording_groups()["groups"], *alert_groups(place)["groups"]]},
    }
