"""Puts what several families brought for a GPU's links together: one Reading for each link. Knows no field and no driver.

What is where in a Reading is laid out once and kept while the same links answer the same families: a pass then costs a slice a link.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from exporter.model.entity import Link
from exporter.model.snapshot import FixedValues, Number, Reading, SeriesKey
from exporter.sources.field_family import FamilyPass


class _Piece(NamedTuple):
    """One link: its places, and which slice of which pass goes there."""

    link: Link
    places: Mapping[SeriesKey, int]
    slices: tuple[tuple[int, int, int], ...]


class LinkReadings:
    """Of one GPU and cadence; `links` are its Link entities by index. Not thread-safe."""

    def __init__(self, links: Mapping[int, Link]) -> None:
        self._links = links
        self._mark: tuple[object, ...] = ()
        self._pieces: tuple[_Piece, ...] = ()
        self._numbers: list[Sequence[Number]] | None = None
        self._readings: list[Reading] = []
        """What was made of `_numbers`: a pass that brings the same again makes nothing new."""
        self._known_places: dict[tuple[SeriesKey, ...], Mapping[SeriesKey, int]] = {}

    def of(self, passes: Sequence[FamilyPass]) -> list[Reading]:
        """A Reading for each link that any pass brought a number for, in the order of links. Refused numbers are missing keys."""
        mark = tuple([(one.links, one.keys) for one in passes])
        if mark != self._mark:
            self._mark, self._pieces = mark, self._lay_out(passes)
            self._numbers = None
        if any(one.refused for one in passes):
            return self._with_gaps(passes)
        numbers = [one.numbers for one in passes]
        if numbers != self._numbers:
            self._numbers = numbers
            self._readings = [Reading(link, FixedValues(places, _row(numbers, slices))) for link, places, slices in self._pieces]
        return list(self._readings)

    def _with_gaps(self, passes: Sequence[FamilyPass]) -> list[Reading]:
        readings: list[Reading] = []
        for link, places, slices in self._pieces:
            keys, row = list(places), _row([one.numbers for one in passes], slices)
            at = [(index, position) for index, start, stop in slices for position in range(start, stop)]
            values = {
                key: number for key, number, (index, position) in zip(keys, row, at, strict=True) if position not in passes[index].refused
            }
            if values:
                readings.append(Reading(link, values))
        return readings

    def _lay_out(self, passes: Sequence[FamilyPass]) -> tuple[_Piece, ...]:
        pieces: list[_Piece] = []
        for index in sorted({link for one in passes for link in one.links}):
            keys: tuple[SeriesKey, ...] = ()
            slices: list[tuple[int, int, int]] = []
            for number, one in enumerate(passes):
                if index in one.links:
                    start = one.links.index(index) * len(one.keys)
                    slices.append((number, start, start + len(one.keys)))
                    keys += one.keys
            places = self._known_places.setdefault(keys, {key: place for place, key in enumerate(keys)})
            pieces.append(_Piece(self._links[index], places, tuple(slices)))
        return tuple(pieces)


def _row(numbers: Sequence[Sequence[Number]], slices: Sequence[tuple[int, int, int]]) -> Sequence[Number]:
    index, start, stop = slices[0]
    if len(slices) == 1:
        return numbers[index][start:stop]
    row: list[Number] = []
    for index, start, stop in slices:
        row += numbers[index][start:stop]
    return row
