"""Congestion control of RoCE: how many packets arrive with a congestion mark (ECN), and what becomes of the notifications (CNP).

Marks are the network's; each makes the receiver ask the sender to slow down by a notification. A few are how congestion control works, so
marks count by what is usual on the link; ignored notifications mean that it is off or set up wrong.
"""

from typing import NamedTuple

from exporter.catalog.signals import CNP_HANDLED, MARKED
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.growth import growth, span_s
from exporter.signals.memory import NEVER, Fading, faded, mean, passed_s, within
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State

USUAL_OVER_S = 86_400.0
"""What is usual is an average over about a day, by packets [D]."""
USUAL_LEAST_S = 600.0
"""Nothing is unusual before so much time with traffic was seen [D]."""
USUAL_FACTOR = 5.0
"""Marks above so many times the usual share are unusual: congestion control that works always marks a few [D]."""
RELEARN_S = 600.0
"""What is usual is not learned until so long after the last unusual pass: a fault must not become the rule [D]."""
PACKETS_PER_S = 1000.0
"""Below this a share of packets is chance [D]."""
IGNORED_S = 600.0
IGNORED_GAP_S = 120.0
"""Notifications are ignored on and on if no break is longer than this: training pauses for checkpoints [D]."""


class Marks(NamedTuple):
    """What is usual: `marks` and `packets` against the same time with traffic. `told_s` and `unusual_s`: the last pass that told, and the
    last that was unusual (monotonic)."""

    told_s: float | None = None
    marks: Fading = NEVER
    packets: Fading = NEVER
    unusual_s: float | None = None


def marked_step(state: State, pass_: Pass) -> tuple[State, Outcome]:
    """Share of received packets with a mark; MARKED while it is above the limit and far above the usual."""
    before: Marks = Marks() if state is None else state
    seen_s = span_s(pass_)
    marks, packets = growth(pass_, Role.ECN_MARKED), growth(pass_, Role.RX_PACKETS)
    if marks is None or packets is None:
        return before, _UNTOLD
    if packets <= 0:
        return before, NOTHING
    ratio = min(marks / packets, 1.0)
    signals: dict[SeriesKey, Number] = {MARKED.key: ratio}
    if packets < PACKETS_PER_S * seen_s:
        return before, Outcome(signals)
    usual = usual_ratio(before)
    now_s = pass_.now.monotonic_s
    if ratio <= pass_.thresholds.marked_ratio or (usual is not None and ratio <= USUAL_FACTOR * usual):
        return _learned(before, marks, packets, seen_s, now_s), Outcome(signals)
    if usual is None:
        return _learned(before, marks, packets, seen_s, now_s), Outcome(signals, _UNTOLD.findings)
    evidence = f"{ratio:.2%} of {packets / seen_s:.3g} packets a second received carry a congestion mark; usual are {usual:.2%}"
    return before._replace(unusual_s=now_s), Outcome(signals, (Finding(Why.MARKED, holds=True, evidence=evidence),))


_UNTOLD = Outcome(findings=(Finding(Why.MARKED, holds=None),))


def usual_ratio(marks: Marks) -> float | None:
    """The usual share of marked packets; None while too little traffic was seen."""
    packets = mean(marks.packets, USUAL_LEAST_S)
    return marks.marks.amount / marks.packets.amount if packets else None


def _learned(before: Marks, marks: Number, packets: Number, seen_s: float, now_s: float) -> Marks:
    if within(before.unusual_s, now_s, RELEARN_S):
        return before
    gone_s = passed_s(before.told_s, now_s, seen_s)
    return before._replace(
        told_s=now_s,
        marks=faded(before.marks, marks, seen_s, gone_s, USUAL_OVER_S),
        packets=faded(before.packets, packets, seen_s, gone_s, USUAL_OVER_S),
    )


class Ignored(NamedTuple):
    """A run of passes that ignored notifications: its beginning, its last such pass (monotonic; None: there is none) and how many."""

    since_s: float | None = None
    last_s: float | None = None
    grown: Number = 0


def notified_step(state: State, pass_: Pass) -> tuple[State, Outcome]:
    """Notifications that throttled us as a share of packets sent; CNP_IGNORED once some were ignored again and again for ten minutes."""
    run: Ignored = Ignored() if state is None else state
    now_s, seen_s = pass_.now.monotonic_s, span_s(pass_)
    handled, sent = growth(pass_, Role.CNP_HANDLED), growth(pass_, Role.TX_PACKETS)
    is_told = handled is not None and sent is not None and sent > 0
    signals: dict[SeriesKey, Number] = {CNP_HANDLED.key: min(handled / sent, 1.0)} if is_told and handled is not None and sent else {}
    ignored = growth(pass_, Role.CNP_IGNORED)
    if ignored is None:
        return run, Outcome(signals, (Finding(Why.CNP_IGNORED, holds=None),) if Role.CNP_IGNORED in pass_.now.plan else ())
    goes_on = within(run.last_s, now_s, max(IGNORED_GAP_S, 2 * seen_s))
    if ignored:
        run = Ignored(run.since_s if goes_on else now_s - seen_s, now_s, (run.grown if goes_on else 0) + ignored)
    elif run.last_s is not None and not goes_on:
        run = Ignored()
    ran_s = run.last_s - run.since_s if run.last_s is not None and run.since_s is not None else 0.0
    if ran_s < IGNORED_S:
        return run, Outcome(signals)
    evidence = f"{run.grown:g} congestion notifications ignored within {ran_s / 60:.0f} min: congestion control is off or set up wrong"
    return run, Outcome(signals, (Finding(Why.CNP_IGNORED, holds=True, evidence=evidence),))


RULES = (
    Rule("ecn", frozenset({Role.ECN_MARKED, Role.RX_PACKETS}), marked_step, (Why.MARKED,)),
    Rule("cnp", frozenset({Role.CNP_HANDLED}), notified_step, (Why.CNP_IGNORED,)),
)
