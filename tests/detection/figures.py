"""The figures of detection, out of what became of each scenario: recall, false alarms, time to detect, right link. Pure.

A fault is an expectation of one link that it be worse than ok; what must be ok or unknown, and a signal, is no fault and must simply hold.
A false alarm is a link that was raised though it should have been silent, or though nobody expected it and no fault was aimed at it.
Healthy node-days are a run of their own (tests/node_days).
"""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from exporter.config.schema import Config
from exporter.model.health import Level, Why
from exporter.simulator.fault_kinds import KINDS, Aim
from exporter.simulator.scenario import Expected, PlannedFault, Scenario
from exporter.simulator.scenario_outcome import words_of
from tests.detection.playing import Played

RECALL_MIN, RIGHT_LINK_MIN = 0.98, 0.98
STORM_MAX_S = 60.0
STORM_PER_S = 1.0
"""Errors a second, of one link, that are a storm: three times what an NDR port's budget pages for within a minute (error_budget.py)."""
RAIL_MAX_S = 600.0
SCENARIOS_MIN = 40
INTERVALS = 3
STATE, SLOW_STATE, STORMS, PCIE, RAIL = "state faults", "states that no fast pass reads", "error storms", "PCIe", "slow rail"
CLASSES = (STATE, SLOW_STATE, STORMS, PCIE, RAIL)
BAD = frozenset(level.word for level in Level if level is not Level.OK)
STATE_REASONS = frozenset(why.value for why in (Why.DOWN, Why.MISSING, Why.TRAFFIC_DISABLED, Why.SPEED_DOWNGRADE, Why.WIDTH_DOWNGRADE,
                                                Why.WRONG_LINK_LAYER, Why.XID))  # fmt: skip
STORM_REASONS = frozenset({Why.ERROR_BUDGET.value, Why.NVLINK_ERROR_STORM.value})


class Figure(NamedTuple):
    """One line: what, its target and what was measured, in words, and whether the target is reached."""

    what: str
    target: str
    measured: str
    passed: bool


class Detection(NamedTuple):
    """One fault of one link: what was expected of it and how long after its onset it was so; None if it was not in time."""

    played: Played
    expected: Expected
    link: str
    after_s: float | None


def figures_of(plays: Sequence[Played]) -> tuple[Figure, ...]:
    """All that apply so far, in the order of the targets."""
    faults = [one for played in plays for one in detections(played)]
    others = [one for played in plays for one in _all(played) if one.expected.status not in BAD]
    unsaid = [words not in played.outcome.unsaid for played in plays for words in played.scenario.says]
    raised = [(played, link) for played in plays for link in played.outcome.raised]
    astray = [(played, link) for played in plays for link in wrong_links(played)]
    alarms = sum(len(false_alarms(played)) for played in plays)
    return (
        _share("faults found (recall)", [one.after_s is not None for one in faults], RECALL_MIN),
        _share("faults that are `failed`, found", [one.after_s is not None for one in faults if one.expected.status == "failed"], 1.0),
        _share("other expectations met", [one.after_s is not None for one in others] + unsaid, 1.0),
        Figure("false alarms", "0", str(alarms), alarms == 0),
        *_times(faults),
        _share("the right link named", [one not in astray for one in raised], RIGHT_LINK_MIN),
    )


def library_size(plays: Sequence[Played]) -> Figure:
    """How many scenarios there are, and how many of them name the public report that they were made after."""
    reported = sum(bool(played.scenario.reference) for played in plays)
    return Figure(
        "scenarios in the library", f"≥ {SCENARIOS_MIN}", f"{len(plays)}, {reported} after public reports", len(plays) >= SCENARIOS_MIN
    )


def detections(played: Played) -> list[Detection]:
    """Each link of each expectation that is worse than ok."""
    return [one for one in _all(played) if one.expected.status in BAD]


def class_of(one: Detection) -> str:
    """Which target for the time to detect is the fault's; "" if none is, as for errors that only drip and for flaps. Where `at` is after
    the fault the time counts from there: the end of grace."""
    scenario, reason = one.played.scenario, one.expected.reason
    if one.link.startswith("pcie/"):
        return "" if reason == Why.PCIE_ERRORS.value else PCIE
    if reason == Why.SLOW_RAIL.value:
        return RAIL
    if reason in STORM_REASONS:
        return STORMS if _is_storm(scenario, one.link) else ""
    if reason == Why.FABRIC_UNHEALTHY.value or (reason in STATE_REASONS and one.link.startswith("ethernet/")):
        return SLOW_STATE
    return STATE if reason in STATE_REASONS else ""


def limit_s(kind: str) -> float:
    """How long faults of that class may take, at the default intervals: three of those at which they are read. Interfaces without RDMA and
    a GPU's NVLink domain have no fast pass."""
    sources = Config().sources
    return {STATE: INTERVALS * sources.infiniband.fast_interval_s, SLOW_STATE: INTERVALS * sources.ethernet.normal_interval_s,
            STORMS: STORM_MAX_S, RAIL: RAIL_MAX_S, PCIE: INTERVALS * sources.pcie.normal_interval_s}[kind]  # fmt: skip


def false_alarms(played: Played) -> list[str]:
    """Links that were raised and should not have been, and links with a signal that should not have been seen of them."""
    return sorted({*played.outcome.broken, *played.outcome.unwanted, *wrong_links(played)})


def wrong_links(played: Played) -> list[str]:
    """Links that were raised though nothing is expected of them, and no fault is aimed at them or at their device."""
    patterns = [expected.link for expected in played.scenario.expect if expected.status in BAD]
    patterns += [pattern for fault in played.scenario.faults for pattern in _aimed_at(fault)]
    return [link for link in played.outcome.raised if not any(fnmatchcase(link, pattern) for pattern in patterns)]


def is_whole(played: Played) -> bool:
    """Whether everything was as the scenario says, and nothing else was raised."""
    return played.outcome.holds and not false_alarms(played)


def complaints(played: Played) -> Iterator[str]:
    """A line for each thing that was not as the scenario says."""
    for one in _all(played):
        if one.after_s is None:
            reason = f" ({one.expected.reason})" if one.expected.reason else ""
            yield f"{one.link} was not {words_of(one.expected)}{reason} within {one.expected.within_s:g} s"
    for link in played.outcome.broken:
        yield f"{link} should have been silent"
    for one in played.outcome.unwanted:
        yield f"{one} should never have been seen"
    for words in played.outcome.unsaid:
        yield f"nothing was said of {words!r}"
    for link in wrong_links(played):
        if link not in played.outcome.broken:
            yield f"{link} was raised, and nothing had befallen it"


def _all(played: Played) -> list[Detection]:
    return [Detection(played, played.scenario.expect[met.number], met.link, met.after_s) for met in played.outcome.met]


def _times(faults: Iterable[Detection]) -> Iterator[Figure]:
    by_class: dict[str, list[Detection]] = {kind: [] for kind in CLASSES}
    for one in faults:
        kind = class_of(one)
        if kind and one.after_s is not None:
            by_class[kind].append(one)
    for kind, found in by_class.items():
        target = f"≤ {limit_s(kind):g} s"
        slowest = max(found, key=lambda one: one.after_s or 0.0, default=None)
        if slowest is None or slowest.after_s is None:
            yield Figure(f"time to detect, {kind}", target, "none was played", passed=True)
        else:
            measured = f"{slowest.after_s:g} s ({slowest.played.name}), {len(found)} in all"
            yield Figure(f"time to detect, {kind}", target, measured, slowest.after_s <= limit_s(kind))


def _share(what: str, hits: Sequence[bool], least: float) -> Figure:
    """How many of them are true."""
    target = "all" if least == 1.0 else f"≥ {least:g}"
    if not hits:
        return Figure(what, target, "none was played", passed=True)
    ratio = sum(hits) / len(hits)
    return Figure(what, target, f"{sum(hits)} of {len(hits)} = {ratio:.3f}", ratio >= least)


def _is_storm(scenario: Scenario, link: str) -> bool:
    return any(fault.kind == "counter_rate" and fnmatchcase(link, fault.target) and fault.number_of("per_second") >= STORM_PER_S
               for fault in scenario.faults)  # fmt: skip


def _aimed_at(fault: PlannedFault) -> tuple[str, ...]:
    """Patterns of the links that the fault is about; none if it is about the node: then the scenario says of which links it expects what.
    Each end of a PCIe link is a link of its own, of the same device."""
    aim = KINDS[fault.kind].aim
    if aim is Aim.LINK and fault.target.startswith("pcie/"):
        return (f"{fault.target.rpartition('/')[0]}/*",)
    return (fault.target,) if aim is Aim.LINK else (f"*/{fault.target}/*",) if aim is Aim.DEVICE else ()
