"""The raw numbers behind events: which counters and states of a link changed last, from what to what, and when.

Looks at every pass, so it must cost little: a list of numbers that is equal to the one before is passed over as a whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from exporter.catalog import CATALOGUE
from exporter.catalog.ethernet_events import ETHERNET_EVENTS
from exporter.catalog.hw_events import HW_EVENTS_KNOWN
from exporter.catalog.xid import OFF_BUS, SXID, XID
from exporter.model.entity import Entity
from exporter.model.metric import Kind, Role
from exporter.model.snapshot import Feed, FixedValues, Number, Reading, SeriesKey, Snapshot, metric_key

ALWAYS_MOVING = frozenset({
    Role.TX_BYTES, Role.RX_BYTES, Role.TX_BYTES_64, Role.RX_BYTES_64, Role.TX_PACKETS, Role.RX_PACKETS, Role.STALL, Role.CORRECTED_BITS,
    Role.LINE_CAPACITY, Role.CNP_SENT, Role.CNP_HANDLED, Role.ECN_MARKED, Role.PAUSE, Role.PAUSE_FRAMES,
})  # fmt: skip
"""Counters that say nothing by having moved."""
STATES = frozenset({
    Role.STATE, Role.PHYSICAL_STATE, Role.CAPACITY, Role.WIDTH, Role.LANE_RATE, Role.SIGNALLING_RATE, Role.CARRIER, Role.SPEED,
    Role.PRESENCE, Role.SATURATED, Role.POWER_STATE,
})  # fmt: skip
DRIVER_EVENTS = frozenset({XID.key, SXID.key, OFF_BUS.key})
"""Counts that appear with the first event: what was not there was 0."""
NOTHING: Mapping[SeriesKey, Number] = {}
PLANS_MAX = 4096
SHOWN_MAX = 12
"""Numbers that one event shows."""
_ENTITY = itemgetter(0)
WITHIN_S = 900.0
"""What changed longer ago than that has nothing to do with what happens now [D]."""


class Moved(NamedTuple):
    """One number that changed: its series as a page would name it, from what to what, and in which pass (monotonic and Unix time)."""

    entity: Entity
    key: SeriesKey
    before: Number
    after: Number
    monotonic_s: float
    wall_s: float


class CounterWatch:
    """Of one node."""

    def __init__(self) -> None:
        self._plans: dict[int, tuple[object, tuple[tuple[SeriesKey, int], ...]]] = {}
        self._last: dict[Feed, Sequence[Reading]] = {}
        self._moved: dict[Entity, dict[SeriesKey, Moved]] = {}

    def look(self, fresh: Iterable[Snapshot]) -> list[Moved]:
        """Take in what is new; what changed by it. A number that was not there before has not changed, unless it counts events of
        the driver."""
        found: list[Moved] = []
        for feed, wall_s, monotonic_s, readings, _ in fresh:
            before, self._last[feed] = self._last.get(feed), readings
            if before is not None and before is not readings:
                found += self._compared(before, readings, monotonic_s, wall_s)
        for moved in found:
            self._moved.setdefault(moved.entity, {})[moved.key] = moved
        return found

    def of(self, entity: Entity, now_s: float) -> list[dict[str, str | Number]]:
        """What changed of it lately, the newest first, as an event tells it."""
        moved = sorted(self._moved.get(entity, {}).values(), key=lambda one: -one.monotonic_s)
        lately = [one for one in moved if now_s - one.monotonic_s <= WITHIN_S][:SHOWN_MAX]
        return [{"series": series_of(one.key), "before": one.before, "after": one.after, "time": one.wall_s} for one in lately]

    def _compared(self, before: Sequence[Reading], now: Sequence[Reading], monotonic_s: float, wall_s: float) -> list[Moved]:
        found: list[Moved] = []
        if len(before) == len(now) and list(map(_ENTITY, before)) == list(map(_ENTITY, now)):
            pairs = [(b[0], a[1], b[1]) for a, b in zip(before, now, strict=True) if a[1] is not b[1]]
        else:
            earlier = dict(before)
            pairs = [(entity, earlier.get(entity, NOTHING), values) for entity, values in now]
        for entity, was, values in pairs:
            if isinstance(was, FixedValues) and isinstance(values, FixedValues) and was.places is values.places:
                a, b = was.numbers, values.numbers
                if a != b:
                    found += [Moved(entity, key, a[at], b[at], monotonic_s, wall_s) for key, at in self._plan(values) if a[at] != b[at]]
                continue
            for key, number in values.items():
                earlier_number = was.get(key, 0 if metric_key(key) in DRIVER_EVENTS else number)
                if earlier_number != number and _is_watched(key):
                    found.append(Moved(entity, key, earlier_number, number, monotonic_s, wall_s))
        return found

    def _plan(self, values: FixedValues) -> tuple[tuple[SeriesKey, int], ...]:
        places = values.places
        known = self._plans.get(id(places))
        if known is None:
            if len(self._plans) >= PLANS_MAX:
                self._plans.clear()
            known = self._plans[id(places)] = places, tuple([(key, at) for key, at in places.items() if _is_watched(key)])
        return known[1]


def _is_watched(key: SeriesKey) -> bool:
    row = CATALOGUE.get(metric_key(key))
    if row is None or row.role in ALWAYS_MOVING:
        return False
    if "event" in row.own_labels:
        return _is_trouble(key[1] if isinstance(key, tuple) and len(key) > 1 else "")
    return row.role in STATES or (row.kind is Kind.COUNTER and "bytes" not in row.name and "packets" not in row.name)


def _is_trouble(event: str) -> bool:
    """Whether such events mean something by themselves; requests and connections are work."""
    known = HW_EVENTS_KNOWN.get(event) or ETHERNET_EVENTS.get(event)
    role = known.role if known is not None else None
    return role not in ALWAYS_MOVING and (role is not None or "err" in event or "drop" in event)


def series_of(key: SeriesKey) -> str:
    """The series' name and its own labels, without those of the link."""
    row = CATALOGUE.get(metric_key(key))
    if row is None or isinstance(key, str):
        return row.name if row is not None else metric_key(key)
    labels = ",".join(f'{name}="{value}"' for name, value in zip(row.own_labels, key[1:], strict=False))
    return f"{row.name}{{{labels}}}" if labels else row.name
