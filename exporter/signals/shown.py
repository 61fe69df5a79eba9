"""Health as numbers: of a link and of the node, by the rows of catalog/signals.py. Pure; knows no rule."""

from collections.abc import Iterable

from exporter.catalog import signals as rows
from exporter.model.entity import Fabric, Link
from exporter.model.health import Level
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.verdict import LinkState, verdict_of

STATUSES = (*(level.word for level in Level), "unknown")


def health_values(link: Link, state: LinkState) -> dict[SeriesKey, Number]:
    """The level, or why it is unknown; and for each active reason that it is, and since when (Unix time)."""
    if state.unknown is None and not state.reasons:
        return {rows.HEALTH.key: state.level.value}
    verdict = verdict_of(link, state)
    values: dict[SeriesKey, Number] = {}
    if verdict.level is not None:
        values[rows.HEALTH.key] = verdict.level.value
    elif verdict.unknown is not None:
        values[rows.UNKNOWN.key, verdict.unknown.value] = 1
    for active in verdict.active:
        values[rows.CONDITION.key, active.why.value] = 1
        values[rows.CONDITION_SINCE.key, active.why.value] = active.since_wall_s
    return values


def node_values(states: Iterable[tuple[Fabric, LinkState]]) -> dict[SeriesKey, Number]:
    """Links by fabric and status, and the worst level of all that are known; without that while nothing is known of any."""
    counts: dict[tuple[str, str], int] = {}
    worst: Level | None = None
    for fabric, state in states:
        is_unknown = state.unknown is not None and state.level is Level.OK
        status = "unknown" if is_unknown else state.level.word
        counts[fabric.value, status] = counts.get((fabric.value, status), 0) + 1
        if not is_unknown:
            worst = state.level if worst is None else max(worst, state.level)
    fabrics = sorted({fabric for fabric, _ in counts})
    values: dict[SeriesKey, Number] = {
        (rows.NODE_LINKS.key, fabric, status): counts.get((fabric, status), 0) for fabric in fabrics for status in STATUSES
    }
    if worst is not None:
        values[rows.NODE_HEALTH.key] = worst.value
    return values
