"""A page for each alert, for the person who is woken: what it is, how to confirm it, what to do, and why it did not ring before."""

from collections.abc import Iterable, Mapping

from dashboards.alerts.alert import Alert
from dashboards.alerts.prometheus import NO_TIME
from dashboards.alerts.table import ALERTS, GROUPS
from dashboards.alerts.wording import in_words
from dashboards.rules.recording import GROUPS as RECORDED
from exporter.catalog import CATALOGUE
from exporter.model.metric import Metric, Tier

MARK = "<!-- Written by `python -m dashboards.rules` from dashboards/alerts/; do not edit. -->"
_MEANS = {
    "critical": "somebody should look now",
    "warning": "work of today",
    "info": "a ticket; nobody is woken",
}


def rows_of(alert: Alert) -> tuple[Metric, ...]:
    """Rows of the catalogue that the alert reads, in the catalogue's order."""
    words = set(_words(alert.expression()))
    return tuple(row for row in CATALOGUE.values() if row.name in words)


def pages() -> Mapping[str, str]:
    """File name → text: a page for each alert, and the index."""
    return {**{f"{name}.md": page(alert) for name, alert in ALERTS.items()}, "README.md": index()}


def page(alert: Alert) -> str:
    """The page of one alert in Markdown."""
    book = alert.runbook
    parts = [
        f"# {alert.name}",
        MARK,
        in_words(alert.description),
        _facts(alert),
        "## What it is\n\n" + book.cause,
        "## Confirm\n\n" + _code(book.confirm),
        "## Do\n\n" + _numbered(book.act),
        *(["## It may be something else\n\n" + book.not_this] if book.not_this else []),
        "## The rule\n\n```promql\n" + alert.expression() + "\n```",
        *([_guards(alert)] if alert.guards else []),
        "Metrics: " + ", ".join(f"`{row.name}`" for row in rows_of(alert)) + " ([metrics.md](../metrics.md))."
        if rows_of(alert)
        else "Metric: `up`, Prometheus' own.",
        "[All alerts](README.md), [how to load them](../alerts.md), [what health means](../health.md).",
    ]
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """The list of all alerts, group by group, and of what is recorded."""
    lines = ["# Alerts and what to do", "", MARK, "", "How to load and route them: [alerts.md](../alerts.md).", ""]
    for group, alerts in GROUPS.items():
        lines += [f"## {group}", "", "| alert | severity | says | after |", "|---|---|---|---|"]
        lines += [f"| [{a.name}]({a.name}.md) | {a.severity.value} | {in_words(a.summary)} | {_after(a)} |" for a in alerts]
        lines.append("")
    lines += ["## Recorded series", "", "| level | series |", "|---|---|"]
    lines += [f"| {group} | {', '.join(f'`{record.name}`' for record in records)} |" for group, records in RECORDED.items()]
    return "\n".join(lines) + "\n"


def _facts(alert: Alert) -> str:
    severity = f"{alert.severity.value} ({_MEANS[alert.severity.value]})"
    return f"- severity: {severity}\n- about: {alert.component.value}\n{_times(alert)}- needs tier: {_tier(alert)}"


def _times(alert: Alert) -> str:
    wait = "" if alert.wait == NO_TIME else f"- fires after: {alert.wait}\n"
    return wait + ("" if alert.keep == NO_TIME else f"- goes on for {alert.keep} after it ended\n")


def _after(alert: Alert) -> str:
    return "at once" if alert.wait == NO_TIME else alert.wait


def _tier(alert: Alert) -> str:
    tiers = [row.tier if row.sick_tier is None else row.sick_tier for row in rows_of(alert)]
    return max(tiers, default=Tier.AGGREGATE).name.lower()


def _guards(alert: Alert) -> str:
    lines = [f"- {guard.name}: {guard.why}" for guard in alert.guards]
    return "It is silent, on purpose, unless each of these lets it through:\n\n" + "\n".join(lines)


def _code(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _numbered(lines: Iterable[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def _words(expression: str) -> Iterable[str]:
    return "".join(c if c.isalnum() or c in "_:" else " " for c in expression).split()
