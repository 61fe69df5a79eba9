"""Whether a NIC still reaches its GPUs without the CPU."""

from itertools import product

import pytest

from exporter.catalog.gpudirect import AVAILABLE, EXPECTED, REQUIREMENT
from exporter.model.health import Finding, Why
from exporter.signals.gpudirect import OFF_S, Facts, Kept, available, facts_in, step

WELL = Facts(software=True, path=True, acs_off=None)
OFF = Facts(software=False, path=True, acs_off=None)
UNTOLD = (Finding(Why.GPUDIRECT_OFF, holds=None),)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (WELL, True),
        (WELL._replace(acs_off=True), True),
        (OFF, False),
        (WELL._replace(acs_off=False), False),
        (WELL._replace(path=False), False),
        (WELL._replace(software=None), None),
        (WELL._replace(path=None), None),
        (Facts(), None),
    ],
)
def test_what_is_known_not_to_be_met_decides_and_acs_may_be_unknown(*, facts: Facts, said: bool | None) -> None:
    """Only root is told of ACS; a container may hide the modules, a virtual machine the path: unknown, not off."""
    assert available(facts) is said


def test_the_facts_are_those_of_a_reading() -> None:
    """A missing key is a fact that cannot be told."""
    assert facts_in({(REQUIREMENT.key, "software"): 1, (REQUIREMENT.key, "acs_off"): 0}) == Facts(software=True, acs_off=False)


def test_it_is_expected_once_it_was_available() -> None:
    """Before, nobody says that it should be; a module that never was there is no fault."""
    state, before = step(None, OFF, 0.0)
    state, during = step(state, WELL, 15.0)
    _, after = step(state, OFF, 30.0)

    assert (before.signals, before.findings) == ({EXPECTED.key: 0, AVAILABLE.key: 0}, ())
    assert during.signals == {EXPECTED.key: 1, AVAILABLE.key: 1}
    assert after.signals == {EXPECTED.key: 1, AVAILABLE.key: 0}


def test_it_is_found_off_after_ten_minutes() -> None:
    """A module is loaded anew within minutes of an upgrade; the finding says what lacks."""
    state, _ = step(None, WELL, 0.0)
    state, at_once = step(state, OFF, 15.0)
    state, nearly = step(state, OFF, 14.0 + OFF_S)
    state, found = step(state, OFF, 15.0 + OFF_S)
    _, clear = step(state, WELL, 30.0 + OFF_S)

    assert at_once.findings == nearly.findings == clear.findings == ()
    evidence = "for 10 min: neither nvidia-peermem is loaded nor DMA-BUF supported"
    assert found.findings == (Finding(Why.GPUDIRECT_OFF, holds=True, evidence=evidence),)


def test_each_lacking_requirement_is_named() -> None:
    """All of them in one line."""
    _, told = step(Kept(was_available=True, off_since_s=0.0), Facts(software=False, path=False, acs_off=False), OFF_S)

    assert told.findings[0].evidence == (
        "for 10 min: neither nvidia-peermem is loaded nor DMA-BUF supported, no GPU is behind its PCIe switches, "
        "ACS of a PCIe switch redirects its requests to the CPU"
    )


def test_what_cannot_be_told_neither_raises_nor_clears() -> None:
    """The wait goes on where it was."""
    state, _ = step(None, WELL, 0.0)
    state, _ = step(state, OFF, 15.0)
    state, told = step(state, Facts(), 20.0)
    _, found = step(state, OFF, 15.0 + OFF_S)

    assert (told.signals, told.findings) == ({EXPECTED.key: 1}, UNTOLD)
    assert [finding.holds for finding in found.findings] == [True]


@pytest.mark.parametrize(("configured", "expected"), [(True, 1), (False, 0)])
def test_a_configured_expectation_comes_before_experience(*, configured: bool, expected: int) -> None:
    """Either way."""
    state = Kept(was_available=not configured, off_since_s=0.0)
    _, told = step(state, OFF, OFF_S, configured=configured)

    assert (told.signals[EXPECTED.key], len(told.findings)) == (expected, expected)


def test_a_time_that_went_back_starts_the_wait_anew() -> None:
    """Never a wait of minutes within one look."""
    state, told = step(Kept(was_available=True, off_since_s=9e9), OFF, 100.0)

    assert (state.off_since_s, told.findings) == (100.0, ())


def test_every_combination_is_told_and_told_the_same_again() -> None:
    """Whatever was before and is now."""
    for facts in (Facts(*each) for each in product((True, False, None), repeat=3)):
        for state in (None, Kept(), Kept(was_available=True, off_since_s=0.0), Kept(was_available=True, off_since_s=1e12)):
            for configured in (True, False, None):
                told = step(state, facts, 700.0, configured=configured)
                assert told == step(state, facts, 700.0, configured=configured)
                assert all(bool(finding.evidence) == bool(finding.holds) for finding in told[1].findings)
