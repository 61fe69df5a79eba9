"""Congestion control of RoCE: marked packets against what is usual, notifications handled and ignored."""

from collections.abc import Iterator

import pytest

from exporter.catalog.signals import CNP_HANDLED, MARKED
from exporter.model.health import Why
from exporter.model.metric import Role
from exporter.signals.observation import Observation
from exporter.signals.roce import RELEARN_S, RULES
from tests.signals.passes import seen
from tests.signals.replay import Replay, times

ECN, CNP = RULES
EVERY_S = 15.0
PACKETS_PER_S = 2_000_000


def marked(share: float, minutes: float, start_s: float = 0.0, packets_per_s: int = PACKETS_PER_S) -> Iterator[Observation]:
    """Passes in which this share of the packets carries a mark."""
    for now_s in times(int(minutes * 60 / EVERY_S) + 1, EVERY_S, start_s):
        packets = int(packets_per_s * (now_s - start_s))
        yield seen({Role.ECN_MARKED: int(share * packets), Role.RX_PACKETS: packets}, now_s)


def notified(*counts: tuple[int, int, int], every_s: float = EVERY_S, start_s: float = 0.0) -> list[Observation]:
    """Passes with these counts of notifications handled and ignored, and of packets sent."""
    return [
        seen({Role.CNP_HANDLED: handled, Role.CNP_IGNORED: ignored, Role.TX_PACKETS: sent}, start_s + every_s * at)
        for at, (handled, ignored, sent) in enumerate(counts)
    ]


def test_the_share_of_marked_packets() -> None:
    """Marks per packet received in the same time."""
    passes = [seen({Role.ECN_MARKED: 10, Role.RX_PACKETS: 1000}, 0.0), seen({Role.ECN_MARKED: 15, Role.RX_PACKETS: 3000}, 15.0)]

    assert Replay(ECN).play(passes).signals == {MARKED.key: 0.0025}


@pytest.mark.parametrize(
    ("marks", "packets"), [((10, 10), (1000, 1000)), ((10, 4), (1000, 3000)), ((10, 12), (1000, 4))], ids=["idle", "reset", "packets reset"]
)
def test_no_share_without_packets_or_over_a_reset(marks: tuple[int, int], packets: tuple[int, int]) -> None:
    """Never 0 ÷ 0, never a number over a reset."""
    passes = [seen({Role.ECN_MARKED: m, Role.RX_PACKETS: p}, 15.0 * at) for at, (m, p) in enumerate(zip(marks, packets, strict=True))]

    assert Replay(ECN).play(passes).signals == {}


def test_far_more_marks_than_usual_are_raised() -> None:
    """0.1 % is usual here; 4 % is not, from the first pass on."""
    replay = Replay(ECN).play(marked(0.001, 60)).again(marked(0.04, 5, 3615.0))

    assert True not in replay.holds(Why.MARKED)[:241]
    assert replay.holds(Why.MARKED)[242:] == [True] * 20
    assert replay.evidence(Why.MARKED) == "4.00% of 2e+06 packets a second received carry a congestion mark; usual are 0.10%"


def test_a_fault_does_not_become_the_usual() -> None:
    """Two days of it are still raised, and the usual share is what it was."""
    replay = Replay(ECN).play(marked(0.001, 60)).again(marked(0.04, 2 * 1440, 3615.0))

    assert replay.holds(Why.MARKED)[-1] is True
    assert "usual are 0.10%" in replay.evidence(Why.MARKED)


def test_after_a_fault_the_usual_is_learned_again() -> None:
    """Ten minutes after its end, not within."""
    replay = Replay(ECN).play(marked(0.001, 60)).again(marked(0.04, 5, 3615.0))
    known = replay.state.packets
    replay.again(marked(0.001, RELEARN_S / 60 - 1, 3930.0))
    within = replay.state.packets
    replay.again(marked(0.001, 10, 4485.0))

    assert within == known
    assert replay.state.packets != known
    assert replay.holds(Why.MARKED)[-1] is False


@pytest.mark.parametrize(
    ("usual", "share", "packets_per_s"),
    [(0.0, 0.009, PACKETS_PER_S), (0.005, 0.02, PACKETS_PER_S), (0.0, 0.5, 500)],
    ids=["below the limit", "not five times the usual", "too few packets"],
)
def test_marks_that_raise_nothing(usual: float, share: float, packets_per_s: int) -> None:
    """Congestion control that works always marks a few."""
    replay = Replay(ECN).play(marked(usual, 60)).again(marked(share, 20, 3615.0, packets_per_s))

    assert True not in replay.holds(Why.MARKED)


def test_before_anything_is_usual_nothing_is_unusual() -> None:
    """Many marks from first sight can not be told; they are shown."""
    replay = Replay(ECN).play(marked(0.04, 5))

    assert replay.signals == {MARKED.key: pytest.approx(0.04)}
    assert set(replay.holds(Why.MARKED)) == {None}


def test_notifications_handled_as_a_share_of_packets_sent() -> None:
    """Absent while nothing is sent."""
    replay = Replay(CNP).play(notified((0, 0, 0), (20, 0, 10_000), (20, 0, 10_000)))

    assert [outcome.signals for outcome in replay.outcomes] == [{}, {CNP_HANDLED.key: 0.002}, {}]


def ignoring(passes: int, start: int = 0, start_s: float = 0.0) -> list[Observation]:
    """Two notifications ignored in each pass."""
    return notified(*[(0, start + 2 * at, 1000 * at) for at in range(passes)], start_s=start_s)


def test_notifications_ignored_for_ten_minutes_are_raised() -> None:
    """Not before; the evidence says how many in how long."""
    replay = Replay(CNP).play(ignoring(42))

    assert replay.holds(Why.CNP_IGNORED).index(True) == 40
    expected = "82 congestion notifications ignored within 10 min: congestion control is off or set up wrong"
    assert replay.evidence(Why.CNP_IGNORED) == expected


def test_a_pause_of_training_does_not_end_the_run_and_silence_does() -> None:
    """A checkpoint of a minute is bridged; two minutes of none are an end."""
    bridged = Replay(CNP).play(ignoring(20)).play(ignoring(25, 38, 285.0 + 75.0))
    ended = Replay(CNP).play(ignoring(42)).play(notified(*[(0, 82, 10**6 + at) for at in range(12)], start_s=630.0))

    assert bridged.holds(Why.CNP_IGNORED)[-1] is True
    assert ended.holds(Why.CNP_IGNORED)[-1] is False


@pytest.mark.parametrize("ignored", [(5, 5, 5, 5), (5, 9, 9, 9), (900, 3, 3, 3)], ids=["history", "once", "reset"])
def test_few_ignored_notifications_raise_nothing(ignored: tuple[int, ...]) -> None:
    """History, one event and a reset are no run."""
    replay = Replay(CNP).play(notified(*[(0, count, 1000 * at) for at, count in enumerate(ignored)], every_s=300.0))

    assert True not in replay.holds(Why.CNP_IGNORED)


def test_a_driver_that_counts_none_ignored_is_not_accused() -> None:
    """No counter, no finding."""
    replay = Replay(CNP).play([seen({Role.CNP_HANDLED: at, Role.TX_PACKETS: 1000 * at}, 15.0 * at) for at in range(60)])

    assert set(replay.holds(Why.CNP_IGNORED)) == {False}
