"""The shipped NVML: which generation answers which call, sessions and indices, and calls that fail as they are told to."""

import pytest

from exporter.model.gpu_fabric import NIL_UUID
from exporter.simulator.fake_nvml import NO_PEER, FakeNvml
from exporter.simulator.nvlink_counters import Register
from exporter.simulator.nvlink_wiring import PEER_SWITCH
from exporter.simulator.profiles import (
    GB200_TRAY,
    H100_PCIE_PAIRS,
    HGX_A100,
    HGX_B200,
    HGX_H100,
    NO_GPU_IB,
    ROCE_H200,
    V100,
    Profile,
)
from exporter.sources.nvml_session import DeviceQuestion, LinkQuestion
from tests.gpu_profiles import GPU_PROFILES
from tests.simulator.open_driver import Driver, code_of, returned_by

BOARDS = (V100, HGX_A100, HGX_H100, ROCE_H200, HGX_B200, GB200_TRAY)


def test_a_fabric_is_told_from_hopper_on() -> None:
    """H100 and B200 boards are a domain of their own; a tray is of its rack's; a card has none."""
    facts = {profile.name: Driver(profile).fabric(0) for profile in (HGX_H100, ROCE_H200, HGX_B200, GB200_TRAY, H100_PCIE_PAIRS)}
    rack = GB200_TRAY.rack

    assert [code_of(Driver(profile).fabric, 0) for profile in (V100, HGX_A100)] == [3, 3]
    assert [(one.state, one.status, one.summary) for one in facts.values()] == [(3, 0, None), (3, 0, 0), (3, 0, 1), (3, 0, 1), (0, 0, None)]
    assert rack is not None
    assert {name: (one.cluster_uuid, one.clique_id) for name, one in facts.items() if one.cluster_uuid != NIL_UUID} == {
        "gb200-tray": (rack.cluster_uuid, rack.clique_id)
    }


def test_what_only_some_generations_tell() -> None:
    """Platform in a rack, firmware and the GPU's bandwidth mode from Blackwell on, the node's from Hopper on, MIG from Ampere on."""
    drivers = {profile.name: Driver(profile) for profile in BOARDS}

    def answered(call: str, *arguments: object) -> list[str]:
        codes = {name: returned_by(getattr(driver, call), *arguments) for name, driver in drivers.items()}
        assert set(codes.values()) <= {0, 3}
        return [name for name, code in codes.items() if code == 0]

    assert answered("platform", 0) == ["gb200-tray"]
    assert answered("firmware", 0) == answered("ask", 0, DeviceQuestion.BANDWIDTH_MODE) == ["hgx-b200", "gb200-tray"]
    assert answered("node_bandwidth_mode") == ["hgx-h100", "roce-h200", "hgx-b200", "gb200-tray"]
    assert answered("ask", 0, DeviceQuestion.MIG_MODE) == ["hgx-a100", "hgx-h100", "roce-h200", "hgx-b200", "gb200-tray"]
    assert answered("port_counters", 0, [(201, 0)]) == ["hgx-b200", "gb200-tray"]


def test_registers_count_ports_from_one_but_for_transmit_wait() -> None:
    """A port beyond, port 0 of a shifted one, or a register that is none refuses itself alone."""
    driver = Driver(HGX_B200)
    driver.gpus.add_errors(0, 4, Register(1), at_once=3)
    answers = driver.port_counters(0, [(1, 5), (1, 4), (1, 0), (1, 18), (1, 19), (201, 0), (201, 17), (201, 18), (999, 1)])

    assert (answers.numbers[0], answers.numbers[1]) == (3, 0)
    assert answers.refused == {2: 2, 4: 2, 7: 2, 8: 2}
    assert answers.numbers[5] > 0


@pytest.mark.parametrize("profile", GPU_PROFILES, ids=lambda profile: profile.name)
def test_far_ends_are_told_as_they_are_wired(profile: Profile) -> None:
    """Kind by call, port by field, address by call: a switch off the node's bus has the address that stands for none."""
    driver = Driver(profile)

    for (gpu, link), end in profile.nvlinks.items():
        owners = profile.switches if end.kind == PEER_SWITCH else profile.gpus
        assert driver.ask_link(gpu, link, LinkQuestion.REMOTE_TYPE) == end.kind
        assert driver.one(146, link, gpu) == end.port
        assert driver.peer_pci(gpu, link) == (owners[end.number].pci or NO_PEER)


def test_nothing_is_answered_before_open_and_after_close() -> None:
    """Every method says that NVML is not initialised; a batch of a session that ended is of no use in the next."""
    driver = FakeNvml(HGX_H100, 1, lambda: 0.0)
    calls = [driver.driver_version, driver.gpu_count, driver.node_bandwidth_mode, driver.watch_xids, driver.xids]
    of_gpu = [driver.facts, driver.fabric, driver.platform, driver.firmware, driver.processes]

    def refusals() -> set[int]:
        more = (code_of(driver.batch, 0, []), code_of(driver.ask_link, 0, 0, LinkQuestion.STATE), code_of(driver.port_counters, 0, []),
                code_of(driver.ask, 0, DeviceQuestion.MIG_MODE), code_of(driver.peer_pci, 0, 0))  # fmt: skip
        return {*(code_of(call) for call in calls), *(code_of(call, 0) for call in of_gpu), *more}

    before = refusals()
    driver.open()
    kept = driver.batch(0, [(91, 0)])
    driver.close()
    after = refusals()
    closed = code_of(kept.read)
    driver.open()

    assert before == after == {closed} == {1}
    assert (code_of(kept.read), driver.is_open) == (2, True)


def test_a_node_without_gpus_has_no_driver() -> None:
    """Its library is not found."""
    assert code_of(FakeNvml(NO_GPU_IB, 1, lambda: 0.0).open) == 12


def test_calls_are_counted_by_name() -> None:
    """Those that fail too."""
    driver = Driver(HGX_H100)
    driver.one(91)
    driver.one(91)
    code_of(driver.facts, 99)

    assert driver.calls == {"open": 1, "batch": 2, "read": 2, "facts": 1}


def test_a_call_fails_for_one_gpu_or_for_all_until_told_otherwise() -> None:
    """By the method's name."""
    driver = Driver(HGX_H100)
    driver.troubles.fail("fabric", 4, gpu=2)
    of_one = [driver.fabric(1).state, code_of(driver.fabric, 2)]
    driver.troubles.fail("fabric", 999)
    of_all = [code_of(driver.fabric, gpu) for gpu in (1, 2)]
    driver.troubles.fail("fabric", None)
    driver.troubles.fail("fabric", None, gpu=2)

    assert (of_one, of_all, driver.fabric(2).state) == ([3, 4], [999, 999], 3)


def test_opening_fails_until_told_otherwise() -> None:
    """As while the driver is not loaded."""
    driver = FakeNvml(HGX_H100, 1, lambda: 0.0)
    driver.troubles.fail("open", 9)
    refused = code_of(driver.open)
    was_open = driver.is_open
    driver.troubles.fail("open", None)
    driver.open()

    assert (refused, was_open, driver.is_open) == (9, False, True)


def test_a_field_fails_alone() -> None:
    """Of all links, or of one link of one GPU; the others of its call answer."""
    driver = Driver(HGX_H100)
    pairs = [(161, 0), (163, 0), (161, 1)]
    driver.troubles.fail_field(163, 4)
    driver.troubles.fail_field(161, 3, gpu=5, link=1)
    seen = driver.many(5, pairs).refused, driver.many(4, pairs).refused
    driver.troubles.fail_field(163, None)

    assert (seen, driver.many(4, pairs).refused) == (({1: 4, 2: 3}, {1: 4}), {})


def test_somebody_may_hold_a_call_up() -> None:
    """Told before it answers, by name and index; what is raised there comes out."""
    driver = Driver(HGX_H100)
    told: list[tuple[str, int | None]] = []

    def hold(call: str, index: int | None) -> None:
        told.append((call, index))
        if call == "fabric":
            raise TimeoutError

    driver.troubles.before_call = hold
    driver.one(91, gpu=3)
    driver.gpu_count()

    assert told == [("read", 3), ("gpu_count", None)]
    with pytest.raises(TimeoutError):
        driver.fabric(0)


def test_a_lost_gpu_answers_nothing_and_the_others_go_on() -> None:
    """It is counted all the same."""
    driver = Driver(HGX_H100)
    kept = driver.batch(3, [(165, 0)])
    driver.gpus.lost.add(3)

    assert {code_of(driver.facts, 3), code_of(kept.read), code_of(driver.ask_link, 3, 0, LinkQuestion.STATE)} == {15}
    assert (driver.gpu_count(), driver.one(165, gpu=4)) == (8, 1)


def test_indices_change_at_the_next_open_only() -> None:
    """A GPU that is gone leaves the count at once and its index to the next session; `order` renumbers."""
    driver = Driver(HGX_H100)
    addresses = [driver.facts(gpu).pci for gpu in range(8)]
    driver.gpus.absent.add(0)
    driver.order.reverse()
    within = driver.gpu_count(), driver.facts(1).pci, code_of(driver.facts, 0)
    driver.open()

    assert within == (7, addresses[1], 15)
    assert [driver.facts(gpu).pci for gpu in range(7)] == addresses[:0:-1]
