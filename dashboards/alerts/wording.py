"""The words of an alert for each system: marks such as {link} become Prometheus' or Grafana's templates. Knows no alert.

Prometheus' templates can ask a query, so {reasons} names each reason with its time; Grafana's cannot, and point to the board.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter

from dashboards.alerts.alert import Alert, Component
from exporter.catalog.signals import CONDITION_SINCE

FLEET_BOARD, NODE_BOARD, LINK_BOARD, EXPORTER_BOARD = "fabric-fleet", "fabric-node", "fabric-link", "fabric-exporter"
"""Stable uids of the boards that alerts point to."""
LABELS = ("device", "port", "pool", "reason", "priority", "source", "field", "xid", "sxid", "kind", "collective", "size")
"""Marks that are a label of the alert's series."""

_SINCE = (
    f'{{{{ range $i, $c := query (printf "{CONDITION_SINCE.name}'
    '{instance=%q,node=%q,fabric=%q,device=%q,port=%q}" '
    '$labels.instance $labels.node $labels.fabric $labels.device $labels.port) | sortByLabel "reason" }}'
    "{{ if $i }}, {{ end }}{{ $c.Labels.reason }} since {{ $c.Value | humanizeTimestamp }}"
    "{{ else }}no reason is active now: the link's past or its exporter's silence keeps it so{{ end }}"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where runbook pages and boards are served: prefixes, so that what ships names no host. A site gives its own."""

    runbooks: str = "docs/runbooks/"
    boards: str = "/d/"


def for_prometheus(alert: Alert, place: Place) -> Mapping[str, str]:
    """Annotations of a Prometheus rule. Raises KeyError for a mark that nobody fills."""
    fill = {label: f"{{{{ $labels.{label} }}}}" for label in LABELS}
    node = "{{ or $labels.node $labels.instance }}"
    link = "{{ $labels.fabric }} {{ $labels.device }} port {{ $labels.port }}"
    more = {
        "node": node,
        "link": link,
        "reasons": _SINCE,
        "value": '{{ $value | printf "%.3g" }}',
        "percent": "{{ $value | humanizePercentage }}",
    }
    return _annotations(alert, fill | more, place, "{{ $labels.node }}")


def for_grafana(alert: Alert, place: Place) -> Mapping[str, str]:
    """Annotations of a Grafana-managed rule, whose query A holds the value. Raises KeyError for a mark that nobody fills."""
    fill = {label: f"{{{{ $labels.{label} }}}}" for label in LABELS}
    link = "{{ $labels.fabric }} {{ $labels.device }} port {{ $labels.port }}"
    more = {"node": "{{ $labels.node }}", "link": link, "reasons": "its reasons stand on the board",
            "value": '{{ printf "%.3g" $values.A.Value }}', "percent": "{{ humanizePercentage $values.A.Value }}"}  # fmt: skip
    return _annotations(alert, fill | more, place, "{{ $labels.node }}")


def in_words(text: str) -> str:
    """For a page that no system fills: `{node}` becomes NODE."""
    return text.format_map({mark: mark.upper() for _, mark, _, _ in Formatter().parse(text) if mark})


def _annotations(alert: Alert, fill: Mapping[str, str], place: Place, node: str) -> Mapping[str, str]:
    return {
        "summary": alert.summary.format_map(fill),
        "description": alert.description.format_map(fill),
        "evidence": alert.evidence,
        "dashboard": _board(alert, place, node),
        "runbook_url": f"{place.runbooks}{alert.name}.md",
    }


def _board(alert: Alert, place: Place, node: str) -> str:
    """The board that shows more, with the alert's pool, node or link chosen."""
    if alert.component is Component.POOL:
        return f"{place.boards}{FLEET_BOARD}?var-pool={{{{ $labels.pool }}}}"
    if alert.component is Component.LINK and any(mark in alert.summary + alert.description for mark in ("{link}", "{port}")):
        link = "".join(f"&var-{label}={{{{ $labels.{label} }}}}" for label in ("fabric", "device", "port"))
        return f"{place.boards}{LINK_BOARD}?var-node={node}{link}"
    uid = EXPORTER_BOARD if alert.component is Component.EXPORTER else NODE_BOARD
    return f"{place.boards}{uid}?var-node={node}"
