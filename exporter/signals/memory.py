"""What rules keep between passes: averages that forget, and a state that came back from a file. Pure; knows no role.

An average over "the last 5 min" is two numbers that fade: what was seen weighs 1/e after 5 min. Slices would be exact at the edge of the
window and cost a number each; no rule here hangs on that edge. Counts of rare events, where it matters, are not kept so.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

Kept = TypeVar("Kept", bound=tuple[Any, ...])

FULL = 1 - math.exp(-1)
"""Share of its weight that an average has once its whole time was seen from nothing."""


class Fading(NamedTuple):
    """An amount (seconds, bytes, events) and the seconds in which it was seen, both faded alike: time in which nobody looked counts
    neither way."""

    amount: float = 0.0
    seen_s: float = 0.0


NEVER = Fading()


def faded(before: Sequence[float], amount: float, seen_s: float, passed_s: float, over_s: float) -> Fading:
    """`amount` more, seen in `seen_s` of the `passed_s` seconds since the last time; what was before fades by 1/e in `over_s`."""
    weight = math.exp(-passed_s / over_s) if passed_s > 0 else 1.0
    return Fading(before[0] * weight + amount, before[1] * weight + seen_s)


def mean(kept: Sequence[float], least_s: float) -> float | None:
    """Amount per second seen; None if less than `least_s` (faded) seconds were."""
    return kept[0] / kept[1] if kept[1] >= least_s and kept[1] > 0 else None


def passed_s(at_s: float | None, now_s: float, seen_s: float) -> float:
    """Seconds since `at_s` (monotonic), seen or not, and never less than were seen: the clock of an earlier boot tells nothing."""
    return seen_s if at_s is None else max(now_s - at_s, seen_s)


def within(at_s: float | None, now_s: float, over_s: float) -> bool:
    """True if `at_s` (monotonic; None: never) lies at most `over_s` seconds back, and not ahead as a time of an earlier boot may."""
    return at_s is not None and 0 <= now_s - at_s <= over_s


def restored(empty: Kept, state: Any) -> Kept:
    """The state as its own type: `empty` at first, or if what came back from a file has another number of fields."""
    if type(state) is type(empty):
        return state
    if isinstance(state, (tuple, list)) and len(state) == len(empty):
        return type(empty)(*state)
    return empty
