"""The roster of a feed: which link stands at which place of its Snapshots, what each said last, and how far apart the passes are.

A feed names the same links in the same order again and again, so that is worked out once and a pass costs no look-up by link. Knows no
number and no rule.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from exporter.catalog.gpu import FABRIC_STATE
from exporter.model.entity import Device, Entity, Link
from exporter.model.snapshot import FixedValues, Number, Reading, SeriesKey
from exporter.signals.observation import Observation
from exporter.signals.rest import FactRest, Rest, is_resting
from exporter.signals.tracked import Tracked

LAPS = 3
"""Times between passes of which the middle one is the feed's pace: one that came late, and the next at once, do not change it."""


@dataclass(slots=True)
class Seat:
    """One Reading's place: its link, what the pass before saw there, and which rests it began or went on with (rest.py)."""

    tracked: Tracked
    ordinal: int
    rest: Rest | None = None
    fact_rest: FactRest | None = None
    _before: Observation | None = None
    _life: int = 0
    _rested_at: tuple[float, float] | None = None
    """When a pass last brought what the one before brought: that one counts as of then."""

    def rests(self, values: Mapping[SeriesKey, Number], monotonic_s: float, wall_s: float) -> bool:
        """Take in a pass that says nothing new; False if this one does, or may."""
        rest, before = self.rest, self._before
        if rest is None or before is None:
            return False
        before_s = self._rested_at[0] if self._rested_at is not None else before.monotonic_s
        if not is_resting(rest, self.tracked, values, monotonic_s - before_s):
            return False
        self._rested_at = monotonic_s, wall_s
        return True

    def next(self, now: Observation) -> Observation | None:
        """Take in a pass; the one before it, None if that saw other hardware or there was none."""
        before, self._before = self._before, now
        if self._rested_at is not None and before is not None:
            before, self._rested_at = Observation(*self._rested_at, before.plan, before.numbers), None
        if self._life != self.tracked.life:
            self._life = self.tracked.life
            return None
        return before


def _new_seat(tracked: Tracked, ordinal: int, before_s: float, counted: Collection[str]) -> Seat:
    """The seat of a link that the pass before (at `before_s`) did not name. A device in `counted` had a Reading for events that name no
    port: there an event that names one makes a new Reading, and its first is an increase (xid_readings.py)."""
    if not tracked.link.port or tracked.link.device not in counted:
        return Seat(tracked, ordinal)
    return Seat(tracked, ordinal, None, None, Observation(before_s, before_s, {}, ()), tracked.life)


@dataclass(slots=True)
class DeviceSeat:
    """One Reading's place: its device, and what the pass before said of it."""

    name: str
    _before: FixedValues | None = None

    def is_known(self, values: Mapping[SeriesKey, Number]) -> bool:
        """Take in a pass; whether it says what the one before said, and nothing that time could make worse."""
        before, self._before = self._before, values if isinstance(values, FixedValues) else None
        if before is None or self._before is None or before.places is not self._before.places:
            return False
        return before.numbers == self._before.numbers and FABRIC_STATE.key not in before.places


class Seats(NamedTuple):
    """Positions among the Readings: of those about a link that concerns somebody, and of those about a device."""

    links: Sequence[tuple[int, Seat]] = ()
    devices: Sequence[tuple[int, DeviceSeat]] = ()


NOBODY = Seats()


@dataclass(slots=True)
class Roster:
    """Of one feed."""

    _entities: list[Entity] = field(default_factory=list)
    _readings: Sequence[Reading] = ()
    _known: int = 0
    _seats: Seats = NOBODY
    _last_s: float | None = None
    _before_s: float = 0.0
    _laps_s: tuple[float, ...] = ()
    _interval_s: float = 0.0

    def time(self, now_s: float) -> float:
        """A pass began at this time: seconds between passes, as seen; 0 before the second."""
        if self._last_s is not None and now_s > self._last_s:
            self._laps_s = (*self._laps_s, now_s - self._last_s)[-LAPS:]
            self._interval_s = sorted(self._laps_s)[len(self._laps_s) // 2]
            self._before_s = self._last_s
        self._last_s = now_s
        return self._interval_s

    def seat(self, readings: Sequence[Reading], known: int, tracked_of: Callable[[Reading], Tracked | None]) -> Seats:
        """The places of these Readings. A link that stood elsewhere keeps what it said there; of several Readings of one link the first
        stays the first. `known` is how many links there are: a new one may want a place that nobody wanted. `tracked_of` finds the link's
        record, None if it concerns nobody."""
        if readings is self._readings and self._known == known:
            return self._seats
        self._readings = readings
        entities: list[Entity] = [reading.entity for reading in readings]
        if self._known == known and self._entities == entities:
            return self._seats
        before = {(seat.tracked.link, seat.ordinal): seat for _, seat in self._seats.links}
        counted = {entity.device for entity in self._entities if isinstance(entity, Link) and not entity.port}
        counts: dict[Entity, int] = {}
        links: list[tuple[int, Seat]] = []
        for at, reading in enumerate(readings):
            tracked = tracked_of(reading) if isinstance(reading.entity, Link) else None
            if tracked is not None:
                ordinal = counts[reading.entity] = counts.get(reading.entity, -1) + 1
                links.append((at, before.get((tracked.link, ordinal)) or _new_seat(tracked, ordinal, self._before_s, counted)))
        self._entities, self._known = entities, known
        self._seats = Seats(links, [(at, DeviceSeat(entity.name)) for at, entity in enumerate(entities) if isinstance(entity, Device)])
        return self._seats
