"""Rails compared by their bursts: the slow one is named although all carry the same; whatever else differs accuses nobody."""

import pytest

from exporter.catalog.signals import RAIL_BURST, RAIL_SHARE
from exporter.model.entity import Fabric, Link
from exporter.model.health import Why
from exporter.model.thresholds import Thresholds
from exporter.signals.rails import Burst, Comparison, Rail, compare

LINKS = [Link(Fabric.INFINIBAND, f"mlx5_{number}", "1") for number in range(8)]
NDR, HDR = 50e9, 25e9
FAST, SLOW = Burst(46e9, 0.4, 0.5), Burst(23e9, 0.7, 0.7)


def rail(burst: Burst = FAST, moved: int = 10**12, expected: float = NDR) -> Rail:
    """One that sends and receives so."""
    return Rail(moved, expected, {"transmit": burst, "receive": burst})


def compared(*others: Rail, slow: frozenset[Link] = frozenset(), usual: Rail | None = None) -> Comparison:
    """These are the first rails, the rest are as usual."""
    rails = {link: usual or rail() for link in LINKS}
    rails |= dict(zip(LINKS, others, strict=False))
    return compare(rails, slow, Thresholds())


def accused(comparison: Comparison) -> set[Link]:
    """Rails with a finding."""
    return {link for link, outcome in comparison.outcomes.items() if any(finding.why is Why.SLOW_RAIL for finding in outcome.findings)}


def test_a_rail_at_half_speed_is_named_although_all_carry_the_same() -> None:
    """With what it was compared to as evidence; every rail shows its ratio and its share."""
    found = compared(rail(SLOW))

    assert accused(found) == {LINKS[0]}
    assert found.outcomes[LINKS[0]].findings[0].evidence == (
        "receives 23 GB/s within bursts while the median of 8 rails is 46 GB/s; busy 70% of the time instead of 40%, for the same bytes"
    )
    assert [found.shown[link][RAIL_BURST.key] for link in LINKS[:2]] == [0.5, 1.0]
    assert [found.shown[link][RAIL_SHARE.key] for link in LINKS] == [1.0] * 8


def test_slow_in_one_direction_is_slow() -> None:
    """The worse direction is shown."""
    one_way = Rail(10**12, NDR, {"transmit": SLOW, "receive": FAST})
    found = compared(one_way)

    assert (accused(found), found.shown[LINKS[0]][RAIL_BURST.key]) == ({LINKS[0]}, 0.5)


@pytest.mark.parametrize(("ratio", "before", "after"), [(0.69, False, True), (0.8, False, False), (0.8, True, True), (0.86, True, False)])
def test_a_slow_rail_stays_so_until_it_is_well_above_the_limit(ratio: float, before: bool, after: bool) -> None:  # noqa: FBT001
    """Raised below 0.7, cleared above 0.85."""
    slow = frozenset({LINKS[0]}) if before else frozenset[Link]()

    assert (LINKS[0] in accused(compared(rail(FAST._replace(rate=46e9 * ratio)), slow=slow))) is after


@pytest.mark.parametrize("odd", [
    pytest.param([rail(SLOW, moved=10**10)], id="carries far less: not used by the job, or another job's"),
    pytest.param([rail(SLOW, moved=10**13)], id="carries far more"),
    pytest.param([rail(SLOW, expected=HDR)], id="is expected to be slower"),
    pytest.param([rail(SLOW), rail(SLOW), rail(SLOW)], id="three of eight: the node is used unevenly"),
])  # fmt: skip
def test_who_is_no_like_sibling_is_not_accused(odd: list[Rail]) -> None:
    """Whatever differs for another reason than the rail."""
    assert accused(compared(*odd)) == set()


@pytest.mark.parametrize("usual", [
    pytest.param(rail(FAST._replace(busy=0.001)), id="hardly busy"),
    pytest.param(rail(FAST._replace(rate=5e8)), id="next to no traffic"),
])  # fmt: skip
def test_too_little_is_not_compared_and_is_no_blindness(usual: Rail) -> None:
    """No ratio, no finding, nothing to complain about."""
    found = compared(rail(usual.bursts["transmit"]._replace(rate=1e8)), usual=usual)

    assert (accused(found), found.is_blind, RAIL_BURST.key in found.shown[LINKS[0]]) == (set(), False, False)


@pytest.mark.parametrize("usual", [
    pytest.param(rail(Burst(15e9, 0.3, 0.0)), id="no sample lies within a burst"),
    pytest.param(rail(Burst(15e9, 1.0, 1.0)), id="busy all the time at a third: bursts in each sample"),
])  # fmt: skip
def test_bursts_that_cannot_be_seen_are_said_to_be(usual: Rail) -> None:
    """Nothing is compared then: all rails would look alike."""
    found = compared(usual=usual)

    assert (found.is_blind, found.outcomes, RAIL_BURST.key in found.shown[LINKS[0]]) == (True, {}, False)


def test_links_that_are_full_all_the_time_are_seen() -> None:
    """Steady traffic near line rate is no burst too short to see."""
    full = Burst(45e9, 1.0, 1.0)

    assert accused(compared(rail(full._replace(rate=30e9)), usual=rail(full))) == {LINKS[0]}


def test_a_job_of_one_rail_has_no_shares() -> None:
    """It uses one on purpose."""
    rails = {link: rail(moved=10**12 if link == LINKS[0] else 10) for link in LINKS}

    assert all(RAIL_SHARE.key not in values for values in compare(rails, frozenset(), Thresholds()).shown.values())


def test_an_unused_rail_shows_its_share() -> None:
    """Seven carry everything; no finding, for a share accuses no cable."""
    found = compared(Rail(0, NDR, {}))

    assert round(found.shown[LINKS[0]][RAIL_SHARE.key], 2) == 0.0
    assert round(found.shown[LINKS[1]][RAIL_SHARE.key], 2) == 1.14
    assert accused(found) == set()
