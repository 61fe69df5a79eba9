"""Which fields each generation answers, and what a healthy link says."""

import pytest

from exporter.simulator.nvlink_counters import NO_ERRORS
from exporter.simulator.profiles import (
    A100_PCIE_UNBRIDGED,
    GB200_TRAY,
    H100_PCIE_PAIRS,
    HGX_A100,
    HGX_B200,
    HGX_H100,
    ROCE_H200,
    V100,
    Profile,
)
from exporter.simulator.simulated_gpus import INACTIVE, SLEEP
from exporter.sources.nvml_session import LinkQuestion
from tests.gpu_profiles import GPU_PROFILES
from tests.simulator.open_driver import Driver, code_of

BOARDS = (V100, HGX_A100, HGX_H100, ROCE_H200, HGX_B200, GB200_TRAY)
ERROR_CALLS = (LinkQuestion.REPLAY, LinkQuestion.RECOVERY, LinkQuestion.CRC_FLIT, LinkQuestion.CRC_DATA, LinkQuestion.ECC_DATA)
NEWEST_DRIVERS = tuple(range(289, 297))


def _has(driver: Driver, *numbers: int, link: int = 0) -> set[int]:
    """Which of these fields it answers."""
    return {number for number in numbers if driver.one(number, link) >= 0}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [(V100, set()), (HGX_A100, {138, 139, 140, 141}), (HGX_H100, {138, 139, 140, 141}), (ROCE_H200, {138, 139, 140, 141}),
     (HGX_B200, {138, 139, 140, 141, 201, 202, 203, 204}), (GB200_TRAY, {138, 139, 140, 141, 201, 202, 203, 204})],
    ids=[profile.name for profile in BOARDS],
)  # fmt: skip
def test_bytes_are_in_kib_from_ampere_and_exact_from_blackwell_on(profile: Profile, expected: set[int]) -> None:
    """A V100 has none; where both are told they agree."""
    driver = Driver(profile)

    assert _has(driver, *range(138, 142), *range(201, 205)) == expected
    if 202 in expected:
        assert driver.one(138, 3) == driver.one(202, 3) // 1024 > 0
        assert driver.one(139, 3) == driver.one(204, 3) // 1024 > 0


@pytest.mark.parametrize(
    ("profile", "fields", "calls"),
    [(V100, set(), 4), (HGX_A100, {161, 162, 163}, 5), (HGX_H100, {161, 162, 163}, 5), (HGX_B200, set(), 0), (GB200_TRAY, set(), 0)],
    ids=["v100", "a100", "h100", "b200", "gb200"],
)
def test_the_old_error_counters_end_with_blackwell(profile: Profile, fields: set[int], calls: int) -> None:
    """Fields from Ampere to Hopper, the call from Volta on."""
    driver = Driver(profile)

    assert _has(driver, 161, 162, 163) == fields
    if calls:
        assert [driver.ask_link(0, 0, question) for question in ERROR_CALLS[:calls]] == [0] * calls
    assert [code_of(driver.ask_link, 0, 0, question) for question in ERROR_CALLS[calls:]] == [3] * (5 - calls)


@pytest.mark.parametrize("profile", BOARDS, ids=lambda profile: profile.name)
def test_the_new_error_fields_begin_with_blackwell(profile: Profile) -> None:
    """Packets, recoveries, effective and symbol errors and ratios, FEC bins, the GPU's recovery action; the newest with a rack's driver."""
    new = {*range(206, 216), 219, 220, 221, 222, 230, *range(235, 251)}
    expected = new if profile in (HGX_B200, GB200_TRAY) else set()

    assert _has(Driver(profile), *new, *NEWEST_DRIVERS) == expected | (set(NEWEST_DRIVERS) if profile is GB200_TRAY else set())


def test_a_v100_tells_its_state_by_the_call_alone() -> None:
    """Version, rate and far end have fields there too."""
    driver = Driver(V100)

    assert _has(driver, 91, 146, 147, 164, 165, 166, 167) == {91, 146, 164, 166}
    assert driver.ask_link(0, 5, LinkQuestion.STATE) == 1


@pytest.mark.parametrize(
    ("profile", "links", "version", "rate"),
    [(V100, 6, 2, 25_781), (HGX_A100, 12, 4, 25_781), (HGX_H100, 18, 6, 26_562), (ROCE_H200, 18, 6, 26_562),
     (HGX_B200, 18, 7, 53_125), (GB200_TRAY, 18, 7, 53_125)],
    ids=[profile.name for profile in BOARDS],
)  # fmt: skip
def test_links_are_as_many_and_as_fast_as_the_board_has(profile: Profile, links: int, version: int, rate: int) -> None:
    """The version is NVML's enumeration."""
    driver = Driver(profile)

    assert (driver.one(91), driver.one(166), driver.one(164)) == (links, version, rate)
    assert driver.ask_link(0, 0, LinkQuestion.VERSION) == version
    assert [driver.ask_link(0, link, LinkQuestion.STATE) for link in range(links)] == [1] * links


@pytest.mark.parametrize("profile", GPU_PROFILES, ids=lambda profile: profile.name)
def test_a_link_beyond_the_ports_is_an_invalid_argument(profile: Profile) -> None:
    """By call and by field, as is a GPU beyond the count; a field that nobody knows is not supported."""
    driver = Driver(profile)
    ports = driver.one(91)

    assert [code_of(driver.ask_link, 0, ports, question) for question in LinkQuestion] == [2] * len(LinkQuestion)
    assert (code_of(driver.peer_pci, 0, ports), driver.one(164, ports), code_of(driver.facts, driver.gpu_count())) == (2, -2, 2)
    assert (driver.one(9999), driver.one(145)) == (-3, -3)


def test_a_port_that_leads_nowhere_is_there_and_inactive() -> None:
    """It has a state and error counters, and no rate, version or far end."""
    driver = Driver(A100_PCIE_UNBRIDGED)

    assert {driver.one(165, link) for link in range(12)} == {INACTIVE}
    assert _has(driver, 146, 161, 162, 163, 164, 165, 166, 167) == {161, 162, 163, 165}
    assert (code_of(driver.peer_pci, 0, 0), code_of(driver.ask_link, 0, 0, LinkQuestion.REMOTE_TYPE)) == (3, 3)
    assert [link for link in range(18) if Driver(H100_PCIE_PAIRS).one(165, link) == INACTIVE] == [4, 5, 10, 11, 16, 17]


@pytest.mark.parametrize("pair", [(138, 1), (141, 1), (201, 1), (204, 1)], ids=str)
def test_bytes_of_an_inactive_link_spoil_the_whole_call(pair: tuple[int, int]) -> None:
    """Its neighbours' too; a sleeping link spoils nothing, and neither does an inactive one in another family."""
    driver = Driver(HGX_B200)
    pairs = [(pair[0], link) for link in range(18)]
    driver.gpus.set_link(0, 1, SLEEP)
    asleep = driver.many(0, pairs)
    driver.gpus.set_link(0, 1, INACTIVE)

    assert asleep.refused == {}
    assert code_of(driver.batch(0, pairs).read) == 2
    assert driver.many(0, [(206, link) for link in range(18)]).refused == {}


def test_bytes_beyond_the_ports_refuse_only_themselves() -> None:
    """Per value."""
    assert Driver(HGX_H100).many(0, [(138, 0), (138, 18), (139, 0)]).refused == {1: 2}


def test_chip_to_chip_links_are_the_superchips_alone() -> None:
    """Five a GPU, all up and without errors."""
    driver = Driver(GB200_TRAY)

    assert driver.one(170) == 5
    assert [driver.one(number, 4) for number in (171, 172, 231, 232, 233, 234)] == [1, 44_712, 0, 0, 0, 0]
    assert (driver.one(171, 5), Driver(HGX_B200).one(170), Driver(HGX_B200).one(171)) == (-2, -3, -3)


def test_a_healthy_blackwell_link_has_no_errors_and_a_trickle_of_corrections() -> None:
    """Effective and symbol ratios say "none" by their mark; nearly all codewords are in bin 0, few in 1 and 2."""
    driver = Driver(GB200_TRAY, elapsed_s=86_400.0)
    bins = [driver.one(235 + n, 7) for n in range(16)]

    assert [driver.one(number, 7) for number in (*range(206, 216), 219, 221)] == [0] * 12
    assert (driver.one(220, 7), driver.one(222, 7)) == (NO_ERRORS, NO_ERRORS) == (0xFFF, 0xFFF)
    assert bins[0] > 10**5 * bins[1] > 10**5 * bins[2] > 0
    assert bins[3:] == [0] * 13
