"""Snapshots across a pipe: what stays the same from pass to pass crosses once, then only numbers do. No process, no socket.

Entities and keys of 160 links are 60 kB of pickle and 3 ms in each process; their numbers are a list of integers [M]. Both ends keep the
same table of layouts; an Encoder and the Decoder at its other end live and die together.
"""

import pickle
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from exporter.model.entity import Entity
from exporter.model.fault import Fault
from exporter.model.snapshot import Feed, FixedValues, Number, Reading, SeriesKey, Snapshot

LAYOUTS_MAX = 1024
"""Layouts both ends remember; when there are more, both start anew."""


class _Layout(NamedTuple):
    """A Snapshot without its numbers: its feed, and each Reading's entity and keys."""

    feed: Feed
    parts: tuple[tuple[Entity, tuple[SeriesKey, ...]], ...]


class _Sheet(NamedTuple):
    """A Snapshot as it crosses: the number of its layout, its times, all its numbers, its Faults."""

    layout: int
    wall_s: float
    monotonic_s: float
    numbers: Sequence[Number]
    faults: tuple[Fault, ...]


class Encoder:
    """Of the sending end."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], int] = {}
        self._alive: list[object] = []
        """Whatever a mark names by its identity: as long as it is kept, no other object can have that identity."""

    def encode(self, snapshots: Sequence[Snapshot], extra: object = None) -> bytes:
        """One message. `extra` is anything that can be pickled."""
        fresh: dict[int, _Layout] = {}
        restart = len(self._known) > LAYOUTS_MAX
        if restart:
            self._known.clear()
            self._alive.clear()
        sheets = [self._sheet(snapshot, fresh) for snapshot in snapshots]
        return pickle.dumps((restart, fresh, [tuple(sheet) for sheet in sheets], extra), pickle.HIGHEST_PROTOCOL)

    def _sheet(self, snapshot: Snapshot, fresh: dict[int, _Layout]) -> _Sheet:
        feed, wall_s, monotonic_s, readings, faults = snapshot
        mark: tuple[object, ...] = (feed, *[_mark(reading) for reading in readings])
        number = self._known.get(mark)
        if number is None:
            number = self._known[mark] = len(self._known)
            self._alive.append(readings)
            fresh[number] = _Layout(feed, tuple([(entity, tuple(values)) for entity, values in readings]))
        numbers: list[Number] = []
        for _, values in readings:
            numbers += values.values()
        return _Sheet(number, wall_s, monotonic_s, numbers, faults)


def _mark(reading: Reading) -> object:
    """What makes two Readings of one layout: the same entity and the same places, or equal ones where there are no fixed places."""
    entity, values = reading
    return (id(entity), id(values.places)) if values.__class__ is FixedValues else (entity, *values)


_NOTHING: tuple[Sequence[Number], tuple[Reading, ...]] = (), ()


class Decoder:
    """Of the receiving end. Equal keys come out as one `places` object, so that pages know their layout at a glance; the Readings of a pass
    that brings what the one before brought are the same objects."""

    def __init__(self) -> None:
        self._layouts: dict[int, tuple[Feed, tuple[tuple[Entity, Mapping[SeriesKey, int], int, int], ...]]] = {}
        self._places: dict[tuple[SeriesKey, ...], Mapping[SeriesKey, int]] = {}
        self._last: dict[int, tuple[Sequence[Number], tuple[Reading, ...]]] = {}
        """Of each layout the numbers that came last, and what was made of them."""

    def decode(self, message: bytes) -> tuple[tuple[Snapshot, ...], object]:
        """Snapshots and `extra`. Raises what pickle raises for a torn message: the other end is ours, and then done for."""
        restart, fresh, sheets, extra = pickle.loads(message)  # noqa: S301  # from a child of ours, over a pipe that nobody else holds
        if restart:
            self._layouts.clear()
            self._places.clear()
            self._last.clear()
        for number, layout in fresh.items():
            self._layouts[number] = self._laid_out(layout)
        return tuple([self._snapshot(_Sheet(*sheet)) for sheet in sheets]), extra

    def _laid_out(self, layout: _Layout) -> tuple[Feed, tuple[tuple[Entity, Mapping[SeriesKey, int], int, int], ...]]:
        parts: list[tuple[Entity, Mapping[SeriesKey, int], int, int]] = []
        start = 0
        for entity, keys in layout.parts:
            places = self._places.setdefault(keys, {key: place for place, key in enumerate(keys)})
            parts.append((entity, places, start, start + len(keys)))
            start += len(keys)
        return layout.feed, tuple(parts)

    def _snapshot(self, sheet: _Sheet) -> Snapshot:
        feed, parts = self._layouts[sheet.layout]
        numbers = sheet.numbers
        known, readings = self._last.get(sheet.layout, _NOTHING)
        if numbers != known:
            readings = tuple([Reading(entity, FixedValues(places, numbers[start:stop])) for entity, places, start, stop in parts])
            self._last[sheet.layout] = numbers, readings
        return Snapshot(feed, sheet.wall_s, sheet.monotonic_s, readings, sheet.faults)
