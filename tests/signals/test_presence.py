"""Whether a link that should be up is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.entity import Fabric, Link
from exporter.model.health import Finding, Unknown, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.signals.presence import INTERFACES, NVLINKS, PORTS, RULES
from exporter.signals.rule import NOTHING, Outcome, Rule
from tests.signals.passes import NVLINK, a_pass, seen

ETH = Link(Fabric.ETHERNET, "eth0", "1")
WANTED, UNWANTED = {Role.STATE: 1}, {Role.STATE: 0}
UNTOLD = Outcome(findings=(Finding(Why.DOWN, holds=None),), unknown=Unknown.NO_EXPECTATION)


def _told(rule: Rule, numbers: dict[Role, Number], expected: dict[Role, Number]) -> Outcome:
    state, outcome = rule.step(None, a_pass(seen(numbers), expected=expected, link=NVLINK if rule is NVLINKS else ETH))
    assert state is None
    return outcome


@pytest.mark.parametrize(
    ("rule", "numbers"),
    [
        (PORTS, {Role.STATE: 4, Role.PHYSICAL_STATE: 5}),
        (PORTS, {Role.STATE: 4}),
        (NVLINKS, {Role.STATE: 1}),
        (NVLINKS, {Role.STATE: 2}),
        (INTERFACES, {Role.CARRIER: 1}),
    ],
)
@pytest.mark.parametrize("expected", [WANTED, UNWANTED, {}])
def test_a_link_that_is_up_is_well_whatever_is_expected(rule: Rule, numbers: dict[Role, Number], expected: dict[Role, Number]) -> None:
    """A port whose physical state cannot be read is believed; an NVLink that sleeps is up."""
    assert _told(rule, numbers, expected) is NOTHING


@pytest.mark.parametrize(
    ("rule", "numbers", "evidence"),
    [
        (PORTS, {Role.STATE: 1, Role.PHYSICAL_STATE: 2}, "state down, physical state polling; it should be up"),
        (PORTS, {Role.STATE: 4, Role.PHYSICAL_STATE: 6}, "state active, physical state error recovery; it should be up"),
        (PORTS, {Role.STATE: 2, Role.PHYSICAL_STATE: 5},
         "state init (no subnet manager has set it up), physical state link up; it should be up"),
        (PORTS, {Role.STATE: 9}, "state 9; it should be up"),
        (NVLINKS, {Role.STATE: 0}, "state inactive; it should be up"),
        (NVLINKS, {Role.STATE: 7}, "state 7; it should be up"),
        (INTERFACES, {Role.CARRIER: 0}, "no carrier; it should be up"),
    ],
)  # fmt: skip
def test_an_expected_link_that_is_not_up_is_down_in_words(rule: Rule, numbers: dict[Role, Number], evidence: str) -> None:
    """The state as a person calls it."""
    assert _told(rule, numbers, WANTED) == Outcome(findings=(Finding(Why.DOWN, holds=True, evidence=evidence),))


@pytest.mark.parametrize(("rule", "role"), [(PORTS, Role.STATE), (NVLINKS, Role.STATE), (INTERFACES, Role.CARRIER)])
def test_a_link_that_is_down_and_of_which_nobody_knows_is_unknown(rule: Rule, role: Role) -> None:
    """Unprovisioned ports look so (NVIDIA/NVSentinel#1361). Nothing is raised; what was raised while somebody knew is not cleared."""
    assert _told(rule, {role: 0}, {}) == UNTOLD


@pytest.mark.parametrize(("rule", "role"), [(PORTS, Role.STATE), (NVLINKS, Role.STATE), (INTERFACES, Role.CARRIER)])
def test_a_link_that_should_not_be_up_may_be_down(rule: Rule, role: Role) -> None:
    """An unwired port of an H100 PCIe is well (Azure/azurehpc-health-checks#162)."""
    assert _told(rule, {role: 0}, UNWANTED) is NOTHING


def test_disabled_traffic_is_a_finding_of_its_own() -> None:
    """The link is up and no use: degraded, not down, whether or not somebody named it; not where nobody wants it."""
    disabled = (Finding(Why.TRAFFIC_DISABLED, holds=True, evidence="active, but the driver has disabled its traffic"),)

    assert _told(NVLINKS, {Role.STATE: 3}, WANTED).findings == _told(NVLINKS, {Role.STATE: 3}, {}).findings == disabled
    assert _told(NVLINKS, {Role.STATE: 3}, UNWANTED) is NOTHING


def test_each_fabric_has_one_rule() -> None:
    """A RoCE port has a netdev with carrier too: two rules about one reason would clear each other's findings."""
    fabrics = [fabric for rule in RULES for fabric in rule.fabrics]

    assert sorted(fabrics) == ["efa", "ethernet", "infiniband", "nvlink", "roce"]


@given(st.sampled_from(RULES), st.one_of(st.integers(), st.floats()), st.one_of(st.integers(), st.floats()), st.sampled_from([0, 1, 2, -1]))
def test_no_number_raises(rule: Rule, state: float, physical: float, expected: int) -> None:
    """Whatever a driver says; twice the same is the same."""
    numbers = {Role.STATE: state, Role.PHYSICAL_STATE: physical, Role.CARRIER: state}

    assert _told(rule, numbers, {Role.STATE: expected}) == _told(rule, numbers, {Role.STATE: expected})
