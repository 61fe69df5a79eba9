"""Properties of the verdict: it never raises, is deterministic, and no level falls faster than its hold."""

from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.conditions import CONDITIONS
from exporter.model.health import Finding, Level, Unknown, Why
from exporter.model.thresholds import Thresholds
from exporter.signals.verdict import LinkState, Moment, ReasonState, hold_s, judge, merged, settle, silent, verdict_of, wanted_level
from tests.signals.passes import PORT
from tests.signals.test_verdict import QUICK, active, at, holding

findings = st.builds(Finding, st.sampled_from(Why), st.sampled_from([True, False, None]), st.text(max_size=4))
times = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)
thresholds_of_any_kind = st.builds(
    Thresholds, hold_s=st.floats(0.0, 1e9), failed_hold_s=st.floats(0.0, 1e9), hold_max_s=st.floats(0.0, 1e9),
    relapse_s=st.floats(0.0, 1e9), down_passes=st.floats(-1.0, 1e15), downgrade_passes=st.floats(-1.0, 1e15),
)  # fmt: skip
states = st.builds(
    LinkState, st.sampled_from(Level), times,
    st.dictionaries(st.sampled_from(Why), st.builds(ReasonState, st.integers(0, 255), st.none() | times, st.text(max_size=4)), max_size=4),
    st.none() | st.sampled_from(Unknown), st.none() | times, st.none() | times, st.integers(0, 10**9),
)  # fmt: skip


@given(states, st.lists(findings, max_size=5), st.lists(st.sampled_from(Why), max_size=5), st.builds(Moment, times, times, st.booleans()),
       thresholds_of_any_kind)  # fmt: skip
def test_judging_never_raises_and_is_deterministic(state: LinkState, found: list[Finding], asked: list[Why], moment: Moment,
                                                   thresholds: Thresholds) -> None:  # fmt: skip
    """Whatever was remembered, whatever a clock says; and the level falls by one at most."""
    after_it = judge(state, found, asked, moment, thresholds)

    assert repr(after_it) == repr(judge(state, found, asked, moment, thresholds))
    assert after_it.level >= state.level - 1
    assert verdict_of(PORT, after_it) == verdict_of(PORT, after_it)
    assert merged(state, after_it).level == max(state.level, after_it.level)


steps = st.lists(st.tuples(st.sampled_from([1.0, 5.0, 40.0, 300.0]), st.sets(st.sampled_from(Why), max_size=2),
                           st.sampled_from(["pass", "tick", "silence"])), max_size=60)  # fmt: skip


@given(steps)
def test_no_level_falls_faster_than_its_hold(passes: list[tuple[float, set[Why], str]]) -> None:
    """Whatever comes and goes: before a level falls nothing may have asked for it for as long as its hold, and somebody must have
    looked all the while. Silence lets no level fall."""
    state, now_s, asked_s = LinkState(), 0.0, 0.0
    for elapsed_s, why, kind in passes:
        now_s += elapsed_s
        before = state
        if kind == "pass":
            state = judge(before, holding(*why), list(CONDITIONS), at(now_s), QUICK)
        else:
            state = settle(before, at(now_s), QUICK) if kind == "tick" else silent(before)
        if state.level < before.level:
            assert kind != "silence"
            assert state.level == before.level - 1
            assert now_s - asked_s >= hold_s(before, QUICK)
        is_asked = wanted_level(active(state)) >= state.level
        if is_asked or state.level is not before.level or kind == "silence":
            asked_s = now_s
