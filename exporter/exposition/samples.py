"""Readings as a flat list of samples, for JSON: name, labels, value. Same order and same series as the text page."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from exporter.catalog.limits import SERIES_CAP
from exporter.exposition.choice import Labels, choose
from exporter.exposition.selection import Selection
from exporter.model.metric import Metric
from exporter.model.snapshot import Number, Reading


class Sample(TypedDict):
    """One series and its value."""

    name: str
    labels: dict[str, str]
    value: Number


def samples_of(readings: Sequence[Reading], rows: Mapping[str, Metric], selection: Selection,
               series_cap: int = SERIES_CAP, labels: Labels = ()) -> list[Sample]:  # fmt: skip
    """Samples of the rows a selection wants, grouped by row in the catalogue's order."""
    chosen = choose(readings, rows, selection, series_cap, labels).rows
    return [{"name": series.name, "labels": dict(series.pairs), "value": series.value} for _, found in chosen for series in found]
