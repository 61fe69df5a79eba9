"""Pauses: shares by direction and priority, who holds whom back, and storms."""

from collections.abc import Iterator

import pytest

from exporter.catalog.ethernet import EVENTS, PAUSE_SECONDS
from exporter.catalog.signals import PAUSED
from exporter.model.health import Why
from exporter.signals.observation import Observation
from exporter.signals.pause import RULES, STORM_S
from tests.signals.passes import read
from tests.signals.replay import Replay, times

PAUSE, PAUSE_STORM = RULES
EVERY_S = 15.0


def pauses(minutes: float, start_s: float = 0.0, **shares: float) -> Iterator[Observation]:
    """Passes in which `receive` and `transmit` of priority 3 are paused for these shares of the time."""
    for now_s in times(int(minutes * 60 / EVERY_S) + 1, EVERY_S, start_s):
        gone_s = now_s - start_s
        yield read({(PAUSE_SECONDS.key, name, "3"): share * gone_s for name, share in shares.items()}, now_s)


def storms(*counts: int, event: str = "tx_pause_storm_error_events", every_s: float = EVERY_S) -> list[Observation]:
    """Passes with these counts of storms."""
    return [read({(EVENTS.key, event): count}, every_s * at) for at, count in enumerate(counts)]


def test_the_share_of_time_in_pause_by_direction_and_priority() -> None:
    """Seconds in pause per measured second, for each counter that there is."""
    before = read({(PAUSE_SECONDS.key, "receive", "3"): 10.0, (PAUSE_SECONDS.key, "transmit", "global"): 1.0}, 0.0)
    now = read({(PAUSE_SECONDS.key, "receive", "3"): 13.0, (PAUSE_SECONDS.key, "transmit", "global"): 1.0}, 20.0)

    expected = {(PAUSED.key, "receive", "3"): pytest.approx(0.15), (PAUSED.key, "transmit", "global"): 0.0}
    assert Replay(PAUSE).play([before, now]).signals == expected


def test_a_priority_that_was_reset_has_no_share() -> None:
    """The others have theirs; a pause longer than the time there was is all of it."""
    before = read({(PAUSE_SECONDS.key, "receive", "3"): 10.0, (PAUSE_SECONDS.key, "receive", "4"): 1.0}, 0.0)
    now = read({(PAUSE_SECONDS.key, "receive", "3"): 0.5, (PAUSE_SECONDS.key, "receive", "4"): 17.0}, 15.0)

    assert Replay(PAUSE).play([before, now]).signals == {(PAUSED.key, "receive", "4"): 1.0}


@pytest.mark.parametrize(("direction", "why", "other"), [("receive", Why.PAUSED, Why.PAUSING), ("transmit", Why.PAUSING, Why.PAUSED)])
def test_a_direction_paused_for_five_minutes_is_raised(direction: str, why: Why, other: Why) -> None:
    """Above 5 % on average, once five minutes were seen; the other direction is not accused."""
    replay = Replay(PAUSE).play(pauses(8, **{"receive": 0.0, "transmit": 0.0, direction: 0.08}))
    raised_after_s = EVERY_S * replay.holds(why).index(True)

    assert 240 <= raised_after_s <= 300
    assert set(replay.holds(other)[1:]) == {False}
    assert "for 8.0% of about the last 5 min, 8.0% of the last 15 s (priority 3)" in replay.evidence(why)


def test_a_severe_pause_is_raised_at_once() -> None:
    """A fifth of the line is gone: the first pass says so, and only while it lasts."""
    replay = Replay(PAUSE).play(pauses(0.5, receive=0.3)).again(pauses(0.5, 45.0, receive=0.0))

    assert replay.holds(Why.PAUSED) == [None, True, True, None, False, False]


def test_pauses_below_the_limit_are_the_protocol_at_work() -> None:
    """3 % for two hours raise nothing; a minute of 12 % after that neither."""
    replay = Replay(PAUSE).play(pauses(120, receive=0.03)).again(pauses(1, 7215.0, receive=0.12))

    assert True not in replay.holds(Why.PAUSED)


def test_a_raised_pause_clears_well_below_the_limit() -> None:
    """4 % after 8 % is still raised, 1 % is not."""
    replay = Replay(PAUSE).play(pauses(10, receive=0.08)).again(pauses(30, 615.0, receive=0.04))
    still = replay.holds(Why.PAUSED)[-1]
    replay.again(pauses(15, 2430.0, receive=0.01))

    assert still is True
    assert replay.holds(Why.PAUSED)[-1] is False


def test_a_direction_without_a_counter_is_not_told() -> None:
    """Missing is not zero."""
    replay = Replay(PAUSE).play(pauses(1, receive=0.01))

    assert set(replay.holds(Why.PAUSING)) == {None}
    assert replay.holds(Why.PAUSED) == [None, False, False, False, False]


def test_a_gap_or_reset_of_all_tells_nothing() -> None:
    """No share, and what was raised stays as it is."""
    replay = Replay(PAUSE).play(pauses(10, receive=0.08)).play(pauses(0, 615.0, receive=0.0)).again(pauses(0, 5000.0, receive=0.0))

    assert [outcome.signals for outcome in replay.outcomes[-2:]] == [{}, {}]
    assert replay.holds(Why.PAUSED)[-2:] == [None, None]


def test_any_storm_is_raised_and_stays_for_ten_minutes() -> None:
    """The first event counts; each further one begins the ten minutes anew and is counted."""
    replay = Replay(PAUSE_STORM).play(storms(0, 0, 1, 1, 3))
    replay.play([read({(EVENTS.key, "tx_pause_storm_error_events"): 3}, 60.0 + later_s) for later_s in (STORM_S, STORM_S + 15)])

    assert replay.holds(Why.PAUSE_STORM) == [False, False, True, True, True, True, False]
    assert replay.evidence(Why.PAUSE_STORM) == "3 pause storms within the last 10 min (tx_pause_storm_error_events)"


@pytest.mark.parametrize("counts", [(7, 7, 7), (7, 0, 0), (7,)], ids=["history", "reset", "first sight"])
def test_no_storm_by_history_or_reset(counts: tuple[int, ...]) -> None:
    """Only an increase between two passes is one."""
    assert set(Replay(PAUSE_STORM).play(storms(*counts)).holds(Why.PAUSE_STORM)) == {False}
