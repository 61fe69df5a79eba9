"""The Python side: keys, values, clock, the call log, what may be left out of the library, and what nvml.h says."""

from pathlib import Path

import pytest

from tests.nvml_library import Call, FakeDriver, constants, field_id, fields, header_path, ull
from tests.nvml_library.library import build, exported
from tests.nvml_library.scenario import NS, Amount, Value, text_of

ONE_GPU: dict[str, Value] = {"gpus": 1, "g0.links": 4, "g0.l*.state": 1, "g0.l*.f138": ull(5)}


@pytest.mark.parametrize("key", ["g0.uid", "gpu0.uuid", "g0.l3.f", "g0.l3.uuid", "call.Name.ret", "g0.port1.f138", "g0.l3.counter5", ""])
def test_a_misspelt_key_is_refused(key: str) -> None:
    """The library would pass by it in silence."""
    with pytest.raises(ValueError, match="knows no key"):
        text_of({key: 1})


def test_a_list_is_a_key_that_stands_several_times() -> None:
    """One line each."""
    assert text_of({"g0.proc": ("1 2", "3 4"), "gpus": 1}) == "g0.proc = 1 2\ng0.proc = 3 4\ngpus = 1\n"


def test_an_amount_rounds_down_and_wraps() -> None:
    """As counters do."""
    risen = [ull(10, rate=3).at(NS // 2), Amount("ushort", 65_535, 1).at(NS), Amount("int", 0, -1).at(1), ull(2**53, rate=1).at(NS)]

    assert risen == [11, 0, -1, 2**53 + 1]


def test_the_log_tells_function_gpu_link_fields_and_process(driver: FakeDriver) -> None:
    """In order, failed calls included."""
    with driver.write(ONE_GPU).start("""
        gpu = started()[0]
        outcome(N.nvmlDeviceGetNvLinkState, gpu, 9)
        values(gpu, [(138, 2), (165, 0), (138, 0xFFFFFFFF)])
        outcome(N.nvmlDeviceGetP2PStatus, gpu, gpu, 2)
    """) as child:
        child.end()

    pid = child.pid
    assert driver.calls() == (
        Call("nvmlInitWithFlags", None, pid=pid),
        Call("nvmlDeviceGetCount_v2", None, pid=pid),
        Call("nvmlDeviceGetHandleByIndex_v2", 0, pid=pid),
        Call("nvmlDeviceGetNvLinkState", 0, link=9, pid=pid),
        Call("nvmlDeviceGetFieldValues", 0, fields=((138, 2), (165, 0), (138, 0xFFFFFFFF)), pid=pid),
        Call("nvmlDeviceGetP2PStatus", 0, peer=0, pid=pid),
    )


def test_calls_that_change_the_node_stand_in_the_log(driver: FakeDriver) -> None:
    """Resets, freezes and settings do nothing but that; reading is none of them."""
    driver.write(ONE_GPU).ask("""
        gpu = started()[0]
        N.nvmlDeviceGetNvLinkState(gpu, 1)
        N.nvmlDeviceResetNvLinkErrorCounters(gpu, 1)
        N.nvmlDeviceFreezeNvLinkUtilizationCounter(gpu, 1, 0, 1)
        N.nvmlDeviceResetNvLinkUtilizationCounter(gpu, 1, 0)
        N.nvmlDeviceSetNvLinkUtilizationControl(gpu, 1, 0, ctypes.c_uint64(), 1)
        N.nvmlDeviceClearFieldValues(gpu, [138])
        N.nvmlSystemSetNvlinkBwMode(1)
        told(0)
    """)

    changing = [call.name for call in driver.calls() if call.changes_the_node]
    assert changing == [
        "nvmlDeviceResetNvLinkErrorCounters",
        "nvmlDeviceFreezeNvLinkUtilizationCounter",
        "nvmlDeviceResetNvLinkUtilizationCounter",
        "nvmlDeviceSetNvLinkUtilizationControl",
        "nvmlDeviceClearFieldValues",
        "nvmlSystemSetNvlinkBwMode",
    ]


def test_a_forgotten_log_begins_anew(driver: FakeDriver) -> None:
    """Calls from before are gone, also for a process that goes on."""
    with driver.write(ONE_GPU).start("started()\ntold(0)\npause()\nN.nvmlShutdown()\ntold(0)") as child:
        child.told()
        driver.forget_calls()
        child.go_on()
        child.told()

    assert [call.name for call in driver.calls()] == ["nvmlShutdown"]


def test_the_clock_goes_where_it_is_set(driver: FakeDriver) -> None:
    """Forwards by steps, and back."""
    driver.clock.set(2.5)
    driver.clock.advance(0.25)
    first = driver.clock.ns
    driver.clock.set(1)

    assert [first, driver.clock.ns] == [2_750_000_000, NS]


def test_a_statement_can_be_taken_back(driver: FakeDriver) -> None:
    """One that is not there is a mistake of the test."""
    driver.write(ONE_GPU).remove("g0.links")

    with pytest.raises(KeyError):
        driver.remove("g0.links")


def test_only_a_function_that_is_there_can_be_left_out() -> None:
    """A misspelt name would leave the test without its meaning."""
    with pytest.raises(ValueError, match="nvmlDeviceGetNvLinkSate"):
        build(("nvmlDeviceGetNvLinkSate",))


def test_the_library_is_compiled_once(tmp_path: Path) -> None:
    """The same sources, header and flags are the same file, for every driver; what is left out makes another."""
    first = FakeDriver(tmp_path / "one").library
    stamp = first.stat().st_mtime_ns

    assert [FakeDriver(tmp_path / "two").library, first.stat().st_mtime_ns] == [first, stamp]
    assert build(("nvmlDeviceGetMigMode",)) != first


def test_every_function_of_the_library_is_one_of_the_header() -> None:
    """A misspelt one would never be called."""
    text = header_path().read_text(encoding="utf-8")

    assert [name for name in sorted(exported()) if f" {name}(" not in text.replace(" (", "(")] == []
    assert len(exported()) >= 60


def test_without_the_header_a_test_skips_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loudly, so that who runs the suite knows what to do."""
    monkeypatch.delenv("FABRIC_NO_SKIP", raising=False)
    monkeypatch.setattr("importlib.metadata.Distribution.discover", lambda **_: iter(()))

    with pytest.raises(pytest.skip.Exception, match="pip install nvidia-nvml-dev"):
        header_path()


def test_the_header_tells_ids_units_and_codes() -> None:
    """As it stands in the package, remarks included."""
    assert [field_id("NVLINK_LINK_COUNT"), fields()["NVLINK_THROUGHPUT_DATA_TX"].remark] == [91, "NVLink TX Data throughput in KiB"]
    assert [constants()["NVML_ERROR_GPU_IS_LOST"], constants()["NVML_NVLINK_VERSION_5_0"]] == [15, 7]
