"""What is shown of a GPU as a whole, through the C library: identity, far ends, NVLink domain, rack, firmware, modes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.fault import Reason
from exporter.model.gpu_fabric import health_fields
from exporter.model.snapshot import Number, SeriesKey
from tests.nvml_library import BOARDS, FakeDriver, constants, field_id, profile, ret, uint
from tests.nvml_library.profiles import CLIQUE, CLUSTER, uuid
from tests.nvml_library.scenario import Value
from tests.sources.nvml.header_words import HEALTH, MASK, health_mask, version_text
from tests.sources.nvml.source_child import Seen, SourceChild

NIL = "00000000-0000-0000-0000-000000000000"
NOTHING_BAD = {"degraded_bw": 2, "route_recovery": 2, "route_unhealthy": 2, "access_timeout_recovery": 2, "incorrect_configuration": 1,
               "partition_assigned": 1, "gfm_connected": 1}  # fmt: skip
INSUFFICIENT_RESOURCES = 23


def fabric_of(seen: Seen, gpu: str = "gpu0") -> dict[SeriesKey, Number]:
    """The GPU's numbers about its NVLink domain, without their prefix."""
    found: dict[SeriesKey, Number] = {}
    for key, number in seen.values.get(gpu, {}).items():
        name = key if isinstance(key, str) else key[0]
        if name.startswith("gpu_fabric_"):
            found[name.removeprefix("gpu_fabric_") if isinstance(key, str) else key[1]] = number
    return found


def ask_fabric(driver: FakeDriver, changes: dict[str, Value], name: str = "gb200") -> Seen:
    """A normal pass of GPU 0 of a profile with these changes."""
    driver.write({**profile(name), **changes})
    with SourceChild(driver) as child:
        child.scan()
        return child.read("gpu0", "normal")


@pytest.mark.parametrize("name", BOARDS)
def test_who_a_gpu_is_and_where_its_links_lead(driver: FakeDriver, name: str) -> None:
    """UUID, address as sysfs writes it, module id, domain; each active link's far end by kind, address, port and version."""
    board, statements = BOARDS[name], profile(name)
    driver.write(statements)

    with SourceChild(driver) as child:
        slow = {gpu: child.passes(gpu)[2] for gpu in child.scan().gpus}

    for gpu, seen in enumerate(slow.values()):
        domain, rest = board.pci(gpu).lower().split(":", 1)
        cluster = (CLUSTER, str(CLIQUE)) if board.is_rack else (NIL, "0") if "fabric" in board.families else ("", "")
        module = str(statements[f"g{gpu}.module"])
        assert seen.values[f"gpu{gpu}"]["gpu_info", uuid(gpu), f"{domain[4:]}:{rest}", board.name, module, *cluster] == 1
        ends = {link: board.far_end(gpu, link) for link in board.active(gpu)}
        assert {link: dict(values) for link, values in seen.links(f"gpu{gpu}").items()} == {
            link: {("nvlink_info", "switch" if end.is_switch else "gpu", "" if board.is_rack else end.pci[4:].lower(), str(end.port),
                    version_text(board.version)): 1}
            for link, end in ends.items()
        }  # fmt: skip
        assert seen.faults == ()


@pytest.mark.parametrize("name", BOARDS)
def test_modes_counts_and_actions_of_a_gpu(driver: FakeDriver, name: str) -> None:
    """Shown where the generation has them, absent where not: never 0 for what nobody said."""
    board = BOARDS[name]
    driver.write(profile(name))

    with SourceChild(driver) as child:
        child.scan()
        fast, normal, slow = child.passes("gpu0")

    shown = {**fast.values.get("gpu0", {}), **normal.values.get("gpu0", {}), **slow.values["gpu0"]}
    counts = {"nvlink_active": len(board.wired) if board.ports else None, "gpu_mig": 0 if board.has_mig else None,
              "gpu_recovery_action": 0 if "recovery_action" in board.families else None,
              "gpu_bandwidth_mode": 0 if "nvlink5" in board.families else None,
              "nvlink_connected": None if not board.ports or name == "v100" else len(board.wired) if board.switches else 0}  # fmt: skip
    assert {key: shown.get(key) for key in counts} == counts


def test_what_the_driver_wants_done_is_shown_as_it_says(driver: FakeDriver) -> None:
    """The enumeration of nvmlDeviceGpuRecoveryAction_t, unchanged; a refusal is no number."""
    field = f"f{field_id('GET_GPU_RECOVERY_ACTION')}"
    driver.write({**profile("h100-sxm"), f"g0.{field}": uint(2), f"g1.{field}": ret(999)})

    with SourceChild(driver) as child:
        child.scan()
        first, second = child.read("gpu0", "normal"), child.read("gpu1", "normal")

    assert [seen.values[gpu].get("gpu_recovery_action") for seen, gpu in ((first, "gpu0"), (second, "gpu1"))] == [2, None]
    assert second.reasons() == {("gpu1", Reason.UNKNOWN)}
    assert second.links("gpu1").keys() == set(range(18))


def test_rack_place_and_firmware_of_a_gb200(driver: FakeDriver) -> None:
    """Numbers that the binding takes for text come out as numbers; firmware by the header's names of its parts."""
    driver.write({**profile("gb200"), "g0.platform.slot": 65, "g0.platform.tray": 10})

    with SourceChild(driver) as child:
        child.scan()
        slow = child.read("gpu0", "slow").values["gpu0"]

    prefix = "NVML_NVLINK_FIRMWARE_UCODE_TYPE_"
    parts = {name.removeprefix(prefix): number for name, number in constants().items() if name.startswith(prefix)}
    assert ("gpu_platform", "1821325170042", "65", "10", "1", "1") in slow
    assert {key[1:] for key in slow if key[0] == "nvlink_firmware"} == {(part, f"36.{2014 + kind}.1676") for part, kind in parts.items()}


def test_the_node_tells_its_driver_and_to_root_its_bandwidth_mode(driver: FakeDriver) -> None:
    """Refused to others, the mode is absent and no Fault."""
    driver.write({**profile("h100-sxm"), "bw_mode": uint(3)})
    with SourceChild(driver) as child:
        told = child.scan().node
    driver.write({**profile("h100-sxm"), "bw_mode": ret(4)})
    with SourceChild(driver) as child:
        refused = child.scan().node

    version: SeriesKey = ("gpu_driver", "550.90.07")
    assert [told.values["node"], refused.values["node"]] == [{version: 1, "node_bandwidth_mode": 3}, {version: 1}]
    assert refused.faults == ()


def test_completed_with_insufficient_resources_is_not_well(driver: FakeDriver) -> None:
    """Azure/azhpc-images#506: state completed, status not, no cluster and no clique."""
    changes: dict[str, Value] = {"g0.fabric.status": INSUFFICIENT_RESOURCES, "g0.fabric.cluster_uuid": "0" * 32, "g0.fabric.clique": 0}
    shown = fabric_of(ask_fabric(driver, changes, "h100-sxm"))

    assert shown == {"state": 3, "status": 23, "healthy": 0}


def test_each_of_the_seven_health_fields_is_shown_and_judged(driver: FakeDriver) -> None:
    """By the shifts and widths of nvml.h: all of them well is healthy, any one of them bad is not."""
    bad = [*((name, 1) for name in ("degraded_bw", "route_recovery", "route_unhealthy", "access_timeout_recovery")),
           *(("incorrect_configuration", kind) for kind in range(2, 9)), ("partition_assigned", 2), ("gfm_connected", 2)]  # fmt: skip
    cases = [NOTHING_BAD, *(NOTHING_BAD | {name: value} for name, value in bad)]
    driver.write(profile("gb200"))
    told = []
    with SourceChild(driver) as child:
        child.scan()
        for case in cases:
            driver.change({"g0.fabric.health_mask": health_mask(**case)})
            told.append(fabric_of(child.read("gpu0", "normal")))

    domain = {"state": 3, "status": 0, "summary": 1}
    assert told == [{**domain, "healthy": int(case is NOTHING_BAD), **case} for case in cases]


@given(st.dictionaries(st.sampled_from(sorted(HEALTH)), st.integers(0, 3)))
def test_health_fields_are_cut_as_the_header_cuts_them(values: dict[str, int]) -> None:
    """Whatever the other bits are; a field that says 0 is not supported and absent."""
    widths = {name: constants()[f"{MASK}WIDTH_{word}"] for name, word in HEALTH.items()}

    assert health_fields(health_mask(**values)) == {name: value & widths[name] for name, value in values.items() if value}


@pytest.mark.parametrize(("summary", "healthy"), [(0, 1), (1, 1), (2, 0), (3, 0)])
def test_a_summary_that_is_bad_is_enough(driver: FakeDriver, summary: int, healthy: int) -> None:
    """Unhealthy and limited capacity; 0, as an H100 always says, tells nothing and is not shown."""
    shown = fabric_of(ask_fabric(driver, {"g0.fabric.summary": summary}))

    assert [shown["healthy"], shown.get("summary")] == [healthy, summary or None]


@pytest.mark.parametrize("state", [0, 1, 2])
def test_a_domain_that_was_not_joined_yet_has_no_verdict(driver: FakeDriver, state: int) -> None:
    """Not started and in progress are states without a judgement; not supported is nothing at all."""
    assert fabric_of(ask_fabric(driver, {"g0.fabric.state": state})) == ({"state": state, **_mask_of_profile()} if state else {})


def _mask_of_profile() -> dict[SeriesKey, Number]:
    return {**{name: value for name, value in NOTHING_BAD.items() if name != "gfm_connected"}, "summary": 1}


def test_a_single_node_without_partition_is_well(driver: FakeDriver) -> None:
    """Nothing about IMEX or partitions is held against a board that has no domain beyond itself (NVIDIA/NVSentinel#1471)."""
    mask = health_mask(partition_assigned=2, degraded_bw=2, incorrect_configuration=1)
    shown = fabric_of(ask_fabric(driver, {"g0.fabric.health_mask": mask}, "h100-sxm"))

    assert shown["healthy"] == 1


@pytest.mark.parametrize(("rejected", "newest"), [("", 4), ("4", 3), ("4 3", 2), ("4 3 2", 1)])
def test_the_newest_layout_that_the_driver_knows_is_taken(driver: FakeDriver, rejected: str, newest: int) -> None:
    """v4, v3, v2, then the one without a version: state, cluster and clique from each, health from those that tell it."""
    driver.write({**profile("gb200"), "fabric.reject": rejected})
    with SourceChild(driver) as child:
        child.scan()
        _, normal, slow = child.passes("gpu0")

    identity = next(key for key in slow.values["gpu0"] if key[0] == "gpu_info")
    shown = fabric_of(normal)
    assert [shown["state"], identity[-2:], normal.faults] == [3, (CLUSTER, str(CLIQUE)), ()]
    assert ["summary" in shown, "degraded_bw" in shown] == [newest >= 3, newest >= 2]


def test_a_driver_of_no_known_layout_has_no_domain(driver: FakeDriver) -> None:
    """All four refused: absent, not a Fault."""
    normal = ask_fabric(driver, {"fabric.reject": "4 3 2 1"})

    assert [fabric_of(normal), normal.faults] == [{}, ()]


def test_a_gpu_in_several_cliques_shows_the_one_of_plain_pointers(driver: FakeDriver) -> None:
    """Version 4 lists many; the first of type 0 is what older layouts call the clique."""
    driver.write({**profile("gb200"), "g0.fabric.clique_entry": ("1 8", "0 5", "0 6")})
    with SourceChild(driver) as child:
        child.scan()
        slow = child.passes("gpu0")[2]

    assert next(key for key in slow.values["gpu0"] if key[0] == "gpu_info")[-1] == "5"


def test_chip_to_chip_links_that_are_not_up_have_no_bandwidth_and_no_fault(driver: FakeDriver) -> None:
    """Their status says 0; the others are whole."""
    down: dict[str, Value] = {f"g0.l2.f{field_id('C2C_LINK_GET_STATUS')}": uint(0), f"g0.l2.f{field_id('C2C_LINK_GET_MAX_BW')}": ret(3)}
    normal = ask_fabric(driver, down)
    links = normal.links("gpu0", "c2c")

    assert [links[2]["c2c_status"], "c2c_bandwidth" in links[2], "c2c_bandwidth" in links[3], normal.faults] == [0, False, True, ()]
