"""Which ports a GPU is taken to have, and what is said of those that are not active: unwired, down, hidden, asleep, or nobody knows."""

import pytest

from exporter.catalog.nvlink import PRESENCE_DOWN, PRESENCE_MIG, PRESENCE_UNKNOWN, PRESENCE_UNWIRED
from exporter.model.fault import Reason
from tests.nvml_library import BOARDS, FakeDriver, field_id, profile, ret, uint
from tests.nvml_library.profiles import uuid
from tests.nvml_library.scenario import Value
from tests.sources.nvml.source_child import Scanned, Seen, SourceChild

COUNT, STATE = f"f{field_id('NVLINK_LINK_COUNT')}", f"f{field_id('NVLINK_GET_STATE')}"
WIRED_OF_NVL = set(BOARDS["h100-nvl"].wired)
PRESENCE = "nvlink_presence"


def down(gpu: int, *links: int) -> dict[str, Value]:
    """These links are inactive."""
    return {key: value for link in links for key, value in ((f"g{gpu}.l{link}.state", 0), (f"g{gpu}.l{link}.{STATE}", uint(0)))}


def look(driver: FakeDriver, changes: dict[str, Value], name: str, *configured: str, learned: dict[str, set[int]] | None = None,
         gpu: str = "gpu0") -> tuple[Scanned, Seen]:  # fmt: skip
    """A scan and a fast pass of one GPU of a profile with these changes."""
    driver.write({**profile(name), **changes})
    with SourceChild(driver, configured=configured, learned=learned) as child:
        return child.scan(), child.read(gpu, "fast")


def expected_of(scan: Scanned, gpu: str = "gpu0") -> tuple[str, object]:
    """Who expects something of the GPU's links, and how many."""
    values = scan.node.values[gpu]
    source = next(key[1] for key in values if key[0] == "nvlink_expectation")
    return source, values.get("nvlink_expected")


@pytest.mark.parametrize("refusal", [2, 3])
def test_what_is_beyond_the_count_is_never_a_port(driver: FakeDriver, refusal: int) -> None:
    """NVIDIA/TensorRT-LLM#19210: 36 ports are capable, 18 are there, and the others refuse in one way or the other."""
    _, seen = look(driver, {"links.beyond.ret": refusal}, "b200")

    assert seen.links("gpu0").keys() == set(range(18))
    assert max(call.link for call in driver.calls() if call.link is not None) == 17
    assert seen.faults == ()


@pytest.mark.parametrize("refusal", [2, 3])
def test_without_a_count_each_port_that_tells_its_state_is_one(driver: FakeDriver, refusal: int) -> None:
    """A driver before field 91, whichever way it refuses the field and the ports beyond."""
    _, seen = look(driver, {f"g*.{COUNT}": ret(refusal), f"g0.{COUNT}": ret(refusal), "links.beyond.ret": refusal}, "b200")

    assert [seen.links("gpu0").keys(), seen.faults] == [set(range(18)), ()]


def test_an_odd_port_in_the_middle_ends_nothing(driver: FakeDriver) -> None:
    """InvalidArgument for port 5 by every way of asking: the ports behind it are read."""
    _, seen = look(driver, {"g0.l5.state": ret(2), f"g0.l5.{STATE}": ret(2)}, "h100-sxm")

    assert [seen.column("gpu0", "nvlink_received").keys(), seen.faults] == [set(range(18)) - {5}, ()]


def test_a_port_whose_state_fails_costs_only_itself(driver: FakeDriver) -> None:
    """Unknown Error for port 5: a Fault that names it, and its neighbours' numbers."""
    _, seen = look(driver, {"g0.l5.state": ret(999), f"g0.l5.{STATE}": ret(999)}, "h100-sxm")

    assert seen.column("gpu0", "nvlink_received").keys() == set(range(18)) - {5}
    assert [seen.reasons(), "nvlink_active" in seen.values.get("gpu0", {})] == [{("gpu0/5", Reason.UNKNOWN)}, False]


@pytest.mark.parametrize(("count", "ports"), [(5, 5), (17, 17), (18, 18), (200, 18), (2**32 - 1, 18), (0, 0)])
def test_an_odd_count_is_an_upper_bound(driver: FakeDriver, count: int, ports: int) -> None:
    """Fewer than there are, more than anybody has, none."""
    _, seen = look(driver, {f"g0.{COUNT}": uint(count)}, "h100-sxm")

    assert [seen.links("gpu0").keys(), seen.faults] == [set(range(ports)), ()]


def test_a_gpu_without_nvlink_has_no_series_of_links_and_no_faults(driver: FakeDriver) -> None:
    """L40S: no ports, nothing expected, and after the first look nothing is asked."""
    scan, seen = look(driver, {}, "l40s")

    assert [seen.values, seen.faults, scan.node.faults] == [{}, (), ()]
    assert [gpu for gpu in scan.node.values if gpu != "node"] == []


def test_a_card_without_its_bridge_is_not_down(driver: FakeDriver) -> None:
    """NVIDIA/NVSentinel#1481: 12 ports of an A100 PCIe, none wired: nobody knows, nothing is expected, nothing is a Fault."""
    scan, seen = look(driver, {}, "a100-pcie-nobridge")

    assert expected_of(scan) == ("unknown", None)
    assert [seen.column("gpu0", PRESENCE), seen.faults] == [dict.fromkeys(range(12), PRESENCE_UNKNOWN), ()]
    assert seen.values["gpu0"] == {"nvlink_active": 0}


def test_a_card_that_is_known_to_have_no_bridge_is_unwired(driver: FakeDriver) -> None:
    """As its owner says."""
    scan, seen = look(driver, {}, "a100-pcie-nobridge", "NVIDIA A100 80GB PCIe=0")

    assert expected_of(scan) == ("configured", 0)
    assert seen.column("gpu0", PRESENCE) == dict.fromkeys(range(12), PRESENCE_UNWIRED)


def test_a_bridged_board_is_half_wired_and_well(driver: FakeDriver) -> None:
    """Azure/azurehpc-health-checks#162: of 18 ports 12 are wired; the other end sees twelve, so twelve are expected."""
    scan, seen = look(driver, {}, "h100-nvl")

    assert expected_of(scan) == ("symmetry", 12)
    assert seen.column("gpu0", PRESENCE) == dict.fromkeys(set(range(18)) - WIRED_OF_NVL, PRESENCE_UNWIRED)


@pytest.mark.parametrize("source", ["configured", "learned"])
def test_a_link_that_is_known_to_be_wired_is_down_when_it_is_not_active(driver: FakeDriver, source: str) -> None:
    """The list of links tells link 3, which is down, from 4, which never was wired."""
    text = ["NVIDIA H100 NVL=[0-3,6-9,12-15]"] if source == "configured" else []
    learned = {uuid(gpu): WIRED_OF_NVL for gpu in range(4)} if source == "learned" else None
    scan, seen = look(driver, down(0, 3), "h100-nvl", *text, learned=learned)

    unwired = dict.fromkeys(set(range(18)) - WIRED_OF_NVL, PRESENCE_UNWIRED)
    assert expected_of(scan) == (source, 12)
    assert seen.column("gpu0", PRESENCE) == {**unwired, 3: PRESENCE_DOWN}


def test_one_gpu_of_a_board_with_all_links_down_is_down(driver: FakeDriver) -> None:
    """leptonai/gpud#1085: the driver calls it well; the board wires eighteen."""
    scan, seen = look(driver, down(3, *range(18)), "b200", gpu="gpu3")

    assert expected_of(scan, "gpu3") == ("board", 18)
    assert [seen.column("gpu3", PRESENCE), seen.faults] == [dict.fromkeys(range(18), PRESENCE_DOWN), ()]
    assert [seen.values["gpu3"]["nvlink_active"], seen.column("gpu3", "nvlink_received")] == [0, {}]


@pytest.mark.parametrize(("configured", "learned", "name", "expected"), [
    (["gpu0=7"], True, "h100-sxm", ("configured", 7)),
    (["gpu1=7"], True, "h100-sxm", ("board", 18)),
    ([], True, "h100-nvl", ("learned", 2)),
    ([], False, "h100-nvl", ("symmetry", 12)),
    ([], False, "a100-pcie-nobridge", ("unknown", None)),
])  # fmt: skip
def test_the_first_that_knows_is_believed(driver: FakeDriver, configured: list[str], *, learned: bool, name: str,
                                          expected: tuple[str, object]) -> None:  # fmt: skip
    """Configuration, then board, then what was learned, then symmetry; else nobody."""
    scan, _ = look(driver, {}, name, *configured, learned={uuid(0): {0, 1}} if learned else None)

    assert expected_of(scan) == expected


def test_while_a_gpu_is_partitioned_nothing_is_expected_of_any(driver: FakeDriver) -> None:
    """NVIDIA bug 200682374: MIG on one GPU makes links of the node look down; they are hidden, not down, and nothing is learned."""
    driver.write({**profile("mixed-mig"), **down(0, 4)})
    with SourceChild(driver, configured=["gpu.*=18"]) as child:
        scan = child.scan()
        partitioned, whole = child.read("gpu2", "fast"), child.read("gpu0", "fast")
        modes = [child.read(gpu, "normal").values[gpu]["gpu_mig"] for gpu in ("gpu0", "gpu2")]
        noted = child.state().noted

    assert [expected_of(scan, gpu) for gpu in scan.gpus] == [("configured", None)] * 8
    assert partitioned.column("gpu2", PRESENCE) == dict.fromkeys(range(18), PRESENCE_MIG)
    assert [whole.column("gpu0", PRESENCE), modes, noted] == [{4: PRESENCE_MIG}, [0, 1], {}]
    assert partitioned.faults + whole.faults == ()


@pytest.mark.parametrize(("state", "presence", "active"), [(2, 2, 18), (3, 3, 17), (7, PRESENCE_UNKNOWN, 17)])
def test_sleep_and_disabled_traffic_are_not_down(driver: FakeDriver, state: int, presence: int, active: int) -> None:
    """Asleep counts as active; a state that came after this program is shown as it is and judged by nobody."""
    _, seen = look(driver, {f"g0.l4.{STATE}": uint(state)}, "b200")

    assert [seen.links("gpu0")[4]["nvlink_state"], seen.column("gpu0", PRESENCE)] == [state, {4: presence}]
    assert [seen.values["gpu0"]["nvlink_active"], 4 in seen.column("gpu0", "nvlink_received")] == [active, True]
