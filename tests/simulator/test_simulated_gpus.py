"""GPUs and links of a simulated node: the same numbers for everyone, and what goes wrong with them when told to."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.simulator.nvlink_counters import COUNTERS
from exporter.simulator.nvlink_wiring import Place
from exporter.simulator.profiles import GB200_TRAY, H100_PCIE_PAIRS, HGX_A100, HGX_B200, HGX_H100, V100, Profile
from exporter.simulator.simulated_gpus import ACTIVE, INACTIVE, SLEEP, TRAFFIC_DISABLED
from exporter.sources.nvml_session import DeviceQuestion, LinkQuestion
from tests.gpu_profiles import GPU_PROFILES
from tests.simulator.open_driver import Driver


def test_links_to_switches_are_counted() -> None:
    """Active ones; none where GPUs are wired to each other."""
    driver = Driver(HGX_A100)
    before = driver.one(147)
    driver.gpus.set_link(0, 4, INACTIVE)

    assert (before, driver.one(147), Driver(H100_PCIE_PAIRS).one(147)) == (12, 11, 0)


def test_gpus_are_told_apart_by_uuid() -> None:
    """Within a node and between nodes; the same node has the same ones for ever."""

    def uuids(profile: Profile, seed: int) -> list[str]:
        driver = Driver(profile, seed)
        return [driver.facts(gpu).uuid for gpu in range(driver.gpu_count())]

    assert uuids(HGX_H100, 1) == uuids(HGX_H100, 1)
    assert len({*uuids(HGX_H100, 1), *uuids(HGX_H100, 2), *uuids(HGX_A100, 1)}) == 24


@settings(deadline=None, max_examples=30)
@given(st.sampled_from([V100, HGX_H100, GB200_TRAY]), st.floats(0, 10**6), st.floats(0, 100_000), st.integers(0, 3), st.integers(0, 5))
def test_no_counter_falls(profile: Profile, begin_s: float, span_s: float, gpu: int, link: int) -> None:
    """Of any link, between any two moments."""
    driver = Driver(profile, elapsed_s=begin_s)
    before = {counter: driver.gpus.counter(driver.gpus.moment(gpu), link, counter) for counter in COUNTERS}
    driver.elapsed_s += span_s
    after = {counter: driver.gpus.counter(driver.gpus.moment(gpu), link, counter) for counter in COUNTERS}

    assert all(0 <= (before[counter] or 0) <= (after[counter] or 0) for counter in COUNTERS)


@given(st.floats(0, 10**6), st.integers(0, 99))
@settings(deadline=None, max_examples=20)
def test_two_processes_with_the_same_clock_show_the_same(elapsed_s: float, seed: int) -> None:
    """However often either was asked before."""
    one, other = Driver(HGX_B200, seed, elapsed_s / 2), Driver(HGX_B200, seed, elapsed_s)
    pairs = [(number, link) for number in (202, 204, 206, 235) for link in range(18)]
    one.many(3, pairs)
    one.elapsed_s = elapsed_s

    assert one.many(3, pairs) == other.many(3, pairs)


def test_another_seed_is_another_job() -> None:
    """Same shape, other bytes."""
    assert Driver(HGX_B200, 1).one(202) != Driver(HGX_B200, 2).one(202)


@pytest.mark.parametrize(("state", "by_call"), [(INACTIVE, 0), (SLEEP, 1), (TRAFFIC_DISABLED, 1)], ids=["down", "asleep", "disabled"])
def test_a_link_takes_the_state_it_is_given(state: int, by_call: int) -> None:
    """The field tells more than the call; its bytes stand still while the others carry on; its neighbours stay active."""
    driver = Driver(HGX_B200)
    before = [driver.one(202, link, gpu=1) for link in (6, 7)]
    driver.gpus.set_link(1, 6, state)
    seen = driver.one(165, 6, gpu=1), driver.ask_link(1, 6, LinkQuestion.STATE), driver.one(165, 7, gpu=1)
    driver.elapsed_s = 1200
    driver.gpus.set_link(1, 6, ACTIVE)
    after = [driver.one(202, link, gpu=1) for link in (6, 7)]

    assert seen == (state, by_call, 1)
    assert (after[0], after[1] > before[1]) == (before[0], True)


def test_a_wire_between_two_gpus_goes_down_at_both_ends() -> None:
    """And a port that leads nowhere cannot be put up."""
    driver = Driver(H100_PCIE_PAIRS)
    driver.gpus.set_link(2, 7, INACTIVE)

    assert [driver.one(165, 7, gpu=gpu) for gpu in (1, 2, 3, 4)] == [1, 0, 0, 1]
    with pytest.raises(KeyError):
        driver.gpus.set_link(2, 4, ACTIVE)


def test_a_low_power_state_is_that_of_a_link_asleep() -> None:
    """Field 167."""
    driver = Driver(HGX_H100)
    driver.gpus.set_link(0, 2, SLEEP)

    assert (driver.one(167, 1), driver.one(167, 2)) == (0, 1)


def test_errors_are_added_at_a_rate_and_stay() -> None:
    """By the question or the field id; 120 a second for ten seconds, and 5 at once. A rate is no counter."""
    driver = Driver(HGX_H100)
    driver.gpus.add_errors(5, 7, LinkQuestion.REPLAY, per_second=120)
    driver.elapsed_s += 10
    driver.gpus.add_errors(5, 7, 161, at_once=5)
    driver.elapsed_s += 100

    assert (driver.one(161, 7, gpu=5), driver.ask_link(5, 7, LinkQuestion.REPLAY)) == (1205, 1205)
    assert (driver.one(161, 6, gpu=5), driver.one(161, 7, gpu=4)) == (0, 0)
    with pytest.raises(KeyError):
        driver.gpus.add_errors(5, 7, 164, at_once=1)


def test_counters_start_anew_after_a_reset() -> None:
    """Of that GPU alone, errors that were added included."""
    driver = Driver(HGX_B200)
    driver.gpus.add_errors(2, 0, 208, at_once=9)
    other = driver.one(202, gpu=3)
    driver.gpus.reset_counters(2)
    at_once = [driver.one(number, gpu=2) for number in (138, 202, 204, 208, 235)]
    sister = driver.one(202, gpu=3)
    driver.elapsed_s += 8

    assert (at_once, sister) == ([0] * 5, other)
    assert 0 < driver.one(202, gpu=2) < other


def test_mig_shows_healthy_links_as_inactive() -> None:
    """Of the partitioned GPU; its sisters' stay (NVIDIA bug 200682374)."""
    driver = Driver(HGX_H100)
    driver.gpus.set_partitioned(2, on=True)
    seen = [(driver.ask(gpu, DeviceQuestion.MIG_MODE), driver.one(165, 0, gpu)) for gpu in (1, 2)]
    driver.gpus.set_partitioned(2, on=False)

    assert seen == [(0, 1), (1, 0)]
    assert (driver.ask(2, DeviceQuestion.MIG_MODE), driver.one(165, 0, 2)) == (0, 1)


def test_other_fields_say_what_they_are_told_to() -> None:
    """A rate on one link, an action of the GPU; until told otherwise."""
    driver = Driver(HGX_B200)
    driver.gpus.show(1, 164, 25_000, link=3)
    driver.gpus.show(1, 230, 2)
    seen = driver.one(164, 3, 1), driver.one(164, 4, 1), driver.one(230, 0, 1), driver.one(230, 0, 2)
    driver.gpus.show(1, 230, None)

    assert (seen, driver.one(230, 0, 1)) == ((25_000, 53_125, 2, 0), 0)


def test_a_fabric_may_be_unwell() -> None:
    """Status and mask of one GPU; a GPU without a domain has nothing to change."""
    driver = Driver(HGX_H100)
    driver.gpus.set_fabric(6, status=23, health_mask=0x1)

    assert (driver.fabric(6).status, driver.fabric(6).health_mask, driver.fabric(5).status) == (23, 1, 0)
    with pytest.raises(KeyError):
        Driver(HGX_A100).gpus.set_fabric(0, status=23)


def test_xids_are_told_once_to_who_watches() -> None:
    """By index; not what happened before."""
    driver = Driver(HGX_H100)
    driver.gpus.raise_xid(1, 79)
    unwatched = driver.xids()
    driver.watch_xids()
    driver.gpus.raise_xid(5, 74)
    driver.watch_xids()

    assert (unwatched, driver.xids(), driver.xids()) == ([], [(5, 74)], [])


def test_processes_are_those_it_is_given() -> None:
    """None on a fresh node."""
    driver = Driver(HGX_H100)
    driver.gpus.processes[3] = (4242, 4243)

    assert (driver.processes(0), driver.processes(3)) == ((), (4242, 4243))


def test_every_wired_link_is_active_and_no_other() -> None:
    """On every profile at rest."""
    for profile in GPU_PROFILES:
        driver = Driver(profile, elapsed_s=0)
        states = {Place(gpu, link): driver.gpus.state(gpu, link) for gpu in range(len(profile.gpus)) for link in range(driver.one(91))}
        assert {place for place, state in states.items() if state == ACTIVE} == set(profile.nvlinks)
