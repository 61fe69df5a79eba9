"""What two passes of a source say to a rule: by how much a counter grew between them."""

from exporter.model.entity import Entity
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey, Snapshot
from exporter.signals.observation import Observation, Plans, delta


def growth_between(before: Snapshot, after: Snapshot, entity: Entity, role: Role) -> Number | None:
    """Growth of the entity's counters of that role; None if one fell or stands in one pass only."""
    assert before.feed == after.feed
    plans = Plans()
    return delta(_observed(plans, before, entity), _observed(plans, after, entity), role)


def value_in(snapshot: Snapshot, entity: Entity, key: SeriesKey) -> Number | None:
    """What a pass says of one number; None if it does not."""
    return next((reading.values.get(key) for reading in snapshot.readings if reading.entity == entity), None)


def _observed(plans: Plans, snapshot: Snapshot, entity: Entity) -> Observation:
    return next(plans.observe(values, snapshot.wall_s, snapshot.monotonic_s) for of, values in snapshot.readings if of == entity)
