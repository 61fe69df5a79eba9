"""Numbers by role, whatever their vendor calls them; growth between two passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.metric import Role
from exporter.model.snapshot import FixedValues, Number, SeriesKey
from exporter.signals.observation import PLANS_MAX, Observation, Plans, delta, plan_of, role_of
from tests.signals.passes import read, seen

Values = dict[SeriesKey, Number]
REPLAYS, CRC = ("nvlink_errors", "replay"), ("nvlink_errors", "crc")


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ("ib_state", Role.STATE),
        ("nvlink_state", Role.STATE),
        (("nvlink_errors", "replay"), Role.ERRORS),
        (("ib_hw_events", "packet_seq_err"), Role.RETRIES),
        (("ib_hw_events", "no such event"), None),
        (("ib_hw_events",), None),
        ("ib_hw_events", None),
        (("pcie_info", "packet_seq_err"), None),
        ("no_such_row", None),
        ((), None),
        ("", None),
    ],
)
def test_a_numbers_role_is_its_rows_or_its_events(key: SeriesKey, role: Role | None) -> None:
    """A key that nobody knows plays none."""
    assert role_of(key) is role


def test_a_role_that_several_keys_play_has_a_first_a_sum_and_each() -> None:
    """In the order of the keys."""
    now = read({REPLAYS: 3, "nvlink_state": 1, CRC: 4})

    assert (now.value(Role.ERRORS), now.total(Role.ERRORS), now.items(Role.ERRORS)) == (3, 7, [(REPLAYS, 3), (CRC, 4)])
    assert (now.value(Role.WIDTH), now.total(Role.WIDTH), now.items(Role.WIDTH)) == (None, None, [])


@pytest.mark.parametrize(
    ("before", "after", "grown"),
    [
        ({REPLAYS: 3}, {REPLAYS: 5}, 2),
        ({REPLAYS: 3}, {REPLAYS: 3}, 0),
        ({REPLAYS: 3, CRC: 1}, {REPLAYS: 4, CRC: 3}, 3),
        ({REPLAYS: 3, CRC: 1}, {CRC: 3, REPLAYS: 4}, 3),
        ({REPLAYS: 3}, {REPLAYS: 4, CRC: 100}, 1),
        ({REPLAYS: 3, CRC: 1}, {REPLAYS: 4}, 1),
        ({REPLAYS: 3}, {REPLAYS: 2}, None),
        ({REPLAYS: 3, CRC: 5}, {REPLAYS: 9, CRC: 4}, None),
        ({REPLAYS: 3}, {CRC: 4}, None),
        ({REPLAYS: 3}, {}, None),
        ({}, {REPLAYS: 3}, None),
        ({REPLAYS: 3}, {REPLAYS: float("nan")}, None),
        ({REPLAYS: 3}, {REPLAYS: float("inf")}, None),
        ({REPLAYS: 3, CRC: 3}, {REPLAYS: 4, CRC: float("inf")}, None),
    ],
)
def test_growth_is_that_of_the_keys_both_passes_have(before: Values, after: Values, grown: Number | None) -> None:
    """A counter that fell was reset: nobody knows what happened between."""
    assert delta(read(before), read(after, 5.0), Role.ERRORS) == grown


@given(st.lists(st.floats() | st.integers(0, 2**64), min_size=2, max_size=2), st.booleans())
def test_growth_is_never_negative_nor_odd(numbers: list[Number], same_plan: bool) -> None:  # noqa: FBT001  # drawn
    """For any two numbers."""
    before, after = seen({Role.ERRORS: numbers[0]}), seen({Role.ERRORS: numbers[1]}, 5.0)
    grown = delta(before, after._replace(plan=before.plan) if same_plan else after, Role.ERRORS)

    assert grown is None or 0 <= grown < float("inf")


def test_keys_laid_out_once_have_one_plan() -> None:
    """And the same keys in a dict have the very same: rules tell by that whether a feed brings what it brought before."""
    plans, places = Plans(), {REPLAYS: 0, CRC: 1}
    first, second = plans.observe(FixedValues(places, [1, 2]), 1.0, 1.0), plans.observe(FixedValues(places, [3, 4]), 2.0, 2.0)

    assert first.plan is second.plan is plans.observe({REPLAYS: 5, CRC: 6}, 3.0, 3.0).plan
    assert plans.observe({CRC: 6, REPLAYS: 5}, 3.0, 3.0).plan == plan_of([CRC, REPLAYS]) != first.plan
    assert second == Observation(2.0, 2.0, plan_of([REPLAYS, CRC]), [3, 4])


def test_plans_of_ever_new_keys_are_bounded() -> None:
    """Junk does not fill the memory, and what was forgotten is worked out again."""
    plans = Plans()
    for number in range(PLANS_MAX + 10):
        plans.observe({("nvlink_errors", str(number)): 1}, 0.0, 0.0)
        plans.observe(FixedValues({("nvlink_errors", "x", str(number)): 0}, [1]), 0.0, 0.0)

    assert len(plans._by_keys) <= PLANS_MAX
    assert len(plans._by_object) <= PLANS_MAX
    assert plans.observe({("nvlink_errors", "0"): 7}, 0.0, 0.0).value(Role.ERRORS) == 7
