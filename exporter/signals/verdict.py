"""The verdict of one link: reasons are raised and cleared each by itself, the status follows them up at once and down one level at a time.

Pure: times are parameters. Knows conditions and holds, no rule and no counter. Silence changes nothing: a link is judged by passes that
could see it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from exporter.catalog.conditions import CONDITIONS, INDEPENDENT
from exporter.model.entity import Link
from exporter.model.health import Active, Finding, Level, Unknown, Verdict, Why
from exporter.model.thresholds import Thresholds

REMEMBERED_PASSES = 8
"""Passes whose outcome a reason remembers, as bits."""
_REMEMBERED = (1 << REMEMBERED_PASSES) - 1


class ReasonState(NamedTuple):
    """One reason: in which of the last passes it held (newest bit lowest), and if it is active since when and on what evidence."""

    held: int = 0
    since_wall_s: float | None = None
    evidence: str = ""


class LinkState(NamedTuple):
    """What is remembered of a link. `calm_since_s` (monotonic): since when its reasons have asked for a lower level than it has.
    `sick_wall_s`: when its level last rose above ok; `relapses` how often that was within a day of the time before."""

    level: Level = Level.OK
    since_wall_s: float = 0.0
    reasons: Mapping[Why, ReasonState] = {}
    unknown: Unknown | None = None
    calm_since_s: float | None = None
    sick_wall_s: float | None = None
    relapses: int = 0

    @property
    def is_calm(self) -> bool:
        """Nothing is wrong, nothing was a moment ago: a pass without findings changes nothing."""
        return self.level is Level.OK and not self.reasons


class Moment(NamedTuple):
    """When a link is judged: monotonic and Unix time, and whether the node, its driver or fabric is still starting."""

    monotonic_s: float
    wall_s: float
    in_grace: bool


def judge(state: LinkState, findings: Iterable[Finding], asked: Iterable[Why], moment: Moment, thresholds: Thresholds) -> LinkState:
    """The state after a pass in which the rules spoke of the reasons `asked`; those that hold are among `findings`, those that could not
    be told have a finding of None and stay as they are."""
    told = {finding.why: finding for finding in findings}
    reasons = dict(state.reasons)
    for why in dict.fromkeys((*asked, *told)):
        finding = told.get(why)
        if finding is not None and finding.holds is None:
            continue
        after = _reason(reasons.get(why, ReasonState()), why, finding, moment, thresholds)
        if after.held or after.since_wall_s is not None:
            reasons[why] = after
        else:
            reasons.pop(why, None)
    return _level(state._replace(reasons=reasons), moment, thresholds)


def settle(state: LinkState, moment: Moment, thresholds: Thresholds) -> LinkState:
    """The state after some time in which somebody looked: nothing changes but what time alone decides."""
    return state if state.is_calm else _level(state, moment, thresholds)


def silent(state: LinkState) -> LinkState:
    """The state after a time in which nobody saw the link: a hold that was running begins anew."""
    return state._replace(calm_since_s=None) if state.calm_since_s is not None else state


def merged(kept: LinkState, now: LinkState) -> LinkState:
    """What an earlier process knew of a link, and what this one has found in the meantime: the graver word of each."""
    if now.is_calm:
        return kept._replace(unknown=now.unknown)
    since = kept if kept.level >= now.level else now
    sick = max((at for at in (kept.sick_wall_s, now.sick_wall_s) if at is not None), default=None)
    relapses = max(kept.relapses, now.relapses)
    older = {why: reason for why, reason in kept.reasons.items() if reason.since_wall_s is not None}
    return LinkState(since.level, since.since_wall_s, {**kept.reasons, **now.reasons, **older}, now.unknown, None, sick, relapses)


def verdict_of(link: Link, state: LinkState) -> Verdict:
    """What is shown of it. Unknown hides `ok`, never what was raised."""
    unknown = state.unknown if state.level is Level.OK else None
    active = [
        Active(why, CONDITIONS[why].level, reason.since_wall_s, reason.evidence)
        for why, reason in state.reasons.items()
        if reason.since_wall_s is not None
    ]
    active.sort(key=lambda one: (-one.level, one.since_wall_s, one.why))
    return Verdict(link, None if unknown is not None else state.level, unknown, state.since_wall_s, tuple(active))


def _reason(before: ReasonState, why: Why, finding: Finding | None, moment: Moment, thresholds: Thresholds) -> ReasonState:
    condition = CONDITIONS[why]
    if moment.in_grace and not condition.in_grace and before.since_wall_s is None:
        return ReasonState()  # nothing is counted that a start explains
    holds = finding is not None and bool(finding.holds)
    held = (before.held << 1 | holds) & _REMEMBERED
    needed, looked_at = passes_of(why, thresholds)
    window = held & (1 << looked_at) - 1
    if before.since_wall_s is None:
        if window.bit_count() < needed:
            return ReasonState(held if window else 0)
        return ReasonState(held, moment.wall_s, finding.evidence if finding is not None else "")
    if window:
        return before._replace(held=held)
    return ReasonState()


def passes_of(why: Why, thresholds: Thresholds) -> tuple[int, int]:
    """In how many of how many passes the reason must hold; at most as many as are remembered."""
    if why is Why.DOWN:
        needed = thresholds.down_passes
    elif why in (Why.SPEED_DOWNGRADE, Why.WIDTH_DOWNGRADE):
        needed = thresholds.downgrade_passes
    else:
        condition = CONDITIONS[why]
        return condition.holds, condition.of
    passes = int(min(max(needed, 1), REMEMBERED_PASSES))
    return passes, passes


def _level(state: LinkState, moment: Moment, thresholds: Thresholds) -> LinkState:
    """Up at once; down by one level once nothing has asked for this one for as long as its hold."""
    wanted = wanted_level([why for why, reason in state.reasons.items() if reason.since_wall_s is not None])
    if wanted > state.level:
        return _sicken(state, wanted, moment, thresholds)
    if wanted == state.level:
        return state._replace(calm_since_s=None) if state.calm_since_s is not None else state
    if state.calm_since_s is None:
        return state._replace(calm_since_s=moment.monotonic_s)
    if moment.monotonic_s - state.calm_since_s < hold_s(state, thresholds):
        return state
    lower = Level(state.level - 1)
    still = None if wanted == lower else moment.monotonic_s
    return state._replace(level=lower, since_wall_s=moment.wall_s, calm_since_s=still)


def _sicken(state: LinkState, wanted: Level, moment: Moment, thresholds: Thresholds) -> LinkState:
    relapses = state.relapses
    if state.level is Level.OK:
        is_relapse = state.sick_wall_s is not None and 0 <= moment.wall_s - state.sick_wall_s < thresholds.relapse_s
        relapses = relapses + 1 if is_relapse else 0
    return state._replace(level=wanted, since_wall_s=moment.wall_s, calm_since_s=None, sick_wall_s=moment.wall_s, relapses=relapses)


def wanted_level(active: Sequence[Why]) -> Level:
    """The level that these reasons together ask for."""
    gravest = max((CONDITIONS[why].level for why in active), default=Level.OK)
    if gravest is Level.SUSPECT and len({CONDITIONS[why].origin for why in active}) >= INDEPENDENT:
        return Level.DEGRADED
    return gravest


def hold_s(state: LinkState, thresholds: Thresholds) -> float:
    """How long the link must look well before its level falls by one: longer after failed, doubled for each relapse."""
    base = thresholds.failed_hold_s if state.level is Level.FAILED else thresholds.hold_s
    return min(base * 2.0 ** min(state.relapses, 16), max(thresholds.hold_max_s, base))
