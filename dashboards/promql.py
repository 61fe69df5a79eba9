"""Queries made of rows of the catalogue, never of text: a row that is renamed or loses a label breaks the board that uses it.

A Query knows its unit, its labels and its rows. What Prometheus would answer with nothing or with nonsense is refused here, as FaceError:
a counter without a rate, a gauge with one, a label that the row does not have, a join that finds more than one partner.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dashboards import units
from exporter.model.metric import BUCKET, Kind, Metric, Tier, Unit

RATE_INTERVAL = "$__rate_interval"
"""Grafana's own: four scrape intervals at least, more when zoomed out."""
RANGE = "$__range"
"""All of the time that the board shows."""
TARGET_LABELS = ("pool", "node")
"""Labels that the scrape configuration sets on every series (docs/dashboards.md)."""
UNSEEN = frozenset({"pool", BUCKET})
"""Labels that neither tell series of one node apart nor are worth a place in a legend."""
FULL_TIER = "shown in tier full only"


class FaceError(ValueError):
    """A query or panel that cannot be right; says which row and what to write instead."""


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL with what is known of its answer.

    `text` holds a mark for each selector, which a board's scope fills. `unit` is Grafana's; `labels` are those that tell series apart.
    `may_be_empty` says why a healthy, fully equipped fleet answers nothing; empty if it always answers something.
    `legend` overrides the one made of the labels. `loose` is True where another operator would need brackets around `text`.
    """

    text: str
    unit: str
    labels: tuple[str, ...]
    rows: tuple[Metric, ...]
    may_be_empty: str = ""
    legend: str | None = None
    loose: bool = False

    def sum_by(self, *labels: str) -> "Query":
        """Sums over all other labels."""
        return self._by("sum", labels)

    def max_by(self, *labels: str) -> "Query":
        """The greatest over all other labels."""
        return self._by("max", labels)

    def min_by(self, *labels: str) -> "Query":
        """The least over all other labels."""
        return self._by("min", labels)

    def mean_by(self, *labels: str) -> "Query":
        """The mean over all other labels."""
        return self._by("avg", labels)

    def count_by(self, *labels: str) -> "Query":
        """How many series there are with the same values of these labels."""
        return replace(self._by("count", labels), unit=units.COUNT)

    def top(self, most: int) -> "Query":
        """At each moment the greatest ones only."""
        return replace(self, text=f"topk({most}, {self.text})", loose=False)

    def bottom(self, most: int) -> "Query":
        """At each moment the least ones only."""
        return replace(self, text=f"bottomk({most}, {self.text})", loose=False)

    def only(self, comparison: str, may_be_empty: str) -> "Query":
        """Series of which this holds (`> 0`); the others are left out."""
        return replace(self, text=f"{_tight(self)} {comparison}", loose=True, may_be_empty=may_be_empty)

    def times(self, factor: float, unit: str) -> "Query":
        """In another unit."""
        return replace(self, text=f"{factor:g} * {_tight(self)}", unit=unit, loose=True)

    def over(self, other: "Query", *on: str) -> "Query":
        """This as a share of another."""
        return replace(self._with("/", other, on, ()), unit=units.RATIO)

    def minus(self, other: "Query", *on: str) -> "Query":
        """The difference of two queries of one unit. Raises FaceError if units differ."""
        if self.unit != other.unit:
            raise FaceError(f"{self.unit} less {other.unit} has no unit: {self.text} - {other.text}")
        return self._with("-", other, on, ())

    def joined(self, info: "Query", *on: str, bring: tuple[str, ...] = ()) -> "Query":
        """With labels of an info series, whose value is 1; series without a partner are left out."""
        return self._with("*", info, on, bring)

    def valued(self, other: "Query", *on: str) -> "Query":
        """Each series of this one, which are all 1, with the value of its partner."""
        return replace(self._with("*", other, on, ()), unit=other.unit)

    def where_also(self, other: "Query", *on: str) -> "Query":
        """Series that have a partner."""
        return self._set("and", other, on)

    def unless(self, other: "Query", *on: str) -> "Query":
        """Series that have no partner."""
        return self._set("unless", other, on)

    def or_else(self, other: "Query", *on: str) -> "Query":
        """Both; where partners meet, this one's."""
        empty = self.may_be_empty and other.may_be_empty
        return replace(self._set("or", other, on), may_be_empty=empty)

    def relabelled(self, source: str, target: str) -> "Query":
        """With a label's value under another label as well."""
        _known(self, (source,))
        text = f'label_replace({self.text}, "{target}", "$1", "{source}", "(.+)")'
        return replace(self, text=text, labels=(*self.labels, target), loose=False)

    def called(self, legend: str) -> "Query":
        """With that legend instead of its labels; `{{label}}` stands for a label's value."""
        return replace(self, legend=legend)

    def sometimes(self, why: str) -> "Query":
        """Marked: may be empty on a healthy, fully equipped fleet, for that reason."""
        return replace(self, may_be_empty=why)

    def _by(self, operator: str, labels: tuple[str, ...]) -> "Query":
        _known(self, labels)
        by = f" by ({', '.join(labels)})" if labels else ""
        return replace(self, text=f"{operator}{by} ({self.text})", labels=labels, loose=False)

    def _with(self, operator: str, other: "Query", on: tuple[str, ...], bring: tuple[str, ...]) -> "Query":
        """A binary operator whose right side has one series for each of `on`. Raises FaceError where Prometheus would find more."""
        _known(self, on)
        _known(other, (*on, *bring))
        if extra := set(other.labels) - set(on) - set(bring) - UNSEEN:
            raise FaceError(f"{other.text} tells series apart by {sorted(extra)} as well: aggregate it by {on} first")
        is_many = bool(set(self.labels) - set(on) - UNSEEN) or bool(bring)
        group = f" group_left ({', '.join(bring)})" if is_many else ""
        text = f"{_tight(self)} {operator} on ({', '.join(on)}){group} {_tight(other)}"
        empty = self.may_be_empty or other.may_be_empty
        rows = (*self.rows, *other.rows)
        return replace(self, text=text, labels=(*self.labels, *bring), rows=rows, may_be_empty=empty, loose=True)

    def _set(self, operator: str, other: "Query", on: tuple[str, ...]) -> "Query":
        _known(self, on)
        _known(other, on)
        text = f"{_tight(self)} {operator} on ({', '.join(on)}) {_tight(other)}"
        empty = self.may_be_empty or (other.may_be_empty if operator == "and" else "")
        return replace(self, text=text, rows=(*self.rows, *other.rows), may_be_empty=empty, loose=True)


def value(row: Metric, **where: str) -> Query:
    """A gauge or info series as it is. Raises FaceError for a counter, a histogram, a point in time, or an unknown label."""
    if row.kind is Kind.COUNTER:
        raise FaceError(f"{row.name} is a counter: its value means nothing, ask for its rate or its growth")
    if row.kind is Kind.HISTOGRAM:
        raise FaceError(f"{row.name} is a histogram: ask for its buckets")
    if row.unit is Unit.TIMESTAMP:
        raise FaceError(f"{row.name} is a point in time: ask for since() or age()")
    return _query(row, _selector(row, row.name, where), units.OF_VALUE[row.unit])


def rate(row: Metric, over: str = RATE_INTERVAL, **where: str) -> Query:
    """A counter's growth per second. Raises FaceError for anything else."""
    return _query(row, f"rate({_counter(row, where)}[{over}])", units.OF_RATE[row.unit])


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


def _known(query: Query, labels: Iterable[str]) -> None:
    if unknown := set(labels) - set(query.labels):
        raise FaceError(f"no label {sorted(unknown)} on {query.text}; it has {query.labels}")


def _tight(query: Query) -> str:
    return f"({query.text})" if query.loose else query.text
