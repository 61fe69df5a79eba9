"""What one pass saw of one link, asked for by role: no rule needs to know a vendor's counter or a field id.

Which number plays which role is worked out once for a set of keys and kept with it: a pass then costs an index for each number.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from exporter.catalog import CATALOGUE
from exporter.catalog.ethernet_events import ETHERNET_EVENTS
from exporter.catalog.hw_events import HW_EVENTS_KNOWN
from exporter.model.metric import Role
from exporter.model.snapshot import FixedValues, Number, SeriesKey, metric_key

Plan = Mapping[Role, tuple[tuple[SeriesKey, int], ...]]
"""Role → the keys that play it and where each number stands."""


class Observation(NamedTuple):
    """One link in one pass of one feed. Times are of the pass."""

    monotonic_s: float
    wall_s: float
    plan: Plan
    numbers: Sequence[Number]

    def value(self, role: Role) -> Number | None:
        """The number of a role that one key plays (the first, if several do); None if none does."""
        found = self.plan.get(role)
        return self.numbers[found[0][1]] if found is not None else None

    def total(self, role: Role) -> Number | None:
        """The sum over all keys of that role; None if there is none."""
        found = self.plan.get(role)
        return sum([self.numbers[at] for _, at in found]) if found is not None else None

    def items(self, role: Role) -> list[tuple[SeriesKey, Number]]:
        """Every key of that role with its number."""
        return [(key, self.numbers[at]) for key, at in self.plan.get(role, ())]


def plan_of(keys: Iterable[SeriesKey]) -> Plan:
    """The plan of these keys in their order. A key whose row is unknown plays no role."""
    found: dict[Role, list[tuple[SeriesKey, int]]] = {}
    for position, key in enumerate(keys):
        role = role_of(key)
        if role is not None:
            found.setdefault(role, []).append((key, position))
    return {role: tuple(places) for role, places in found.items()}


def role_of(key: SeriesKey) -> Role | None:
    """The role of a number: its row's, else that of the event it counts."""
    row = CATALOGUE.get(metric_key(key))
    if row is None:
        return None
    if row.role is not None:
        return row.role
    if isinstance(key, tuple) and len(key) > 1:
        event = HW_EVENTS_KNOWN.get(key[1]) or ETHERNET_EVENTS.get(key[1])
        return event.role if event is not None and "event" in row.labels else None
    return None


PLANS_MAX = 4096


class Plans:
    """Plans by the keys' own object, for as long as that lives, or by the keys: the same keys in the same order have one plan."""

    def __init__(self) -> None:
        self._by_object: dict[int, tuple[object, Plan]] = {}
        self._by_keys: dict[tuple[SeriesKey, ...], Plan] = {}

    def observe(self, values: Mapping[SeriesKey, Number], wall_s: float, monotonic_s: float) -> Observation:
        """What a Reading's values say."""
        if not isinstance(values, FixedValues):
            return Observation(monotonic_s, wall_s, self._plan_by(tuple(values)), list(values.values()))
        places = values.places
        known = self._by_object.get(id(places))
        if known is None:
            if len(self._by_object) >= PLANS_MAX:
                self._by_object.clear()
            known = self._by_object[id(places)] = (places, self._plan_by(tuple(places)))
        return Observation(monotonic_s, wall_s, known[1], values.numbers)

    def _plan_by(self, keys: tuple[SeriesKey, ...]) -> Plan:
        plan = self._by_keys.get(keys)
        if plan is None:
            if len(self._by_keys) >= PLANS_MAX:
                self._by_keys.clear()
            plan = self._by_keys[keys] = plan_of(keys)
        return plan


def delta(before: Observation, now: Observation, role: Role) -> Number | None:
    """Growth of a role's counters between two passes, over the keys that both have; None if they have none in common, or one of them fell
    (a reset, and nobody knows what happened between) or is no finite number."""
    after = now.plan.get(role)
    if after is None:
        return None
    if before.plan is now.plan and len(after) == 1:
        at = after[0][1]
        alone = now.numbers[at] - before.numbers[at]
        return alone if 0 <= alone < inf else None
    if before.plan is now.plan:
        grown = [now.numbers[at] - before.numbers[at] for _, at in after]
    else:
        earlier = dict(before.items(role))
        grown = [now.numbers[at] - earlier[key] for key, at in after if key in earlier]
    if not grown or min(grown) < 0:
        return None
    total = sum(grown)
    return total if total < inf else None
