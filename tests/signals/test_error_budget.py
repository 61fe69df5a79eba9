"""Errors per bit against the budget of a link: what raises, what clears, and what must not accuse it."""

import math
from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.signals import ERROR_RATIO
from exporter.model.entity import Fabric, Link
from exporter.model.health import Unknown, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.error_budget import RULE
from exporter.signals.rule import Outcome, State
from tests.signals.passes import DEFAULTS, PORT, a_pass, read
from tests.signals.replay import folded

NDR, EDR = 50e9, 12.5e9
ROCE = Link(Fabric.ROCE, "mlx5_2", "1")
SYMBOLS, PACKETS, REMOTE, DOWNS = "ib_symbol_error", "ib_errors_received", "ib_remote_physical_errors", "ib_link_downed"
FULL: SeriesKey = ("ib_saturated", "symbol_error")
CLEAN: Mapping[SeriesKey, Number] = {SYMBOLS: 7, PACKETS: 3, REMOTE: 0, DOWNS: 255}


class Port:
    """A port read again and again; numbers that are not said stay. `capacity` None while it is down."""

    def __init__(self, values: Mapping[SeriesKey, Number] = CLEAN, *, link: Link = PORT, capacity: float | None = NDR) -> None:
        self.values = dict(values)
        self.link, self.capacity = link, capacity
        self.now_s = 0.0
        self.state: State = None
        self.before = None
        self.look(0.0)

    def look(self, after_s: float = 15.0, **more: Number) -> Outcome:
        """One pass that long after the one before, with that much more in some counters."""
        self.now_s += after_s
        for key, count in more.items():
            self.values[key] += count
        now = read(self.values, self.now_s)
        latest = {} if self.capacity is None else {Role.CAPACITY: self.capacity}
        self.state, outcome = RULE.step(self.state, a_pass(now, self.before, link=self.link, latest=latest))
        self.before = now
        return outcome

    def looks(self, count: int, after_s: float = 15.0, **more: Number) -> Outcome:
        """The same many times; the last outcome."""
        return [self.look(after_s, **more) for _ in range(count)][-1]


def held(outcome: Outcome) -> set[Why]:
    """Reasons that hold."""
    return {finding.why for finding in outcome.findings if finding.holds}


def unsure(outcome: Outcome) -> set[Why]:
    """Reasons that could not be told."""
    return {finding.why for finding in outcome.findings if finding.holds is None}


def test_a_clean_link_has_a_ratio_of_zero_and_no_finding() -> None:
    """What its counters held at first sight is history."""
    assert Port().looks(5) == Outcome({ERROR_RATIO.key: 0.0})


def test_the_first_minute_clears_nothing() -> None:
    """A program that just started cannot say that a link is well."""
    assert unsure(Port().looks(3)) == {Why.ERROR_BUDGET, Why.ERROR_TREND}


def test_a_storm_is_found_in_its_first_pass() -> None:
    """A hundred errors a second on a link watched for hours: far over both windows after 15 s."""
    port = Port()
    port.looks(8 * 60, 60.0)

    assert Why.ERROR_BUDGET in held(port.look(ib_symbol_error=1500))


def test_a_storm_is_found_within_a_minute_of_a_start() -> None:
    """Windows that are not full divide by what was seen, so a fresh start is no blindness: a third of an error a second at NDR."""
    assert Why.ERROR_BUDGET in held(Port().looks(4, ib_symbol_error=5))


def test_the_evidence_names_count_ratio_and_rate() -> None:
    """One line that a person can check by hand."""
    port = Port()
    port.looks(120, 60.0)
    outcome = port.look(ib_symbol_error=1500)

    evidence = next(finding.evidence for finding in outcome.findings if finding.why is Why.ERROR_BUDGET)
    assert evidence.startswith("1500 errors within 1 h, ")
    assert "per bit at 400 Gb/s" in evidence


def test_the_ratio_is_errors_per_bit_of_the_hour() -> None:
    """At the rate of the link: 144 errors in a full hour of NDR are 1e-13."""
    port = Port()
    port.looks(120, 60.0)
    port.look(60.0, ib_symbol_error=144)

    seen_s = port.state[0].windows[1].covered_s(port.now_s)
    assert math.isclose(144 / (NDR * 8 * seen_s), port.look(0.001).signals[ERROR_RATIO.key], rel_tol=1e-3)
    assert 3300 <= seen_s <= 3600


def test_a_storm_that_ended_clears_within_five_minutes() -> None:
    """The short window lets go long before the hour does; the trend keeps what it saw."""
    port = Port()
    port.looks(120, 60.0)
    port.looks(10, ib_symbol_error=1500)

    assert held(port.looks(21)) == {Why.ERROR_TREND}


def test_a_slow_drip_is_a_trend_and_no_page() -> None:
    """Twice the budget of NDR for a day: three errors an hour."""
    port = Port()
    outcomes = [port.look(1200.0, ib_symbol_error=1) for _ in range(72)]

    assert held(outcomes[-1]) == {Why.ERROR_TREND}
    assert not any(Why.ERROR_BUDGET in held(outcome) for outcome in outcomes)


def test_a_trend_that_stopped_clears_within_six_hours() -> None:
    """The three days still hold it, the quarter of a day does not."""
    port = Port()
    port.looks(72, 1200.0, ib_symbol_error=1)

    assert not held(port.looks(19, 1200.0))
    assert port.state[0].total(3, port.now_s) == 72


def test_packets_are_forgotten_once_symbols_are_counted() -> None:
    """A driver that shows its symbol counter late: what it said of packets before is not held against the link."""
    port = Port({PACKETS: 0})
    port.looks(20, ib_errors_received=1000)
    port.values[SYMBOLS] = 0

    assert not held(port.looks(6))


def test_errors_within_the_budget_raise_nothing() -> None:
    """A third of the budget at NDR for a week: one error in two hours."""
    port = Port()

    assert not any(held(port.look(7200.0, ib_symbol_error=1)) for _ in range(84))


def test_few_errors_never_count() -> None:
    """On a slow link one error is far over any ratio; fewer than errors_min are no pattern."""
    port = Port(capacity=EDR)
    port.looks(120, 60.0)

    assert not held(port.look(ib_symbol_error=DEFAULTS.errors_min - 1))


def test_thresholds_scale_with_the_rate() -> None:
    """Twelve errors within the hour are too many for EDR and allowed at NDR."""
    slow, quick = Port(capacity=EDR), Port(capacity=NDR)
    slow.looks(120, 60.0)
    quick.looks(120, 60.0)

    assert Why.ERROR_BUDGET in held(slow.look(ib_symbol_error=12))
    assert Why.ERROR_BUDGET not in held(quick.look(ib_symbol_error=12))


def test_forwarded_errors_do_not_accuse_this_link() -> None:
    """Remote physical errors happened farther away."""
    assert not held(Port().looks(20, ib_remote_physical_errors=1000))


def test_symbols_are_judged_where_they_are_counted() -> None:
    """Bad packets count only for a link of which no symbol errors are known."""
    assert not held(Port().looks(20, ib_errors_received=1000))
    assert Why.ERROR_BUDGET in held(Port({PACKETS: 0}).looks(20, ib_errors_received=1000))


def test_errors_of_training_are_none_of_the_link() -> None:
    """A link that went down and up between two passes lost symbols while it trained."""
    port = Port({**CLEAN, DOWNS: 3})
    port.looks(10)

    assert not held(port.look(ib_symbol_error=50_000, ib_link_downed=1))


def test_errors_while_down_do_not_count() -> None:
    """Neither in the pass that finds it down, nor in the one that finds it up again."""
    port = Port()
    port.looks(10)
    port.capacity = None
    assert not held(port.look(ib_symbol_error=20_000))
    port.capacity = NDR

    assert not held(port.look(ib_symbol_error=20_000))


def test_without_a_rate_errors_just_seen_cannot_be_judged() -> None:
    """A link that went down in the middle of a storm is not cleared by that."""
    port = Port()
    port.looks(10, ib_symbol_error=1500)
    port.capacity = None
    outcome = port.look()

    assert ERROR_RATIO.key not in outcome.signals
    assert Why.ERROR_BUDGET in unsure(outcome)


def test_a_reset_adds_nothing() -> None:
    """Somebody cleared the counters: no negative, no giant number."""
    port = Port({**CLEAN, SYMBOLS: 60_000})
    port.looks(10)

    assert port.look(ib_symbol_error=-59_990) == Outcome({ERROR_RATIO.key: 0.0})


def test_a_counter_at_its_ceiling_says_nothing() -> None:
    """It stopped counting: no ratio, no finding either way, and the health of the link is unknown."""
    port = Port({**CLEAN, SYMBOLS: 65_535, FULL: 1})
    outcome = port.looks(10)

    assert outcome.unknown is Unknown.SATURATED
    assert ERROR_RATIO.key not in outcome.signals
    assert unsure(outcome) == {Why.ERROR_BUDGET, Why.ERROR_TREND}


def test_a_storm_that_filled_the_counter_is_still_found() -> None:
    """At least so many errors happened, whatever came after."""
    port = Port()
    port.looks(10)
    port.values[FULL] = 1

    assert Why.ERROR_BUDGET in held(port.look(ib_symbol_error=65_528))


def test_a_full_counter_of_another_kind_does_not_matter() -> None:
    """A pinned port_xmit_wait is a matter of congestion."""
    assert Port({**CLEAN, ("ib_saturated", "port_xmit_wait"): 1}).looks(5) == Outcome({ERROR_RATIO.key: 0.0})


def test_a_gap_counts_in_no_shorter_window() -> None:
    """A hundred errors within an unwatched hour need not have come in the last five minutes."""
    port = Port()
    port.looks(10)

    assert Why.ERROR_BUDGET not in held(port.look(3500.0, ib_symbol_error=100))


def test_two_sources_of_one_port_are_not_added_up() -> None:
    """A RoCE port's symbols are counted by its RDMA device and by its interface: eight each are eight, not sixteen."""
    rdma: dict[SeriesKey, Number] = {SYMBOLS: 0, PACKETS: 0}
    ethernet: dict[SeriesKey, Number] = {"eth_symbol_errors": 0, ("eth_events", "rx_errors"): 0}
    state: State = None
    before = read(rdma, 0.0), read(ethernet, 1.0)
    outcome = Outcome()
    for step in range(20):
        if step == 19:
            rdma, ethernet = {**rdma, SYMBOLS: 8}, {**ethernet, "eth_symbol_errors": 8}
        after = read(rdma, step * 60.0 + 60.0), read(ethernet, step * 60.0 + 61.0)
        for was, now in zip(before, after, strict=True):
            state, outcome = RULE.step(state, a_pass(now, was, link=ROCE, latest={Role.CAPACITY: EDR}))
        before = after

    assert [one.total(1, 1201.0) for one in state] == [8, 8]
    assert not held(outcome)


def test_what_was_counted_holds_when_a_feed_begins() -> None:
    """Its first pass has none before it."""
    port = Port()
    port.looks(20, ib_symbol_error=1500)
    port.before = None

    assert Why.ERROR_BUDGET in held(port.look())


def test_a_clean_link_keeps_the_same_state() -> None:
    """Nothing is built anew for a link that is well."""
    port = Port()
    port.looks(10)
    kept = port.state
    port.looks(10)

    assert port.state is kept


steps = st.lists(
    st.tuples(
        st.floats(-100.0, 1e6),
        st.dictionaries(st.sampled_from((SYMBOLS, PACKETS, DOWNS, FULL)), st.integers(0, 2**64), min_size=1),
        st.one_of(st.none(), st.floats(-1.0, 1e14)),
    ),
    max_size=12,
)


def _fold(sequence: Iterable[tuple[float, Mapping[SeriesKey, Number], float | None]]) -> list[Outcome]:
    passes = [(after_s, values, {} if capacity is None else {Role.CAPACITY: capacity}) for after_s, values, capacity in sequence]
    return folded(RULE, passes)


@given(steps)
def test_any_passes_give_finite_answers_and_the_same_ones_again(sequence: list) -> None:
    """Resets, gaps, clocks that go back, missing keys: never an error, never a ratio below zero."""
    outcomes = _fold(sequence)

    assert all(math.isfinite(value) and value >= 0 for outcome in outcomes for value in outcome.signals.values())
    assert outcomes == _fold(sequence)
