"""The alert table as rule groups of Prometheus. Pure: values in, plain documents out."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from dashboards.alerts.alert import Alert
from dashboards.alerts.table import GROUPS
from dashboards.alerts.wording import Place, for_prometheus

INTERVAL = "30s"
"""How often alerts are judged: half of the shortest time that one waits for."""
NO_TIME = "0s"


def alert_rule(alert: Alert, place: Place, without: Collection[str] = ()) -> dict[str, Any]:
    """One rule. `without` names guards to leave out, as the test does that asks whether each is needed."""
    times = {"for": alert.wait, "keep_firing_for": alert.keep}
    return {
        "alert": alert.name,
        "expr": alert.expression(without),
        **{key: time for key, time in times.items() if time != NO_TIME},
        "labels": labels_of(alert),
        "annotations": dict(for_prometheus(alert, place)),
    }


def labels_of(alert: Alert) -> dict[str, str]:
    """What alerts are routed by, besides the labels of their series (node, pool, fabric, device, port)."""
    return {"severity": alert.severity.value, "component": alert.component.value}


def alert_groups(place: Place, groups: Mapping[str, tuple[Alert, ...]] = GROUPS,
                 rule: Callable[[Alert, Place], dict[str, Any]] = alert_rule) -> dict[str, Any]:  # fmt: skip
    """The whole rule file as a document."""
    made = [{"name": name, "interval": INTERVAL, "rules": [rule(alert, place) for alert in alerts]} for name, alerts in groups.items()]
    return {"groups": made}
