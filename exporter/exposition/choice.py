"""Which series stand on a page: those the selection wants, each once, up to the cap; and how many were left out, and why. Pure.

One answer for every format: the text, OpenMetrics and JSON show the same series and count the same losses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from exporter.exposition.selection import Selection
from exporter.exposition.text import label_pairs, sample_name
from exporter.model.entity import Entity, Fabric, Link
from exporter.model.metric import Metric, Tier
from exporter.model.snapshot import Number, Reading, SeriesKey, metric_key

_Found: TypeAlias = tuple[int, Entity, SeriesKey, Number]

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Labels (and their values) that every series of a page carries beside its own, such as `node` (`--label.node`); usually none."""

DROP_REASONS = ("limit", "duplicate", "invalid")


@dataclass(frozen=True, slots=True)
class Series:
    """One series: its name, label pairs in the row's order, its value, and where that stands among all numbers of the readings."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    value: Number
    position: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Rows in the catalogue's order, each with its series in the readings' order (never empty). `dropped` counts what was left out, by
    DROP_REASONS; a reason that never came up is missing."""

    rows: tuple[tuple[Metric, tuple[Series, ...]], ...]
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many series stand on the page."""
        return sum(len(series) for _, series in self.rows)


def choose(readings: Sequence[Reading], rows: Mapping[str, Metric], selection: Selection, series_cap: int,
           labels: Labels = ()) -> Choice:  # fmt: skip
    """The series of a page. Of two that claim one name and one set of labels the first is kept: Prometheus would do the same, silently.
    Where the cap bites, rows of the lower tiers keep their place: what everybody needs is the last to go."""
    found: dict[str, list[_Found]] = {key: [] for key in rows}
    dropped: dict[str, int] = {}
    position = 0
    for reading in readings:
        for key, value in reading.values.items():
            row_key = metric_key(key)
            if row_key in found:
                found[row_key].append((position, reading.entity, key, value))
            else:
                dropped["invalid"] = dropped.get("invalid", 0) + 1
            position += 1
    wanted = [row for row in rows.values() if _least_tier(row) <= selection.tier and selection.wants_name(row.name)]
    kept: dict[str, tuple[Series, ...]] = {}
    room = series_cap
    for row in sorted(wanted, key=lambda row: row.tier):
        shown = found[row.key]
        if row.nvlink_tier is not None or row.sick_tier is not None:
            shown = [series for series in shown if _tier_of(row, series) <= selection.tier]
        kept[row.key] = _of_row(row, shown, room, labels, dropped)
        room -= len(kept[row.key])
    return Choice(tuple((row, kept[row.key]) for row in wanted if kept[row.key]), dropped)


def _least_tier(row: Metric) -> Tier:
    return min(tier for tier in (row.tier, row.nvlink_tier, row.sick_tier) if tier is not None)


def _tier_of(row: Metric, series: _Found) -> Tier:
    """The tier of one series of a row whose series differ."""
    _, entity, _, value = series
    if row.sick_tier is not None and value > 0:
        return row.sick_tier
    if row.nvlink_tier is not None and isinstance(entity, Link) and entity.fabric is Fabric.NVLINK:
        return row.nvlink_tier
    return row.tier


def _of_row(row: Metric, found: Sequence[_Found], room: int, labels: Labels, dropped: dict[str, int]) -> tuple[Series, ...]:
    kept: dict[tuple[str, tuple[tuple[str, str], ...] | None], Series] = {}
    for position, entity, key, value in found:
        name, pairs = sample_name(row, key), label_pairs(row, entity, key)
        problem = "invalid" if pairs is None else "duplicate" if (name, pairs) in kept else "limit" if len(kept) >= room else None
        if pairs is None or problem:
            dropped[problem or "invalid"] = dropped.get(problem or "invalid", 0) + 1
        else:
            kept[name, pairs] = Series(name, (*pairs, *labels), value, position)
    return tuple(kept.values())
