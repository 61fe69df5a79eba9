"""Drivers that lack a function, a field or a structure: what it would have told is absent, and that is never a Fault."""

import pytest

from tests.nvml_library import FakeDriver, field_id, profile
from tests.nvml_library.scenario import Value
from tests.sources.nvml.source_child import Seen, SourceChild

PREFIX = "nvmlDeviceGet"
OPTIONAL: list[tuple[set[str], set[str]]] = [
    (
        {f"{PREFIX}{name}" for name in ("ModuleId", "GpuFabricInfo_v4", "PlatformInfo", "MigMode")} | {"nvmlDeviceReadPRMCounters_v1"},
        {"gpu_platform", "gpu_mig", "nvlink_transmit_wait", "nvlink_downs"},
    ),
    (
        {f"{PREFIX}{name}" for name in ("GpuFabricInfo_v4", "GpuFabricInfoV", "NvLinkInfo")}
        | {f"nvml{owner}GetNvlinkBwMode" for owner in ("Device", "System")},
        {"gpu_fabric_health", "nvlink_firmware", "gpu_bandwidth_mode", "node_bandwidth_mode"},
    ),
    (
        {f"{PREFIX}GpuFabricInfo{name}" for name in ("_v4", "V", "")},
        {"gpu_fabric_state", "gpu_fabric_status", "gpu_fabric_healthy", "gpu_fabric_health"},
    ),
    ({f"{PREFIX}NvLink{name}" for name in ("RemoteDeviceType", "RemotePciInfo_v2", "Version", "ErrorCounter", "State")}, set()),
    ({f"{PREFIX}{name}" for name in ("MinorNumber", "MaxMigDeviceCount", "MigDeviceHandleByIndex")}, set()),
    ({"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlEventSetCreate"}, {"xid", "gpu_fallen_off_bus"}),
    ({"nvmlEventSetWait_v2", "nvmlEventSetFree"}, {"xid", "gpu_fallen_off_bus"}),
    ({"nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents"}, set()),
]
"""Functions that a library lacks together → the series that only they tell."""
FIELDS = "nvmlDeviceGetFieldValues"


def everything(driver: FakeDriver) -> tuple[set[str], set[str]]:
    """Keys of all that is shown of the node and of GPU 0 in two rounds, and details of all Faults."""
    keys: set[str] = set()
    faults: set[str] = set()

    def take(seen: Seen) -> None:
        keys.update(key if isinstance(key, str) else key[0] for values in seen.values.values() for key in values)
        faults.update(fault.detail for fault in seen.faults)

    with SourceChild(driver, xid_events=True, with_processes=True, with_device_ids=True) as child:
        for _ in range(2):
            take(child.scan().node)
            for seen in child.passes("gpu0"):
                take(seen)
        child.close()
    assert driver.holders() == set()
    return keys, faults


@pytest.mark.parametrize(("functions", "series"), OPTIONAL)
def test_functions_that_the_library_lacks_cost_only_their_series(driver: FakeDriver, functions: set[str], series: set[str]) -> None:
    """Every other series of a GB200 tray is there, and no Fault (gpuopenanalytics/pynvml#43)."""
    statements: dict[str, Value] = {**profile("gb200"), "bw_mode": 0}
    whole, _ = everything(driver.write(statements))
    keys, faults = everything(FakeDriver(driver.scenario_path.parent / "older", without=functions).write(statements))

    assert [whole - keys, faults] == [series, set()]


def test_without_any_optional_function_the_links_are_still_there(driver: FakeDriver) -> None:
    """State, bytes and errors by the field call alone."""
    older = FakeDriver(driver.scenario_path.parent / "older", without=set().union(*(one for one, _ in OPTIONAL))).write(profile("h100-sxm"))
    with SourceChild(older) as child:
        gpus = child.scan().gpus
        fast, normal, slow = child.passes("gpu0")

    assert [len(gpus), len(fast.links("gpu0")), len(normal.links("gpu0")), len(slow.links("gpu0"))] == [8, 18, 18, 18]
    assert fast.column("gpu0", "nvlink_received").keys() == set(range(18))
    assert fast.faults + normal.faults + slow.faults == ()


def test_without_the_field_call_states_and_errors_come_by_the_old_ones(driver: FakeDriver) -> None:
    """A driver of Pascal's days: no bytes, no rate, and no Fault."""
    older = FakeDriver(driver.scenario_path.parent / "older", without=(FIELDS,)).write(profile("v100"))
    with SourceChild(older) as child:
        scan = child.scan()
        fast, normal, slow = child.passes("gpu0")

    assert fast.column("gpu0", "nvlink_state") == dict.fromkeys(range(6), 1)
    kinds = {("nvlink_errors", "replay"), ("nvlink_errors", "crc_flit"), ("nvlink_errors", "crc_data"), ("nvlink_recoveries", "any")}
    assert {link: set(values) for link, values in normal.links("gpu0").items()} == dict.fromkeys(range(6), kinds)
    assert {key[4] for values in slow.links("gpu0").values() for key in values} == {"2.0"}
    assert scan.node.faults + fast.faults + normal.faults + slow.faults == ()


@pytest.mark.parametrize("known", ["NVLINK_THROUGHPUT_RAW_RX", "NVLINK_REMOTE_NVLINK_ID", "NVLINK_GET_POWER_STATE",
                                   "C2C_LINK_GET_MAX_BW", "NVLINK_COUNT_SYMBOL_BER"])  # fmt: skip
def test_fields_that_came_after_the_driver_are_absent(driver: FakeDriver, known: str) -> None:
    """InvalidArgument for every id above: what it does know is shown, and nothing is a Fault."""
    driver.write({**profile("gb200"), "fields.known_max": field_id(known)})
    with SourceChild(driver, full=True) as child:
        scan = child.scan()
        passes = child.passes("gpu0")

    assert [seen.faults for seen in (scan.node, *passes)] == [()] * 4
    assert [passes[0].column("gpu0", "nvlink_state"), len(passes[0].column("gpu0", "nvlink_received"))] == [dict.fromkeys(range(18), 1), 18]


def test_an_old_driver_counts_bytes_of_a_new_gpu_in_kib(driver: FakeDriver) -> None:
    """Where it does not know the byte fields, those in KiB are taken, times 1024: the same traffic."""
    driver.write(profile("b200")).clock.set(7)
    with SourceChild(driver) as child:
        child.scan()
        sound = child.read("gpu0", "fast").column("gpu0", "nvlink_transmitted")
    driver.change({"fields.known_max": field_id("NVLINK_GET_POWER_STATE")})
    with SourceChild(driver) as child:
        child.scan()
        older = child.read("gpu0", "fast").column("gpu0", "nvlink_transmitted")

    assert older == sound
