"""One link's record: its newest values, whether it is up, what of it is stale."""

import pytest

from exporter.model.entity import Fabric, Link
from exporter.model.health import Unknown
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.signals.rule import NOTHING, Outcome, Rule
from exporter.signals.tracked import READS_MAX, STALE_MIN_S, Tracked
from tests.signals.passes import NVLINK, PORT, seen

ETHERNET = Link(Fabric.ETHERNET, "eth0", "1")
RULES = [Rule(name, frozenset({role}), lambda state, _: (state, NOTHING)) for name, role in (("a", Role.STATE), ("b", Role.ERRORS))]


@pytest.mark.parametrize(
    ("link", "latest", "is_up"),
    [
        (PORT, {Role.STATE: 4}, True),
        (PORT, {Role.STATE: 1}, False),
        (PORT, {}, False),
        (NVLINK, {Role.STATE: 1}, True),
        (NVLINK, {Role.STATE: 2}, True),
        (NVLINK, {Role.STATE: 3}, False),
        (NVLINK, {Role.STATE: 0}, False),
        (ETHERNET, {Role.CARRIER: 1}, True),
        (ETHERNET, {Role.CARRIER: 0}, False),
        (ETHERNET, {Role.STATE: 4}, False),
    ],
)
def test_each_fabric_has_its_word_for_up(link: Link, latest: dict[Role, Number], is_up: bool) -> None:  # noqa: FBT001  # drawn
    """A link that sleeps is up, one whose traffic is disabled is not. It is missed if it was seen not up, and not unwanted."""
    tracked = Tracked(link, (), latest=latest)
    unwanted = Tracked(link, (), latest=latest, expected={Role.STATE: 0})
    is_told = bool(latest) and not (link is ETHERNET and Role.STATE in latest)

    assert (tracked.is_up, tracked.is_missed, unwanted.is_missed) == (is_up, is_told and not is_up, False)


def test_a_pass_concerns_the_rules_whose_needs_it_brings() -> None:
    """None if it brings no number that plays a role: a rule that needs nothing would be asked for every pass over nothing."""
    needless = Rule("c", frozenset(), lambda state, _: (state, NOTHING))
    tracked = Tracked(PORT, [*RULES, needless])

    assert tracked.see(seen({Role.STATE: 4}), None, 0.0).rules == (0, 2)
    assert tracked.see(seen({Role.STATE: 4, Role.ERRORS: 0}), None, 0.0).rules == (0, 1, 2)
    assert tracked.see(seen({}), None, 0.0).rules == ()


def test_the_newest_values_are_those_of_all_feeds() -> None:
    """What a feed does not bring any more is gone; another feed's stays."""
    tracked = Tracked(PORT, RULES)
    state, errors = seen({Role.STATE: 4, Role.CAPACITY: 5e10}), seen({Role.TX_BYTES: 9, Role.ERRORS: 1}, 1.0)
    tracked.see(state, None, 5.0)
    tracked.see(errors, None, 15.0)
    all_of_it = dict(tracked.latest)
    tracked.see(seen({Role.STATE: 1}, 5.0), state, 5.0)

    assert all_of_it == {Role.STATE: 4, Role.CAPACITY: 5e10, Role.TX_BYTES: 9}
    assert tracked.latest == {Role.STATE: 1, Role.TX_BYTES: 9}


def test_a_link_that_is_active_needs_no_reason_for_being_down() -> None:
    """What was said of its presence was of before."""
    tracked = Tracked(NVLINK, RULES)
    tracked.see(seen({Role.STATE: 0, Role.PRESENCE: 4}), None, 5.0)
    tracked.see(seen({Role.STATE: 1}, 5.0), None, 5.0)

    assert tracked.latest == {Role.STATE: 1}


def test_the_quickest_feed_says_when_a_link_is_stale() -> None:
    """Three of its passes, five seconds at least; if it falls silent, the next quickest."""
    tracked, bounds = Tracked(PORT, RULES), []
    for now_s, interval_s in ((1.0, 15.0), (5.0, 5.0), (6.0, 15.0), (21.0, 15.0), (36.0, 15.0), (37.0, 1.0)):
        tracked.see(seen({Role.ERRORS: 0}, now_s), None, interval_s)
        bounds.append(tracked.stale_after_s)

    assert bounds == [45.0, 15.0, 15.0, 45.0, 45.0, STALE_MIN_S]


def test_what_a_rule_said_stays_for_three_passes_of_the_feed_that_brought_it() -> None:
    """Not shorter than the link's own bound; a rule that says nothing any more has no signal."""
    tracked = Tracked(PORT, RULES, stale_after_s=15.0)
    tracked.tell(0, Outcome({"slow": 1}), 300.0 + tracked.stays_s(300.0))
    tracked.tell(1, Outcome({"quick": 2}), 300.0 + tracked.stays_s(1.0))

    seen_then = [(tracked.signals(now_s), tracked.shown_until_s) for now_s in (310.0, 316.0, 1201.0)]
    assert seen_then == [({"slow": 1, "quick": 2}, 315.0), ({"slow": 1}, 1200.0), ({}, float("inf"))]
    tracked.tell(0, NOTHING, 325.0)
    assert tracked.signals(311.0) == {"quick": 2}


def test_a_rule_that_cannot_judge_is_heard_until_it_can() -> None:
    """The first of several is told."""
    tracked = Tracked(PORT, RULES)
    tracked.tell(1, Outcome(unknown=Unknown.SATURATED), 0.0)
    tracked.tell(0, Outcome(unknown=Unknown.NO_EXPECTATION), 0.0)
    both = tracked.unknown
    tracked.tell(0, NOTHING, 5.0)
    one = tracked.unknown
    tracked.tell(1, NOTHING, 5.0)

    assert (both, one, tracked.unknown) == (Unknown.NO_EXPECTATION, Unknown.SATURATED, None)


def test_ever_new_keys_do_not_fill_the_memory() -> None:
    """A feed whose keys change with each pass."""
    tracked = Tracked(PORT, RULES)
    for number in range(3 * READS_MAX):
        tracked.see(seen({Role.STATE: 4}, float(number)), None, 5.0)

    assert len(tracked.reads) <= READS_MAX
