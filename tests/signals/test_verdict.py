"""The verdict of one link: reasons by themselves, levels up at once and down by one, holds, relapses, grace, unknown."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from exporter.catalog.conditions import CONDITIONS
from exporter.model.health import Finding, Level, Unknown, Why
from exporter.model.thresholds import Thresholds
from exporter.signals.verdict import (
    REMEMBERED_PASSES,
    LinkState,
    Moment,
    hold_s,
    judge,
    merged,
    passes_of,
    settle,
    silent,
    verdict_of,
    wanted_level,
)
from tests.signals.passes import DEFAULTS, PORT

WALL_S = 1.8e9
QUICK = Thresholds(hold_s=60.0, failed_hold_s=200.0, hold_max_s=500.0, relapse_s=10_000.0)
SOFT = sorted(why for why, condition in CONDITIONS.items() if condition.level is Level.SUSPECT)
TOLD_AT_ONCE = [why for why in SOFT if CONDITIONS[why].of == 1]


def at(now_s: float, *, in_grace: bool = False) -> Moment:
    """A moment of a clock that runs evenly."""
    return Moment(now_s, WALL_S + now_s, in_grace)


def holding(*reasons: Why) -> list[Finding]:
    """Findings that hold."""
    return [Finding(why, holds=True, evidence=f"{why.value} was seen") for why in reasons]


def after(passes: Iterable[Sequence[Finding]], asked: Sequence[Why], state: LinkState = LinkState(), *,  # noqa: B008  # a value
          start_s: float = 0.0, every_s: float = 5.0, in_grace: bool = False, thresholds: Thresholds = QUICK) -> LinkState:  # fmt: skip
    """The state after these passes."""
    for number, findings in enumerate(passes):
        state = judge(state, findings, asked, at(start_s + number * every_s, in_grace=in_grace), thresholds)
    return state


def active(state: LinkState) -> list[Why]:
    """Reasons that are raised, the gravest first."""
    return [one.why for one in verdict_of(PORT, state).active]


def sick(why: Why, state: LinkState = LinkState(), start_s: float = 0.0) -> LinkState:  # noqa: B008  # a value
    """A link of which the reason holds for as many passes as it needs."""
    return after([holding(why)] * 8, [why], state, start_s=start_s)


def well(why: Why, state: LinkState, seconds: float, start_s: float) -> LinkState:
    """… and then does not hold for so long."""
    return after([[]] * int(seconds / 5.0 + 1), [why], state, start_s=start_s)


@pytest.mark.parametrize("why", CONDITIONS)
def test_a_reason_is_raised_when_it_held_often_enough_and_no_sooner(why: Why) -> None:
    """By the row of catalog/conditions.py, or the threshold that a site may set."""
    needed, _ = passes_of(why, QUICK)

    assert active(after([holding(why)] * (needed - 1), [why])) == []
    assert active(after([holding(why)] * needed, [why])) == [why]


@pytest.mark.parametrize("why", CONDITIONS)
def test_a_reason_is_cleared_when_it_held_in_none_of_the_passes_looked_at(why: Why) -> None:
    """As many as it takes to raise it: what comes and goes within them stays raised."""
    _, looked_at = passes_of(why, QUICK)
    raised = sick(why)

    assert active(after([[]] * (looked_at - 1), [why], raised, start_s=40.0)) == ([why] if looked_at > 1 else active(raised))
    assert active(after([[]] * looked_at, [why], raised, start_s=40.0)) == []


def test_a_reason_that_recovers_clears_no_other() -> None:
    """A state that recovered once took a flapping link's protection away (NVIDIA/NVSentinel#1488, #1492)."""
    both = judge(sick(Why.DOWN), holding(Why.FLAPPING), [Why.FLAPPING], at(40.0), QUICK)

    assert active(after([holding(Why.FLAPPING)] * 5, [Why.DOWN, Why.FLAPPING], both, start_s=45.0)) == [Why.FLAPPING]


def test_a_pass_that_is_not_asked_about_a_reason_leaves_it() -> None:
    """Other feeds know nothing of it."""
    assert active(well(Why.PAUSED, sick(Why.DOWN), 1000.0, 40.0)) == [Why.DOWN]


def test_a_finding_that_could_not_tell_changes_nothing() -> None:
    """Neither raises nor clears, however often."""
    raised = sick(Why.DOWN)
    untold = [[Finding(Why.DOWN, holds=None)]] * 20

    assert after(untold, [Why.DOWN], raised, start_s=40.0).reasons == raised.reasons
    assert after(untold, [Why.DOWN]).is_calm


def test_evidence_and_time_are_those_of_the_moment_when_it_was_raised() -> None:
    """What decided, not what came later."""
    passes = [[Finding(Why.DOWN, holds=True, evidence=f"pass {number}")] for number in range(6)]
    shown = verdict_of(PORT, after(passes, [Why.DOWN])).active[0]

    assert (shown.evidence, shown.since_wall_s, shown.level) == ("pass 2", WALL_S + 10.0, Level.FAILED)


def test_the_level_rises_at_once_to_the_gravest() -> None:
    """And since is when it did."""
    state = judge(sick(Why.RETRIES_EXCEEDED), holding(Why.XID), [Why.XID], at(77.0), QUICK)

    assert (state.level, state.since_wall_s) == (Level.FAILED, WALL_S + 77.0)


def test_the_level_falls_by_one_after_each_hold() -> None:
    """Longer after failed: 200 s, then 60 s, then 60 s."""
    state, changes = sick(Why.XID), []
    for number in range(80):
        before, now_s = state.level, 40.0 + number * 5.0
        state = judge(state, [], [Why.XID], at(now_s), QUICK)
        if state.level is not before:
            changes.append((now_s, state.level))

    assert changes == [(240.0, Level.DEGRADED), (300.0, Level.SUSPECT), (360.0, Level.OK)]
    assert state.is_calm


def test_a_reason_that_comes_back_within_the_hold_starts_it_anew() -> None:
    """A link that flaps looks well between flaps (leptonai/gpud#1110)."""
    nearly = well(Why.XID, sick(Why.XID), 195.0, 40.0)
    again = judge(nearly, holding(Why.XID), [Why.XID], at(238.0), QUICK)

    assert well(Why.XID, again, 195.0, 243.0).level is Level.FAILED
    assert well(Why.XID, again, 200.0, 243.0).level is Level.DEGRADED


def test_holds_run_between_passes_but_not_in_silence() -> None:
    """Time alone lets the level fall while somebody looks; a time without any look counts for nothing."""
    calm = judge(sick(Why.XID), [], [Why.XID], at(40.0), QUICK)

    assert settle(calm, at(240.0), QUICK).level is Level.DEGRADED
    assert settle(settle(silent(calm), at(10_000.0), QUICK), at(10_199.0), QUICK).level is Level.FAILED
    assert settle(settle(silent(calm), at(10_000.0), QUICK), at(10_200.0), QUICK).level is Level.DEGRADED


def test_silence_about_a_link_without_a_running_hold_is_nothing() -> None:
    """No new state for each tick of each link."""
    state = sick(Why.XID)

    assert silent(state) is state
    assert settle(LinkState(), at(0.0), QUICK) == LinkState()


def test_each_relapse_doubles_the_hold_up_to_the_longest() -> None:
    """60, 120, 240, 480 s; then the configured most."""
    state, now_s, holds = LinkState(), 0.0, []
    for _ in range(6):
        state = judge(state, holding(Why.RETRIES_EXCEEDED), [Why.RETRIES_EXCEEDED], at(now_s), QUICK)
        holds.append(hold_s(state, QUICK))
        while state.level is not Level.OK:
            now_s += 5.0
            state = judge(state, [], [Why.RETRIES_EXCEEDED], at(now_s), QUICK)
        now_s += 100.0

    assert holds == [60.0, 120.0, 240.0, 480.0, 500.0, 500.0]


@pytest.mark.parametrize(("apart_s", "relapses"), [(9_999.0, 1), (10_000.0, 0), (-5.0, 0)])
def test_only_what_comes_back_in_time_is_a_relapse(apart_s: float, relapses: int) -> None:
    """A wall clock that was set back makes none."""
    state = LinkState(sick_wall_s=WALL_S)

    assert judge(state, holding(Why.XID), [Why.XID], at(apart_s), QUICK).relapses == relapses


@pytest.mark.parametrize(
    ("reasons", "level"),
    [
        ([], Level.OK),
        ([Why.PAUSED], Level.SUSPECT),
        ([Why.PAUSED, Why.CONGESTED], Level.SUSPECT),
        ([Why.PAUSED, Why.RETRIES_EXCEEDED], Level.DEGRADED),
        ([Why.PAUSED, Why.RETRIES_EXCEEDED, Why.SLOW_SIBLING], Level.DEGRADED),
        ([Why.PAUSED, Why.WIDTH_DOWNGRADE], Level.DEGRADED),
        ([Why.PAUSED, Why.DOWN], Level.FAILED),
    ],
)
def test_two_suspect_reasons_of_different_origin_make_a_link_degraded(reasons: list[Why], level: Level) -> None:
    """Two of one origin are one piece of evidence."""
    assert wanted_level(reasons) is level


def test_in_grace_nothing_is_raised_but_what_no_start_explains() -> None:
    """214 of 288 nodes raised a false NVLink-down at planned reboots (NVIDIA/NVSentinel#1701). A fatal Xid is no start."""
    state = after([holding(*CONDITIONS)] * 10, list(CONDITIONS), in_grace=True)

    assert active(state) == [why for why, condition in CONDITIONS.items() if condition.in_grace] == [Why.XID]
    assert set(state.reasons) == {Why.XID}  # nor are passes counted for later


def test_what_was_raised_before_grace_stays() -> None:
    """A driver that is loaded anew repairs nothing; it is cleared by its own rule."""
    raised = sick(Why.DOWN)

    assert active(after([holding(Why.DOWN)] * 5, [Why.DOWN], raised, start_s=40.0, in_grace=True)) == [Why.DOWN]
    assert active(after([[]] * 5, [Why.DOWN], raised, start_s=40.0, in_grace=True)) == []


@pytest.mark.parametrize("level", Level)
def test_unknown_hides_ok_only(level: Level) -> None:
    """A link that failed and of which nobody hears any more has failed."""
    shown = verdict_of(PORT, LinkState(level=level, unknown=Unknown.STALE))

    assert (shown.level, shown.unknown) == ((None, Unknown.STALE) if level is Level.OK else (level, None))


@pytest.mark.parametrize(("configured", "passes"), [(0.0, 1), (1.0, 1), (2.5, 2), (8.0, 8), (9.0, 8), (1e15, 8), (-3.0, 1)])
def test_no_configuration_asks_for_more_passes_than_are_remembered(configured: float, passes: int) -> None:
    """Nor for none: every look at the link would raise it."""
    thresholds = replace(DEFAULTS, down_passes=configured, downgrade_passes=configured)

    assert passes_of(Why.DOWN, thresholds) == passes_of(Why.WIDTH_DOWNGRADE, thresholds) == (passes, passes)
    assert passes <= REMEMBERED_PASSES


def test_every_reason_has_a_condition_that_can_come_true() -> None:
    """One row each, within what is remembered."""
    assert set(CONDITIONS) == set(Why)
    assert all(1 <= condition.holds <= condition.of <= REMEMBERED_PASSES for condition in CONDITIONS.values())
    assert all(condition.level is not Level.OK and condition.help.endswith(".") and condition.origin for condition in CONDITIONS.values())


def test_what_an_earlier_process_knew_is_not_lost_to_a_first_look() -> None:
    """And what this one found meanwhile is not lost to it."""
    kept, now = sick(Why.WIDTH_DOWNGRADE), sick(Why.DOWN, start_s=500.0)
    both = merged(kept, now)

    assert merged(kept, LinkState(unknown=Unknown.GRACE)) == kept._replace(unknown=Unknown.GRACE)
    assert (both.level, both.since_wall_s) == (Level.FAILED, now.since_wall_s)
    assert active(both) == [Why.DOWN, Why.WIDTH_DOWNGRADE]
    assert merged(sick(Why.DOWN), now).reasons[Why.DOWN].since_wall_s == WALL_S + 10.0
