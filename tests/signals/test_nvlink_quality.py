"""NVLink errors that go on or storm, and retraining: what raises, what clears, and what must not accuse a link."""

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.health import Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.nvlink_quality import ERRORS_RULE, KINDS, RECOVERIES_RULE
from exporter.signals.rule import NOTHING, Outcome, Rule, State
from tests.signals.passes import NVLINK, a_pass, read
from tests.signals.replay import folded

ERRORS, RECOVERIES = "nvlink_errors", "nvlink_recoveries"
HOPPER: Mapping[SeriesKey, Number] = {(ERRORS, "crc"): 12, (ERRORS, "replay"): 900, (RECOVERIES, "any"): 4}
BLACKWELL: Mapping[SeriesKey, Number] = {
    (ERRORS, "receive"): 5, (ERRORS, "receive_remote"): 6, (ERRORS, "effective"): 10**9, (ERRORS, "symbol"): 10**6,
    (ERRORS, "malformed_packet"): 0, (RECOVERIES, "successful"): 2, (RECOVERIES, "failed"): 1, (RECOVERIES, "any"): 3,
}  # fmt: skip


class Wire:
    """One NVLink, read again and again; numbers that are not said stay. `received` are its bytes."""

    def __init__(self, rule: Rule, values: Mapping[SeriesKey, Number] = HOPPER) -> None:
        self.rule, self.values = rule, dict(values)
        self.now_s, self.received = 1000.0, 0.0
        self.state: State = None
        self.before = None
        self.first = self.look(0.0)

    def look(self, after_s: float = 15.0, **more: Number) -> Outcome:
        """One pass that long after the one before, with that much more of some kinds or results."""
        self.now_s += after_s
        for label, count in more.items():
            self.values[RECOVERIES if (RECOVERIES, label) in self.values else ERRORS, label] += count
        now = read(self.values, self.now_s)
        asked = a_pass(now, self.before, link=NVLINK, latest={Role.RX_BYTES: self.received})
        self.state, outcome = self.rule.step(self.state, asked)
        self.before = now
        return outcome

    def drip(self, minutes: float, every_s: float = 60.0, **more: Number) -> Outcome:
        """Passes over so many minutes, each with that much more; the last outcome."""
        return [self.look(every_s, **more) for _ in range(round(minutes * 60 / every_s))][-1]


def held(outcome: Outcome) -> set[Why]:
    """Reasons that hold."""
    return {finding.why for finding in outcome.findings if finding.holds}


def unsure(outcome: Outcome) -> set[Why]:
    """Reasons that could not be told."""
    return {finding.why for finding in outcome.findings if finding.holds is None}


@pytest.mark.parametrize("rule", [ERRORS_RULE, RECOVERIES_RULE])
def test_a_clean_link_keeps_nothing_and_finds_nothing(rule: Rule) -> None:
    """What the counters held at first sight is history; of it nothing can be told, then nothing is found."""
    wire = Wire(rule)

    assert unsure(wire.first) == set(rule.reasons)
    assert (wire.look(), wire.state) == (NOTHING, None)


def test_errors_that_go_on_for_half_an_hour_are_found() -> None:
    """Two replays a minute."""
    wire = Wire(ERRORS_RULE)

    assert held(wire.drip(30, replay=2)) == {Why.NVLINK_ERRORS}


def test_fewer_than_one_a_minute_are_not() -> None:
    """Half as many, for two hours."""
    assert not held(Wire(ERRORS_RULE).drip(120, every_s=120.0, replay=1))


def test_one_burst_does_not_go_on() -> None:
    """Four hundred errors at once, below a storm, then silence: the mean of half an hour is high, but it is over."""
    wire = Wire(ERRORS_RULE)
    outcomes = [wire.look(crc=400), *[wire.look() for _ in range(120)]]

    assert not any(held(outcome) for outcome in outcomes)


def test_a_storm_of_ten_minutes_is_found() -> None:
    """Fifty a second for ten minutes is below a storm's rate and shorter than half an hour, and far too much."""
    assert held(Wire(ERRORS_RULE).drip(10, every_s=15.0, crc=750)) == {Why.NVLINK_ERRORS}


def test_what_went_on_clears_within_half_an_hour() -> None:
    """And nothing is remembered then."""
    wire = Wire(ERRORS_RULE)
    wire.drip(40, replay=2)

    assert not held(wire.drip(31))
    assert wire.state is None


def test_errors_are_told_by_traffic_too() -> None:
    """As evidence: 122 errors in all while 2 TB came in; errors per time alone say nothing of size (NVIDIA/DCGM#184)."""
    wire = Wire(ERRORS_RULE)
    wire.look(60.0, replay=2)
    wire.received = 2e12
    outcome = wire.drip(30, replay=4)

    assert outcome.findings[0].evidence == "112 errors within 28 min, 61 per terabyte received"


def test_a_hundred_errors_a_second_are_a_storm() -> None:
    """In the pass that sees them."""
    outcome = Wire(ERRORS_RULE).look(crc=1490, replay=10)

    assert held(outcome) == {Why.NVLINK_ERROR_STORM}
    assert outcome.findings[0].evidence == "1500 errors in 15 s, 100 a second, most of them crc"


def test_a_storm_that_ended_is_clear_in_the_next_pass() -> None:
    """How long it stays a reason is the verdict's business."""
    wire = Wire(ERRORS_RULE)
    wire.look(crc=5000)

    assert wire.look() == Outcome()


def test_passes_in_quick_succession_make_no_storm_of_one_error() -> None:
    """A rate needs time."""
    assert not held(Wire(ERRORS_RULE).look(0.005, crc=1))


def test_every_kind_that_loses_or_repeats_a_packet_counts() -> None:
    """Blackwell's kinds as well as the older ones."""
    counted = {kind for kind in (*KINDS, "effective", "symbol", "receive_remote", "unheard_of")
               if held(Wire(ERRORS_RULE, {(ERRORS, kind): 0}).look(**{kind: 5000}))}  # fmt: skip

    assert counted == KINDS


def test_bits_symbols_and_remote_errors_do_not_count() -> None:
    """A well link has bit errors, and what happened farther away is not this link's."""
    assert Wire(ERRORS_RULE, BLACKWELL).look(effective=10**6, symbol=10**5, receive_remote=10**4) == NOTHING


def test_a_reset_tells_nothing() -> None:
    """A GPU reset starts counters anew: neither a storm nor its end (DCGM takes the difference's size and sees a burst)."""
    outcome = Wire(ERRORS_RULE).look(replay=-900)

    assert unsure(outcome) == {Why.NVLINK_ERRORS, Why.NVLINK_ERROR_STORM}


def test_a_missing_kind_costs_only_itself() -> None:
    """The driver stopped answering one question; the other kinds are judged on."""
    wire = Wire(ERRORS_RULE)
    del wire.values[ERRORS, "replay"]

    assert held(wire.look(crc=3000)) == {Why.NVLINK_ERROR_STORM}


def test_a_recovery_is_a_reason_for_ten_minutes() -> None:
    """Then it is not any more."""
    wire = Wire(RECOVERIES_RULE)
    assert held(wire.look(any=1)) == {Why.RECOVERY}
    assert held(wire.drip(9)) == {Why.RECOVERY}

    assert not held(wire.drip(2))


def test_three_recoveries_in_an_hour_are_too_many() -> None:
    """Also if they come far apart, and for as long as the hour remembers them."""
    wire = Wire(RECOVERIES_RULE)
    wire.look(any=1)
    wire.drip(20, any=0)
    assert held(wire.look(any=1)) == {Why.RECOVERY}
    wire.drip(20, any=0)
    assert held(wire.look(any=1)) == {Why.RECOVERY, Why.RECOVERIES}

    assert held(wire.drip(12)) == {Why.RECOVERIES}


def test_three_recoveries_in_two_hours_are_not() -> None:
    """A window of an hour, not a count for ever."""
    wire = Wire(RECOVERIES_RULE)
    wire.look(any=1)
    wire.drip(61, any=0)
    wire.look(any=1)
    wire.drip(30, any=0)

    assert held(wire.look(any=1)) == {Why.RECOVERY}


def test_one_failed_recovery_is_one_too_many() -> None:
    """The link could not be brought back; counted once though two results tell of it."""
    outcome = Wire(RECOVERIES_RULE, BLACKWELL).look(failed=1, any=1)

    assert held(outcome) == {Why.RECOVERY, Why.RECOVERIES}
    assert outcome.findings[1].evidence == "recoveries: 1 within 1 h, 1 of them failed"


def test_results_count_where_the_sum_is_missing() -> None:
    """A driver that tells successful ones only."""
    assert held(Wire(RECOVERIES_RULE, {(RECOVERIES, "successful"): 0}).look(successful=3)) == {Why.RECOVERY, Why.RECOVERIES}


def test_a_reset_after_recoveries_keeps_what_was_seen() -> None:
    """The reset itself is no recovery, and clears none."""
    wire = Wire(RECOVERIES_RULE)
    wire.look(any=1)
    outcome = wire.look(any=-5)

    assert (held(outcome), unsure(outcome)) == ({Why.RECOVERY}, {Why.RECOVERIES})


@pytest.mark.parametrize(("rule", "more", "why"), [
    (ERRORS_RULE, {"replay": 2}, Why.NVLINK_ERRORS), (RECOVERIES_RULE, {"any": 1}, Why.RECOVERIES),
])  # fmt: skip
def test_what_was_counted_holds_when_a_feed_begins(rule: Rule, more: dict, why: Why) -> None:
    """Its first pass has none before it."""
    wire = Wire(rule)
    wire.drip(30, **more)
    wire.before = None

    assert why in held(wire.look())


keys = st.sampled_from((*HOPPER, *BLACKWELL))
steps = st.lists(st.tuples(st.floats(-100.0, 1e5), st.dictionaries(keys, st.integers(0, 2**64), min_size=1)), max_size=15)


def _fold(rule: Rule, sequence: Iterable[tuple[float, Mapping[SeriesKey, Number]]]) -> list[Outcome]:
    passes = [(after_s, values, {Role.RX_BYTES: at}) for at, (after_s, values) in enumerate(sequence)]
    return folded(rule, passes, link=NVLINK)


@pytest.mark.parametrize("rule", [ERRORS_RULE, RECOVERIES_RULE])
@given(sequence=steps)
def test_any_passes_give_the_same_answers_again(rule: Rule, sequence: list) -> None:
    """Resets, gaps, clocks that go back, missing keys: never an error; what holds has evidence."""
    outcomes = _fold(rule, sequence)

    assert all(finding.evidence for outcome in outcomes for finding in outcome.findings if finding.holds)
    assert outcomes == _fold(rule, sequence)
