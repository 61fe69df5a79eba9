"""What a scenario can make go wrong: start, single calls, lost GPUs, hangs and crashes."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.nvml_library import FakeDriver
from tests.nvml_library.scenario import Value

TWO_GPUS: dict[str, Value] = {"gpus": 2, "g*.name": "NVIDIA H100", "g*.links": 2, "g*.l*.state": 1}
STATES = "[[outcome(N.nvmlDeviceGetNvLinkState, gpu, link) for link in range(2)] for gpu in gpus]"
LOST = "NVMLError_GpuIsLost"
HANG = "g1.call.nvmlDeviceGetName.sleep_ms"


@pytest.mark.parametrize(("code", "error"), [(9, "NVMLError_DriverNotLoaded"), (18, "NVMLError_LibRmVersionMismatch")])
def test_the_library_may_refuse_to_start(driver: FakeDriver, code: int, error: str) -> None:
    """No driver, or one that was upgraded under the library; every other call is then Uninitialized."""
    driver.write({**TWO_GPUS, "init.ret": code})

    assert driver.ask("told([outcome(N.nvmlInit), outcome(N.nvmlDeviceGetCount)])") == [error, "NVMLError_Uninitialized"]


def test_after_shutdown_nothing_works_and_nobody_holds_the_driver(driver: FakeDriver) -> None:
    """The device file is held from the first start to the last end."""
    script = "started()\ntold(0)\npause()\nN.nvmlShutdown()\ntold(outcome(N.nvmlDeviceGetCount))\npause()"
    with driver.write(TWO_GPUS).start(script) as child:
        child.told()
        during = driver.holders()
        child.go_on()
        answer = child.told()
        after = driver.holders()

    assert [during, answer, after] == [{child.pid}, "NVMLError_Uninitialized", set()]


def test_a_call_fails_for_one_gpu_or_for_all(driver: FakeDriver) -> None:
    """A statement about one GPU goes before that about all, and a named function before `*`."""
    driver.write({**TWO_GPUS, "call.nvmlDeviceGetNvLinkState.ret": 999, "g1.call.nvmlDeviceGetNvLinkState.ret": 4, "g1.call.*.ret": 3})

    told = driver.ask(f"""
        N.nvmlInit()
        gpus = [N.nvmlDeviceGetHandleByIndex(0)]
        told([{STATES}, outcome(N.nvmlDeviceGetHandleByIndex, 1), outcome(N.nvmlDeviceGetName, gpus[0])])
    """)

    assert told == [[["NVMLError_Unknown"] * 2], "NVMLError_NotSupported", "NVIDIA H100"]


def test_a_lost_gpu_is_lost_to_every_call(driver: FakeDriver) -> None:
    """It may be lost while in use, it cannot be opened again, and the others answer on."""
    script = f"gpus = started()\ntold(0)\npause()\ntold([{STATES}, outcome(N.nvmlDeviceGetHandleByIndex, 0)])"
    with driver.write(TWO_GPUS).start(script) as child:
        child.told()
        driver.change({"g0.lost": 1})
        child.go_on()
        told = child.told()

    assert told == [[[LOST, LOST], [1, 1]], LOST]


def test_a_call_may_take_its_time(driver: FakeDriver) -> None:
    """So many real milliseconds, for that GPU and function only."""
    driver.write({**TWO_GPUS, HANG: 300})

    took_ms = driver.ask("""
        import time
        def timed(gpu):
            began = time.monotonic()
            N.nvmlDeviceGetName(gpu)
            return (time.monotonic() - began) * 1000
        told([timed(gpu) for gpu in started()])
    """)

    assert took_ms[0] < 300 <= took_ms[1]


def test_a_hang_lasts_until_it_is_taken_back(driver: FakeDriver) -> None:
    """Other threads go on, the call stands in the log, and without the statement it returns as if nothing had been."""
    script = """
        import threading
        gpus = started()
        hung = threading.Thread(target=lambda: told(N.nvmlDeviceGetName(gpus[1])))
        hung.start()
        told(N.nvmlDeviceGetName(gpus[0]))
    """
    with driver.write({**TWO_GPUS, HANG: "forever"}).start(script) as child:
        first = child.told()
        with pytest.raises(subprocess.TimeoutExpired):
            child.end(timeout_s=0.2)
        logged = {call.gpu for call in driver.calls("nvmlDeviceGetName")}
        driver.remove(HANG)
        second = child.told()

    assert [first, logged, second] == ["NVIDIA H100", {0, 1}, "NVIDIA H100"]


def test_a_hang_outlasts_sigterm_where_python_handles_it(driver: FakeDriver) -> None:
    """As with a call stuck in the kernel: the handler runs only when the call returns, SIGKILL ends the process."""
    script = (
        "import signal\nsignal.signal(signal.SIGTERM, lambda *_: told('caught'))\ngpus = started()\ntold(0)\nN.nvmlDeviceGetName(gpus[1])"
    )
    with driver.write({**TWO_GPUS, HANG: "forever"}).start(script) as child:
        child.told()
        child.process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            child.end(timeout_s=0.2)
        child.process.kill()

        assert child.end() == -signal.SIGKILL


def test_a_call_may_crash_the_process(driver: FakeDriver) -> None:
    """Aborted, without a core file; the call stands in the log."""
    driver.write({**TWO_GPUS, "g1.call.nvmlDeviceGetName.abort": 1})
    with driver.start("[N.nvmlDeviceGetName(gpu) for gpu in started()]") as child:
        assert child.end() == -signal.SIGABRT

    assert [call.gpu for call in driver.calls("nvmlDeviceGetName")] == [0, 1]


def test_a_scenario_that_cannot_be_read_ends_the_process(driver: FakeDriver) -> None:
    """A mistake in a test must not pass as NotSupported: the line and what is wrong with it stand on stderr."""
    driver.scenario_path.write_text("gpus = 1\ng0.f1 = ull many\n", encoding="utf-8")

    with pytest.raises(AssertionError, match=r"nvml\.scenario:2: after a type a number must stand"):
        driver.ask("told(started())")


def test_a_rewritten_scenario_holds_from_the_next_call(driver: FakeDriver, tmp_path: Path) -> None:
    """Also for a process that is running; a scenario that vanished leaves the last one in force."""
    script = "N.nvmlInit()\n" + "told(N.nvmlDeviceGetCount())\npause()\n" * 3
    with driver.write(TWO_GPUS).start(script) as child:
        counts = [child.told()]
        driver.change({"gpus": 1})
        child.go_on()
        counts.append(child.told())
        (tmp_path / "nvml.scenario").unlink()
        child.go_on()
        counts.append(child.told())

    assert counts == [2, 1, 1]
