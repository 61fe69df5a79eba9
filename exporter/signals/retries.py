"""Retransmissions and connections that broke, of RDMA links: packets sent again because somebody lost them, and retries that ran out.

Both are counted since the link was first seen: what its counters held before is history, and a reset adds nothing. Which of a vendor's
counters are retransmissions is the catalogue's knowledge: flushed requests and duplicates are not, they rise whenever a job ends; neither
are receiver-not-ready answers, which are no exhaustion. NVLink repeats blocks by design and has a rule of its own.
"""

from typing import NamedTuple

from exporter.catalog.signals import RETRANSMISSIONS, RETRIES_EXCEEDED
from exporter.model.entity import Fabric
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.growth import growth, span_s
from exporter.signals.memory import FULL, NEVER, Fading, faded, mean, passed_s, within
from exporter.signals.rule import Outcome, Pass, Rule, State

FABRICS = frozenset({Fabric.INFINIBAND.value, Fabric.ROCE.value, Fabric.EFA.value})
SHORT_S, LONG_S = 300.0, 3600.0
LONG_PER_S = 1.0
"""Retransmissions per second over the longer time above which they go on, and were no burst [D]."""
BROKEN_S = 600.0
"""A broken connection stays a reason for so long [D]."""


class Resent(NamedTuple):
    """Retransmissions: `total` since first seen, faded counts over both times, when they were last told (monotonic)."""

    total: Number = 0
    told_s: float | None = None
    short: Fading = NEVER
    long: Fading = NEVER


def resent_step(state: State, pass_: Pass) -> tuple[State, Outcome]:
    """RETRANSMISSIONS: the count, and the finding while they go on."""
    before: Resent = Resent() if state is None else state
    grown = growth(pass_, Role.RETRIES)
    if grown is None:
        return before, Outcome({RETRANSMISSIONS.key: before.total}, _UNTOLD)
    now_s, seen_s = pass_.now.monotonic_s, span_s(pass_)
    gone_s = passed_s(before.told_s, now_s, seen_s)
    after = Resent(
        before.total + grown,
        now_s,
        faded(before.short, grown, seen_s, gone_s, SHORT_S),
        faded(before.long, grown, seen_s, gone_s, LONG_S),
    )
    signals: dict[SeriesKey, Number] = {RETRANSMISSIONS.key: after.total}
    short = mean(after.short, FULL * SHORT_S)
    if short is None or short <= pass_.thresholds.retransmissions_per_s:
        return after, Outcome(signals)
    long = mean(after.long, 0.0) or 0.0
    if long <= LONG_PER_S:
        return after, Outcome(signals)
    evidence = f"{short:.3g} retransmissions a second over about 5 min, {long:.3g} over the hour; {after.total:g} since first sight"
    return after, Outcome(signals, (Finding(Why.RETRANSMISSIONS, holds=True, evidence=evidence),))


_UNTOLD = (Finding(Why.RETRANSMISSIONS, holds=None),)


class Broken(NamedTuple):
    """Requests that ran out of retries: `total` since first seen, `recent` of the last run of them, and when the last was (monotonic)."""

    total: Number = 0
    recent: Number = 0
    at_s: float | None = None


def broken_step(state: State, pass_: Pass) -> tuple[State, Outcome]:
    """RETRIES_EXCEEDED: the count, and the finding for ten minutes after any."""
    broken: Broken = Broken() if state is None else state
    now_s = pass_.now.monotonic_s
    is_recent = within(broken.at_s, now_s, BROKEN_S)
    grown = growth(pass_, Role.RETRIES_EXCEEDED)
    if grown:
        broken = Broken(broken.total + grown, (broken.recent if is_recent else 0) + grown, now_s)
    signals: dict[SeriesKey, Number] = {RETRIES_EXCEEDED.key: broken.total}
    if not grown and not is_recent:
        return broken, Outcome(signals)
    evidence = f"{broken.recent:g} requests ran out of retries within the last 10 min ({broken.total:g} since first sight)"
    return broken, Outcome(signals, (Finding(Why.RETRIES_EXCEEDED, holds=True, evidence=evidence),))


RULES = (
    Rule("retransmissions", frozenset({Role.RETRIES}), resent_step, (Why.RETRANSMISSIONS,), FABRICS),
    Rule("retries_exceeded", frozenset({Role.RETRIES_EXCEEDED}), broken_step, (Why.RETRIES_EXCEEDED,), FABRICS),
)
