"""Growth between two passes: known, or None; never 0 for what nobody knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.ethernet import PAUSE_SECONDS
from exporter.catalog.infiniband import SATURATED, TRANSMIT_WAIT
from exporter.model.metric import Role
from exporter.model.quantity import UINT64_MAX
from exporter.signals.growth import growth, growths, is_pinned, span_s
from exporter.signals.load import MEAN_MAX_S
from exporter.signals.observation import delta
from tests.signals.passes import a_pass, read, seen


@pytest.mark.parametrize(("elapsed_s", "expected"), [(5.0, 5.0), (0.0, 0.0), (-1.0, 0.0), (MEAN_MAX_S, MEAN_MAX_S), (MEAN_MAX_S + 1, 0.0)])
def test_a_pass_speaks_of_measured_time_only(elapsed_s: float, expected: float) -> None:
    """No time without a pass before, none if the clock stood still or went back, none over a gap."""
    assert span_s(a_pass(seen({}, 100.0 + elapsed_s), seen({}, 100.0))) == expected


def test_the_first_pass_speaks_of_no_time() -> None:
    """What a counter holds at first sight is history."""
    first = a_pass(seen({Role.RETRIES: 7}, 100.0))

    assert span_s(first) == 0.0
    assert growth(first, Role.RETRIES) is None
    assert growths(first, Role.RETRIES) == []


def test_a_counter_that_fell_grew_by_an_unknown_amount() -> None:
    """A reset adds nothing and takes nothing."""
    after_reset = a_pass(seen({Role.RETRIES: 3}, 105.0), seen({Role.RETRIES: 9}, 100.0))

    assert growth(after_reset, Role.RETRIES) is None
    assert growths(after_reset, Role.RETRIES) == []


def test_a_counter_at_its_ceiling_grew_by_an_unknown_amount() -> None:
    """The clamp's own field names the counter; others of the pass still count."""
    full = {TRANSMIT_WAIT.key: 2**32 - 1, "ib_data_transmitted": 100, (SATURATED.key, "port_xmit_wait"): 1}
    pass_ = a_pass(read(full, 105.0), read({TRANSMIT_WAIT.key: 5, "ib_data_transmitted": 60}, 100.0))

    assert is_pinned(pass_.now, Role.STALL)
    assert growth(pass_, Role.STALL) is None
    assert growth(pass_, Role.TX_BYTES) == 40


def test_growth_by_counter_leaves_out_those_that_fell_or_are_new() -> None:
    """Each counter of a role by itself."""
    grew, fell, new = ((PAUSE_SECONDS.key, *own) for own in (("receive", "3"), ("transmit", "3"), ("receive", "4")))
    pass_ = a_pass(read({grew: 2.5, fell: 0.0, new: 8.0}, 105.0), read({grew: 1.0, fell: 9.0}, 100.0))

    assert growths(pass_, Role.PAUSE) == [(grew, 1.5)]


def test_growth_is_the_same_whether_or_not_the_layout_is_shared() -> None:
    """Passes of one layout take a shorter way."""
    before, now = seen({Role.RETRIES: 4, Role.STALL: 9}, 100.0), seen({Role.RETRIES: 6, Role.STALL: 2}, 105.0)
    shared = a_pass(now._replace(plan=before.plan), before)

    assert growth(shared, Role.RETRIES) == growth(a_pass(now, before), Role.RETRIES) == 2
    assert growth(shared, Role.STALL) is growth(a_pass(now, before), Role.STALL) is None
    assert growth(shared, Role.PAUSE) is None


counts = st.integers(0, UINT64_MAX)


@given(st.lists(st.tuples(counts, counts), min_size=3, max_size=3), st.booleans())
def test_growth_adds_up_over_adjoining_passes(totals: list[tuple[int, int]], is_shared: bool) -> None:  # noqa: FBT001  # drawn
    """From a to b and from b to c is from a to c while nothing is reset; exact, as counters are whole numbers. Of two counters of one role
    as of one, and whether or not passes share a layout."""
    one, other = (sorted(each) for each in zip(*totals, strict=True))
    a, b, c = (
        read({TRANSMIT_WAIT.key: wait, ("nvlink_errors", "replay"): wait, ("nvlink_errors", "crc"): crc}, 100.0 + 10.0 * at)
        for at, (wait, crc) in enumerate(zip(one, other, strict=True))
    )
    if is_shared:
        b, c = b._replace(plan=a.plan), c._replace(plan=a.plan)

    for role, whole in ((Role.STALL, one[2] - one[0]), (Role.ERRORS, one[2] - one[0] + other[2] - other[0])):
        assert [delta(a, c, role), growth(a_pass(c, a), role), sum(number for _, number in growths(a_pass(c, a), role))] == [whole] * 3
        assert (delta(a, b, role) or 0) + (delta(b, c, role) or 0) == whole
        assert (growth(a_pass(b, a), role) or 0) + (growth(a_pass(c, b), role) or 0) == whole
