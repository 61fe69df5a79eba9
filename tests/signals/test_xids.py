"""Xids that name a link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.health import Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.observation import Observation
from exporter.signals.rule import NOTHING
from exporter.signals.xids import FATAL, REMEMBERED_S, RULE
from tests.signals.passes import NVLINK, a_pass, read, seen
from tests.signals.replay import Replay


def tallies(*counts: int, code: str = "74", every_s: float = 5.0, start_s: float = 0.0) -> list[Observation]:
    """What the log has counted at each pass."""
    return [read({("xid", code): count}, start_s + number * every_s) for number, count in enumerate(counts)]


@pytest.mark.parametrize("code", FATAL)
def test_a_fatal_xid_is_a_finding_in_words(code: str) -> None:
    """From the pass that brings it."""
    replay = Replay(RULE, link=NVLINK).play(tallies(0, 0, 1, code=code))

    assert replay.holds(Why.XID) == [False, False, True]
    assert replay.evidence(Why.XID) == f"Xid {code} ({FATAL[code]}) named this link"


def test_what_the_log_held_at_first_sight_is_history() -> None:
    """The daemon started later than the error."""
    assert Replay(RULE, link=NVLINK).play(tallies(7, 7)).outcomes == [NOTHING, NOTHING]


def test_the_drivers_word_stands_for_an_hour_after_the_last() -> None:
    """Each further one begins it anew."""
    replay = Replay(RULE, link=NVLINK).play(tallies(0, 1, 1, 2, 2, 2, every_s=REMEMBERED_S / 2))

    assert replay.holds(Why.XID) == [False, True, True, True, True, False]
    assert replay.state is None


def test_xids_that_speak_of_units_accuse_no_link() -> None:
    """Nor does a tally that fell: the log was read anew."""
    assert Replay(RULE, link=NVLINK).play(tallies(0, 5, code="145")).outcomes == [NOTHING, NOTHING]
    assert Replay(RULE, link=NVLINK).play(tallies(5, 1)).outcomes == [NOTHING, NOTHING]


def test_a_code_that_appears_counts() -> None:
    """The first of its kind has no earlier tally."""
    replay = Replay(RULE, link=NVLINK).play([read({("xid", "145"): 1}), read({("xid", "145"): 1, ("xid", "149"): 1}, 5.0)])

    assert replay.holds(Why.XID) == [False, True]


def test_the_drivers_word_stands_when_a_feed_begins() -> None:
    """Its first pass has none before it. A word of a time ahead counts for nothing."""
    assert Replay(RULE, link=NVLINK).play(tallies(0, 1)).again(tallies(1, start_s=10.0)).holds(Why.XID) == [False, True, True]
    assert Replay(RULE, link=NVLINK).play(tallies(0, 1, start_s=1e9)).again(tallies(1)).outcomes[-1] == NOTHING


keys = st.just("xid") | st.lists(st.sampled_from(["xid", "74", "149", ""]), max_size=3).map(tuple)


@given(st.lists(st.dictionaries(keys, st.integers() | st.floats(), max_size=3), max_size=6))
def test_no_keys_and_counts_raise(passes: list[dict[SeriesKey, Number]]) -> None:
    """Whatever stands in a row."""
    Replay(RULE, link=NVLINK).play(read(values, 5.0 * number) for number, values in enumerate(passes))
    RULE.step(None, a_pass(seen({Role.XIDS: 1}, 5.0), seen({Role.XIDS: 0})))
