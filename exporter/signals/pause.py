"""Pauses: for how much of the time a priority of a link was told to send nothing, by direction, and storms of them.

Receive: the network paused us. Transmit: we paused the network, so this host is slow. The two are kept apart, as a pause may be fair
back-pressure (NVIDIA/daqiri#250: a fifth of the line lost to pauses, all drop counters 0). A priority without PFC has no counter: missing
is not zero.
"""

from collections.abc import Mapping
from typing import NamedTuple

from exporter.catalog.signals import PAUSED
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.model.thresholds import Thresholds
from exporter.signals.growth import growths, span_s
from exporter.signals.memory import FULL, NEVER, Fading, faded, mean, passed_s, within
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State

PAUSED_OVER_S = 300.0
CLEAR_SHARE = 0.6
"""A direction that is called paused is so until its average falls below this share of the limit [D]."""
STORM_S = 600.0
"""A storm stays a reason for so long after its last event [D]."""
RECEIVE, TRANSMIT = "receive", "transmit"
_SIDES = ((RECEIVE, Why.PAUSED, "the network paused us"), (TRANSMIT, Why.PAUSING, "we paused the network"))


class Side(NamedTuple):
    """One direction: seconds in pause of its most paused priority in each pass, and 1 while that is called too much."""

    average: Fading = NEVER
    is_raised: int = 0


FRESH = Side()


class Pauses(NamedTuple):
    """Both directions, and when they were last told (monotonic)."""

    told_s: float | None = None
    receive: Side = FRESH
    transmit: Side = FRESH


def pause_step(state: State, pass_: Pass) -> tuple[State, Outcome]:
    """Share of the time by direction and priority; PAUSED and PAUSING."""
    before: Pauses = Pauses() if state is None else state
    now_s, seen_s = pass_.now.monotonic_s, span_s(pass_)
    ratios = paused_ratios(pass_)
    if not ratios:
        return before, _UNTOLD
    gone_s = passed_s(before.told_s, now_s, seen_s)
    findings: list[Finding] = []
    sides: list[Side] = []
    for (direction, why, words), side in zip(_SIDES, (before.receive, before.transmit), strict=True):
        worst, priority = max(((ratio, key[1]) for key, ratio in ratios.items() if key[0] == direction), default=(None, ""))
        after = _side(side, worst, seen_s, gone_s, pass_.thresholds)
        sides.append(after)
        if worst is None:
            findings.append(Finding(why, holds=None))
        elif after.is_raised or worst > pass_.thresholds.pause_severe_ratio:
            average = mean(after.average, 0.0) or 0.0
            evidence = f"{words} for {average:.1%} of about the last 5 min, {worst:.1%} of the last {seen_s:.0f} s (priority {priority})"
            findings.append(Finding(why, holds=True, evidence=evidence))
    signals: Mapping[SeriesKey, Number] = {(PAUSED.key, *key): ratio for key, ratio in ratios.items()}
    return Pauses(now_s, *sides), Outcome(signals, tuple(findings))


_UNTOLD = Outcome(findings=(Finding(Why.PAUSED, holds=None), Finding(Why.PAUSING, holds=None)))


def paused_ratios(pass_: Pass) -> dict[tuple[str, str], float]:
    """(direction, priority) → share of the time in pause, 0 to 1; what fell or is new is left out."""
    seen_s = span_s(pass_)
    return {(key[1], key[2]): min(grown / seen_s, 1.0) for key, grown in growths(pass_, Role.PAUSE) if len(key) == 3}


def _side(before: Side, worst: float | None, seen_s: float, gone_s: float, thresholds: Thresholds) -> Side:
    average, is_raised = before
    after = faded(average, (worst or 0.0) * seen_s, 0.0 if worst is None else seen_s, gone_s, PAUSED_OVER_S)
    ratio = mean(after, 0.0 if is_raised else FULL * PAUSED_OVER_S)
    limit = thresholds.pause_raise_ratio * (CLEAR_SHARE if is_raised else 1.0)
    return Side(after, int(ratio is not None and ratio > limit))


class Storm(NamedTuple):
    """When pause storms were last counted (monotonic; None: never), how many since they began, and by which counters."""

    at_s: float | None = None
    grown: Number = 0
    events: str = ""


def storm_step(state: State, pass_: Pass) -> tuple[State, Outcome]:
    """PAUSE_STORM: the NIC counted one within the last ten minutes."""
    storm: Storm = Storm() if state is None else state
    now_s = pass_.now.monotonic_s
    is_going_on = within(storm.at_s, now_s, STORM_S)
    grown = {key[-1]: count for key, count in growths(pass_, Role.PAUSE_STORMS) if count}
    if grown:
        earlier = storm.grown if is_going_on else 0
        storm = Storm(now_s, earlier + sum(grown.values()), ", ".join(sorted(grown)))
    elif not is_going_on:
        return storm, NOTHING
    evidence = f"{storm.grown:g} pause storms within the last 10 min ({storm.events})"
    return storm, Outcome(findings=(Finding(Why.PAUSE_STORM, holds=True, evidence=evidence),))


RULES = (
    Rule("pause", frozenset({Role.PAUSE}), pause_step, (Why.PAUSED, Why.PAUSING)),
    Rule("pause_storm", frozenset({Role.PAUSE_STORMS}), storm_step, (Why.PAUSE_STORM,)),
)
