"""Tables: links and what is known of them, row by row, and two labels against each other. Part of the face (panels.py)."""

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any, NamedTuple

from grafanalib import core

from dashboards.board import Place, Tile
from dashboards.drawn import Drawn, content, table_options
from dashboards.frame import NO_WORDS, Steps, for_name, frame, given, led, setting, step, thresholds, tile
from dashboards.query import FaceError, Query
from dashboards.ways import Way
from dashboards.words import Words, mapping

_CELLS: dict[str, Any] = {
    "color": {"mode": "thresholds"},
    "custom": {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True, "inspect": False},
}
"""Field defaults of a table."""


class Column(NamedTuple):
    """A column of a table: a value of its query under the name `title`. `words` name its numbers; `steps` colour them. `first` puts it
    before the labels, `hidden` leaves it out: the rows are the answer, their value is always the same."""

    title: str
    query: Query
    words: Words = NO_WORDS
    steps: Steps = ()
    width: int | None = None
    first: bool = False
    hidden: bool = False


class Label(NamedTuple):
    """How a label's column is shown."""

    words: Words = NO_WORDS
    width: int | None = None
    way: Way | None = None


def table(title: str, text: str, *columns: Column, labels: Mapping[str, Label], sort: str, ascending: bool = False, w: int = 24,
          h: int = 8, way: Way | None = None) -> Tile:  # fmt: skip
    """Rows as of now: first the labels in their order, then the columns. Queries with the same labels share rows. `way` leads on from every
    value. Raises FaceError for a label that no query has."""
    queries = tuple(_tidy(column.query, labels) for column in columns)
    if unknown := set(labels) - {label for query in queries for label in query.labels}:
        raise FaceError(f"table {title} shows {sorted(unknown)}, which no query has")
    for leading in (way, *(shown.way for shown in labels.values())):
        led(title, leading, labels)
    values = [f"Value #{letter}" for letter in ascii_uppercase[: len(columns)]] if len(columns) > 1 else ["Value"]
    first = [name for name, column in zip(values, columns, strict=True) if column.first]
    order = {name: place for place, name in enumerate((*first, *labels, *(name for name in values if name not in first)))}
    hidden = {label for query in queries for label in query.labels} - set(labels)
    names = dict(zip(values, (column.title for column in columns), strict=True))
    hidden |= {name for name, column in zip(values, columns, strict=True) if column.hidden}
    organize = {"excludeByName": dict.fromkeys(sorted({"Time", *hidden}), True), "indexByName": order, "renameByName": names}
    merge = [{"id": "merge", "options": {}}] if len(columns) > 1 else []

    def draw(place: Place) -> core.Panel:
        overrides = [
            *(_label_override(name, shown) for name, shown in labels.items()),
            *(_column_override(column) for column in columns if not column.hidden),
        ]
        defaults = given({**_CELLS, "links": [way.from_table()] if way else None})
        shown = [override for override in overrides if override["properties"]]
        return Drawn(
            **frame(title, text, queries, place, is_instant=True, form="table"),
            extraJson=content("table", defaults, table_options(sort, descending=not ascending), shown),
            thresholds=thresholds(()),
            transformations=[*merge, {"id": "organize", "options": organize}],
        )

    return tile(title, text, w, h, queries, draw, is_instant=True)


def matrix(title: str, text: str, query: Query, *, row: str, column: str, order: Words = NO_WORDS, cell: str = "Value", w: int = 12,
           h: int = 8) -> Tile:  # fmt: skip
    """A table of two labels against each other, as of now; `order` names and colours the columns. `cell` is the label that stands in the
    cells, if not the value."""
    group = {"columnField": column, "rowField": row, "valueField": cell, "emptyValue": "null"}
    places = {f"{row}\\{column}": 0, **{name: place for place, name in enumerate(order, start=1)}}
    organize = {"excludeByName": {}, "indexByName": places, "renameByName": {f"{row}\\{column}": row}}

    def draw(place: Place) -> core.Panel:
        overrides = [for_name(name, setting("thresholds", {"mode": "absolute", "steps": [step(None, "text"), step(1, word.color)]}),
                            setting("custom.cellOptions", {"type": "color-text"})) for name, word in order.items()]  # fmt: skip
        return Drawn(
            **frame(title, text, (query,), place, is_instant=True, form="table"),
            extraJson=content("table", _CELLS, table_options(row, descending=False), overrides),
            thresholds=thresholds(()),
            transformations=[{"id": "groupingToMatrix", "options": group}, {"id": "organize", "options": organize}],
        )

    return tile(title, text, w, h, (query,), draw, is_instant=True)


def _tidy(query: Query, labels: Mapping[str, Label]) -> Query:
    """Without labels of the scrape (job, instance), which would be columns: a query that still has its target's is aggregated."""
    return query.max_by(*(label for label in query.labels if label in labels)) if "pool" in query.labels else query


def _label_override(name: str, shown: Label) -> dict[str, Any]:
    properties = [setting("mappings", mapping(shown.words))] if shown.words else []
    properties += [setting("custom.width", shown.width)] if shown.width else []
    properties += [setting("links", [shown.way.from_table()])] if shown.way else []
    properties += [setting("custom.cellOptions", {"type": "color-text"})] if shown.words else []
    return for_name(name, *properties)


def _column_override(column: Column) -> dict[str, Any]:
    properties = [setting("unit", column.query.unit)]
    if column.query.counts_events:
        properties.append(setting("decimals", 0))
    properties += [setting("mappings", mapping(column.words))] if column.words else []
    properties += [setting("custom.cellOptions", {"type": "color-background"})] if column.words else []
    if column.steps:
        steps = [step(None, "text"), *(step(value, color) for value, color in column.steps)]
        properties += [setting("thresholds", {"mode": "absolute", "steps": steps}),
                       setting("custom.cellOptions", {"type": "color-text"})]  # fmt: skip
    properties += [setting("custom.width", column.width)] if column.width else []
    return for_name(column.title, *properties)
