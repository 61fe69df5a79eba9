"""What congestion looks like from a node: each picture, what must not look like it, and that two of three passes are needed."""

from collections.abc import Mapping, Sequence

import pytest

from exporter.catalog.ethernet import PAUSE_SECONDS, PCI_STALLED
from exporter.catalog.infiniband import DATA_RATE, HW_EVENTS, RECEIVED, TRANSMIT_WAIT, TRANSMITTED
from exporter.catalog.signals import CONGESTION_CLASS
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.congestion_class import RULE
from exporter.signals.rule import Outcome
from tests.signals.passes import a_pass, read
from tests.signals.replay import ROCE

RATE = 50e9
EVERY_S = 15.0


class Link:
    """A link in passes of 15 s: `fast` is its traffic, `hw` its RDMA events, `netdev` its interface: three feeds."""

    def __init__(self) -> None:
        self.state: object = None
        self.now_s = 1000.0
        self.numbers: dict[str, dict[SeriesKey, Number]] = {"fast": {}, "hw": {}, "netdev": {}}
        self.outcome = Outcome()

    def go(self, sent: float = 0.0, stalled: float = 0.0, received: float = 0.0, hw: Mapping[str, int] = {}, paused: float = 0.0,
           pausing: float = 0.0, host: float = 0.0, every_s: float = EVERY_S) -> "Link":  # fmt: skip
        """One pass of each feed: shares of the rate and of the time, and events."""
        self._grow("fast", {TRANSMITTED.key: sent * RATE * every_s, TRANSMIT_WAIT.key: stalled * RATE * every_s / 8,
                            RECEIVED.key: received * RATE * every_s}, {DATA_RATE.key: RATE}, every_s)  # fmt: skip
        events: dict[SeriesKey, Number] = {(HW_EVENTS.key, name): 0 for name in ("np_cnp_sent", "np_ecn_marked_roce_packets")}
        self._grow("hw", events | {(HW_EVENTS.key, name): count for name, count in hw.items()}, {}, every_s)
        pauses: dict[SeriesKey, Number] = {(PAUSE_SECONDS.key, "receive", "3"): paused * every_s}
        pauses[PAUSE_SECONDS.key, "transmit", "3"] = pausing * every_s
        self._grow("netdev", pauses, {(PCI_STALLED.key, "receive"): host, (PCI_STALLED.key, "transmit"): 0.0}, every_s)
        self.now_s += every_s
        return self

    def _grow(self, feed: str, grown: Mapping[SeriesKey, Number], levels: Mapping[SeriesKey, Number], every_s: float) -> None:
        before = self.numbers[feed]
        after = {key: before.get(key, 0) + more for key, more in grown.items()} | levels
        earlier = read(before, self.now_s - every_s) if before else None
        asked = a_pass(read(after, self.now_s), earlier, link=ROCE, latest={Role.CAPACITY: RATE})
        self.state, self.outcome = RULE.step(self.state, asked)
        self.numbers[feed] = after

    @property
    def classes(self) -> set[str]:
        """What it looks like after the last pass."""
        return {key[1] for key in self.outcome.signals}


def after(count: int, **what: object) -> Link:
    """A link that did the same in so many passes after its first."""
    link = Link().go()
    for _ in range(count):
        link.go(**what)  # type: ignore[arg-type]
    return link


PICTURES: Sequence[tuple[dict[str, object], set[str]]] = (
    ({"sent": 0.7, "stalled": 0.2}, {"sender_blocked"}),
    ({"sent": 0.3, "stalled": 0.2}, {"victim"}),
    ({"pausing": 0.1}, {"receiver_slow"}),
    ({"host": 0.2}, {"receiver_slow"}),
    ({"received": 0.95, "hw": {"np_cnp_sent": 40}}, {"incast"}),
    ({"received": 0.95, "hw": {"np_ecn_marked_roce_packets": 40}}, {"incast"}),
    ({"sent": 0.7, "stalled": 0.2, "received": 0.95, "hw": {"np_cnp_sent": 40}}, {"sender_blocked", "incast"}),
)


@pytest.mark.parametrize(("what", "expected"), PICTURES)
def test_each_picture_is_seen(what: dict[str, object], expected: set[str]) -> None:
    """By its evidence, and nothing else is."""
    link = after(3, **what)

    assert link.classes == expected
    assert set(link.outcome.signals.values()) == {1}


@pytest.mark.parametrize(("what", "_expected"), PICTURES)
def test_one_pass_is_no_picture(what: dict[str, object], _expected: set[str]) -> None:
    """Two of three are needed."""
    assert after(1, **what).classes == set()
    assert after(1, **what).go().go(**what).classes != set()
    assert after(1, **what).go().go().go(**what).classes == set()


@pytest.mark.parametrize(("what", "_expected"), PICTURES)
def test_a_picture_fades_with_its_evidence(what: dict[str, object], _expected: set[str]) -> None:
    """One pass without it of three is forgiven, two are not."""
    link = after(3, **what)

    assert link.go().classes != set()
    assert link.go().classes == set()


@pytest.mark.parametrize(
    "what",
    [
        {"sent": 0.7, "stalled": 0.03},
        {"sent": 0.05, "stalled": 0.5},
        {"paused": 0.5},
        {"pausing": 0.03},
        {"received": 0.95},
        {"received": 0.6, "hw": {"np_cnp_sent": 40, "np_ecn_marked_roce_packets": 40}},
    ],
    ids=["little stall", "no load", "paused by the network", "pauses little", "busy and unmarked", "marked and not busy"],
)
def test_what_looks_like_it_and_is_not(what: dict[str, object]) -> None:
    """Each guard of the pictures."""
    assert after(5, **what).classes == set()


def test_a_slow_receiver_is_no_victim() -> None:
    """Held back at little load, while we are slow ourselves: no word of others' congestion."""
    assert after(5, sent=0.3, stalled=0.2, pausing=0.2).classes == {"receiver_slow"}


def test_overruns_mean_a_slow_receiver() -> None:
    """Packets dropped for lack of host buffers."""
    state = None
    before = None
    for at in range(3):
        now = read({("eth_events", "rx_out_of_buffer"): 10 * at}, 15.0 * at)
        state, outcome = RULE.step(state, a_pass(now, before, link=ROCE))
        before = now

    assert outcome.signals == {(CONGESTION_CLASS.key, "receiver_slow"): 1}


def test_a_picture_of_a_silent_feed_ends() -> None:
    """Another feed goes on: what nobody saw again is not shown for ever."""
    link = after(3, pausing=0.2)
    later = a_pass(read({DATA_RATE.key: RATE}, link.now_s + 60.0), read({DATA_RATE.key: RATE}, link.now_s + 45.0), link=ROCE)

    assert RULE.step(link.state, later)[1].signals == {}
