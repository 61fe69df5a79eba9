"""Readings as a flat list of samples, for JSON: name, labels, value. Same order and same series as the text page."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from exporter.exposition.selection import Selection
from exporter.exposition.text import label_pairs
from exporter.model.metric import Metric
from exporter.model.snapshot import Number, Reading, metric_key


class Sample(TypedDict):
    """One series and its value."""

    name: str
    labels: dict[str, str]
    value: Number


def samples_of(readings: Sequence[Reading], rows: Mapping[str, Metric], selection: Selection) -> list[Sample]:
    """Samples of the rows a selection wants, grouped by row in the catalogue's order."""
    by_row: dict[str, list[Sample]] = {
        row.key: [] for row in rows.values() if row.tier <= selection.tier and selection.wants_name(row.name)
    }
    for reading in readings:
        for key, value in reading.values.items():
            row_key = metric_key(key)
            pairs = label_pairs(rows[row_key], reading.entity, key) if row_key in by_row else None
            if pairs is not None:
                by_row[row_key].append({"name": rows[row_key].name, "labels": dict(pairs), "value": value})
    return [sample for samples in by_row.values() for sample in samples]
