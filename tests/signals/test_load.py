"""How much of what a link can carry it carries."""

from collections.abc import Mapping
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.infiniband import DATA_RATE, LEGACY_TRANSMITTED, RECEIVED, SATURATED, TRANSMITTED
from exporter.catalog.nvlink import RATE
from exporter.catalog.nvlink import TRANSMITTED as NVLINK_TRANSMITTED
from exporter.catalog.signals import UTILIZATION
from exporter.model.entity import Fabric, Link
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.load import MEAN_MAX_S, RULE, pinned_roles, usable_bytes_per_s
from exporter.signals.rule import Outcome
from tests.signals.passes import NVLINK, PORT, a_pass, read, seen

NDR = 50e9
SENT: SeriesKey = (UTILIZATION.key, "transmit")
GOT: SeriesKey = (UTILIZATION.key, "receive")


def _port(sent: Number, got: Number, **beside: Number) -> dict[SeriesKey, Number]:
    return {TRANSMITTED.key: sent, RECEIVED.key: got, DATA_RATE.key: NDR, **beside}


def _told(older: Mapping[SeriesKey, Number], newer: Mapping[SeriesKey, Number], elapsed_s: float = 5.0, link: Link = PORT,
          latest: Mapping[Role, Number] = {}) -> Outcome:  # fmt: skip
    return RULE.step(None, a_pass(read(newer, 10.0 + elapsed_s), read(older, 10.0), link=link, latest=latest))[1]


def test_each_direction_is_a_share_of_the_data_rate_over_the_measured_time() -> None:
    """A port of 50 GB/s that sends 100 GB and receives 25 GB within 5 s."""
    assert _told(_port(7, 7), _port(7 + 100_000_000_000, 7 + 25_000_000_000)).signals == {SENT: 0.4, GOT: 0.1}


@pytest.mark.parametrize(
    ("rate", "usable"), [(25_781e6, 25e9), (26_562e6, 25e9), (53_125e6, 50e9), (14_062e6, None), (float("nan"), None), (1e30, None)]
)
def test_an_nvlink_carries_what_its_generation_does_not_its_signalling_rate(rate: float, usable: float | None) -> None:
    """NVML's speed counts symbols; a rate that nobody knows is no divisor."""
    assert usable_bytes_per_s({Role.SIGNALLING_RATE: rate}) == usable


def test_an_nvlink_s_rate_may_come_from_another_feed() -> None:
    """Bytes are read oftener than speeds."""
    older, newer = {NVLINK_TRANSMITTED.key: 0}, {NVLINK_TRANSMITTED.key: 62_500_000_000}
    told = _told(older, newer, link=NVLINK, latest={Role.SIGNALLING_RATE: 26_562e6})

    assert told.signals == {SENT: 0.5}
    assert RATE.role is Role.SIGNALLING_RATE


def test_an_interface_carries_its_speed() -> None:
    """A NIC without RDMA has no data rate, but a speed."""
    link = Link(Fabric.ETHERNET, "eth0", "1")
    older, newer = seen({Role.TX_BYTES: 0, Role.SPEED: 1.25e9}), seen({Role.TX_BYTES: 1_250_000_000, Role.SPEED: 1.25e9}, 10.0)

    assert RULE.step(None, a_pass(newer, older, link=link))[1].signals == {SENT: 0.1}


def test_the_64_bit_twin_is_preferred() -> None:
    """On kernels before 4.5 the plain file has 32 bits and pins."""
    older, newer = _port(5, 0, **{LEGACY_TRANSMITTED.key: 0}), _port(5, 0, **{LEGACY_TRANSMITTED.key: 25_000_000_000})

    assert _told(older, newer).signals == {SENT: 0.1, GOT: 0.0}


def test_an_implausible_rate_is_dropped_and_counted() -> None:
    """3 % above what the link can carry is a jump of the counter, not traffic; the other direction stays."""
    state, told = RULE.step(4, a_pass(read(_port(int(1.03 * NDR * 5), 0), 5.0), read(_port(0, 0))))

    assert (state, told.signals) == (5, {GOT: 0.0})


def test_a_reset_gives_no_rate() -> None:
    """A counter that fell tells nothing of the time between."""
    assert _told(_port(9_000, 0), _port(10, 0)).signals == {GOT: 0.0}


@pytest.mark.parametrize("elapsed_s", [0.0, -5.0, MEAN_MAX_S + 1, float("nan")])
def test_no_time_and_too_long_a_time_give_no_rate(elapsed_s: float) -> None:
    """A clock that stood still or went back, and a gap."""
    assert _told(_port(0, 0), _port(1, 1), elapsed_s) == Outcome()


def test_a_first_look_gives_no_rate() -> None:
    """One pass has no growth."""
    assert RULE.step(None, a_pass(read(_port(5, 5)))) == (None, Outcome())


def test_a_link_whose_capacity_nobody_knows_has_no_utilisation() -> None:
    """Missing or nonsense."""
    assert usable_bytes_per_s({}) is None
    assert usable_bytes_per_s({Role.CAPACITY: 0}) is None
    assert RULE.step(None, a_pass(seen({Role.TX_BYTES: 9}, 5.0), seen({Role.TX_BYTES: 0}))) == (None, Outcome())


def test_a_counter_at_its_ceiling_is_absent_and_its_neighbours_are_not() -> None:
    """A pinned byte counter grows by 0: that is no idle link. A pinned wait counter has nothing to do with it."""
    full: SeriesKey = (SATURATED.key, "port_xmit_data")
    waits: SeriesKey = (SATURATED.key, "port_xmit_wait")

    assert _told({**_port(0, 0), full: 1}, {**_port(0, 0), full: 1}).signals == {GOT: 0.0}
    assert _told({**_port(0, 0), waits: 1}, {**_port(0, 0), waits: 1}).signals == {SENT: 0.0, GOT: 0.0}
    assert pinned_roles(read({full: 1, waits: 1, (SATURATED.key, "no such file"): 1})) == {Role.TX_BYTES, Role.STALL}


counts = st.one_of(st.integers(0, 2**64), st.floats(0, 1e20))


@given(st.lists(st.tuples(counts, counts, counts, st.floats(-10, 700)), max_size=6))
def test_no_sequence_of_passes_raises_and_ratios_are_finite_and_never_negative(passes: list[tuple[Number, Number, Number, float]]) -> None:
    """Whatever counters and clocks do; and twice the same is the same."""
    before, state = None, None
    for sent, got, capacity, at_s in passes:
        now = seen({Role.TX_BYTES: sent, Role.RX_BYTES: got, Role.CAPACITY: capacity}, at_s)
        asked = a_pass(now, before)
        again = RULE.step(state, asked)
        state, told = RULE.step(state, asked)

        assert (state, told) == again
        assert all(isfinite(ratio) and 0 <= ratio <= 1.02 for ratio in told.signals.values())
        before = now
