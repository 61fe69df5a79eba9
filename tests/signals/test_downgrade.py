"""Links that run slower or narrower than they should."""

from collections.abc import Mapping
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.signals import CAPACITY
from exporter.model.entity import Fabric, Link
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.signals.downgrade import INTERFACES, NVLINKS, PORTS, RULES
from exporter.signals.rule import Outcome, Rule
from tests.signals.passes import NVLINK, PORT, a_pass, seen

LANE = 12.5e9
NDR: Mapping[Role, Number] = {Role.CAPACITY: 50e9, Role.LANE_RATE: LANE, Role.WIDTH: 4}
H100: Mapping[Role, Number] = {Role.SIGNALLING_RATE: 26_562e6}
ETH = Link(Fabric.ETHERNET, "eth0", "1")


def _told(rule: Rule, numbers: Mapping[Role, Number], expected: Mapping[Role, Number], latest: Mapping[Role, Number] = {}) -> Outcome:
    link = {PORTS.name: PORT, NVLINKS.name: NVLINK}.get(rule.name, ETH)
    state, outcome = rule.step(None, a_pass(seen(numbers), link=link, expected=expected, latest=latest))
    assert state is None
    return outcome


def _holds(outcome: Outcome) -> dict[Why, bool | None]:
    return {finding.why: finding.holds for finding in outcome.findings}


def test_a_port_as_expected_has_its_whole_capacity() -> None:
    """1, and nothing to report."""
    assert _told(PORTS, NDR, NDR) == Outcome({CAPACITY.key: 1.0})


def test_slow_lanes_are_a_speed_downgrade() -> None:
    """All four lanes at HDR: half the capacity, the width as it was."""
    slow = {Role.CAPACITY: 25e9, Role.LANE_RATE: LANE / 2, Role.WIDTH: 4}
    finding = Finding(Why.SPEED_DOWNGRADE, holds=True, evidence="lanes run at 50 Gb/s instead of 100 Gb/s")

    assert _told(PORTS, slow, NDR) == Outcome({CAPACITY.key: 0.5}, (finding,))


def test_lost_lanes_are_a_width_downgrade() -> None:
    """One lane of four at full speed."""
    narrow = {Role.CAPACITY: 12.5e9, Role.LANE_RATE: LANE, Role.WIDTH: 1}
    finding = Finding(Why.WIDTH_DOWNGRADE, holds=True, evidence="1 lanes instead of 4")

    assert _told(PORTS, narrow, NDR) == Outcome({CAPACITY.key: 0.25}, (finding,))


def test_both_are_told_apart() -> None:
    """Each reason by itself."""
    assert _holds(_told(PORTS, {Role.CAPACITY: 12.5e9, Role.LANE_RATE: LANE / 2, Role.WIDTH: 2}, NDR)) == {
        Why.SPEED_DOWNGRADE: True, Why.WIDTH_DOWNGRADE: True,
    }  # fmt: skip


def test_a_rate_within_rounding_is_none() -> None:
    """99.5 % of the expected is the expected."""
    assert _told(PORTS, {**NDR, Role.LANE_RATE: LANE * 0.995}, NDR) == Outcome({CAPACITY.key: 0.995})


def test_a_faster_link_than_expected_is_no_fault() -> None:
    """An upgrade before anybody told us."""
    assert _told(PORTS, {**NDR, Role.LANE_RATE: 2 * LANE, Role.CAPACITY: 100e9}, NDR) == Outcome({CAPACITY.key: 2.0})


def test_a_port_that_names_no_lanes_is_judged_by_its_data_rate() -> None:
    """Some drivers print a rate alone, and an operator may expect a rate alone."""
    finding = Finding(Why.SPEED_DOWNGRADE, holds=True, evidence="can carry 200 Gb/s instead of 400 Gb/s")
    told = _told(PORTS, {Role.CAPACITY: 25e9}, {Role.CAPACITY: 50e9})

    assert told.signals == {CAPACITY.key: 0.5}
    assert finding in told.findings


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_without_an_expectation_nothing_can_be_told(rule: Rule) -> None:
    """Nothing is raised, and what was raised while somebody knew is not cleared."""
    told = _told(rule, {**NDR, **H100, Role.SPEED: 1.25e9}, {})

    assert (told.signals, _holds(told)) == ({}, dict.fromkeys(rule.reasons))


def test_an_nvlink_is_judged_by_its_signalling_rate() -> None:
    """H100 at the rate of its predecessor."""
    finding = Finding(Why.SPEED_DOWNGRADE, holds=True, evidence="signals at 206.2 Gb/s instead of 212.5 Gb/s")
    told = _told(NVLINKS, {Role.SIGNALLING_RATE: 25_781e6}, H100, {Role.STATE: 1})

    assert told.findings == (finding,)
    assert _told(NVLINKS, H100, H100, {Role.STATE: 1}) == Outcome({CAPACITY.key: 1.0})


@pytest.mark.parametrize("latest", [{Role.POWER_STATE: 1}, {Role.STATE: 2}, {Role.STATE: 3}])
def test_an_nvlink_that_saves_power_or_carries_nothing_cannot_be_judged(latest: Mapping[Role, Number]) -> None:
    """Low power is no downgrade; neither does it clear one."""
    told = _told(NVLINKS, {Role.SIGNALLING_RATE: 1e9}, H100, latest)

    assert told == Outcome(findings=(Finding(Why.SPEED_DOWNGRADE, holds=None),))


def test_an_interface_is_judged_by_its_speed() -> None:
    """10 of 25 Gb/s."""
    finding = Finding(Why.SPEED_DOWNGRADE, holds=True, evidence="runs at 10 Gb/s instead of 25 Gb/s")

    assert _told(INTERFACES, {Role.SPEED: 1.25e9}, {Role.SPEED: 3.125e9}) == Outcome({CAPACITY.key: 0.4}, (finding,))


def test_a_port_that_is_down_concerns_no_rule() -> None:
    """It brings no data rate (a default would lie: linux-rdma/rdma-core#847), so that what was raised stays."""
    assert not any(rule.needs <= {Role.STATE, Role.PHYSICAL_STATE} for rule in RULES)


numbers = st.one_of(st.integers(-5, 2**70), st.floats())
ROLES = [Role.CAPACITY, Role.LANE_RATE, Role.WIDTH, Role.SPEED, Role.SIGNALLING_RATE, Role.POWER_STATE]


@given(st.sampled_from(RULES), st.dictionaries(st.sampled_from(ROLES), numbers), st.dictionaries(st.sampled_from(ROLES), numbers))
def test_no_numbers_raise_and_ratios_are_finite(rule: Rule, present: dict[Role, Number], expected: dict[Role, Number]) -> None:
    """Junk costs its own judgement; twice the same is the same."""
    told = _told(rule, present, expected)

    assert told == _told(rule, present, expected)
    assert all(isfinite(ratio) and ratio >= 0 for ratio in told.signals.values())
    assert all(finding.evidence for finding in told.findings if finding.holds)
