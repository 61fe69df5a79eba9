"""Letting go of the GPUs and ending the child on purpose: release, resume, another configuration, the daemon's end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.model.fault import Reason
from exporter.runtime.worker import WorkerError
from tests.nvml_library import FakeDriver
from tests.real.listener import poll
from tests.runtime.real_child import BOUND_S, GPUS, HANG, SHORT_S, Nursery, nursery


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    """A worker on a well machine; no child outlives the test."""
    made = nursery(FakeDriver(tmp_path / "driver"), monkeypatch)
    yield made
    made.end()


def reasons(found: list[object]) -> list[Reason | None]:
    """Why each question got no answer; None for one that did."""
    return [one.reason if isinstance(one, WorkerError) else None for one in found]


def test_after_release_nobody_holds_the_driver(house: Nursery) -> None:
    """And nobody takes it again, however often the GPUs are asked about."""
    house.scan()
    held = house.driver.holders()
    answer = house.worker.release()
    refused = [house.reason() for _ in range(3)]
    house.clock.advance(1_000.0)

    assert held == {house.children[0].pid}
    assert (answer, house.driver.holders()) == ((True, "the GPUs are free: the process that held them has ended"), set())
    assert (*refused, house.reason()) == (Reason.RELEASED,) * 4
    assert (len(house.children), house.worker.is_released) == (1, True)
    assert len(house.driver.calls("nvmlShutdown")) == 1


def test_resume_takes_them_back_at_once(house: Nursery) -> None:
    """Without a pause, whatever failed before."""
    house.driver.change({"init.ret": 18})
    for _ in range(2):
        house.scan()
        house.clock.advance(100.0)
    house.driver.remove("init.ret")
    house.worker.release()
    answer = house.worker.resume()

    assert answer == (True, "the GPUs are read again from the next pass on")
    assert tuple(house.scan()[1].subjects) == GPUS


def test_what_is_so_already_is_said(house: Nursery) -> None:
    """Release without a child, release twice, resume without a release."""
    first, second = house.worker.release(), house.worker.release()
    house.worker.resume()

    assert first == second == (True, "the GPUs are free: no process of ours holds them")
    assert house.worker.resume() == (True, "the GPUs were not released; nothing to do")


def test_release_lets_the_call_under_way_finish(house: Nursery) -> None:
    """It asks with SIGTERM only; the question that was under way is told why it has no answer."""
    thread, found = house.hanging()
    house.on_signal = lambda _: house.driver.remove(HANG)
    answer = house.worker.release()
    thread.join(BOUND_S)

    assert answer[0]
    assert (house.children[0].poll(), house.driver.holders()) == (0, set())
    assert reasons(found) == [Reason.RELEASED]


def test_release_says_so_where_a_call_does_not_come_back(house: Nursery) -> None:
    """False, with the process; when the call comes back after all, the child lets go by itself, and nothing is started."""
    thread, found = house.hanging()
    house.be_quick()
    answer = house.worker.release()
    during = house.driver.holders()
    house.driver.remove(HANG)
    thread.join(BOUND_S)

    assert not answer[0]
    assert f"process {house.children[0].pid} has not ended yet" in answer[1]
    assert during == {house.children[0].pid}
    assert reasons(found) == [Reason.RELEASED]
    assert house.driver.holders() == set()
    assert (house.reason(), len(house.children)) == (Reason.RELEASED, 1)


def test_release_while_a_child_is_being_started_starts_none(house: Nursery) -> None:
    """Release saw no child and said so: the one that was under way never opens the driver."""
    house.on_launch = house.worker.release
    refused = house.reason()
    house.children[0].wait(BOUND_S)

    assert refused is Reason.RELEASED
    assert (house.driver.calls(), house.worker.child()) == ((), None)


def test_a_child_that_was_told_to_end_is_no_failure(house: Nursery) -> None:
    """Released and resumed before its question noticed: no pause."""
    thread, found = house.hanging()
    house.on_signal = lambda _: (house.worker.resume(), house.driver.remove(HANG))
    house.worker.release()
    thread.join(BOUND_S)

    assert reasons(found) == [Reason.RELEASED]
    assert tuple(house.scan()[1].subjects) == GPUS


def test_another_configuration_gets_a_fresh_child(house: Nursery) -> None:
    """With the next question, without a pause; the old one has let go by then."""
    house.scan()
    house.full = True
    house.worker.restart()
    house.scan()

    assert [child.poll() for child in house.children] == [0, None]
    assert house.driver.holders() == {house.children[1].pid}
    assert house.worker.generation == 2


def test_a_restart_waits_for_nobody(house: Nursery) -> None:
    """A reload while a call hangs: the other sources must not stand still for it. The fresh child comes once the old one is gone."""
    thread, found = house.hanging()
    house.worker.restart()
    alone = house.driver.holders()
    house.driver.remove(HANG)
    thread.join(BOUND_S)
    house.scan()

    assert alone == {house.children[0].pid}
    assert reasons(found) == [Reason.RELEASED]
    assert (house.children[0].poll(), len(house.children)) == (0, 2)


def test_a_restart_while_a_call_hangs_for_ever_ends_in_a_kill(house: Nursery) -> None:
    """The ladder is the same."""
    house.scan()
    house.driver.change({HANG: "forever"})
    house.driver.forget_calls()
    house.be_quick(term_s=SHORT_S)
    found: list[object] = []
    thread = house.asking(found)
    poll(house.in_a_call, BOUND_S, "the call hangs")
    house.worker.restart()
    thread.join(BOUND_S)

    assert house.worker.child() is None
    assert house.driver.holders() == set()


def test_close_leaves_no_process_and_starts_none(house: Nursery) -> None:
    """The daemon's end."""
    house.scan()
    house.worker.close()

    assert (house.children[0].poll(), house.driver.holders()) == (0, set())
    assert (house.reason(), len(house.children)) == (Reason.RELEASED, 1)
