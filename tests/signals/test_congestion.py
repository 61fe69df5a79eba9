"""Congestion: exact ratios of the documented vectors, the length of a tick, and when a link is called congested."""

from collections.abc import Iterator

import pytest

from exporter.catalog.infiniband import SATURATED, TRANSMIT_WAIT
from exporter.catalog.signals import CONGESTION
from exporter.model.health import Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.signals.congestion import CALM_S, FABRICS, FORGOTTEN_S, RULE
from exporter.signals.observation import Observation
from tests.signals.passes import read, seen
from tests.signals.replay import Replay, times

EDR, HDR, NDR = 12.5e9, 25e9, 50e9
EVERY_S = 5.0
KEY = CONGESTION.key


def traffic(stalled: float, load: float, minutes: float, start_s: float = 0.0, *, tick_bytes: float = 8, rate: float = NDR
            ) -> Iterator[Observation]:  # fmt: skip
    """A link held back for this share of the time, sending at this share of its rate."""
    for now_s in times(int(minutes * 60 / EVERY_S) + 1, EVERY_S, start_s):
        gone_s = now_s - start_s
        ticks = int(stalled * rate * gone_s / tick_bytes)
        yield seen({Role.STALL: ticks, Role.TX_BYTES: int(load * rate * gone_s), Role.CAPACITY: rate}, now_s)


def one_pass(ticks: int, rate: Number, elapsed_s: float, **more: Number) -> Replay:
    """Two passes: that many ticks in between."""
    extra = {Role(name): number for name, number in more.items()}
    first = seen({Role.STALL: 0, Role.CAPACITY: rate, **dict.fromkeys(extra, 0)}, 100.0)
    return Replay(RULE).play([first, seen({Role.STALL: ticks, Role.CAPACITY: rate, **extra}, 100.0 + elapsed_s)])


@pytest.mark.parametrize(
    ("rate", "elapsed_s", "ticks", "expected"),
    [(HDR, 60.0, 937_500_000, 0.005), (NDR, 15.0, 1_500_000_000, 0.016), (NDR, 10.0, 62_500_000, 0.001), (NDR, 1.0, 7_000_000_000, 1.0)],
)  # fmt: skip
def test_the_ratio_is_ticks_by_rate_and_time(rate: float, elapsed_s: float, ticks: int, expected: float) -> None:
    """The worked figures: a fixed 4 ns tick would make 2.5 % of the 0.1 %."""
    assert list(one_pass(ticks, rate, elapsed_s).signals.values()) == [pytest.approx(expected)]


def test_a_link_without_stall_is_at_zero() -> None:
    """0 is a measured value here."""
    assert one_pass(0, NDR, 5.0).signals == {(KEY, "default"): 0.0}


def test_a_configured_tick_wins() -> None:
    """An older generation counts every 32 bytes of each lane."""
    replay = Replay(RULE, tick_bytes=128).play(traffic(0.02, 0.5, 1, tick_bytes=128, rate=EDR))

    assert replay.signals == {(KEY, "configured"): pytest.approx(0.02, rel=1e-3)}


@pytest.mark.parametrize("missing", [Role.CAPACITY, Role.STALL])
def test_a_missing_input_gives_no_ratio(missing: Role) -> None:
    """Without a rate (the port is down) or a counter there is none, not 0."""
    numbers = {Role.STALL: 5, Role.CAPACITY: NDR, Role.TX_BYTES: 1}
    del numbers[missing]
    replay = Replay(RULE).play([seen(numbers, 0.0), seen(numbers, 5.0)])

    assert replay.signals == {}


def test_the_speed_by_the_interface_stands_in_for_the_rate() -> None:
    """RDMA devices that do not state a rate."""
    first, second = seen({Role.STALL: 0}, 0.0), seen({Role.STALL: 1_500_000_000}, 15.0)

    assert Replay(RULE, latest={Role.SPEED: NDR}).play([first, second]).signals == {(KEY, "default"): pytest.approx(0.016)}


def test_a_pinned_counter_gives_no_ratio() -> None:
    """leptonai/gpud#943: port_xmit_wait at 4294967295 says nothing; also in the pass in which it got there."""
    full = {TRANSMIT_WAIT.key: 2**32 - 1, "ib_data_rate": NDR, (SATURATED.key, "port_xmit_wait"): 1}
    replay = Replay(RULE).play([read({TRANSMIT_WAIT.key: 7, "ib_data_rate": NDR}, 0.0), read(full, 5.0), read(full, 10.0)])

    assert [outcome.signals for outcome in replay.outcomes] == [{}, {}, {}]
    assert all(outcome.unknown is None for outcome in replay.outcomes)


def test_a_reset_gives_no_ratio_and_the_next_pass_does() -> None:
    """A counter that fell (somebody cleared it) is no stall."""
    passes = [seen({Role.STALL: ticks, Role.CAPACITY: NDR}, 5.0 * at) for at, ticks in enumerate((900, 4, 62_500_000 // 2 + 4))]
    replay = Replay(RULE).play(passes)

    assert [outcome.signals for outcome in replay.outcomes] == [{}, {}, {(KEY, "default"): pytest.approx(0.001)}]


def test_a_gap_gives_no_ratio() -> None:
    """Nobody looked for a quarter of an hour."""
    passes = [seen({Role.STALL: 0, Role.CAPACITY: NDR}, 0.0), seen({Role.STALL: 10**9, Role.CAPACITY: NDR}, 900.0)]

    assert Replay(RULE).play(passes).signals == {}


def test_traffic_bears_out_the_default_tick() -> None:
    """Held back 20 % by 8-byte ticks at 50 % load: ticks of 128 bytes would need 3.7 times the time there was."""
    assert set(Replay(RULE).play(traffic(0.2, 0.5, 1)).signals) == {(KEY, "calibrated")}


def test_little_stall_bears_out_nothing() -> None:
    """Below a hundredth of the time either tick fits."""
    assert set(Replay(RULE).play(traffic(0.005, 0.5, 1)).signals) == {(KEY, "default")}


def test_what_was_borne_out_stays_so() -> None:
    """A running minimum: a quiet hour takes nothing back."""
    replay = Replay(RULE).play(traffic(0.2, 0.5, 1)).again(traffic(0.0, 0.5, 60, 100.0))

    assert set(replay.signals) == {(KEY, "calibrated")}


def test_no_ratio_if_traffic_contradicts_the_tick() -> None:
    """Stall and sending of more than all the time: ticks are shorter than any we know; nothing is shown until a site tells."""
    contradicted = Replay(RULE).play(traffic(0.5, 0.45, 5, tick_bytes=4))
    told = Replay(RULE, tick_bytes=4).play(traffic(0.5, 0.45, 5, tick_bytes=4))

    assert all(outcome.signals == {} for outcome in contradicted.outcomes)
    assert told.signals == {(KEY, "configured"): pytest.approx(0.5, rel=1e-3)}


@pytest.mark.parametrize("tick_bytes", [None, 8])
def test_a_counter_that_jumped_gives_no_ratio(tick_bytes: int | None) -> None:
    """More stall than there was time: a number is wrong, however the tick is known; the next pass is right again."""
    passes = [seen({Role.STALL: ticks, Role.CAPACITY: NDR}, 5.0 * at) for at, ticks in enumerate((0, 2**40, 2**40))]
    replay = Replay(RULE, tick_bytes=tick_bytes).play(passes)

    assert [list(outcome.signals.values()) for outcome in replay.outcomes] == [[], [], [0.0]]


def test_one_glitch_does_not_unlearn_the_tick() -> None:
    """A pass that was read late contradicts once; the next is shown again."""
    replay = Replay(RULE).play(traffic(0.2, 0.5, 1))
    last = replay.before
    assert last is not None
    ticks, sent = int(last.numbers[0] + 0.9 * NDR * 5 / 8), int(last.numbers[1] + 0.9 * NDR * 5)
    late = seen({Role.STALL: ticks, Role.TX_BYTES: sent, Role.CAPACITY: NDR}, last.monotonic_s + 5.0)
    after = seen({Role.STALL: ticks, Role.TX_BYTES: sent, Role.CAPACITY: NDR}, last.monotonic_s + 10.0)
    replay.play([late, after])

    assert [outcome.signals for outcome in replay.outcomes[-2:]] == [{}, {(KEY, "calibrated"): 0.0}]


def test_a_link_held_back_for_long_under_load_is_congested() -> None:
    """Above 5 % over 5 and over 30 minutes at more than 10 % load: said after nine minutes, with the numbers that decided."""
    replay = Replay(RULE).play(traffic(0.12, 0.4, 10))

    assert 480 <= EVERY_S * replay.holds(Why.CONGESTED).index(True) <= 540
    assert replay.evidence(Why.CONGESTED) == (
        "held back 12.0% of about the last 5 min and 12.0% of the last 30 min while sending at 40% of 50 GB/s "
        "(ticks of 8 bytes, calibrated)"
    )


def test_a_healthy_history_delays_and_does_not_prevent() -> None:
    """After an hour of quiet 20 % are raised once the long average follows: within eleven minutes, not within five."""
    replay = Replay(RULE).play(traffic(0.0, 0.4, 60)).again(traffic(0.2, 0.4, 11, 3605.0))
    raised_after_s = EVERY_S * replay.holds(Why.CONGESTED)[721:].index(True)

    assert 300 < raised_after_s <= 660
    assert "severely held back 17." in replay.evidence(Why.CONGESTED)


@pytest.mark.parametrize(
    ("stalled", "load", "minutes"),
    [(0.5, 0.05, 60), (0.045, 0.9, 60), (0.6, 0.3, 3)],
    ids=["quiet port", "below the limit", "too short"],
)  # fmt: skip
def test_no_congestion_without_load_share_and_time(stalled: float, load: float, minutes: float) -> None:
    """Any ratio of next to nothing is noise; five minutes are needed."""
    assert True not in Replay(RULE).play(traffic(stalled, load, minutes)).holds(Why.CONGESTED)


def test_a_short_burst_after_quiet_is_no_congestion() -> None:
    """A minute of 60 % in an hour is 2 % of half an hour."""
    replay = Replay(RULE).play(traffic(0.0, 0.4, 60)).again(traffic(0.6, 0.3, 1, 3605.0)).again(traffic(0.0, 0.4, 20, 3670.0))

    assert True not in replay.holds(Why.CONGESTED)


def test_congestion_clears_once_calm_for_ten_minutes() -> None:
    """Between the two limits it stays; below the lower one it is clear after a while, not at once."""
    replay = Replay(RULE).play(traffic(0.12, 0.4, 15))
    replay.again(traffic(0.04, 0.4, 60, 905.0))
    between = replay.holds(Why.CONGESTED)[-1]
    replay.again(traffic(0.0, 0.4, 30, 4510.0))
    clear_after_s = EVERY_S * replay.holds(Why.CONGESTED)[-361:].index(False)

    assert between is True
    assert CALM_S <= clear_after_s <= CALM_S + 300


def test_congestion_that_nobody_can_see_any_more_is_forgotten() -> None:
    """The counter is full: what was raised can not be told for an hour, then it is not upheld."""
    replay = Replay(RULE).play(traffic(0.12, 0.4, 10))
    full = [read({TRANSMIT_WAIT.key: 2**32 - 1, (SATURATED.key, "port_xmit_wait"): 1}, 700.0 + at * 300) for at in range(14)]
    replay.play(full)

    expected = [None if 700.0 + at * 300 - 600.0 <= FORGOTTEN_S else False for at in range(14)]
    assert replay.holds(Why.CONGESTED)[-14:] == expected


def test_load_by_a_pinned_counter_is_unknown() -> None:
    """32-bit byte counters stand at their ceiling within a second of traffic: the ratio is shown, nothing is raised."""
    passes = [
        read({TRANSMIT_WAIT.key: int(0.2 * NDR * at * 5 / 8), "ib_data_transmitted": 4 * (2**32 - 1), "ib_data_rate": NDR,
              (SATURATED.key, "port_xmit_data"): 1}, 5.0 * at)
        for at in range(200)
    ]  # fmt: skip
    replay = Replay(RULE).play(passes)

    assert replay.signals == {(KEY, "calibrated"): pytest.approx(0.2)}
    assert True not in replay.holds(Why.CONGESTED)


def test_nvlink_has_no_known_tick() -> None:
    """Its stall counter gives no ratio: the rule is about InfiniBand and RoCE."""
    assert frozenset({"infiniband", "roce"}) == FABRICS
    assert RULE.fabrics == FABRICS
