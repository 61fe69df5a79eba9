"""What a link's congestion looks like from this node: who holds whom back. A suspicion, no finding: a node sees only its own side.

Four pictures, each shown while it was seen in two of three passes: sender_blocked (we send much and are held back), victim (we send little
and are held back all the same: somebody else's congestion), receiver_slow (this host takes in too slowly), incast (more is sent to us than
the link carries). Called for every pass of a link: its evidence comes in several feeds.
"""

from typing import NamedTuple

from exporter.catalog.signals import CONGESTION_CLASS
from exporter.model.entity import Fabric
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.congestion import FABRICS, TICK_BYTES, sample_of, share_of
from exporter.signals.growth import growth, growths, span_s
from exporter.signals.load import usable_bytes_per_s
from exporter.signals.memory import within
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State

SENDER_BLOCKED, VICTIM, RECEIVER_SLOW, INCAST = "sender_blocked", "victim", "receiver_slow", "incast"
BUSY_RATIO = 0.5
"""Sending load that parts a sender that is blocked from the victim of somebody else's congestion [D]."""
FULL_RATIO = 0.9
"""Receiving load above which marks and notifications mean that too much is sent to us [D]."""
HOST_STALL_RATIO = 0.05
"""Share of time in which the NIC waited to write to the host, above which the host is slow [D]."""


class Sign(NamedTuple):
    """A picture: when it was last seen, and until when it holds (monotonic seconds)."""

    at_s: float | None = None
    until_s: float | None = None


UNSEEN = Sign()


class Signs(NamedTuple):
    """All pictures; `full_s`: the last pass in which the link received nearly all it can (monotonic), good for `good_s` seconds."""

    blocked: Sign = UNSEEN
    victim: Sign = UNSEEN
    slow: Sign = UNSEEN
    incast: Sign = UNSEEN
    full_s: float | None = None
    good_s: float = 0.0


NO_SIGNS = Signs()


def step(state: State, pass_: Pass) -> tuple[State, Outcome]:
    """One pass of any feed of the link."""
    signs: Signs = NO_SIGNS if state is None else state
    plan = pass_.now.plan
    seen_s = span_s(pass_)
    if seen_s:
        if Role.STALL in plan:
            signs = _receiving(_sending(signs, pass_, seen_s), pass_, seen_s)
        if Role.PAUSE in plan or Role.OVERRUNS in plan or Role.HOST_STALL in plan:
            signs = _taking_in(signs, pass_, seen_s)
        if Role.CNP_SENT in plan or Role.ECN_MARKED in plan:
            signs = _marking(signs, pass_, seen_s)
    if signs[:4] == NO_SIGNS[:4]:
        return signs, NOTHING
    now_s = pass_.now.monotonic_s
    signals: dict[SeriesKey, Number] = {(CONGESTION_CLASS.key, name): 1 for name, sign in _named(signs) if _holds(sign, now_s)}
    return signs, Outcome(signals) if signals else NOTHING


def _named(signs: Signs) -> tuple[tuple[str, Sign], ...]:
    return (SENDER_BLOCKED, signs.blocked), (VICTIM, signs.victim), (RECEIVER_SLOW, signs.slow), (INCAST, signs.incast)


def _sending(signs: Signs, pass_: Pass, seen_s: float) -> Signs:
    """Held back while sending: much of its rate, or little although nothing here is in the way."""
    ticks, rate, limits = growth(pass_, Role.STALL), usable_bytes_per_s(pass_.latest), pass_.thresholds
    stalled_bytes = (ticks or 0) * (pass_.tick_bytes or TICK_BYTES)
    if rate is None or stalled_bytes <= limits.stall_raise_ratio * rate * seen_s or _holds(signs.slow, pass_.now.monotonic_s):
        return signs
    sample = sample_of(pass_)
    load = sample.load if sample is not None else None
    if load is None or load <= limits.stall_load_ratio:
        return signs
    if load >= BUSY_RATIO:
        return signs._replace(blocked=_seen(signs.blocked, pass_, seen_s))
    return signs._replace(victim=_seen(signs.victim, pass_, seen_s))


def _receiving(signs: Signs, pass_: Pass, seen_s: float) -> Signs:
    rate = usable_bytes_per_s(pass_.latest)
    received = growth(pass_, Role.RX_BYTES_64 if Role.RX_BYTES_64 in pass_.now.plan else Role.RX_BYTES)
    share = share_of(received, rate, seen_s) if rate is not None else None
    if share is not None and FULL_RATIO < share <= pass_.thresholds.implausible_ratio:
        return signs._replace(full_s=pass_.now.monotonic_s, good_s=2 * seen_s)
    return signs if signs.full_s is None else signs._replace(full_s=None)


def _taking_in(signs: Signs, pass_: Pass, seen_s: float) -> Signs:
    """This host is slow: we pause the network, lack buffers, or the NIC waits to write to it."""
    is_slow = (
        any(grown > pass_.thresholds.pause_raise_ratio * seen_s for key, grown in growths(pass_, Role.PAUSE) if "transmit" in key)
        or bool(growth(pass_, Role.OVERRUNS))
        or any(ratio > HOST_STALL_RATIO for key, ratio in pass_.now.items(Role.HOST_STALL) if "receive" in key)
    )
    return signs._replace(slow=_seen(signs.slow, pass_, seen_s)) if is_slow else signs


def _marking(signs: Signs, pass_: Pass, seen_s: float) -> Signs:
    """Marks or notifications grow while the link receives nearly all it can."""
    if not within(signs.full_s, pass_.now.monotonic_s, max(signs.good_s, seen_s)):
        return signs
    is_marked = growth(pass_, Role.CNP_SENT) or growth(pass_, Role.ECN_MARKED)
    return signs._replace(incast=_seen(signs.incast, pass_, seen_s)) if is_marked else signs


def _seen(sign: Sign, pass_: Pass, window_s: float) -> Sign:
    """Seen in this pass. Two passes of three make it hold: for two more after neighbours, for one after a pass between without it."""
    now_s = pass_.now.monotonic_s
    since_s = now_s - sign.at_s if sign.at_s is not None else -1.0
    if 0 <= since_s < window_s / 2:
        return sign  # another feed has seen it in this window
    if since_s < 0 or since_s > 2.5 * window_s:
        return Sign(now_s, None)
    return Sign(now_s, now_s + (1.5 if since_s <= 1.5 * window_s else 0.5) * window_s)


def _holds(sign: Sign, now_s: float) -> bool:
    at_s, until_s = sign
    return at_s is not None and until_s is not None and at_s <= now_s <= until_s


RULE = Rule("congestion_class", frozenset(), step, (), FABRICS | {Fabric.ETHERNET.value})
