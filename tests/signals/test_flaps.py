"""Flaps: every kind of evidence, each flap once, history never."""

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.signals import FLAPS
from exporter.model.entity import Fabric, Link
from exporter.model.health import Why
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.flaps import RULE
from exporter.signals.rule import NOTHING, Outcome, State
from tests.signals.passes import NVLINK, PORT, a_pass, read
from tests.signals.replay import folded

ROCE = Link(Fabric.ROCE, "mlx5_2", "1")
ETHERNET = Link(Fabric.ETHERNET, "eth0", "1")
DOWN_EVENTS: SeriesKey = ("eth_events", "link_down_events_phy")


class Watch:
    """A link seen by several feeds, each with its own pass before. `total` and `held` are of the last pass."""

    def __init__(self, link: Link = PORT) -> None:
        self.link = link
        self.state: State = None
        self.before: dict = {}
        self.total: Number | None = None
        self.held: set[Why] = set()
        self.outcome = NOTHING

    def see(self, now_s: float, feed: str = "state", **values: Number) -> "Watch":
        """One pass of a feed; a keyword is a key of the catalogue, or `events` for a driver's own count of downs."""
        keys: dict[SeriesKey, Number] = {DOWN_EVENTS if key == "events" else key: number for key, number in values.items()}
        now = read(keys, now_s)
        self.state, self.outcome = RULE.step(self.state, a_pass(now, self.before.get(feed), link=self.link))
        self.before[feed] = now
        self.total = self.outcome.signals.get(FLAPS.key)
        self.held = {finding.why for finding in self.outcome.findings if finding.holds}
        return self


def flapping(times: int, every_s: float, start_s: float = 0.0) -> Watch:
    """A port that went down so often, a pass up and a pass down each."""
    watch = Watch().see(start_s, ib_state=4)
    for number in range(times):
        watch.see(start_s + (number + 1) * every_s - 5.0, ib_state=1).see(start_s + (number + 1) * every_s, ib_state=4)
    return watch


@pytest.mark.parametrize(("link", "key", "up", "down"), [
    (PORT, "ib_state", 4, 1), (PORT, "ib_state", 4, 2), (ROCE, "ib_state", 4, 1), (NVLINK, "nvlink_state", 1, 0),
    (NVLINK, "nvlink_state", 2, 0), (ETHERNET, "eth_carrier", 1, 0),
])  # fmt: skip
def test_a_link_that_leaves_its_up_state_flapped(link: Link, key: str, up: int, down: int) -> None:
    """By each fabric's own meaning of up; coming back is no second flap."""
    watch = Watch(link).see(0.0, **{key: up}).see(5.0, **{key: down}).see(10.0, **{key: up})

    assert watch.total == 1


@pytest.mark.parametrize(("link", "key", "states"), [
    (PORT, "ib_state", (4, 5, 4)), (PORT, "ib_state", (1, 2, 3, 4)), (NVLINK, "nvlink_state", (1, 2, 1, 3, 1)),
])  # fmt: skip
def test_sleep_training_and_recovery_are_no_flaps(link: Link, key: str, states: tuple[int, ...]) -> None:
    """A link that defers, sleeps, or comes up from below did not go down."""
    watch = Watch(link)
    for position, state in enumerate(states):
        watch.see(position * 5.0, **{key: state})

    assert watch.total == 0


@pytest.mark.parametrize(("values", "more", "flaps"), [
    ({"ib_link_downed": 7}, {"ib_link_downed": 9}, 2), ({"eth_carrier_downs": 1}, {"eth_carrier_downs": 2}, 1),
    ({"eth_carrier_changes": 3}, {"eth_carrier_changes": 7}, 2), ({"events": 0}, {"events": 4}, 4),
    ({"nvlink_downs": 0}, {"nvlink_downs": 1}, 1),
])  # fmt: skip
def test_counters_see_what_no_poll_saw(values: dict, more: dict, flaps: int) -> None:
    """A link that was up at every pass, and went down between them; two carrier changes are one flap."""
    watch = Watch().see(0.0, "errors", **values).see(15.0, "errors", **more)

    assert watch.total == flaps


def test_the_first_sight_of_255_is_history() -> None:
    """An 8-bit counter that stands at its end since last year accuses nobody (leptonai/gpud#943)."""
    watch = Watch().see(0.0, "errors", ib_link_downed=255).see(15.0, "errors", ib_link_downed=255)

    assert (watch.total, watch.held) == (0, set())


def test_a_reset_is_no_flap() -> None:
    """Somebody cleared the counters, or the driver was loaded anew."""
    watch = Watch().see(0.0, "errors", ib_link_downed=200).see(15.0, "errors", ib_link_downed=0)

    assert watch.total == 0


def test_one_flap_seen_by_all_counts_once() -> None:
    """State, carrier and three counters tell of it at different passes."""
    watch = Watch(ROCE).see(0.0, ib_state=4).see(1.0, "errors", ib_link_downed=3)
    watch.see(2.0, "net", eth_carrier=1, eth_carrier_downs=8, eth_carrier_changes=16, events=8)
    watch.see(5.0, ib_state=1).see(16.0, "errors", ib_link_downed=4)
    watch.see(17.0, "net", eth_carrier=0, eth_carrier_downs=9, eth_carrier_changes=17, events=9).see(20.0, ib_state=4)
    watch.see(32.0, "net", eth_carrier=1, eth_carrier_downs=9, eth_carrier_changes=18, events=9)

    assert watch.total == 1


def test_the_witness_that_saw_most_counts() -> None:
    """Three short flaps of which the poll caught one."""
    watch = Watch().see(0.0, ib_state=4).see(1.0, "errors", ib_link_downed=0)
    watch.see(5.0, ib_state=1).see(10.0, ib_state=4).see(16.0, "errors", ib_link_downed=3)

    assert watch.total == 3


def test_witnesses_of_different_flaps_add_up() -> None:
    """One that only the state saw, and one that only the counter saw, ten minutes apart."""
    watch = flapping(1, 10.0).see(11.0, "errors", ib_link_downed=0).see(600.0, "errors", ib_link_downed=0)
    watch.see(615.0, "errors", ib_link_downed=1)

    assert watch.total == 2


def test_a_slow_counter_speaks_of_the_flap_that_the_state_saw() -> None:
    """Errors read every five minutes tell of a flap long after it; it is the same one."""
    watch = Watch().see(0.0, "errors", ib_link_downed=0).see(1.0, ib_state=4).see(6.0, ib_state=1).see(11.0, ib_state=4)
    watch.see(300.0, "errors", ib_link_downed=1)

    assert watch.total == 1


def test_three_in_an_hour_are_flapping() -> None:
    """And not yet too many for a day."""
    watch = flapping(3, 600.0)

    assert (watch.total, watch.held) == (3, {Why.FLAPPING})
    assert "3 within 1 h" in watch.outcome.findings[0].evidence


def test_two_in_an_hour_are_not() -> None:
    """A pulled cable and a second try."""
    assert flapping(2, 600.0).held == set()


def test_flapping_clears_an_hour_after() -> None:
    """The total stays: it is a counter."""
    watch = flapping(3, 600.0).see(1800.0 + 3601.0, ib_state=4)

    assert (watch.total, watch.held) == (3, set())


def test_five_in_a_day_are_too_many() -> None:
    """Each hours from the next, so never flapping (Azure's node check counts so)."""
    assert flapping(5, 4 * 3600.0).held == {Why.FLAPS}


def test_four_in_a_day_are_not() -> None:
    """And a day later they are forgotten."""
    watch = flapping(4, 4 * 3600.0)
    assert watch.held == set()

    assert watch.see(48 * 3600.0, ib_state=1).held == set()


def test_a_pass_that_brings_no_witness_still_tells() -> None:
    """Which feed a pass is of must not clear a finding, nor end the series."""
    watch = flapping(3, 600.0).see(1801.0, "net", eth_speed=12.5e9)

    assert (watch.total, watch.held) == (3, {Why.FLAPPING})


def test_a_link_of_which_nobody_could_tell_has_no_count() -> None:
    """Absent, not zero."""
    assert Watch().see(0.0, "net", eth_speed=12.5e9).outcome == NOTHING


def test_a_feed_that_begins_changes_nothing_of_what_others_saw() -> None:
    """Its first pass has none before it."""
    watch = flapping(3, 600.0)

    assert watch.see(1805.0, "another", ib_state=4).held == {Why.FLAPPING}
    assert watch.total == 3


keys = st.sampled_from(("ib_state", "eth_carrier", "ib_link_downed", "eth_carrier_downs", "eth_carrier_changes", DOWN_EVENTS))
steps = st.lists(st.tuples(st.floats(-100.0, 1e5), st.dictionaries(keys, st.integers(0, 2**64), min_size=1)), max_size=15)


def _fold(sequence: Iterable[tuple[float, Mapping[SeriesKey, Number]]]) -> list[Outcome]:
    return folded(RULE, [(after_s, values, {}) for after_s, values in sequence])


@given(steps)
def test_any_passes_give_a_count_that_never_falls(sequence: list) -> None:
    """Resets, gaps, clocks that go back, missing keys: never an error, and the same passes give the same again."""
    outcomes = _fold(sequence)
    totals = [outcome.signals[FLAPS.key] for outcome in outcomes if outcome.signals]

    assert totals == sorted(totals)
    assert outcomes == _fold(sequence)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_growth_adds_up_over_adjoining_passes(grown: list[int]) -> None:
    """However a counter's growth is cut into passes, all of it is counted."""
    watch = Watch().see(0.0, "errors", ib_link_downed=10)
    for position, _ in enumerate(grown):
        watch.see(15.0 * (position + 1), "errors", ib_link_downed=10 + sum(grown[: position + 1]))

    assert watch.total == sum(grown)
