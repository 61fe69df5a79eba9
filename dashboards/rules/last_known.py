"""The last known bad status of a link: kept while its exporter is silent, so that silence never resolves an alert (microsoft/pai#4942)."""

from dashboards.alerts.expression import TARGET, select
from exporter.catalog.internals import BUILD_INFO
from exporter.catalog.signals import HEALTH
from exporter.model.health import Level

LAST_KNOWN = f"link:{HEALTH.name}:last_known"
"""Name of the recorded series: one for each link that is degraded or failed, none for a healthy one."""


def last_known() -> str:
    """PromQL that reads its own past: the status now, else what this rule said before, as long as the exporter is silent, at most a day.

    A node that answers again under another address has an exporter that speaks for it, so its old address keeps nothing.
    """
    alive = select(BUILD_INFO)
    return (
        f"{select(HEALTH)} > {Level.SUSPECT:d}\n"
        f"or\n"
        f"({LAST_KNOWN}\n"
        f"  unless {TARGET} {alive}\n"
        f"  unless on (node) {select(BUILD_INFO, node='!')}\n"
        f"  and {TARGET} present_over_time({alive}[1d]))"
    )
