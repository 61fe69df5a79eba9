"""What every panel has: title, description, place, targets; and the parts of field configuration that several kinds share."""

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from grafanalib import core

from dashboards.board import DATASOURCE, Drawing, Place, Tile
from dashboards.query import FaceError, Query
from dashboards.ways import Way
from dashboards.words import GREEN, Words

Steps = Sequence[tuple[float, str]]
"""Thresholds: from this value on, that colour; below the first, green."""
NO_WORDS: Words = {}


def tile(title: str, text: str, w: int, h: int, queries: tuple[Query, ...], draw: Drawing, *, is_instant: bool = False) -> Tile:
    """The tile. Raises FaceError for a description that is no sentence."""
    if not text.endswith((".", ")")):
        raise FaceError(f"panel {title} needs a description that is a sentence")
    return Tile(title, text, w, h, queries, draw, is_instant)


def one_unit(title: str, queries: Iterable[Query]) -> str:
    """The one unit of all queries."""
    found = sorted({query.unit for query in queries})
    if len(found) != 1:
        raise FaceError(f"panel {title} has queries of {len(found)} units on one axis: {found}")
    return found[0]


def frame(title: str, text: str, queries: Sequence[Query], place: Place, *, is_instant: bool = False, form: str = "time_series",
           most_points: int | None = None) -> dict[str, Any]:  # fmt: skip
    """Arguments of grafanalib's panel: the queries as targets, scope filled in; `is_instant` asks as of now only."""
    return {
        "title": title,
        "description": text,
        "dataSource": DATASOURCE,
        "gridPos": place.grid,
        "id": place.number,
        "maxDataPoints": most_points,
        "targets": [
            core.Target(expr=place.scope.fill(query.text), legendFormat=place.scope.legend(query), refId=letter, instant=is_instant,
                        format=form, datasource=DATASOURCE)
            for letter, query in zip(ascii_uppercase[: len(queries)], queries, strict=True)
        ],
    }  # fmt: skip


def led(title: str, way: Way | None, labels: Iterable[str]) -> Way | None:
    """The way, if it can be gone from there. Raises FaceError if it needs a label that is not there: Grafana would lead to nowhere."""
    if way and (missing := set(way.labels) - set(labels)):
        raise FaceError(f"panel {title}: the link to {way.uid} needs {sorted(missing)}, which is not shown there")
    return way


def step(value: float | None, color: str) -> dict[str, Any]:
    """A threshold as Grafana writes it."""
    return {"value": value, "color": color}


def thresholds(steps: Steps, base: str = GREEN) -> list[dict[str, Any]]:
    """All of a panel, the first without a value."""
    return [step(None, base), *(step(value, color) for value, color in steps)]


def defaults_of(**keys: object) -> dict[str, Any]:
    """Field defaults on top of those that grafanalib writes."""
    return {"fieldConfig": {"defaults": given(keys)}}


def given(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None."""
    return {key: value for key, value in keys.items() if value is not None}


def setting(name: str, value: object) -> dict[str, object]:
    """One property of an override."""
    return {"id": name, "value": value}


def for_name(name: str, *properties: dict[str, object]) -> dict[str, Any]:
    """An override for the field of that name."""
    return {"matcher": {"id": "byName", "options": name}, "properties": list(properties)}
