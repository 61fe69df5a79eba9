"""How well an NVLink carries what it is given: errors that go on, errors that come in a storm, and retraining.

Errors before the first pass are history. Nothing is kept of a link that has had none. Knows which kinds of errors count and which result of
a recovery is which (own labels of catalog/nvlink.py); knows no NVML field.
"""

from typing import NamedTuple

from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.signals.observation import Observation
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State
from exporter.signals.sliced_count import SlicedCount

KINDS = frozenset({
    "replay", "crc", "crc_flit", "crc_data",
    "malformed_packet", "buffer_overrun", "receive", "receive_general", "local_link_integrity", "transmit_discard",
})  # fmt: skip
"""Kinds of errors that accuse the link: each is a packet lost or sent again. Not `effective` and `symbol`, which count bits and symbols: a
well link has some. Not `receive_remote`: that happened farther away. A kind that we do not know does not count."""
ANY, SUCCESSFUL, FAILED = "any", "successful", "failed"

HALF_HOUR_S, TEN_MINUTES_S, HOUR_S = 1800.0, 600.0, 3600.0
GOES_ON_SLICES = 9
"""Of the twelve slices of half an hour, in so many at least errors that go on are seen: three quarters. One burst is in one or two [D]."""
LONG_SLICES, LONG_FACTOR = 3, 10
"""Ten times as many are too many even if they came within some eight minutes: a test by share of minutes with errors is blind to a storm of
ten minutes (NVIDIA/nvidia-resiliency-ext's is) [D]."""
PASS_MIN_S = 1.0
"""A shorter time between two passes makes no rate of a single error [D]."""
TERABYTE = 1e12


class LinkErrors(NamedTuple):
    """What is remembered of a link with errors: those of the last half hour, those since the first of them, and RX_BYTES then."""

    recent: SlicedCount
    since_first: Number
    bytes_at_first: Number | None


class Recoveries(NamedTuple):
    """Recoveries of a link, and how many of them failed."""

    ten_minutes: SlicedCount
    hour: SlicedCount
    failed: SlicedCount


def _grown(asked: Pass, role: Role) -> dict[str, Number] | None:
    """Growth of a role's counters by their own label, without those that stood still; None if nobody knows: no pass before, or one fell."""
    before, now = asked.before, asked.now
    if before is None or now.monotonic_s <= before.monotonic_s:
        return None
    moved = _moved(before, now, role)
    if not moved:
        return {}
    return None if min(moved.values()) < 0 else moved


def _moved(before: Observation, now: Observation, role: Role) -> dict[str, Number]:
    places = now.plan.get(role, ())
    if before.plan is now.plan:
        was, is_now = before.numbers, now.numbers
        return {key[-1]: is_now[at] - was[at] for key, at in places if is_now[at] != was[at]}
    earlier = dict(before.items(role))
    return {key[-1]: now.numbers[at] - earlier[key] for key, at in places if now.numbers[at] != earlier.get(key, now.numbers[at])}


def _unsure(found: tuple[Finding, ...], rule: Rule) -> tuple[Finding, ...]:
    """What holds by what was seen before; of the rule's other reasons this pass cannot tell."""
    holding = {finding.why for finding in found}
    return (*found, *[Finding(why, holds=None) for why in rule.reasons if why not in holding])


def _step_errors(state: State, asked: Pass) -> tuple[State, Outcome]:
    """Findings while errors go on or storm."""
    known: LinkErrors | None = state
    grown = _grown(asked, Role.ERRORS)
    if grown is None:
        return known, Outcome(findings=_unsure(_going_on(known, asked), ERRORS_RULE))
    counted = {kind: count for kind, count in grown.items() if kind in KINDS}
    if known is None and not counted:
        return None, NOTHING
    known = _errors_after(known, sum(counted.values()), asked)
    return known, Outcome(findings=(*_storm(counted, asked), *_going_on(known, asked)))


def _errors_after(known: LinkErrors | None, count: Number, asked: Pass) -> LinkErrors | None:
    """None again once the half hour is clean."""
    now_s, elapsed_s = asked.now.monotonic_s, asked.elapsed_s
    if known is None:
        known = LinkErrors(SlicedCount(HALF_HOUR_S, now_s - elapsed_s), 0, asked.latest.get(Role.RX_BYTES))
    recent = known.recent.add(count, now_s, elapsed_s)
    return LinkErrors(recent, known.since_first + count, known.bytes_at_first) if recent.slices else None


def _storm(counted: dict[str, Number], asked: Pass) -> tuple[Finding, ...]:
    total = sum(counted.values())
    per_s = total / max(asked.elapsed_s, PASS_MIN_S)
    if not total or per_s < asked.thresholds.nvlink_crc_per_s:
        return ()
    most = max(counted, key=lambda kind: (counted[kind], kind))
    evidence = f"{total} errors in {asked.elapsed_s:.0f} s, {per_s:.0f} a second, most of them {most}"
    return (Finding(Why.NVLINK_ERROR_STORM, holds=True, evidence=evidence),)


def _going_on(known: LinkErrors | None, asked: Pass) -> tuple[Finding, ...]:
    """Above so many a minute through most of half an hour, or ten times as many in a part of it."""
    if known is None:
        return ()
    now_s, per_min = asked.now.monotonic_s, asked.thresholds.nvlink_replays_per_min
    total, hit, minutes = known.recent.total(now_s), known.recent.slices_hit(now_s), known.recent.covered_s(now_s) / 60
    goes_on = hit >= GOES_ON_SLICES and total > per_min * minutes
    was_long = hit >= LONG_SLICES and total > LONG_FACTOR * per_min * HALF_HOUR_S / 60
    if not (goes_on or was_long):
        return ()
    evidence = f"{total} errors within {minutes:.0f} min{_by_traffic(known, asked)}"
    return (Finding(Why.NVLINK_ERRORS, holds=True, evidence=evidence),)


def _by_traffic(known: LinkErrors, asked: Pass) -> str:
    """`, 12 per terabyte received`: since the first of them; empty where bytes are not counted, or started anew."""
    received, at_first = asked.latest.get(Role.RX_BYTES), known.bytes_at_first
    if received is None or at_first is None or received <= at_first:
        return ""
    return f", {known.since_first * TERABYTE / (received - at_first):.3g} per terabyte received"


def _step_recoveries(state: State, asked: Pass) -> tuple[State, Outcome]:
    """Findings for ten minutes after a recovery, for an hour after too many or one that failed."""
    known: Recoveries | None = state
    grown = _grown(asked, Role.RECOVERIES)
    if grown is None:
        return known, Outcome(findings=_unsure(_retrained(known, asked), RECOVERIES_RULE))
    if known is None and not grown:
        return None, NOTHING
    failed = grown.get(FAILED, 0)
    known = _recoveries_after(known, max(grown.get(ANY, 0), grown.get(SUCCESSFUL, 0) + failed), failed, asked)
    return known, Outcome(findings=_retrained(known, asked))


def _recoveries_after(known: Recoveries | None, count: Number, failed: Number, asked: Pass) -> Recoveries | None:
    """None again once the hour is clean."""
    now_s, elapsed_s = asked.now.monotonic_s, asked.elapsed_s
    if known is None:
        start_s = now_s - elapsed_s
        known = Recoveries(SlicedCount(TEN_MINUTES_S, start_s), SlicedCount(HOUR_S, start_s), SlicedCount(HOUR_S, start_s))
    after = Recoveries(
        known.ten_minutes.add(count, now_s, elapsed_s), known.hour.add(count, now_s, elapsed_s), known.failed.add(failed, now_s, elapsed_s)
    )
    return after if any(window.slices for window in after) else None


def _retrained(known: Recoveries | None, asked: Pass) -> tuple[Finding, ...]:
    if known is None:
        return ()
    now_s = asked.now.monotonic_s
    lately, in_hour, failed = (window.total(now_s) for window in known)
    findings: list[Finding] = []
    if lately > 0:
        findings.append(Finding(Why.RECOVERY, holds=True, evidence=f"recoveries: {lately} within 10 min"))
    if failed > 0 or (in_hour > 0 and in_hour >= asked.thresholds.recoveries_per_h):
        evidence = f"recoveries: {in_hour} within 1 h, {failed} of them failed"
        findings.append(Finding(Why.RECOVERIES, holds=True, evidence=evidence))
    return tuple(findings)


NVLINK = frozenset({"nvlink"})
ERRORS_RULE = Rule("nvlink_errors", frozenset({Role.ERRORS}), _step_errors, (Why.NVLINK_ERRORS, Why.NVLINK_ERROR_STORM), NVLINK)
RECOVERIES_RULE = Rule("nvlink_recoveries", frozenset({Role.RECOVERIES}), _step_recoveries, (Why.RECOVERY, Why.RECOVERIES), NVLINK)
RULES = (ERRORS_RULE, RECOVERIES_RULE)
