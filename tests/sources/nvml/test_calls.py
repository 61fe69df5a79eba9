"""What the driver is asked, by the fake library's own log: how often, about what, and what never."""

from collections.abc import Collection

import pytest

from tests.nvml_library import BOARDS, FakeDriver, field_id, profile
from tests.sources.nvml.header_words import KIB_BYTES, LEGACY, NVLINK5, NVLINK5_BYTES, OF_C2C, STATE, TRAINED
from tests.sources.nvml.source_child import SourceChild

SUM_OF_LINKS = 0xFFFFFFFF
FIELDS = "nvmlDeviceGetFieldValues"
RATIOS = [name for name in NVLINK5 if "_BER" in name and "LANE" not in name]
RAW = ["NVLINK_COUNT_RAW_ERRORS_LANE0", "NVLINK_COUNT_RAW_ERRORS_LANE1", "NVLINK_GET_DATA_RATE"]
PACKETS = ["NVLINK_COUNT_XMIT_PACKETS", "NVLINK_COUNT_RCV_PACKETS"]
HISTOGRAM = [f"NVLINK_COUNT_FEC_HISTORY_{number}" for number in range(16)]
REPETITION = ["NVLINK_PLR_XMIT_BLOCKS", "NVLINK_PLR_XMIT_RETRY_BLOCKS"]
EVENTS = [name for name in NVLINK5 if name not in {*RATIOS, *RAW, *PACKETS, *HISTOGRAM, *REPETITION} and "_BER" not in name]
ACTION = ["GET_GPU_RECOVERY_ACTION"]
NVLINK5_NORMAL: list[Collection[str]] = [EVENTS, RATIOS, REPETITION, list(TRAINED), PACKETS, HISTOGRAM, RAW, ACTION]
"""Families of a normal pass of Blackwell."""
FAMILIES: dict[str, tuple[list[Collection[str]], list[Collection[str]]]] = {
    "v100": ([STATE], [LEGACY, TRAINED]),
    "a100-sxm": ([STATE, KIB_BYTES], [LEGACY, TRAINED]),
    "a100-pcie-nobridge": ([STATE], []),
    "h100-sxm": ([STATE, KIB_BYTES], [LEGACY, TRAINED, ACTION]),
    "h100-nvl": ([STATE, KIB_BYTES], [LEGACY, TRAINED, ACTION]),
    "hgx-h100-4": ([STATE, KIB_BYTES], [LEGACY, TRAINED, ACTION]),
    "h200": ([STATE, KIB_BYTES], [LEGACY, TRAINED, ACTION]),
    "b200": ([STATE, NVLINK5_BYTES], NVLINK5_NORMAL),
    "gb200": ([STATE, NVLINK5_BYTES], [*NVLINK5_NORMAL, OF_C2C]),
    "l40s": ([], []),
    "mixed-mig": ([STATE, KIB_BYTES], [LEGACY, TRAINED, ACTION]),
    "rubin-36": ([STATE, NVLINK5_BYTES], NVLINK5_NORMAL),
}
"""What each machine is asked in a steady fast and normal pass, one call each: nothing that its generation lacks."""


def test_every_profile_is_in_the_table() -> None:
    """A machine that is added must say what it is asked."""
    assert FAMILIES.keys() == BOARDS.keys()


@pytest.mark.parametrize("name", BOARDS)
def test_a_steady_pass_asks_one_field_call_for_each_family(driver: FakeDriver, name: str) -> None:
    """Of a GPU: as many calls as it has families, each with all links and fields of its family, none for a family it lacks."""
    driver.write(profile(name))
    with SourceChild(driver, full=True) as child:
        child.scan()
        child.passes("gpu0")
        asked = []
        for cadence in ("fast", "normal"):
            driver.forget_calls()
            child.read("gpu0", cadence)
            calls = driver.calls(FIELDS)
            assert {call.gpu for call in calls} <= {0}
            asked.append(sorted(sorted({number for number, _ in call.fields}) for call in calls))
            pairs = [pair for call in calls for pair in call.fields]
            assert len(pairs) == len(set(pairs)), "a number was asked for twice"

    assert asked == [sorted(sorted(map(field_id, names)) for names in families) for families in FAMILIES[name]]


@pytest.mark.parametrize("name", ["b200", "gb200", "rubin-36"])
def test_a_steady_pass_reads_all_registers_of_all_ports_in_one_call(driver: FakeDriver, name: str) -> None:
    """Nothing else besides: no state or counter call for a link whose fields answered."""
    driver.write(profile(name))
    with SourceChild(driver) as child:
        child.scan()
        child.passes("gpu0")
        driver.forget_calls()
        child.read("gpu0", "fast")
        child.read("gpu0", "normal")

    others = [call.name for call in driver.calls() if call.name != FIELDS]
    assert others == ["nvmlDeviceReadPRMCounters_v1", "nvmlDeviceGetMigMode", "nvmlDeviceGetGpuFabricInfo_v4"]


@pytest.mark.parametrize("name", BOARDS)
def test_nothing_is_ever_changed_and_no_sum_is_asked_for(driver: FakeDriver, name: str) -> None:
    """From the first look to the last, with every option on."""
    driver.write(profile(name))
    with SourceChild(driver, full=True, xid_events=True, with_processes=True, with_device_ids=True) as child:
        for _ in range(2):
            for gpu in child.scan().gpus:
                child.passes(gpu)
        child.close()
        assert driver.holders() == set()

    calls = driver.calls()
    assert [call.name for call in calls if call.changes_the_node] == []
    assert [call for call in calls if call.name == FIELDS and any(scope == SUM_OF_LINKS for _, scope in call.fields)] == []
    assert [call.name for call in calls if "Utilization" in call.name or "Capability" in call.name] == []


@pytest.mark.parametrize("name", ["a100-pcie-nobridge", "h100-nvl", "mixed-mig", "h100-sxm"])
def test_an_inactive_link_is_never_in_a_call_for_bytes(driver: FakeDriver, name: str) -> None:
    """Not when the GPU is met, nor in a pass, nor after a link went down between two."""
    driver.write(profile(name))
    bytes_fields = {field_id(one) for one in (*KIB_BYTES, *NVLINK5_BYTES)}
    active = {gpu: set(BOARDS[name].active(gpu)) for gpu in range(BOARDS[name].gpus)}

    def asked() -> dict[int, set[int]]:
        found: dict[int, set[int]] = {gpu: set() for gpu in active}
        for call in driver.calls(FIELDS):
            assert call.gpu is not None
            found[call.gpu] |= {scope for number, scope in call.fields if number in bytes_fields}
        return found

    with SourceChild(driver) as child:
        for gpu in child.scan().gpus:
            child.passes(gpu)
        assert asked() == active
        driver.forget_calls()
        driver.change({"g0.l2.state": 0, f"g0.l2.f{field_id('NVLINK_GET_STATE')}": 0})
        child.read("gpu0", "fast")

    assert asked()[0] == active[0] - {2}
