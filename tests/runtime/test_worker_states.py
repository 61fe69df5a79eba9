"""What the driver may say for good, by the real child over the C stand-in: it is not there, it was upgraded, it knows nothing any more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.model.fault import Reason
from exporter.runtime.worker import WorkerError
from tests.nvml_library import FakeDriver
from tests.nvml_library.scenario import Value
from tests.runtime.real_child import BACK_OFF_S, BOUND_S, GPUS, Nursery, nursery

ABSENT: dict[str, dict[str, Value]] = {"driver not loaded": {"init.ret": 9}, "no GPU": {"gpus": 0}}
UNKNOWN: dict[str, Value] = {"call.*.ret": 999}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    """A worker on a well machine; no child outlives the test."""
    made = nursery(FakeDriver(tmp_path / "driver"), monkeypatch)
    yield made
    made.end()


def reasons_of_scan(house: Nursery) -> list[Reason]:
    """Why a scan brought no GPU, whether the child could say so or not."""
    try:
        return [fault.reason for fault in house.scan()[0].faults]
    except WorkerError as error:
        return [error.reason]


@pytest.mark.parametrize("state", ABSENT)
def test_without_driver_or_gpu_no_child_is_kept(house: Nursery, state: str) -> None:
    """`absent`, which is no failure; nobody holds the driver meanwhile, and once there are GPUs a fresh child sees them."""
    statements = dict(house.driver.statements)
    house.driver.change(ABSENT[state])
    first, left, holders = reasons_of_scan(house), house.worker.child(), house.driver.holders()
    early = reasons_of_scan(house)
    house.driver.write(statements)
    house.clock.advance(BACK_OFF_S)

    assert (first, early) == ([Reason.ABSENT], [Reason.ABSENT])
    assert (left, holders) == (None, set())
    assert tuple(house.scan()[1].subjects) == GPUS
    assert [child.poll() for child in house.children] == [0, None]


def test_without_the_library_no_child_is_kept(house: Nursery, tmp_path: Path) -> None:
    """The path that was configured stands in the line, and what to do."""
    house.library = str(tmp_path / "libnvidia-ml.so.1")
    scan, answer = house.scan()
    left = house.worker.child()
    house.library = None
    house.clock.advance(BACK_OFF_S)

    assert [(fault.reason, str(tmp_path) in fault.detail, "sources.nvml.library" in fault.detail) for fault in scan.faults] == [
        (Reason.ABSENT, True, True)
    ]
    assert (answer.subjects, left) == ({}, None)
    assert tuple(house.scan()[1].subjects) == GPUS


def test_a_driver_of_another_version_gets_a_fresh_process(house: Nursery) -> None:
    """LIB_RM_VERSION_MISMATCH lasts as long as the library stays loaded: the child ends itself, and the next one answers."""
    house.driver.change({"init.ret": 18})
    first = reasons_of_scan(house)
    early = house.refused()
    house.driver.remove("init.ret")
    house.clock.advance(BACK_OFF_S)

    assert (first, early.reason, "different versions" in early.detail) == ([Reason.DRIVER], Reason.DRIVER, True)
    assert tuple(house.scan()[1].subjects) == GPUS
    assert [child.poll() for child in house.children] == [0, None]


def test_a_driver_upgraded_under_a_child_gets_a_fresh_process(house: Nursery) -> None:
    """The pass that found out is the child's last."""
    house.scan()
    statements = dict(house.driver.statements)
    house.driver.change({"call.*.ret": 18})
    last = [fault.reason for snapshot in house.read() for fault in snapshot.faults]
    ended = house.children[0].wait(BOUND_S)
    house.driver.write({**statements, "driver": "560.35.05"})
    house.clock.advance(BACK_OFF_S)
    house.scan()

    assert set(last) == {Reason.DRIVER}
    assert ended == 0
    assert all(snapshot.readings for snapshot in house.read())


def test_the_driver_unloaded_under_a_child_is_absent(house: Nursery) -> None:
    """As before a reload of its module: the child lets go."""
    house.scan()
    house.driver.change({"call.*.ret": 9})

    assert reasons_of_scan(house) == [Reason.ABSENT]
    assert (house.worker.child(), house.driver.holders()) == (None, set())
    assert house.reason() is Reason.ABSENT


def test_unknown_error_is_timed_from_its_first_word(house: Nursery) -> None:
    """Through one child after the other, as long as nothing else is said; numbers end it."""
    house.scan()
    well = house.worker.unknown_since_s
    statements = dict(house.driver.statements)
    house.driver.change(UNKNOWN)
    house.clock.advance(7.0)
    house.read()
    since = [house.worker.unknown_since_s]
    for _ in range(3):
        house.clock.advance(100.0)
        assert reasons_of_scan(house) == [Reason.UNKNOWN]
        since.append(house.worker.unknown_since_s)
    house.driver.write(statements)
    house.clock.advance(100.0)
    house.scan()

    assert (well, since) == (None, [7.0] * 4)
    assert house.worker.unknown_since_s is None


def test_another_trouble_ends_the_time_of_unknown_error(house: Nursery) -> None:
    """Only "Unknown Error" and nothing else counts: an unloaded driver is something else."""
    house.driver.change({"init.ret": 999})
    reasons_of_scan(house)
    before = house.worker.unknown_since_s
    house.driver.change({"init.ret": 9})
    house.clock.advance(BACK_OFF_S)
    reasons_of_scan(house)

    assert (before, house.worker.unknown_since_s) == (0.0, None)


def test_released_gpus_say_no_unknown_error(house: Nursery) -> None:
    """Nobody asks them; and after resume an answer is an answer, also the first."""
    statements = dict(house.driver.statements)
    house.driver.change({"init.ret": 999})
    reasons_of_scan(house)
    house.worker.release()
    released = house.worker.unknown_since_s
    house.worker.resume()
    reasons_of_scan(house)
    again = house.worker.unknown_since_s
    house.worker.resume()
    house.driver.write(statements)
    house.scan()

    assert (released, again, house.worker.unknown_since_s) == (None, 0.0, None)
