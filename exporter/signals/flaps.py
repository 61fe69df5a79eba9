"""Flaps: how often a link went down, told by whichever evidence saw most of it.

Every counter of downs and every change of state is a witness of its own: a poll of the state misses short flaps, an 8-bit counter stands at
its end, a new kernel counts what an old one does not. Witnesses of one flap speak at different passes, so what they say is compared over
an episode: until all have been silent for a while. Knows what "up" is in each fabric's STATE; knows no vendor's counter.
"""

from collections.abc import Mapping
from typing import NamedTuple

from exporter.catalog import signals as rows
from exporter.model.entity import Fabric
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.observation import Observation
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State
from exporter.signals.sliced_count import SlicedCount

UP_STATES: Mapping[Fabric, frozenset[Number]] = {
    Fabric.INFINIBAND: frozenset({4, 5}),
    Fabric.ROCE: frozenset({4, 5}),
    Fabric.EFA: frozenset({4, 5}),
    Fabric.NVLINK: frozenset({1, 2, 3}),
}
"""Values of STATE in which a link has not gone down: active, and deferred, which may still recover (catalog/infiniband.py); active, asleep
and without traffic (catalog/nvlink.py)."""

COUNTING: Mapping[Role, float] = {Role.LINK_DOWNS: 1.0, Role.CARRIER_DOWNS: 1.0, Role.CARRIER_CHANGES: 0.5}
"""Counters of downs and what one of their events is worth: carrier changes twice in a flap. Retraining (RECOVERIES) is none: the link
stayed up."""
WITNESSES = (Role.STATE, Role.CARRIER, *COUNTING)

EPISODE_S = 120.0
"""Witnesses speak of the same flaps until all were silent for so long before the interval that one of them speaks of: several error
intervals [D]."""
HOUR_S, DAY_S = 3600.0, 86_400.0
_NONE_YET = Outcome({rows.FLAPS.key: 0})


class Flaps(NamedTuple):
    """What is remembered of a link that went down once. `told`: what each witness counted in this episode, `credited` the flaps already
    counted for it, `last_s` when a witness last spoke."""

    total: int
    told: tuple[tuple[str, float], ...]
    credited: int
    last_s: float
    hour: SlicedCount
    day: SlicedCount


def _step(state: State, asked: Pass) -> tuple[State, Outcome]:
    """Flaps since the link was first seen; a finding while there were too many within the hour or the day."""
    known: Flaps | None = state
    before, now = asked.before, asked.now
    places = [place for role in WITNESSES for place in now.plan.get(role, ())]
    if before is not None and not (before.plan is now.plan and _is_same(before, now, places)):
        told = _witnessed(before, now, asked.link.fabric)
        if told:
            known = _counted(known, told, asked)
    if known is not None:
        return known, _outcome(known, asked)
    return None, _NONE_YET if places or Role.STATE in asked.latest or Role.CARRIER in asked.latest else NOTHING


def _is_same(before: Observation, now: Observation, places: list[tuple[SeriesKey, int]]) -> bool:
    was, is_now = before.numbers, now.numbers
    return not [at for _, at in places if was[at] != is_now[at]]


def _witnessed(before: Observation, now: Observation, fabric: Fabric) -> list[tuple[str, float]]:
    """Who saw how many downs between two passes. What happened before the first pass is history, so is all that a counter which fell may
    have counted."""
    told: list[tuple[str, float]] = []
    if now.monotonic_s <= before.monotonic_s:
        return told
    if Role.STATE in now.plan and _went_down(before, now, Role.STATE, UP_STATES.get(fabric, frozenset())):
        told.append((Role.STATE.value, 1.0))
    if Role.CARRIER in now.plan and _went_down(before, now, Role.CARRIER, frozenset({1})):
        told.append((Role.CARRIER.value, 1.0))
    for role, worth in COUNTING.items():
        told += [(name, grown * worth) for name, grown in _grown(before, now, role)]
    return told


def _went_down(before: Observation, now: Observation, role: Role, up: frozenset[Number]) -> bool:
    return before.value(role) in up and now.value(role) not in up


def _grown(before: Observation, now: Observation, role: Role) -> list[tuple[str, Number]]:
    """Each counter of that role that grew, by name, and by how much."""
    earlier: Mapping[SeriesKey, Number] = dict(before.items(role))
    return [
        (key if isinstance(key, str) else " ".join(key), number - earlier[key])
        for key, number in now.items(role)
        if number > earlier.get(key, number)
    ]


def _counted(known: Flaps | None, told: list[tuple[str, float]], asked: Pass) -> Flaps:
    """With what the witnesses say now. An episode has as many flaps as the witness that saw most of it."""
    now_s, elapsed_s = asked.now.monotonic_s, asked.elapsed_s
    if known is None:
        known = Flaps(0, (), 0, now_s, SlicedCount(HOUR_S, now_s - elapsed_s), SlicedCount(DAY_S, now_s - elapsed_s))
    in_episode = 0 <= now_s - known.last_s <= EPISODE_S + elapsed_s
    counts = dict(known.told) if in_episode else {}
    for name, count in told:
        counts[name] = counts.get(name, 0.0) + count
    credited = known.credited if in_episode else 0
    new = max(0, int(max(counts.values())) - credited)
    return Flaps(known.total + new, tuple(counts.items()), credited + new, now_s,
                 known.hour.add(new, now_s, elapsed_s), known.day.add(new, now_s, elapsed_s))  # fmt: skip


def _outcome(known: Flaps, asked: Pass) -> Outcome:
    now_s, thresholds = asked.now.monotonic_s, asked.thresholds
    in_hour, in_day = known.hour.total(now_s), known.day.total(now_s)
    findings: list[Finding] = []
    if in_hour and in_hour >= thresholds.flaps_per_h:
        findings.append(Finding(Why.FLAPPING, holds=True, evidence=f"flaps: {in_hour} within 1 h, {in_day} within 24 h"))
    if in_day and in_day >= thresholds.flaps_per_day:
        findings.append(Finding(Why.FLAPS, holds=True, evidence=f"flaps: {in_day} within 24 h"))
    return Outcome({rows.FLAPS.key: known.total}, tuple(findings))


RULE = Rule(
    name="flaps",
    needs=frozenset(),  # its witnesses come by different feeds; any pass may bring one
    step=_step,
    reasons=(Why.FLAPPING, Why.FLAPS),
    fabrics=frozenset({"infiniband", "roce", "efa", "ethernet", "nvlink"}),
    hears=frozenset(WITNESSES),
)
