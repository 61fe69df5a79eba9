"""The traffic model: deterministic, monotone, within line rate, and shaped like a training job."""

from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.simulator.profiles import HGX_H100, Hca
from exporter.simulator.traffic import TRAINING, Bursts, PortTotals, port_totals, training

RAIL, STORAGE = HGX_H100.hcas[0], HGX_H100.hcas[8]
ports = st.sampled_from(HGX_H100.hcas)
seeds = st.integers(min_value=-(2**40), max_value=2**40)
steps_s = st.builds(lambda step, past_s: max(0.0, step * 8 + past_s), st.integers(0, 432_000), st.floats(-2, 2))
times_s = steps_s | st.floats(min_value=0, max_value=40 * 86_400)
"""Any moment of 40 days, half of them around the end of a step, where one burst ends and the next is not yet due."""


def _at(hca: Hca, elapsed_s: float, seed: int = 1) -> PortTotals:
    return port_totals(hca, TRAINING, seed, elapsed_s)


@given(ports, seeds, times_s, st.floats(min_value=0, max_value=2) | times_s)
def test_totals_are_integers_that_never_fall(hca: Hca, seed: int, begin_s: float, span_s: float) -> None:
    """Between any two moments, near or far."""
    before, after = astuple(_at(hca, begin_s, seed)), astuple(_at(hca, begin_s + span_s, seed))

    assert all(isinstance(later, int) and 0 <= earlier <= later for earlier, later in zip(before, after, strict=True))


@given(ports, seeds, times_s)
def test_totals_depend_on_seed_and_time_alone(hca: Hca, seed: int, elapsed_s: float) -> None:
    """However one got there: asking in between changes nothing."""
    expected = _at(hca, elapsed_s, seed)
    _at(hca, elapsed_s / 2, seed)

    assert _at(hca, elapsed_s, seed) == expected


@given(ports, seeds, times_s, st.floats(min_value=0.001, max_value=10_000))
def test_no_port_carries_more_than_its_line_rate(hca: Hca, seed: int, begin_s: float, span_s: float) -> None:
    """In either direction, over any span (a byte and the nanosecond of rounding aside)."""
    before, after = _at(hca, begin_s, seed), _at(hca, begin_s + span_s, seed)
    limit = hca.line_bytes_per_s * (span_s + 2e-9) + 1

    assert after.transmitted_bytes - before.transmitted_bytes <= limit
    assert after.received_bytes - before.received_bytes <= limit


def test_the_numbers_of_a_seed_are_fixed() -> None:
    """Scenarios are labelled by seed: the same on every machine and Python, for ever."""
    totals = _at(RAIL, 3600, seed=7)

    assert (totals.transmitted_bytes, totals.received_bytes) == (24_840_801_520_789, 24_841_548_995_698)


def test_another_seed_is_another_job() -> None:
    """Same shape, other bytes."""
    assert _at(RAIL, 800, seed=1).transmitted_bytes != _at(RAIL, 800, seed=2).transmitted_bytes


def test_a_rail_is_silent_while_it_computes_and_busy_while_it_talks() -> None:
    """A step of 8 s ends with about 1.2 s near line rate, both ways, with a few stall ticks."""
    start, quiet, talking, done, end = (_at(RAIL, elapsed_s) for elapsed_s in (8.0, 14.6, 15.68, 15.96, 16.0))
    volume = end.transmitted_bytes - start.transmitted_bytes

    assert quiet.transmitted_bytes == start.transmitted_bytes
    assert done.transmitted_bytes == end.transmitted_bytes
    assert talking.transmitted_bytes - quiet.transmitted_bytes == pytest.approx(0.92 * RAIL.line_bytes_per_s)
    assert volume == pytest.approx(0.92 * RAIL.line_bytes_per_s * 1.2, rel=0.065)
    assert end.received_bytes - start.received_bytes == pytest.approx(volume, rel=0.13)
    assert 0 < end.wait_ticks - start.wait_ticks < 0.001 * volume / 8


def test_all_rails_carry_nearly_the_same() -> None:
    """A collective uses them all: no rail of a healthy node stands out by more than a percent or two."""
    volumes = [_at(hca, 8 * 40).transmitted_bytes - _at(hca, 8 * 39).transmitted_bytes for hca in HGX_H100.hcas[:8]]

    assert min(volumes) > 0.97 * max(volumes)
    assert len(set(volumes)) == 8


def test_storage_writes_a_checkpoint_every_half_hour() -> None:
    """For about 60 s; ECN marks and CNPs come with it, and only then."""
    before, begun, done = (_at(STORAGE, elapsed_s) for elapsed_s in (1730, 1760, 1800))

    assert before.transmitted_bytes == before.cnp_handled == before.ecn_marked == 0
    assert 0 < begun.transmitted_bytes < done.transmitted_bytes
    assert done.transmitted_bytes == pytest.approx(0.7 * STORAGE.line_bytes_per_s * 60, rel=0.065)
    assert done.cnp_handled > done.ecn_marked > done.cnp_sent > 0


def test_infiniband_ports_see_no_congestion_notifications() -> None:
    """ECN and CNP are RoCE's."""
    totals = _at(RAIL, 86_400)

    assert (totals.ecn_marked, totals.cnp_sent, totals.cnp_handled) == (0, 0, 0)


def test_symbol_errors_are_rare_and_scattered() -> None:
    """Two a day and port, at moments that differ from port to port."""
    first_s = [next(minute for minute in range(720) if _at(hca, minute * 60).symbol_errors) for hca in HGX_H100.hcas]

    assert _at(RAIL, 10 * 86_400).symbol_errors == 20
    assert len(set(first_s)) > 5


def test_other_rhythms_can_be_asked_for() -> None:
    """As a scenario file does."""
    flows = training(step_s=2, communication_s=0.5)

    assert port_totals(RAIL, flows, 1, 2).transmitted_bytes == pytest.approx(0.92 * RAIL.line_bytes_per_s * 0.5, rel=0.065)


@pytest.mark.parametrize("numbers", [(8, 7, 1.2, 0.9), (8, -1, 1, 0.9), (8, 0, 0, 0.9), (8, 0, 1, 0), (8, 0, 1, 1.1)], ids=str)
def test_a_burst_that_cannot_be_is_refused(numbers: tuple[float, float, float, float]) -> None:
    """Too long for its period, or faster than the line."""
    with pytest.raises(ValueError, match=r"does not fit|not a share"):
        Bursts(*numbers)


def test_time_before_the_start_is_refused() -> None:
    """A negative time is a bug of the caller."""
    with pytest.raises(ValueError, match="cannot be negative"):
        _at(RAIL, -1)
