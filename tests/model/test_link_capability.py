"""What a link can do, and what one end of it is expected to do."""

from hypothesis import given
from hypothesis import strategies as st

from exporter.model.link_capability import UNKNOWN, Capability, expectation, greatest, least

GT = 10**9
capabilities = st.builds(
    Capability, st.none() | st.sampled_from([2_500_000_000, 8 * GT, 32 * GT]), st.none() | st.sampled_from([1, 2, 4, 8, 16])
)


def test_each_of_speed_and_width_is_the_least() -> None:
    """A fast narrow slot and a slow wide card meet at slow and narrow."""
    assert least([Capability(32 * GT, 8), Capability(16 * GT, 16)]) == Capability(16 * GT, 8)


def test_a_card_in_a_narrow_slot_is_expected_narrow() -> None:
    """x8 by design is no downgrade."""
    assert expectation(Capability(32 * GT, 16), [Capability(32 * GT, 8)], []) == Capability(32 * GT, 8)


def test_the_other_end_alone_expects_nothing() -> None:
    """A card that does not say what it can do is not accused by its slot."""
    assert expectation(UNKNOWN, [Capability(32 * GT, 16)], []) == UNKNOWN


def test_a_silent_other_end_leaves_what_this_end_can_do() -> None:
    """A bridge that is not PCIe, or none at all."""
    assert expectation(Capability(16 * GT, 16), [UNKNOWN], []) == Capability(16 * GT, 16)


def test_what_is_configured_stands_in_for_a_silent_end() -> None:
    """The operator knows."""
    assert expectation(UNKNOWN, [], [Capability(None, 8)]) == Capability(None, 8)


@given(capabilities, st.lists(capabilities, max_size=3), st.lists(capabilities, max_size=3))
def test_an_expectation_never_exceeds_anything_that_is_known(own: Capability, partners: list, bounds: list) -> None:
    """It is the least, whoever knows."""
    expected = expectation(own, partners, bounds)
    every = [own, *partners, *bounds]

    assert expected.transfers_per_s is None or all(
        one.transfers_per_s is None or one.transfers_per_s >= expected.transfers_per_s for one in every
    )
    assert expected.lanes is None or all(one.lanes is None or one.lanes >= expected.lanes for one in every)


@given(capabilities, capabilities)
def test_least_and_greatest_come_from_what_was_given(one: Capability, other: Capability) -> None:
    """Nothing is made up."""
    speeds, lanes = {one.transfers_per_s, other.transfers_per_s}, {one.lanes, other.lanes}

    assert {least([one, other]).transfers_per_s, greatest([one, other]).transfers_per_s} <= speeds
    assert {least([one, other]).lanes, greatest([one, other]).lanes} <= lanes
