"""A Layout is a page without its numbers: every name and label rendered once, and the order in which the numbers go in.

It stays valid as long as the same series come in the same order; then a page costs one join. Refuses duplicates: Prometheus
would keep the first and drop the second without a word.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter

from exporter.exposition.choice import Labels, choose
from exporter.exposition.selection import EXPORTER, Selection
from exporter.exposition.text import head_of, number_text, series_of
from exporter.model.metric import Metric
from exporter.model.snapshot import Feed, FixedValues, Number, Reading, Scene

PLAIN_NUMBERS = frozenset({int, float})
"""Types that `str` writes as number_text does, as long as they are finite."""
PART_SERIES = 512
"""About 50 KB of text, small enough for the allocator to keep and reuse."""


@dataclass(slots=True)
class Layout:
    """`signature` is what it was built for; `templates` are the page's text in parts of PART_SERIES numbers, each number a `%s`;
    `dropped` counts series left out by reason (limit, duplicate, invalid)."""

    signature: list[tuple[object, ...]]
    templates: Sequence[str]
    pick: Callable[[Sequence[Number]], tuple[Number, ...]]
    series: int
    dropped: Mapping[str, int] = field(default_factory=dict)

    def fill(self, readings: Iterable[Reading]) -> str:
        """The page's text for readings of this signature."""
        return b"".join(self.encode(readings)).decode()

    def encode(self, readings: Iterable[Reading]) -> list[bytes]:
        """The same in UTF-8, in parts to be joined: a large page in one piece costs three times as much, in fresh memory [M]."""
        numbers: list[Number] = []
        for reading in readings:
            numbers.extend(reading.values.values())
        picked = self.pick(numbers)
        texts: tuple[Number, ...] | tuple[str, ...] = picked
        if not (PLAIN_NUMBERS.issuperset(map(type, picked)) and _is_finite(picked)):
            texts = tuple(map(number_text, picked))
        if len(self.templates) == 1:
            return [(self.templates[0] % texts).encode()]
        return [(part % texts[i * PART_SERIES : (i + 1) * PART_SERIES]).encode() for i, part in enumerate(self.templates)]


@lru_cache(4)
def _in_order(feeds: tuple[Feed, ...]) -> list[Feed]:
    """By source, subject and cadence. The same feeds come pass after pass."""
    return sorted(feeds)


def selected_readings(scene: Scene, selection: Selection) -> list[Reading]:
    """Readings of the sources a selection wants, in a stable order; the exporter's own last."""
    snapshots = scene.snapshots
    readings: list[Reading] = []
    for feed in _in_order(tuple(snapshots)):
        if not selection.sources or feed.source in selection.sources:
            readings += snapshots[feed].readings
    if selection.wants_source(EXPORTER):
        readings.extend(scene.readings)
    return readings


def signature_of(readings: Sequence[Reading]) -> list[tuple[object, ...]]:
    """Entity and keys of each reading, in order: equal signatures fit the same Layout."""
    return [(entity, values.places) if values.__class__ is FixedValues else (entity, *values) for entity, values in readings]


def lay_out(readings: Sequence[Reading], rows: Mapping[str, Metric], selection: Selection, series_cap: int,
            labels: Labels = ()) -> Layout:  # fmt: skip
    """Build the Layout: series grouped by row in the catalogue's order, within a row in the readings' order."""
    choice = choose(readings, rows, selection, series_cap, labels)
    parts: list[list[str]] = [[]]
    order: list[int] = []
    for row, found in choice.rows:
        head = head_of(row)
        for series in found:
            if order and len(order) % PART_SERIES == 0:
                parts.append([])
            parts[-1].append(f"{head}{series_of(series.name, series.pairs)}".replace("%", "%%") + " %s\n")
            order.append(series.position)
            head = ""
    templates = ["".join(part) for part in parts]
    return Layout(signature_of(readings), templates, _picker(order), len(order), choice.dropped)


def _is_finite(numbers: Iterable[Number]) -> bool:
    """False if any is infinite or NaN, since their sum is too; may be False as well for numbers too large to be summed."""
    try:
        return math.isfinite(sum(numbers))
    except OverflowError:
        return False


def _picker(order: Sequence[int]) -> Callable[[Sequence[Number]], tuple[Number, ...]]:
    if len(order) > 1:
        return itemgetter(*order)
    return (lambda numbers: (numbers[order[0]],)) if order else (lambda numbers: ())  # noqa: ARG005
