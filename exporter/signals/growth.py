"""What two passes over a link say of the time between them: measured seconds, and growth of counters that may be believed.

Knows nothing of what the numbers are for. A counter that fell (reset), stands at its ceiling or is missing from a pass grew by an unknown
amount: None, never 0.
"""

from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.load import MEAN_MAX_S, pinned_roles
from exporter.signals.observation import Observation, delta
from exporter.signals.rule import Pass


def span_s(pass_: Pass) -> float:
    """Measured seconds since the pass before; 0 if there is none, the clock stood still, or nobody looked for longer than
    MEAN_MAX_S."""
    before = pass_.before
    if before is None:
        return 0.0
    elapsed_s = pass_.now.monotonic_s - before.monotonic_s
    return elapsed_s if 0.0 < elapsed_s <= MEAN_MAX_S else 0.0


def is_pinned(now: Observation, role: Role) -> bool:
    """True if a counter of this role stands at its ceiling: it says nothing about now (leptonai/gpud#943)."""
    return Role.SATURATED in now.plan and role in pinned_roles(now)


def growth(pass_: Pass, role: Role) -> Number | None:
    """Growth of the counters of that role since the pass before, over the keys that both passes have; None if it cannot be known."""
    before, now = pass_.before, pass_.now
    if before is None or not span_s(pass_) or is_pinned(now, role):
        return None
    places = now.plan.get(role)
    if places is None or len(places) > 1 or before.plan is not now.plan:
        return delta(before, now, role)
    at = places[0][1]
    grown = now.numbers[at] - before.numbers[at]
    return grown if grown >= 0 else None


def growths(pass_: Pass, role: Role) -> list[tuple[SeriesKey, Number]]:
    """The same for each counter by itself; those of unknown growth are left out."""
    before, now = pass_.before, pass_.now
    if before is None or not span_s(pass_):
        return []
    if before.plan is now.plan:
        pairs = [(key, now.numbers[at] - before.numbers[at]) for key, at in now.plan.get(role, ())]
    else:
        earlier = dict(before.items(role))
        pairs = [(key, number - earlier[key]) for key, number in now.items(role) if key in earlier]
    return [(key, grown) for key, grown in pairs if grown >= 0]
