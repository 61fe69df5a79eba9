"""A query and what is known of its answer: unit, labels, rows. Operators that keep all three right.

What Prometheus would answer with nothing or with many-to-many is refused here, as FaceError. How a query begins is promql.py's.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dashboards import units
from exporter.model.metric import BUCKET, Metric

UNSEEN = frozenset({"pool", BUCKET})
"""Labels that neither tell series of one node apart nor are worth a place in a legend."""


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

    @property
    def counts_events(self) -> bool:
        """Whether it is a growth of events: Prometheus extrapolates it to fractions, and 4.07 flaps are four."""
        return self.unit == units.COUNT and "increase(" in self.text

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

    def counted_values(self, label: str) -> "Query":
        """How many series have each value; the value stands in that label."""
        return replace(self, text=f'count_values("{label}", {self.text})', labels=(label,), unit=units.COUNT, loose=False)

    def top(self, most: int) -> "Query":
        """At each moment the greatest ones only."""
        return replace(self, text=f"topk({most}, {self.text})", loose=False)

    def bottom(self, most: int) -> "Query":
        """At each moment the least ones only."""
        return replace(self, text=f"bottomk({most}, {self.text})", loose=False)

    def only(self, comparison: str, may_be_empty: str) -> "Query":
        """Series of which this holds (`> 0`); the others are left out."""
        return replace(self, text=f"{_tight(self)} {comparison}", loose=True, may_be_empty=may_be_empty)

    def whether(self, comparison: str) -> "Query":
        """1 for series of which this holds (`> 0`), 0 for the others, so that a sum counts them."""
        operator, limit = comparison.split(" ")
        return replace(self, text=f"{_tight(self)} {operator} bool {limit}", unit=units.COUNT, loose=True)

    def times(self, factor: float, unit: str) -> "Query":
        """In another unit."""
        return replace(self, text=f"{factor:g} * {_tight(self)}", unit=unit, loose=True)

    def in_unit(self, unit: str) -> "Query":
        """Shown in another unit of the same size: an error ratio of 1e-12 is no percentage."""
        return replace(self, unit=unit)

    def over(self, other: "Query", *on: str) -> "Query":
        """This as a share of another; nothing where that is 0, as 0 / 0 is no number."""
        some = other if other.text.endswith(" > 0") else other.only("> 0", other.may_be_empty)
        return replace(self._with("/", some, on, ()), unit=units.RATIO)

    def per_bit(self, volume: "Query", *on: str) -> "Query":
        """This for each bit of a volume of bytes."""
        return replace(self.over(volume.times(8, units.COUNT), *on), unit=units.SCIENTIFIC)

    def minus(self, other: "Query", *on: str) -> "Query":
        """The difference of two queries of one unit. Raises FaceError if units differ."""
        self._check_unit(other)
        return self._with("-", other, on, ())

    def plus(self, other: "Query", *on: str) -> "Query":
        """The sum of two queries of one unit. Raises FaceError if units differ."""
        self._check_unit(other)
        return self._with("+", other, on, ())

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

    def _check_unit(self, other: "Query") -> None:
        if self.unit != other.unit:
            raise FaceError(f"{self.unit} and {other.unit} make no sum: {self.text}; {other.text}")

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


def _known(query: Query, labels: Iterable[str]) -> None:
    if unknown := set(labels) - set(query.labels):
        raise FaceError(f"no label {sorted(unknown)} on {query.text}; it has {query.labels}")


def _tight(query: Query) -> str:
    return f"({query.text})" if query.loose else query.text
