"""Errors that PCIe functions report: those that nothing mends, and those that are mended, by what the link may have."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog import pcie
from exporter.model.entity import Fabric, Link
from exporter.model.health import Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.pcie_errors import RULE
from exporter.signals.rule import NOTHING, Outcome, State
from tests.signals.passes import a_pass, read

LINK = Link(Fabric.PCIE, "mlx5_0", "upstream")
EVERY_S = 15.0
GEN5: Mapping[SeriesKey, Number] = {pcie.SPEED.key: 32e9, pcie.WIDTH.key: 16}
IDLE: Mapping[SeriesKey, Number] = {pcie.SPEED.key: 2.5e9, pcie.WIDTH.key: 16}
GEN1_X1: Mapping[SeriesKey, Number] = {pcie.SPEED.key: 2.5e9, pcie.WIDTH.key: 1}
FULL: Mapping[Role, Number] = {Role.LANE_RATE: 32e9, Role.WIDTH: 16}
PERMITTED_PER_S = 1e-12 * 32e9 * 16
CORRECTED = (*((pcie.ERRORS.key, "correctable", kind) for kind in sorted(pcie.AER_KINDS["correctable"])),
             (pcie.ERRORS.key, "correctable", "other"))  # fmt: skip
LOST = ((pcie.ERRORS.key, "nonfatal", "CmpltTO"), (pcie.ERRORS.key, "nonfatal", "other"), (pcie.ERRORS.key, "fatal", "other"))
BAD_TLP, ADVISORY = CORRECTED[1], CORRECTED[-1]


class Wire:
    """A PCIe link and its passes, 15 s apart."""

    def __init__(self, link: Mapping[SeriesKey, Number] = GEN5, expected: Mapping[Role, Number] = {}) -> None:
        self.link, self.expected = link, expected
        self.counts: dict[SeriesKey, Number] = dict.fromkeys((*CORRECTED, *LOST), 0)
        self.now_s = 5000.0
        self.state: State = None
        self.outcome = NOTHING
        self._before = read({**link, **self.counts}, self.now_s)

    def play(self, seconds: float, grown: Mapping[SeriesKey, Number] = {}) -> "Wire":
        """So long passes, each with so many errors more; each pass is judged."""
        for _ in range(round(seconds / EVERY_S)):
            self.now_s += EVERY_S
            for key, count in grown.items():
                self.counts[key] += count
            now = read({**self.link, **self.counts}, self.now_s)
            self.state, self.outcome = RULE.step(self.state, a_pass(now, self._before, link=LINK, expected=self.expected))
            self._before = now
        return self

    def drip(self, seconds: float, per_s: float, key: SeriesKey = BAD_TLP) -> "Wire":
        """Errors of one kind at that rate, whole ones."""
        begin, begin_s = self.counts[key], self.now_s
        while self.now_s < begin_s + seconds:
            due = begin + int((self.now_s + EVERY_S - begin_s) * per_s)
            self.play(EVERY_S, {key: due - self.counts[key]})
        return self

    @property
    def holds(self) -> dict[Why, bool | None]:
        """What the last pass found."""
        return {finding.why: finding.holds for finding in self.outcome.findings}

    @property
    def evidence(self) -> str:
        """Of its first finding."""
        return self.outcome.findings[0].evidence


def test_a_link_that_reports_nothing_is_not_remembered() -> None:
    """So it may rest; what was counted at first sight is history."""
    wire = Wire()
    wire.counts[BAD_TLP] = 10**9
    wire._before = read({**GEN5, **wire.counts}, wire.now_s)
    wire.play(600)

    assert (wire.state, wire.outcome) == (None, NOTHING)


@pytest.mark.parametrize(("key", "words"), [*zip(LOST, ("nonfatal CmpltTO", "nonfatal", "fatal"), strict=True)])
def test_one_error_that_pcie_cannot_correct_is_found_and_counts_for_ten_minutes(key: SeriesKey, words: str) -> None:
    """Then nothing is remembered."""
    wire = Wire().play(EVERY_S, {key: 1})

    assert wire.holds == {Why.PCIE_LOST: True}
    assert wire.evidence == f"1 errors within 10 min that PCIe cannot correct, the last of them {words}"
    assert wire.play(480).holds == {Why.PCIE_LOST: True}
    assert (wire.play(120).state, wire.outcome) == (None, NOTHING)


@pytest.mark.parametrize("link", [GEN5, GEN1_X1], ids=["32 GT/s x16", "2.5 GT/s x1"])
def test_what_the_specification_permits_is_no_finding_however_long(link: Mapping[SeriesKey, Number]) -> None:
    """31 a minute on the one link, nine an hour on the other (NVIDIA/DCGM#184)."""
    permitted_per_s = 1e-12 * float(link[pcie.SPEED.key]) * float(link[pcie.WIDTH.key])

    assert Wire(link).drip(3 * 3600, 0.9 * permitted_per_s).holds == {}


@pytest.mark.parametrize("link", [GEN5, GEN1_X1], ids=["32 GT/s x16", "2.5 GT/s x1"])
def test_more_than_that_for_an_hour_is_found(link: Mapping[SeriesKey, Number]) -> None:
    """At twice the permitted rate after half an hour; the windows reach back eleven twelfths of their length, at least."""
    permitted_per_s = 1e-12 * float(link[pcie.SPEED.key]) * float(link[pcie.WIDTH.key])
    wire = Wire(link).drip(1500, 2 * permitted_per_s)

    assert wire.holds == {}
    assert wire.drip(2700, 2 * permitted_per_s).holds.get(Why.PCIE_ERRORS, False)


def test_the_evidence_has_the_numbers_that_decided() -> None:
    """How many, of which kind, per bit of this link, and what is too much."""
    wire = Wire().drip(600, 10 * PERMITTED_PER_S)

    assert wire.holds == {Why.PCIE_ERRORS: True}
    assert "corrected errors within 1 h, the last of them BadTLP: 1.7e-12 per bit at 512 Gb/s; 1.0e-12 is too much" in wire.evidence


def test_it_ends_five_minutes_after_the_errors_do() -> None:
    """Though the hour still has them."""
    wire = Wire().drip(600, 10 * PERMITTED_PER_S).play(300)

    assert wire.holds == {}
    assert wire.state is not None
    assert wire.play(3600).state is None


def test_a_burst_is_no_rate() -> None:
    """Fewer than an hour may have, all at once."""
    assert Wire().play(EVERY_S, {BAD_TLP: 1800}).holds == {}


def test_errors_of_software_prove_nothing() -> None:
    """Advisory errors, as a request to a function that is not there."""
    assert Wire().play(3600, {ADVISORY: 10_000}).holds == {}


def test_one_packet_that_is_counted_twice_counts_once() -> None:
    """A bad packet is a receiver's error as well: the most of one kind counts, not the sum."""
    both = {CORRECTED[0]: 6, BAD_TLP: 6}

    assert Wire().play(3 * 3600, both).holds == {}


def test_an_idle_gpu_that_slows_its_link_is_judged_by_what_it_can() -> None:
    """What was counted before was counted at full speed."""
    wire = Wire(GEN5, FULL).drip(3600, 0.9 * PERMITTED_PER_S)
    wire.link = IDLE
    wire._before = read({**IDLE, **wire.counts}, wire.now_s)

    assert wire.drip(300, 0.5 * PERMITTED_PER_S).holds == {}


def test_above_32_gt_per_second_corrected_errors_are_not_judged() -> None:
    """There packets are sent again on purpose; what cannot be corrected is an error all the same."""
    wire = Wire({**GEN5, pcie.SPEED.key: 64e9}).play(3600, {BAD_TLP: 10_000})

    assert wire.holds == {}
    assert wire.play(EVERY_S, {LOST[2]: 1}).holds == {Why.PCIE_LOST: True}


def test_without_speed_or_width_nobody_can_tell() -> None:
    """What was raised before stays."""
    assert Wire({pcie.WIDTH.key: 16}).play(3600, {BAD_TLP: 10_000}).holds == {Why.PCIE_ERRORS: None}
    assert Wire({}, FULL).play(3600, {BAD_TLP: 10_000}).holds == {Why.PCIE_ERRORS: True}


def test_counters_that_start_anew_bring_no_errors() -> None:
    """A card that was reset."""
    wire = Wire().play(EVERY_S, {LOST[2]: 5}).play(1200)
    wire.counts[LOST[2]] = 1

    assert (wire.play(EVERY_S).state, wire.outcome) == (None, NOTHING)


counts = st.one_of(st.integers(-5, 2**70), st.floats())
passes = st.lists(
    st.tuples(
        st.floats(-100, 5000),
        st.dictionaries(st.sampled_from((*CORRECTED, *LOST, pcie.SPEED.key, pcie.WIDTH.key)), counts),
    ),
    max_size=6,
)


@given(passes, st.dictionaries(st.sampled_from([Role.LANE_RATE, Role.WIDTH]), counts))
def test_no_numbers_raise(story: list[tuple[float, dict[SeriesKey, Number]]], expected: dict[Role, Number]) -> None:
    """Twice the same is the same, and what is found has evidence."""
    told: list[list[Outcome]] = []
    for _ in range(2):
        state: State = None
        before, now_s = None, 1000.0
        told.append([])
        for step_s, values in story:
            now_s += step_s
            now = read(values, now_s)
            state, outcome = RULE.step(state, a_pass(now, before, link=LINK, expected=expected))
            before = now
            told[-1].append(outcome)

    assert told[0] == told[1]
    assert all(bool(finding.evidence) is bool(finding.holds) for outcome in told[0] for finding in outcome.findings)
