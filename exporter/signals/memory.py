"""What rules keep between passes: averages that forget, and times. Pure; knows no role.

An average over "the last 5 min" is two numbers that fade: what was seen weighs 1/e after 5 min. Slices would be exact at the edge of the
window and cost a number each; no rule here hangs on that edge. Counts of rare events, where it matters, are not kept so.
"""

import math
from typing import NamedTuple

FULL = 1 - math.exp(-1)
"""Share of its weight that an average has once its whole time was seen from nothing."""


class Fading(NamedTuple):
    """An amount (seconds, bytes, events) and the seconds in which it was seen, both faded alike: time in which nobody looked counts
    neither way."""

    amount: float = 0.0
    seen_s: float = 0.0


NEVER = Fading()


def faded(before: Fading, amount: float, seen_s: float, passed_s: float, over_s: float) -> Fading:
    """`amount` more, seen in `seen_s` of the `passed_s` seconds since the last time; what was before fades by 1/e in `over_s`."""
    weight = math.exp(-passed_s / over_s) if passed_s > 0 else 1.0
    return Fading(before.amount * weight + amount, before.seen_s * weight + seen_s)


def mean(kept: Fading, least_s: float) -> float | None:
    """Amount per second seen; None if less than `least_s` (faded) seconds were."""
    return kept.amount / kept.seen_s if kept.seen_s >= least_s and kept.seen_s > 0 else None


def passed_s(at_s: float | None, now_s: float, seen_s: float) -> float:
    """Seconds since `at_s` (monotonic), seen or not, and never less than were seen: another feed may have told of a part of them."""
    return seen_s if at_s is None else max(now_s - at_s, seen_s)


def within(at_s: float | None, now_s: float, over_s: float) -> bool:
    """True if `at_s` (monotonic; None: never) lies at most `over_s` seconds back, and not ahead: of two feeds one may come late."""
    return at_s is not None and 0 <= now_s - at_s <= over_s
