"""Congestion: the share of time in which a link had data to send and was held back, from its stall counter and its rate.

`ticks × bytes a tick ÷ (rate × time)`. Knows how long a tick may be and how traffic itself tells; knows no vendor's counter. What a node
sees is its own sending side: a slow receiver shows on the switch port that faces it (congestion_class.py: what else points there).
Sources: NVIDIA ibdiagnet user manual, congestion assessment; NVIDIA/ib-traffic-monitor#3 (ticks of 8 bytes, or 32 a lane on older
generations).
"""

from typing import NamedTuple

from exporter.catalog.signals import CONGESTION
from exporter.model.entity import Fabric
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.model.thresholds import Thresholds
from exporter.signals.growth import growth, span_s
from exporter.signals.load import usable_bytes_per_s
from exporter.signals.memory import NEVER, Fading, faded, mean, passed_s, within
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State

FABRICS = frozenset({Fabric.INFINIBAND.value, Fabric.ROCE.value})
"""Fabrics whose tick is known; NVLink's is not documented."""
DEFAULT, CALIBRATED, CONFIGURED = "default", "calibrated", "configured"
"""How the length of a tick is known: believed, borne out by traffic, told by the site."""
TICK_BYTES = 8
"""Present generations count every 8 bytes of port time, whatever the width."""
LEGACY_BYTES_PER_LANE = 32
LANES = 4
"""Lanes of a port that does not say how many."""
SHORT_S, LONG_S = 300.0, 1800.0
SHORT_LEAST_S, LONG_LEAST_S = 90.0, 450.0
"""Faded seconds seen before an average counts: nearly nine minutes of looking without a break, twenty if every other pass tells nothing,
because somebody clears counters that would be full [D]."""
CALM_S = 600.0
"""A link is not congested any more once it was held back little for this long."""
FORGOTTEN_S = 2 * LONG_S
"""A congested link of which nothing could be told for this long is not called so any more: its 32-bit counter is full after 0.7 s of stall
at NDR, and nobody clears it for weeks."""

BACKLOG_RATIO = 0.01
"""Share of time held back above which a pass says something about the length of a tick."""
BUSY_RATIO = 0.95
"""… and load above which the load does not: what is left of the time is as small as the error of its measure."""
MARGIN = 0.8
"""Stall and load are not read at one instant; their sum may exceed the time by this much."""
DOUBT_STEP, DOUBT_MAX = 0.1, 0.25
"""Of about the last ten telling passes, the share that contradict ticks of 8 bytes: above the limit the length is unknown."""


class Sample(NamedTuple):
    """One pass: stall ticks in `seen_s` measured seconds at `rate` bytes per second; share of it sent (`load`), None if unknown."""

    ticks: Number
    seen_s: float
    rate: Number
    load: float | None


class Stalls(NamedTuple):
    """`short`, `long` hold seconds held back, `load` seconds' worth of sending. `tick_max`: the longest that a tick can be, by the traffic
    so far. `raised_s`, `calm_s`, `told_s`: since when it is congested, since when held back little, when last told (monotonic)."""

    told_s: float | None = None
    short: Fading = NEVER
    long: Fading = NEVER
    load: Fading = NEVER
    tick_max: float | None = None
    doubt: float = 0.0
    raised_s: float | None = None
    calm_s: float | None = None


UNSEEN = Stalls()


def sample_of(pass_: Pass) -> Sample | None:
    """What a pass says; None if the stall counter is pinned, was reset or is missing, or if nobody knows the link's rate."""
    ticks = growth(pass_, Role.STALL)
    rate = usable_bytes_per_s(pass_.latest)
    if ticks is None or rate is None:
        return None
    seen_s = span_s(pass_)
    sent = growth(pass_, Role.TX_BYTES_64 if Role.TX_BYTES_64 in pass_.now.plan else Role.TX_BYTES)
    load = share_of(sent, rate, seen_s)
    return Sample(ticks, seen_s, rate, load if load is not None and load <= pass_.thresholds.implausible_ratio else None)


def share_of(grown: Number | None, rate: Number, seen_s: float) -> float | None:
    """Bytes as a share of what the rate allows in that time; None if they, or the time, are unknown."""
    most = rate * seen_s
    return grown / most if grown is not None and most > 0 else None


def held_back(sample: Sample, tick_bytes: float) -> float:
    """Share of the time, 0 to 1."""
    most = sample.rate * sample.seen_s
    return min(sample.ticks * tick_bytes / most, 1.0) if sample.ticks and most > 0 else 0.0


def step(state: State, pass_: Pass) -> tuple[State, Outcome]:
    """One pass of the feed that counts stalls."""
    before: Stalls = UNSEEN if state is None else state
    now_s = pass_.now.monotonic_s
    sample = sample_of(pass_)
    if sample is None:
        return _untold(before, now_s)
    most = _tick_max(sample)
    tuned = before if pass_.tick_bytes or most is None else _calibrated(before, most)
    tick_bytes, source = tick_of(tuned, pass_)
    if tick_bytes is None or (most is not None and most < MARGIN * tick_bytes):
        return _untold(tuned, now_s)  # more stall and sending than there was time: the tick is shorter, or a counter jumped
    ratio = held_back(sample, tick_bytes)
    after = _judged(_averaged(tuned, sample, ratio, now_s), pass_.thresholds, now_s)
    signals: dict[SeriesKey, Number] = {(CONGESTION.key, source): ratio}
    if after.raised_s is None:
        return after, Outcome(signals)
    evidence = _evidence(after, sample, f"ticks of {tick_bytes:g} bytes, {source}", pass_.thresholds)
    return after, Outcome(signals, (Finding(Why.CONGESTED, holds=True, evidence=evidence),))


def tick_of(state: Stalls, pass_: Pass) -> tuple[float | None, str]:
    """Bytes of port time that one tick stands for, and how that is known; None if traffic contradicts what we believe."""
    if pass_.tick_bytes:
        return pass_.tick_bytes, CONFIGURED
    if state.doubt > DOUBT_MAX:
        return None, DEFAULT
    legacy = LEGACY_BYTES_PER_LANE * (pass_.latest.get(Role.WIDTH) or LANES)
    is_told = state.tick_max is not None and state.tick_max < MARGIN * legacy
    return TICK_BYTES, CALIBRATED if is_told else DEFAULT


def _tick_max(sample: Sample) -> float | None:
    """The longest that a tick can be: time held back and time spent sending do not exceed the time. None if too little was held back."""
    if held_back(sample, TICK_BYTES) < BACKLOG_RATIO:
        return None
    load = sample.load if sample.load is not None and sample.load <= BUSY_RATIO else 0.0
    return sample.rate * sample.seen_s * (1 - load) / sample.ticks


def _calibrated(state: Stalls, most: float) -> Stalls:
    if most < MARGIN * TICK_BYTES:
        return state._replace(doubt=state.doubt + DOUBT_STEP * (1 - state.doubt))
    least = most if state.tick_max is None else min(state.tick_max, most)
    return state._replace(tick_max=least, doubt=state.doubt * (1 - DOUBT_STEP))


def _averaged(state: Stalls, sample: Sample, ratio: float, now_s: float) -> Stalls:
    seen_s, load = sample.seen_s, sample.load
    gone_s = passed_s(state.told_s, now_s, seen_s)
    return Stalls(
        now_s,
        faded(state.short, ratio * seen_s, seen_s, gone_s, SHORT_S),
        faded(state.long, ratio * seen_s, seen_s, gone_s, LONG_S),
        faded(state.load, (load or 0.0) * seen_s, 0.0 if load is None else seen_s, gone_s, SHORT_S),
        *state[4:],
    )


def _judged(state: Stalls, thresholds: Thresholds, now_s: float) -> Stalls:
    """Raised above one limit over both times and under load; cleared below a lower one for a while."""
    short = mean(state.short, SHORT_LEAST_S)
    if state.raised_s is not None:
        if short is None or short >= thresholds.stall_clear_ratio:
            return state._replace(calm_s=None) if state.calm_s is not None else state
        if state.calm_s is None or state.calm_s > now_s:
            return state._replace(calm_s=now_s)
        return state._replace(raised_s=None, calm_s=None) if now_s - state.calm_s >= CALM_S else state
    if short is None or short <= thresholds.stall_raise_ratio:
        return state
    long, load = mean(state.long, LONG_LEAST_S), mean(state.load, SHORT_LEAST_S)
    if long is None or load is None or long <= thresholds.stall_raise_ratio or load <= thresholds.stall_load_ratio:
        return state
    return state._replace(raised_s=now_s)


def _untold(state: Stalls, now_s: float) -> tuple[Stalls, Outcome]:
    """Nothing can be told of this pass. What was raised stays so for a while, then there is nothing to uphold it."""
    if within(state.told_s, now_s, FORGOTTEN_S):
        return state, _UNTOLD
    return (state if state.raised_s is None else state._replace(raised_s=None, calm_s=None)), NOTHING


_UNTOLD = Outcome(findings=(Finding(Why.CONGESTED, holds=None),))


def _evidence(state: Stalls, sample: Sample, ticks: str, thresholds: Thresholds) -> str:
    short, long, load = (mean(one, 0.0) or 0.0 for one in (state.short, state.long, state.load))
    severely = "severely " if short > thresholds.stall_severe_ratio else ""
    return (
        f"{severely}held back {short:.1%} of about the last 5 min and {long:.1%} of the last 30 min while sending at {load:.0%} of "
        f"{sample.rate / 1e9:.4g} GB/s ({ticks})"
    )


RULE = Rule("congestion", frozenset({Role.STALL}), step, (Why.CONGESTED,), FABRICS)
