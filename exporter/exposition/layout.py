"""A Layout is a page without its numbers: every name and label rendered once, and the order in which the numbers go in.

It stays valid as long as the same series come in the same order; then a page costs one format operation. Refuses duplicates: Prometheus
would keep the first and drop the second without a word.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from exporter.exposition.selection import EXPORTER, Selection
from exporter.exposition.text import head_of, number_text, series_of
from exporter.model.entity import Entity
from exporter.model.metric import Metric
from exporter.model.snapshot import Number, Reading, Scene, SeriesKey, metric_key

PLAIN_NUMBERS = frozenset({int, float})


@dataclass(slots=True)
class Layout:
    """`signature` is what it was built for; `dropped` counts series left out by reason (limit, duplicate, invalid)."""

    signature: list[tuple[object, ...]]
    template: str
    pick: Callable[[Sequence[Number]], tuple[Number, ...]]
    series: int
    dropped: Mapping[str, int] = field(default_factory=dict)

    def fill(self, readings: Iterable[Reading]) -> str:
        """The page's text for readings of this signature."""
        numbers: list[Number] = []
        for reading in readings:
            numbers.extend(reading.values.values())
        picked = self.pick(numbers)
        types = set(map(type, picked))
        if float in types or not types <= PLAIN_NUMBERS:
            return self.template % tuple([n if n.__class__ is int else number_text(n) for n in picked])
        return self.template % picked


def selected_readings(scene: Scene, selection: Selection) -> list[Reading]:
    """Readings of the sources a selection wants, in a stable order; the exporter's own last."""
    feeds = sorted((f for f in scene.snapshots if selection.wants_source(f.source)), key=lambda f: (f.source, f.subject, f.cadence.value))
    readings = [reading for feed in feeds for reading in scene.snapshots[feed].readings]
    if selection.wants_source(EXPORTER):
        readings.extend(scene.readings)
    return readings


def signature_of(readings: Sequence[Reading]) -> list[tuple[object, ...]]:
    """Entity and keys of each reading: equal signatures fit the same Layout."""
    return [(reading.entity, *reading.values) for reading in readings]


def lay_out(readings: Sequence[Reading], rows: Mapping[str, Metric], selection: Selection, series_cap: int) -> Layout:
    """Build the Layout: series grouped by row in the catalogue's order, within a row in the readings' order."""
    by_row: dict[str, list[tuple[int, Entity, SeriesKey]]] = {key: [] for key in rows}
    dropped: dict[str, int] = {}
    position = 0
    for reading in readings:
        for key in reading.values:
            row_key = metric_key(key)
            if row_key in by_row:
                by_row[row_key].append((position, reading.entity, key))
            else:
                dropped["invalid"] = dropped.get("invalid", 0) + 1
            position += 1
    parts: list[str] = []
    order: list[int] = []
    for row in _wanted(rows, selection):
        _lay_out_row(row, by_row[row.key], series_cap, parts, order, dropped)
    return Layout(signature_of(readings), "".join(parts), _picker(order), len(order), dropped)


def _wanted(rows: Mapping[str, Metric], selection: Selection) -> list[Metric]:
    return [row for row in rows.values() if row.tier <= selection.tier and selection.wants_name(row.name)]


def _lay_out_row(row: Metric, found: Sequence[tuple[int, Entity, SeriesKey]], series_cap: int, parts: list[str], order: list[int],
                 dropped: dict[str, int]) -> None:  # fmt: skip
    seen: set[str] = set()
    for position, entity, key in found:
        series = series_of(row, entity, key)
        problem = "invalid" if series is None else "duplicate" if series in seen else "limit" if len(order) >= series_cap else None
        if series is None or problem:
            dropped[problem or "invalid"] = dropped.get(problem or "invalid", 0) + 1
            continue
        if not seen:
            parts.append(head_of(row).replace("%", "%%"))
        seen.add(series)
        parts.append(series.replace("%", "%%") + " %s\n")
        order.append(position)


def _picker(order: Sequence[int]) -> Callable[[Sequence[Number]], tuple[Number, ...]]:
    if len(order) > 1:
        return itemgetter(*order)
    return (lambda numbers: (numbers[order[0]],)) if order else (lambda numbers: ())  # noqa: ARG005
