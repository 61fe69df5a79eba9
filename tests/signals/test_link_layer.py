"""Ports that speak another link layer than somebody configured."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.entity import Fabric, Link
from exporter.model.expected_ports import LinkLayer
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.signals.link_layer import RULE
from exporter.signals.rule import NOTHING, Outcome
from tests.signals.passes import a_pass, seen
from tests.signals.small_feeds import DOWN, PORT, UP, Player

ROCE = Link(Fabric.ROCE, "mlx5_8", "1")


def _told(link: Link, expected: Mapping[Role, Any], state: float = 4) -> Outcome:
    after, outcome = RULE.step(None, a_pass(seen({Role.STATE: state}), link=link, expected=expected))
    assert after is None
    return outcome


@pytest.mark.parametrize("state", [4, 1], ids=["up", "down"])
def test_the_other_link_layer_is_found_up_or_down(state: int) -> None:
    """Both ways; the evidence names both."""
    infiniband = Finding(Why.WRONG_LINK_LAYER, holds=True, evidence="its link layer is InfiniBand; Ethernet is configured")
    ethernet = Finding(Why.WRONG_LINK_LAYER, holds=True, evidence="its link layer is Ethernet; InfiniBand is configured")

    assert _told(PORT, {Role.LINK_LAYER: LinkLayer.ETHERNET}, state).findings == (infiniband,)
    assert _told(ROCE, {Role.LINK_LAYER: LinkLayer.INFINIBAND}, state).findings == (ethernet,)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (PORT, {Role.LINK_LAYER: LinkLayer.INFINIBAND}),
        (ROCE, {Role.LINK_LAYER: LinkLayer.ETHERNET}),
        (PORT, {}),
        (ROCE, {Role.STATE: 1}),
        (Link(Fabric.EFA, "rdmap0s6", "1"), {Role.LINK_LAYER: LinkLayer.ETHERNET}),
    ],
)
def test_as_configured_or_without_a_word_it_is_well(link: Link, expected: Mapping[Role, Any]) -> None:
    """Of EFA nobody knows a link layer; sisters prove nothing."""
    assert _told(link, expected) is NOTHING


def test_the_verdict_comes_with_the_second_pass_and_goes_with_the_line_in_the_configuration() -> None:
    """A port that is down and of which nobody said that it should be up has no other reason. What was raised ends two passes after somebody
    took the line out; the status follows after its hold."""
    player = Player(expected={})
    player.play(DOWN)
    player.engine.expect(PORT, {Role.LINK_LAYER: LinkLayer.ETHERNET})
    once = player.play(DOWN).status()
    twice, reasons = player.play(DOWN).status(), player.reasons()
    player.engine.links[PORT].expect({Role.LINK_LAYER: None})
    player.play(UP, 2)

    assert (once, twice, reasons) == ("no_expectation", "degraded", {"misconfigured_link_layer"})
    assert (player.status(), player.reasons()) == ("degraded", set())
    assert player.play(UP, 250).status() == "ok"


def test_it_is_found_on_a_link_that_rests() -> None:
    """The expectation comes after the port was asked about; numbers stand still."""
    player = Player(expected={}).play(UP, 5)
    player.engine.expect(PORT, {Role.LINK_LAYER: LinkLayer.ETHERNET})

    assert player.play(UP, 2).reasons() == {"misconfigured_link_layer"}


@given(st.sampled_from([PORT, ROCE]), st.one_of(st.integers(), st.floats()))
def test_no_number_raises(link: Link, expected: float) -> None:
    """Only a link layer's number can hold."""
    holds = [finding.holds for finding in _told(link, {Role.LINK_LAYER: expected}).findings]

    assert holds in ([], [True])
    assert expected in set(LinkLayer) or holds == []
