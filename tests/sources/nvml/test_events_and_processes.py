"""Xids as the driver's events tell them, the processes on each GPU, and what others call it: lists that only some sites ask for."""

import pytest

from exporter.model.fault import Reason
from tests.nvml_library import IDLE, FakeDriver, profile
from tests.nvml_library.scenario import Value
from tests.sources.nvml.source_child import Seen, SourceChild

BOARD: dict[str, Value] = {key: value for key, value in profile("h100-sxm").items() if ".l" not in key}


def xids(seen: Seen) -> dict[str, float]:
    """Xids that were counted, by GPU and number."""
    return {
        f"{name.split('/')[1]} {key[1]}": number
        for name, values in seen.values.items()
        if name.startswith("nvlink/")
        for key, number in values.items()
        if key[0] == "xid" and number
    }


def test_events_are_counted_by_gpu_and_number(driver: FakeDriver) -> None:
    """Each once, over scans; each GPU has its NVLink codes from 0."""
    driver.write({**BOARD, "ev": ("1 g1 xid 149", "1 g1 xid 149", "2 g4 xid 31", "9 g0 xid 79")})
    with SourceChild(driver, xid_events=True) as child:
        first = child.scan().node
        driver.clock.set(5)
        second = child.scan(15.0).node
        third = child.scan(30.0).node

    assert [xids(seen) for seen in (first, second, third)] == [{}, {"gpu1 149": 2, "gpu4 31": 1}, {"gpu1 149": 2, "gpu4 31": 1}]
    assert second.values["gpu1"]["xid_last", "149"] == 1e9 + 15
    assert first.values["nvlink/gpu7/"]["xid", "149"] == 0


def test_events_are_counted_on_when_the_session_is_opened_anew(driver: FakeDriver) -> None:
    """A GPU that the driver does not count any more costs the others none of their Xids."""
    driver.write({**BOARD, "ev": ("1 g1 xid 149", "7 g1 xid 149")})
    with SourceChild(driver, xid_events=True) as child:
        child.scan()
        driver.clock.set(5)
        child.scan()
        driver.change({"gpus": 7})
        child.scan()
        driver.clock.set(8)
        node = child.scan().node

    assert xids(node) == {"gpu1 149": 2}


def test_events_before_a_gpu_was_lost_are_counted(driver: FakeDriver) -> None:
    """The set fails as a whole from then on (which is said once); what it had told before stays told."""
    driver.write({**BOARD, "ev": ("1 g1 xid 149",)})
    with SourceChild(driver, xid_events=True) as child:
        child.scan()
        driver.clock.set(5)
        counted = child.scan().node
        driver.change({"g3.lost": 1})
        lost, after = child.scan().node, child.scan().node

    assert [xids(counted), xids(lost), xids(after)] == [{"gpu1 149": 1}, {}, {}]
    assert [lost.reasons(), after.reasons()] == [{("events", Reason.LOST)}, set()]


def test_an_event_before_the_set_failed_in_the_same_pass_is_not_lost(driver: FakeDriver) -> None:
    """Xid 79 and the loss of its GPU come together: the event is told first, the failure by the next pass."""
    told = driver.write({**BOARD, "ev": ("1 g1 xid 79",)}).ask("""
        from exporter.sources.nvml import Pynvml
        from exporter.sources.nvml_session import NvmlError
        session = Pynvml()
        session.open()
        session.watch_xids()
        waits = [N.nvmlEventSetWait_v2, *[lambda *_: N._nvmlCheckReturn(15)] * 2]
        N.nvmlEventSetWait_v2 = lambda *arguments: waits.pop(0)(*arguments)
        with open(CLOCK, "r+b") as clock:
            clock.write((2 * 10**9).to_bytes(8, "little"))
        first = session.xids()
        try:
            session.xids()
        except NvmlError as error:
            told([first, error.code])
    """.replace("CLOCK", repr(str(driver.clock_path))))  # fmt: skip

    assert told == [[[1, 79]], 15]


def test_a_gpu_that_knows_no_events_is_not_watched_and_hides_no_other(driver: FakeDriver) -> None:
    """It refuses the question, or says 0; another one is lost before the start."""
    unwatched: dict[str, Value] = {"g0.event_types": 0, "g2.lost": 1, "g3.call.nvmlDeviceGetSupportedEventTypes.ret": 3}
    driver.write({**BOARD, **unwatched, "ev": ("1 g0 xid 149", "1 g5 xid 149")})
    with SourceChild(driver, xid_events=True) as child:
        child.scan()
        driver.clock.set(2)
        node = child.scan().node

    assert [xids(node), {fault.subject for fault in node.faults}] == [{"gpu4 149": 1}, {"GPU with index 2"}]


def test_nobody_watches_events_unless_asked(driver: FakeDriver) -> None:
    """The kernel log is read elsewhere."""
    driver.write(BOARD)
    with SourceChild(driver) as child:
        child.scan()

    assert [call.name for call in driver.calls() if "Event" in call.name] == []


def test_processes_are_listed_by_gpu(driver: FakeDriver) -> None:
    """Each id once, none where there are none; whether a process is there is for its reader to see (XuehaiPan/nvitop#79)."""
    driver.write({**BOARD, "gpus": 3, "g1.proc": ("4242 1048576", "17 na", "4242 1048576")})
    with SourceChild(driver, with_processes=True) as child:
        child.scan()
        listed = child.state().processes
    with SourceChild(driver) as child:
        child.scan()
        unasked = child.state().processes

    assert [listed, unasked] == [{"gpu0": [], "gpu1": [17, 4242], "gpu2": []}, None]


@pytest.mark.parametrize(("code", "faults"), [(3, set()), (13, set()), (15, set()), (4, {("gpu1", Reason.DENIED)})])
def test_a_gpu_that_does_not_list_its_processes_is_left_out(driver: FakeDriver, code: int, faults: set[tuple[str, Reason]]) -> None:
    """Not an empty list: nobody knows. That it cannot, or is lost, is said elsewhere."""
    driver.write({**BOARD, "gpus": 2, "g1.call.nvmlDeviceGetComputeRunningProcesses_v3.ret": code})
    with SourceChild(driver, with_processes=True) as child:
        node = child.scan().node
        listed = child.state().processes

    assert [listed, node.reasons()] == [{"gpu0": []}, faults]


ASK = """
from exporter.sources.nvml import Pynvml
nvml = Pynvml()
nvml.open()
told([tuple(nvml.occupancy(gpu)) for gpu in range(nvml.gpu_count())])
"""


def occupancy(driver: FakeDriver, **second: object) -> list[object]:
    """What a probe would hear of the second of two GPUs, after statements about it."""
    idle = {f"g*.{name}": value for name, value in IDLE.items()}
    driver.write({**BOARD, "gpus": 2, **idle, **{f"g1.{name.replace('__', '.')}": value for name, value in second.items()}})
    _, found = driver.ask(ASK)
    return list(found)


def test_an_idle_gpu_says_so_in_each_answer(driver: FakeDriver) -> None:
    """Nobody on it, a little memory of the driver's, not split, open to everybody, not slowed down, no reset pending."""
    assert occupancy(driver) == [0, 5 << 20, 0.0, False, 0, False, 0]


@pytest.mark.parametrize(
    ("said", "at", "expected"),
    [
        ({"proc": ("4242 1048576", "17 na")}, 0, 2),
        ({"proc": ("4242 1",), "graphics_proc": ("4242 1", "9 1")}, 0, 2),
        ({"call__nvmlDeviceGetGraphicsRunningProcesses_v3__ret": 3}, 0, None),
        ({"call__nvmlDeviceGetComputeRunningProcesses_v3__ret": 999}, 0, None),
        ({"call__nvmlDeviceGetMemoryInfo_v2__ret": 13}, 1, 5 << 20),
        ({"call__nvmlDeviceGetMemoryInfo_v2__ret": 999}, 1, None),
        ({"utilization": 37}, 2, 0.37),
        ({"call__nvmlDeviceGetUtilizationRates__ret": 3}, 2, None),
        ({"mig": 1}, 3, True),
        ({"call__nvmlDeviceGetMigMode__ret": 3}, 3, False),
        ({"call__nvmlDeviceGetMigMode__ret": 999}, 3, None),
        ({"compute_mode": 3}, 4, 3),
        ({"clocks_event_reasons": 0x40 | 1}, 5, True),
        ({"clocks_event_reasons": 0x4}, 5, False),
        ({"call__nvmlDeviceGetCurrentClocksEventReasons__ret": 13, "clocks_event_reasons": 0x80}, 5, True),
        ({"f230": 2}, 6, 2),
        ({"call__nvmlDeviceGetFieldValues__ret": 999}, 6, None),
    ],
)
def test_each_answer_stands_by_itself_and_none_is_what_is_not_said(
    driver: FakeDriver, said: dict[str, object], at: int, expected: object
) -> None:
    """A driver that does not list processes must not look like an idle GPU."""
    found = occupancy(driver, **said)

    assert found[at] == expected
    assert found[:at] + found[at + 1 :] == [value for i, value in enumerate([0, 5 << 20, 0.0, False, 0, False, 0]) if i != at]


def test_places_and_names_are_told_to_other_sources(driver: FakeDriver) -> None:
    """Module ids by address, names by index; a GPU without a module id is left out of the first."""
    driver.write({**BOARD, "gpus": 2, "g1.call.nvmlDeviceGetModuleId.ret": 3})
    with SourceChild(driver) as child:
        child.scan()
        state = child.state()

    assert [state.module_ids, state.indices] == [{"0000:1b:00.0": 2}, {0: "gpu0", 1: "gpu1"}]


PARTS: dict[str, Value] = {"gpus": 3, "g2.mig": 1, "g2.mig_uuids": ("MIG-1111", "-", "MIG-3333")}
UUIDS = [str(BOARD[f"g{gpu}.uuid"]) for gpu in range(3)]


def test_uuids_device_files_and_mig_devices_are_told_by_gpu(driver: FakeDriver) -> None:
    """A GPU that is not partitioned is not asked for its parts; nobody is asked unless somebody wants to know."""
    driver.write({**BOARD, **PARTS})
    with SourceChild(driver, with_device_ids=True) as child:
        child.scan()
        told = child.state().device_ids
    asked = {call.gpu for call in driver.calls("nvmlDeviceGetMaxMigDeviceCount")}
    driver.forget_calls()
    with SourceChild(driver) as child:
        child.scan()
        unasked = child.state().device_ids

    assert told == {UUIDS[0]: "gpu0", "nvidia7": "gpu0", UUIDS[1]: "gpu1", "nvidia6": "gpu1", UUIDS[2]: "gpu2", "nvidia5": "gpu2",
                    "MIG-1111": "gpu2", "MIG-3333": "gpu2"}  # fmt: skip
    assert [asked, unasked, driver.calls("nvmlDeviceGetMinorNumber")] == [{2}, None, ()]


def test_a_mig_device_that_is_destroyed_or_made_is_seen_by_the_next_scan(driver: FakeDriver) -> None:
    """Partitions are made for each job where a scheduler does it."""
    driver.write({**BOARD, **PARTS})
    with SourceChild(driver, with_device_ids=True) as child:
        child.scan()
        driver.change({"g2.mig_uuids": ("MIG-4444",)})
        child.scan()
        told = child.state().device_ids

    assert told is not None
    assert [gpu for one, gpu in told.items() if one.startswith("MIG-")] == ["gpu2"]
    assert "MIG-4444" in told


@pytest.mark.parametrize(
    ("call", "code", "known", "faults"),
    [
        ("nvmlDeviceGetMinorNumber", 3, {"MIG-1111", "MIG-3333"}, set()),
        ("nvmlDeviceGetMaxMigDeviceCount", 13, {"nvidia5"}, set()),
        ("nvmlDeviceGetMaxMigDeviceCount", 4, {"nvidia5"}, {("gpu2", Reason.DENIED)}),
        ("nvmlDeviceGetMinorNumber", 15, set(), set()),
    ],
)
def test_what_a_gpu_does_not_tell_is_left_out_and_its_uuid_stays(
    driver: FakeDriver, call: str, code: int, known: set[str], faults: set[tuple[str, Reason]]
) -> None:
    """An old driver, no permission, a GPU that was lost in between: what it is known by is no less true."""
    driver.write({**BOARD, **PARTS, f"g2.call.{call}.ret": code})
    with SourceChild(driver, with_device_ids=True) as child:
        node = child.scan().node
        told = child.state().device_ids

    assert told is not None
    assert {one for one, gpu in told.items() if gpu == "gpu2"} == {UUIDS[2], *known}
    assert node.reasons() == faults
