"""Retransmissions and exhausted retries: counted from first sight, raised when they go on or a connection broke."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.infiniband import HW_EVENTS
from exporter.catalog.signals import RETRANSMISSIONS, RETRIES_EXCEEDED
from exporter.model.health import Why
from exporter.model.metric import Role
from exporter.signals.observation import Observation, plan_of
from exporter.signals.retries import BROKEN_S, RULES
from tests.signals.passes import read, seen
from tests.signals.replay import Replay, times

RESENT, BROKEN = RULES
EVERY_S = 15.0


def resent(per_s: float, minutes: float, start_s: float = 0.0) -> Iterator[Observation]:
    """Passes with so many retransmissions a second."""
    for now_s in times(int(minutes * 60 / EVERY_S) + 1, EVERY_S, start_s):
        yield seen({Role.RETRIES: int(per_s * (now_s - start_s))}, now_s)


def broken(*counts: int, every_s: float = EVERY_S) -> list[Observation]:
    """Passes with these counts of exhausted retries."""
    return [seen({Role.RETRIES_EXCEEDED: count}, every_s * at) for at, count in enumerate(counts)]


def counted(replay: Replay, key: str) -> list[float]:
    """The count after each pass."""
    return [outcome.signals[key] for outcome in replay.outcomes]


def test_retransmissions_are_counted_from_first_sight() -> None:
    """0 at first; what a reset hides adds nothing, what follows it does."""
    passes = [seen({Role.RETRIES: count}, 15.0 * at) for at, count in enumerate((500, 507, 507, 3, 5))]

    assert counted(Replay(RESENT).play(passes), RETRANSMISSIONS.key) == [0, 7, 7, 7, 9]


@given(st.lists(st.integers(0, 2**32), min_size=1, max_size=20), st.sets(st.integers(0, 19)))
def test_the_count_does_not_depend_on_how_often_one_looks(grown: list[int], skipped: set[int]) -> None:
    """window(a,b) + window(b,c) = window(a,c) without resets."""
    totals = [sum(grown[:at]) for at in range(len(grown) + 1)]
    passes = [seen({Role.RETRIES: total}, 15.0 * at) for at, total in enumerate(totals)]
    fewer = [passes[0], *(one for at, one in enumerate(passes[1:-1], 1) if at not in skipped), passes[-1]]

    assert counted(Replay(RESENT).play(fewer), RETRANSMISSIONS.key)[-1] == counted(Replay(RESENT).play(passes), RETRANSMISSIONS.key)[-1]


def test_retransmissions_that_go_on_are_raised() -> None:
    """Above 10 a second over five minutes."""
    replay = Replay(RESENT).play(resent(20, 10))

    assert replay.holds(Why.RETRANSMISSIONS)[-1] is True
    assert 240 <= EVERY_S * replay.holds(Why.RETRANSMISSIONS).index(True) <= 300
    expected = "20 retransmissions a second over about 5 min, 20 over the hour; 12000 since first sight"
    assert replay.evidence(Why.RETRANSMISSIONS) == expected


@pytest.mark.parametrize(("per_s", "minutes"), [(9.0, 240), (40.0, 1)], ids=["below the limit", "a minute's burst"])
def test_few_or_short_retransmissions_raise_nothing(per_s: float, minutes: float) -> None:
    """After a quiet hour."""
    replay = Replay(RESENT).play(resent(0, 60)).again(resent(per_s, minutes, 3615.0)).again(resent(0, 10, 3630.0 + minutes * 60))

    assert True not in replay.holds(Why.RETRANSMISSIONS)


def test_the_hour_must_bear_it_out() -> None:
    """After a quiet hour 12 a second are raised once the hour has one a second, and clear when they end."""
    replay = Replay(RESENT).play(resent(0, 120)).again(resent(12, 30, 7215.0))
    raised_after_s = EVERY_S * replay.holds(Why.RETRANSMISSIONS)[481:].index(True)
    replay.again(resent(0, 15, 9030.0))

    assert 300 <= raised_after_s <= 900
    assert replay.holds(Why.RETRANSMISSIONS)[-1] is False


def test_any_broken_connection_is_raised_for_ten_minutes() -> None:
    """One is enough; another begins the time anew."""
    replay = Replay(BROKEN).play(broken(4, 4, 5, 5))
    later = ((BROKEN_S, 5), (BROKEN_S + 15, 5), (BROKEN_S + 30, 7))
    replay.play([seen({Role.RETRIES_EXCEEDED: count}, 30.0 + later_s) for later_s, count in later])

    assert replay.holds(Why.RETRIES_EXCEEDED) == [False, False, True, True, True, False, True]
    assert counted(replay, RETRIES_EXCEEDED.key) == [0, 0, 1, 1, 1, 1, 3]
    assert replay.evidence(Why.RETRIES_EXCEEDED) == "2 requests ran out of retries within the last 10 min (3 since first sight)"


@pytest.mark.parametrize("counts", [(9, 9, 9), (9, 0, 0), (9,)], ids=["history", "reset", "first sight"])
def test_history_and_resets_break_nothing(counts: tuple[int, ...]) -> None:
    """Only an increase between two passes is a broken connection."""
    assert set(Replay(BROKEN).play(broken(*counts)).holds(Why.RETRIES_EXCEEDED)) == {False}


def test_receiver_not_ready_answers_break_nothing() -> None:
    """rnr_nak_retry_err counts answers with the limit NOT exceeded (its meaning is often read the other way round); flushed and duplicate
    requests rise whenever a job ends: none of them has a role here."""
    names = ("rnr_nak_retry_err", "req_cqe_flush_error", "resp_cqe_flush_error", "duplicate_request")

    assert plan_of({(HW_EVENTS.key, name): 1 for name in names}) == {}


def test_all_counters_of_a_role_are_summed() -> None:
    """Transport retries and receiver-not-ready retries both break connections."""
    keys = [(HW_EVENTS.key, name) for name in ("req_transport_retries_exceeded", "req_rnr_retries_exceeded")]
    replay = Replay(BROKEN).play([read(dict.fromkeys(keys, 1), 0.0), read(dict.fromkeys(keys, 3), 15.0)])

    assert counted(replay, RETRIES_EXCEEDED.key) == [0, 4]


def test_nvlink_is_judged_elsewhere() -> None:
    """Its retransmitted blocks play the role of retries, by design of the link."""
    assert {fabric for rule in RULES for fabric in rule.fabrics} == {"infiniband", "roce", "efa"}
