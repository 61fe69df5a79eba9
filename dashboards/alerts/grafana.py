"""The alert table as Grafana-managed rules, in the format of file provisioning (apiVersion 1). Pure.

Query A measures, expression B compares: a comparison in PromQL would leave no value where all is well, and Grafana could not tell "well"
from "no data". Guards stay in the query, since they choose series and change no value; so where every series is guarded away, or the
fleet has none of the kind, the query is empty, and that is well. Not tried in a running Grafana: none is at hand.
"""

from typing import Any

from dashboards.alerts.alert import Alert
from dashboards.alerts.prometheus import NO_TIME, labels_of
from dashboards.alerts.table import GROUPS
from dashboards.alerts.wording import Place, for_grafana

DATASOURCE = "prometheus"
"""Uid of the data source: provisioning files know no variables, so a site replaces it (docs/alerts.md)."""
FOLDER = "Fabric"
INTERVAL = "1m"
"""Every `for` of the table is a whole multiple, as Grafana demands."""
LOOKBACK_S = 600
UID_LONGEST = 40


def provisioning(place: Place, datasource: str = DATASOURCE) -> dict[str, Any]:
    """The whole file."""
    groups = [
        {"orgId": 1, "name": name, "folder": FOLDER, "interval": INTERVAL, "rules": [_rule(alert, place, datasource) for alert in alerts]}
        for name, alerts in GROUPS.items()
    ]
    return {"apiVersion": 1, "groups": groups}


def uid_of(alert: Alert) -> str:
    """Stable, of the alert's name, at most UID_LONGEST characters."""
    return f"fabric-{alert.name.removeprefix('Fabric').lower()}"[:UID_LONGEST]


def _rule(alert: Alert, place: Place, datasource: str) -> dict[str, Any]:
    return {
        "uid": uid_of(alert),
        "title": alert.name,
        "condition": "B",
        "data": [_query(alert, datasource), _threshold(alert)],
        "for": alert.wait,
        **({} if alert.keep == NO_TIME else {"keepFiringFor": alert.keep}),
        "noDataState": alert.no_data.value,
        "execErrState": "KeepLast",
        "labels": labels_of(alert),
        "annotations": dict(for_grafana(alert, place)),
        "isPaused": False,
    }


def _query(alert: Alert, datasource: str) -> dict[str, Any]:
    model = {"refId": "A", "expr": alert.measured(), "instant": True, "range": False, "editorMode": "code"}
    return {"refId": "A", "datasourceUid": datasource, "relativeTimeRange": {"from": LOOKBACK_S, "to": 0}, "model": model}


def _threshold(alert: Alert) -> dict[str, Any]:
    evaluator = {"type": "gt" if alert.compare == ">" else "lt", "params": [float(alert.bound)]}
    model = {"refId": "B", "type": "threshold", "expression": "A", "conditions": [{"evaluator": evaluator}]}
    return {"refId": "B", "datasourceUid": "__expr__", "relativeTimeRange": {"from": LOOKBACK_S, "to": 0}, "model": model}
