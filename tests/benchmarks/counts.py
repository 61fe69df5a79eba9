"""Two ways to get at the growth of a link's counters: through Window, number by number, and in Readings that are paired once a pass.

Rules ask by role. What a role's keys are is the catalogue's; where they stand in a Reading is found once for each layout.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import sub
from typing import NamedTuple, Protocol, TypeAlias

from exporter.catalog import CATALOGUE
from exporter.model.entity import Entity, Link
from exporter.model.metric import Role
from exporter.model.snapshot import FixedValues, Number, Reading, SeriesKey, Snapshot, metric_key
from exporter.model.window import Window

ROLES = (Role.STATE, Role.CAPACITY, Role.TX_BYTES, Role.RX_BYTES, Role.ERRORS, Role.SYMBOL_ERRORS, Role.RECOVERIES, Role.LINK_DOWNS,
         Role.STALL, Role.RETRIES)  # fmt: skip
STATE, CAPACITY, SENT, RECEIVED, ERRORS, SYMBOL_ERRORS, RECOVERIES, LINK_DOWNS, STALL, RETRIES = range(len(ROLES))
"""Roles as positions: hashing an Enum member runs Python code, and here it would be done ten thousand times a pass."""

Feed2: TypeAlias = tuple[Sequence[Snapshot], Snapshot]
"""One feed: the Snapshots at which its windows begin, and the newest."""


class View(Protocol):
    """One link: its numbers now, and how they grew over several windows, whichever feeds they come from."""

    def value(self, role: int) -> Number | None:
        """The number of that role now; None if there is none."""
        ...

    def growth(self, nth: int, role: int) -> Number | None:
        """Growth of all counters of that role over the nth window; None if there are none, or one fell."""
        ...

    def elapsed_s(self, nth: int, role: int) -> float:
        """Seconds between the ends of the nth window of the feed with that role; 0 without one."""
        ...


class Place(NamedTuple):
    """Where a role's numbers are: in which of the link's Readings, at which positions, under which keys."""

    part: int
    positions: tuple[int, ...]
    keys: tuple[SeriesKey, ...]


Plan = tuple[Place | None, ...]
"""A Place for each of ROLES."""


class Plans:
    """The Plan of each combination of layouts that was seen."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Plan] = {}
        self._kept: list[object] = []

    def of(self, readings: Sequence[Reading]) -> Plan:
        """That of a link with these Readings."""
        mark = tuple([id(values.places) if values.__class__ is FixedValues else tuple(values) for _, values in readings])
        found = self._known.get(mark)
        if found is None:
            self._kept.append(readings)  # so that no other object gets the id of its places
            found = self._known[mark] = tuple([_place(role, readings) for role in ROLES])
        return found


def _place(role: Role, readings: Sequence[Reading]) -> Place | None:
    for part, (_, values) in enumerate(readings):
        listed = [(at, key) for at, key in enumerate(values) if (row := CATALOGUE.get(metric_key(key))) is not None and row.role is role]
        if listed:
            return Place(part, tuple(at for at, _ in listed), tuple(key for _, key in listed))
    return None


class Searched:
    """Through Window, which looks for the entity in both Snapshots for each number."""

    def __init__(self, entity: Entity, windows: Sequence[Sequence[Window]], plan: Plan) -> None:
        self._entity = entity
        self._windows = windows
        self._plan = plan

    def value(self, role: int) -> Number | None:
        """See View."""
        place = self._plan[role]
        return None if place is None else self._windows[place.part][0].value(self._entity, place.keys[0])

    def growth(self, nth: int, role: int) -> Number | None:
        """See View."""
        place = self._plan[role]
        if place is None:
            return None
        window = self._windows[place.part][nth]
        grown = [window.delta(self._entity, key) for key in place.keys]
        return None if None in grown else sum([number for number in grown if number is not None])

    def elapsed_s(self, nth: int, role: int) -> float:
        """See View."""
        place = self._plan[role]
        return 0.0 if place is None else self._windows[place.part][nth].elapsed_s


class Paired:
    """In lists of numbers: what there is now, and for each window what came in the meantime, in the order of the Reading's keys."""

    def __init__(self, lengths_s: Sequence[Sequence[float]], numbers: Sequence[Sequence[Number]],
                 grown: Sequence[Sequence[Sequence[Number] | None]], plan: Plan) -> None:  # fmt: skip
        self._lengths_s = lengths_s
        self._numbers = numbers
        self._grown = grown
        self._plan = plan

    def value(self, role: int) -> Number | None:
        """See View."""
        place = self._plan[role]
        return None if place is None else self._numbers[place.part][place.positions[0]]

    def growth(self, nth: int, role: int) -> Number | None:
        """See View."""
        place = self._plan[role]
        grown = None if place is None else self._grown[place.part][nth]
        if place is None or grown is None:
            return None
        if len(place.positions) == 1:
            one = grown[place.positions[0]]
            return one if one >= 0 else None
        parts = [grown[at] for at in place.positions]
        return sum(parts) if min(parts) >= 0 else None

    def elapsed_s(self, nth: int, role: int) -> float:
        """See View."""
        place = self._plan[role]
        return 0.0 if place is None else self._lengths_s[place.part][nth]


def searched(plans: Plans, feeds: Iterable[Feed2]) -> dict[Link, View]:
    """Each link of these feeds, seen through Windows."""
    links: dict[Link, tuple[list[Reading], list[Sequence[Window]]]] = {}
    for earlier, newest in feeds:
        windows = [Window(older, newest) for older in earlier]
        for reading in newest.readings:
            if isinstance(reading.entity, Link):
                readings, of_link = links.setdefault(reading.entity, ([], []))
                readings.append(reading)
                of_link.append(windows)
    return {link: Searched(link, windows, plans.of(readings)) for link, (readings, windows) in links.items()}


def paired(plans: Plans, feeds: Iterable[Feed2]) -> dict[Link, View]:
    """Each link of these feeds, its Readings paired with its earlier ones: by position where two Snapshots have one order of the same
    entities, as they nearly always do, else by entity."""
    links: dict[Link, tuple[list[Reading], list[Sequence[float]], list[Sequence[Sequence[Number] | None]]]] = {}
    for earlier, newest in feeds:
        lengths_s = [newest.monotonic_s - older.monotonic_s for older in earlier]
        columns = [_in_order(older, newest) for older in earlier]
        for at, reading in enumerate(newest.readings):
            entity = reading.entity
            if entity.__class__ is Link:
                found = links.get(entity)
                if found is None:
                    found = links[entity] = [], [], []
                found[0].append(reading)
                found[1].append(lengths_s)
                found[2].append([_grown(column[at], reading.values) for column in columns])
    return {
        link: Paired(lengths_s, [_listed(values) for _, values in readings], grown, plans.of(readings))
        for link, (readings, lengths_s, grown) in links.items()
    }


def _in_order(older: Snapshot, newest: Snapshot) -> list[Mapping[SeriesKey, Number] | None]:
    """The older values of each entity of the newest, in its order; None for one that was not there."""
    if len(older.readings) == len(newest.readings):
        same = [one[0] is other[0] for one, other in zip(older.readings, newest.readings, strict=True)]
        if all(same):
            return [values for _, values in older.readings]
    found = dict(older.readings)
    return [found.get(entity) for entity, _ in newest.readings]


def _grown(older: Mapping[SeriesKey, Number] | None, newer: Mapping[SeriesKey, Number]) -> Sequence[Number] | None:
    """Growth of each number; None where the two do not have the same keys: what one lacks is unknown, and a rule waits a pass for it."""
    if older is None:
        return None
    if older.__class__ is FixedValues and newer.__class__ is FixedValues and older.places is newer.places:
        return list(map(sub, newer.numbers, older.numbers))
    return list(map(sub, newer.values(), older.values())) if list(older) == list(newer) else None


def _listed(values: Mapping[SeriesKey, Number]) -> Sequence[Number]:
    return values.numbers if values.__class__ is FixedValues else list(values.values())
