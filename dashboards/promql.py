"""Queries made of rows of the catalogue, never of text: a row that is renamed or loses a label breaks the board that uses it.

A counter without a rate or growth, or a gauge with one, is refused, and so is a label that the row does not have.
"""

from dataclasses import replace

from dashboards import units
from dashboards.query import FaceError, Query
from exporter.model.metric import BUCKET, Kind, Metric, Tier, Unit

RATE_INTERVAL = "$__rate_interval"
"""Grafana's own: four scrape intervals at least, more when zoomed out."""
HOUR = "1h"
"""Over which rare events are counted: a rate of two flaps a day reads as nothing."""
RANGE = "$__range"
"""All of the time that the board shows."""
TARGET_LABELS = ("pool", "node")
"""Labels that the scrape configuration sets on every series (docs/dashboards.md)."""
FULL_TIER = "shown in tier full only"


def value(row: Metric, **where: str) -> Query:
    """A gauge or info series as it is. Raises FaceError for a counter, a histogram, a point in time, or an unknown label."""
    if row.kind is Kind.COUNTER:
        raise FaceError(f"{row.name} is a counter: its value means nothing, ask for its rate or its growth")
    if row.kind is Kind.HISTOGRAM:
        raise FaceError(f"{row.name} is a histogram: ask for its buckets")
    if row.unit is Unit.TIMESTAMP:
        raise FaceError(f"{row.name} is a point in time: ask for since() or age()")
    return _query(row, _selector(row, row.name, where), units.OF_VALUE[row.unit])


def rate(row: Metric, over: str = RATE_INTERVAL, *, before: str = "", **where: str) -> Query:
    """A counter's growth per second; `before` looks that much further back. Raises FaceError for anything but a counter."""
    offset = f" offset {before}" if before else ""
    return _query(row, f"rate({_counter(row, where)}[{over}]{offset})", units.OF_RATE[row.unit])


def growth(row: Metric, over: str = RANGE, **where: str) -> Query:
    """What a counter grew by. Raises FaceError for anything else."""
    return _query(row, f"increase({_counter(row, where)}[{over}])", units.OF_VALUE[row.unit])


def buckets(row: Metric, **where: str) -> Query:
    """Observations by upper bound (label `le`) per heatmap cell. Raises FaceError for anything but a histogram."""
    if row.kind is not Kind.HISTOGRAM:
        raise FaceError(f"{row.name} is a {row.kind.value}, not a histogram")
    text = f"increase({_selector(row, row.name + '_bucket', where)}[{RATE_INTERVAL}])"
    made = _query(row, text, units.COUNT)
    return replace(made, labels=(*made.labels, BUCKET))


def since(row: Metric, **where: str) -> Query:
    """A point in time, in milliseconds, to be shown as its age. Raises FaceError for anything else."""
    return replace(_query(row, f"1000 * {_instant(row, where)}", units.FROM_NOW), loose=True)


def age(row: Metric, **where: str) -> Query:
    """Seconds that have passed since a point in time. Raises FaceError for anything else."""
    return replace(_query(row, f"time() - {_instant(row, where)}", units.SECONDS), loose=True)


def highest_ever(row: Metric, **where: str) -> Query:
    """The greatest value of a gauge in all of the time that the board shows; the same at every moment of it."""
    plain = value(row, **where)
    return replace(plain, text=f"max_over_time({plain.text}[{RANGE}] @ end())")


def lowest_ever(row: Metric, **where: str) -> Query:
    """The least value of a gauge in all of the time that the board shows; the same at every moment of it."""
    plain = value(row, **where)
    return replace(plain, text=f"min_over_time({plain.text}[{RANGE}] @ end())")


def mean_over(row: Metric, over: str = RANGE, **where: str) -> Query:
    """A gauge's mean over that time."""
    plain = value(row, **where)
    return replace(plain, text=f"avg_over_time({plain.text}[{over}])")


def last_seen(row: Metric, over: str = RANGE, **where: str) -> Query:
    """A gauge's newest value within that time, also of a series that has ended since."""
    plain = value(row, **where)
    return replace(plain, text=f"last_over_time({plain.text}[{over}])")


def scoped(row: Metric, **where: str) -> str:
    """The bare selector, for template variables."""
    return _selector(row, row.name, where)


def _query(row: Metric, text: str, unit: str) -> Query:
    return Query(text, unit, (*TARGET_LABELS, *row.labels), (row,), FULL_TIER if row.tier is Tier.FULL else "")


def _counter(row: Metric, where: dict[str, str]) -> str:
    if row.kind is not Kind.COUNTER:
        raise FaceError(f"{row.name} is a {row.kind.value}: a rate of it means nothing, ask for its value")
    return _selector(row, row.name, where)


def _instant(row: Metric, where: dict[str, str]) -> str:
    if row.unit is not Unit.TIMESTAMP:
        raise FaceError(f"{row.name} is no point in time: ask for its value")
    return _selector(row, row.name, where)


def _selector(row: Metric, name: str, where: dict[str, str]) -> str:
    """The metric with its matchers: `~` before a value makes it a pattern, `!` turns it around. The mark names the row's labels, so that
    a board's scope adds those of its variables that the row has."""
    if unknown := set(where) - {*row.labels, *TARGET_LABELS}:
        raise FaceError(f"{row.name} has no label {sorted(unknown)}; it has {row.labels}")
    free = ",".join(label for label in (*TARGET_LABELS, *row.labels) if label not in where)
    matchers = "".join(f",{label}{_matcher(wanted)}" for label, wanted in where.items())
    return f"{name}{{⟦{free}⟧{matchers}}}"


def _matcher(wanted: str) -> str:
    operator = {"!~": "!~", "~": "=~", "!": "!="}
    for mark, sign in operator.items():
        if wanted.startswith(mark):
            return f'{sign}"{wanted[len(mark) :]}"'
    return f'="{wanted}"'
