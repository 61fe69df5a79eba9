"""The table of rules: what must hold of all of them together."""

from itertools import combinations

import pytest

from exporter.catalog.conditions import CONDITIONS
from exporter.model.entity import Fabric
from exporter.model.health import Why
from exporter.signals.gpudirect import REASONS as DETOURS
from exporter.signals.rule import Rule
from exporter.signals.rules import RULES, without
from tests.signals.passes import a_pass, seen

OUTSIDE = {Why.MISSING, Why.FABRIC_UNHEALTHY, Why.SLOW_SIBLING, Why.SLOW_RAIL, *DETOURS}
"""Reasons that no pass of one link tells: engine, groups and runtime/health.py find them."""


def test_each_reason_is_some_rules_or_found_otherwise() -> None:
    """A reason without a rule would never be raised."""
    told = {why for rule in RULES for why in rule.reasons}

    assert told | OUTSIDE == set(CONDITIONS)
    assert told & OUTSIDE == set()


@pytest.mark.parametrize(("one", "other"), [pair for pair in combinations(RULES, 2) if set(pair[0].reasons) & set(pair[1].reasons)])
def test_two_rules_of_one_fabric_share_no_reason(one: Rule, other: Rule) -> None:
    """A pass that concerns one of them alone would clear what the other found."""
    assert one.fabrics
    assert other.fabrics
    assert one.fabrics & other.fabrics == frozenset()


def test_names_can_be_told_apart() -> None:
    """`make detection WITHOUT=NAME` leaves one out."""
    names = [rule.name for rule in RULES]

    assert len(names) == len(set(names))
    assert all(rule.fabrics <= {fabric.value for fabric in Fabric} for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_can_be_left_out(rule: Rule) -> None:
    """All others stay, in their order."""
    assert without(rule.name) == tuple(other for other in RULES if other is not rule)


def test_a_name_that_no_rule_has_is_refused_with_the_known_ones() -> None:
    """One line."""
    with pytest.raises(ValueError, match=r"no rule is called 'lod'; known: .*load"):
        without("lod")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_first_pass_raises_nothing(rule: Rule) -> None:
    """What counters hold at first sight is history. (A state is no counter: presence is told at once.)"""
    numbers = dict.fromkeys(rule.needs, 2**40)

    outcome = rule.step(None, a_pass(seen(numbers)))[1]
    assert [finding for finding in outcome.findings if finding.holds] == []
