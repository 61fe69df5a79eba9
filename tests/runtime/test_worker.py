"""The real child over the C stand-in of the driver's library: answers, hangs, crashes, and never two children."""

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.model.fault import Reason
from exporter.runtime.child_process import launch_child
from exporter.runtime.worker import Worker, WorkerError
from exporter.runtime.worker_messages import NotScanned
from tests.nvml_library import FakeDriver
from tests.real.listener import poll
from tests.runtime.conftest import Records
from tests.runtime.real_child import BACK_OFF_MAX_S, BACK_OFF_S, BOUND_S, GPUS, HANG, PATIENT, READ, SHORT_S, Nursery, Unkillable, nursery

CRASH = "g1.call.nvmlDeviceGetFieldValues.abort"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    """A worker on a well machine; no child outlives the test."""
    made = nursery(FakeDriver(tmp_path / "driver"), monkeypatch)
    yield made
    made.end()


def test_a_child_scans_and_reads(house: Nursery) -> None:
    """Each GPU once, in the order asked, by one process, which alone holds the driver."""
    scan, answer = house.scan()
    snapshots = house.read()

    assert tuple(answer.subjects) == GPUS
    assert scan.faults == ()
    assert [snapshot.feed.subject for snapshot in snapshots] == list(GPUS)
    assert all(snapshot.readings for snapshot in snapshots)
    assert house.driver.holders() == {house.worker.child()}


def test_a_fresh_child_says_that_it_has_not_scanned(house: Nursery) -> None:
    """It is not to say that GPUs are gone which it never looked for."""
    assert house.worker.ask(READ) == ((), NotScanned())


def test_a_call_that_never_returns_is_given_up_gently_first(house: Nursery) -> None:
    """SIGTERM, then SIGKILL (NVIDIA/dcgm-exporter#84); the answer is a timeout, and nobody holds the driver afterwards."""
    house.scan()
    house.driver.change({HANG: "forever"})
    house.be_quick(term_s=SHORT_S)

    assert house.reason() is Reason.TIMEOUT
    assert house.children[0].signals == [signal.SIGTERM, signal.SIGKILL]
    assert house.children[0].poll() == -signal.SIGKILL
    assert (house.worker.child(), house.worker.is_stuck, house.driver.holders()) == (None, False, set())


def test_a_child_whose_call_returns_after_all_ends_cleanly(house: Nursery) -> None:
    """The call is not cut off: the child closes the driver and ends by itself, never killed."""
    house.scan()
    house.driver.change({HANG: "forever"})
    house.on_signal = lambda _: house.driver.remove(HANG)
    house.be_quick()

    assert house.reason() is Reason.TIMEOUT
    assert (house.children[0].signals, house.children[0].poll()) == ([signal.SIGTERM], 0)
    assert len(house.driver.calls("nvmlShutdown")) == 1


def test_a_second_question_does_not_wait_longer_than_the_first(house: Nursery) -> None:
    """One that comes while another hangs is told so after the same patience."""
    thread, found = house.hanging()
    house.be_quick()
    refused = house.refused()
    house.driver.remove(HANG)
    thread.join(BOUND_S)

    assert (refused.reason, refused.detail) == (Reason.TIMEOUT, "the driver has not answered an earlier question yet")
    assert [isinstance(one, tuple) for one in found] == [True]


def test_a_crash_is_named_and_a_new_child_comes_after_the_pause(house: Nursery) -> None:
    """Not before: a driver that crashes whoever asks is not asked in a circle."""
    house.scan()
    house.driver.change({CRASH: 1})
    crash = house.refused()
    house.driver.remove(CRASH)
    house.clock.advance(BACK_OFF_S - 0.1)
    early = house.reason()
    before = len(house.children)
    house.clock.advance(0.2)
    house.scan()

    assert (crash.reason, "SIGABRT" in crash.detail) == (Reason.DRIVER, True)
    assert (early, before, len(house.children)) == (Reason.DRIVER, 1, 2)
    assert house.worker.generation == 2


def test_the_pause_doubles_up_to_a_bound_and_an_answer_ends_it(house: Nursery) -> None:
    """2, 4, 8, 10, 10 s; after an answer with numbers 2 s again."""
    house.driver.change({"call.nvmlInitWithFlags.abort": 1})
    pauses = [pause_after_a_failure(house) for _ in range(5)]
    house.driver.remove("call.nvmlInitWithFlags.abort")
    house.scan()
    house.driver.change({CRASH: 1})

    assert pauses == [BACK_OFF_S, 2 * BACK_OFF_S, 4 * BACK_OFF_S, BACK_OFF_MAX_S, BACK_OFF_MAX_S]
    assert pause_after_a_failure(house, by_read=True) == BACK_OFF_S


def pause_after_a_failure(house: Nursery, *, by_read: bool = False) -> float:
    """Let a question fail; how long until the next child may start. Ends at that time."""
    with pytest.raises(WorkerError):
        house.read() if by_read else house.scan()
    pause_s = house.worker._not_before_s - house.clock.monotonic_s()
    house.clock.advance(pause_s)
    return pause_s


def test_a_child_that_was_killed_from_outside_is_replaced(house: Nursery) -> None:
    """By an operator or the kernel's memory killer: one failed pass, then a fresh child."""
    house.scan()
    house.children[0].send_signal(signal.SIGKILL)
    refused = house.refused()
    house.clock.advance(BACK_OFF_S)
    house.scan()

    assert (refused.reason, "SIGKILL" in refused.detail) == (Reason.DRIVER, True)
    assert len(house.children) == 2


def test_a_child_that_cannot_be_killed_has_no_second_beside_it(house: Nursery, records: Records) -> None:
    """It is said that it is stuck, once, and no other is started until it is gone; then the GPUs are read again."""
    held: list[Unkillable] = []

    def launch(descriptor: int) -> Unkillable:
        held.append(Unkillable(descriptor))
        return held[-1]

    house.worker = Worker(house.setup, house.clock, PATIENT, launch)
    house.be_quick()
    first, later = house.refused(), [house.refused() for _ in range(3)]
    house.clock.advance(1_000.0)
    later.append(house.refused())
    stuck = house.worker.is_stuck, house.worker.child(), len(held)
    held[0].let_go()
    house.worker._launch = house.launch
    house.be_patient()
    house.scan()

    assert {error.reason for error in (first, *later)} == {Reason.TIMEOUT}
    assert all(str(Unkillable.pid) in error.detail for error in (first, *later))
    assert held[0].signals == [signal.SIGTERM, signal.SIGKILL]
    assert stuck == (True, Unkillable.pid, 1)
    assert (house.worker.is_stuck, len(house.children)) == (False, 1)
    assert sum("is stuck in the driver" in message for message in records.messages) == 1
    assert sum("the stuck process is gone" in message for message in records.messages) == 1


def test_a_child_that_hangs_while_it_lets_go_is_seen_off_too(house: Nursery) -> None:
    """It has said its last word and closes the driver, for ever: SIGTERM, SIGKILL, then a fresh one. Else no GPU were read any more."""
    house.scan()
    house.driver.change({"call.nvmlDeviceGetFieldValues.ret": 18, "call.nvmlShutdown.sleep_ms": "forever"})
    house.be_quick(answer_s=BOUND_S, term_s=SHORT_S, kill_s=SHORT_S)
    house.read()
    left = house.worker.child()
    house.driver.remove("call.nvmlDeviceGetFieldValues.ret", "call.nvmlShutdown.sleep_ms")
    house.clock.advance(BACK_OFF_S)
    house.be_patient()
    house.scan()

    assert left == house.children[0].pid
    assert house.children[0].poll() is not None
    assert len(house.children) == 2


def test_without_a_process_to_be_had_the_daemon_lives_on(house: Nursery) -> None:
    """The limit of tasks: said so, tried again after the pause."""
    house.on_launch = refuse
    refused = house.refused()
    house.on_launch = None
    again = house.reason()
    house.clock.advance(BACK_OFF_S)
    house.scan()

    assert (refused.reason, again) == (Reason.EXHAUSTED, Reason.EXHAUSTED)
    assert "cannot start a process for the driver" in refused.detail


def refuse() -> None:
    raise BlockingIOError(11, "Resource temporarily unavailable")


def test_a_child_loads_nothing_from_the_folder_it_is_started_in(house: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts the daemon by hand in a folder that others may write to must not run their modules."""
    for name in ("pickle", "pynvml", "socket"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(42)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert house.scan()[0].faults == ()


ORPHAN = """
import sys
from exporter.runtime.clock import SystemClock
from exporter.runtime.worker import Worker
from exporter.runtime.worker_messages import ScanRequest, Setup
setup = Setup("exporter.sources.nvml:open_library", (sys.argv[1],), (), (), {}, {}, False, False, False)
worker = Worker(lambda: setup, SystemClock())
worker.ask(ScanRequest({}))
print(worker.child(), flush=True)
sys.stdin.read()
"""


def test_a_child_ends_when_the_daemon_is_killed(house: Nursery) -> None:
    """Its end of the socket says so: nobody is left who would hold the GPUs."""
    argv = [sys.executable, "-c", ORPHAN, str(house.driver.library)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(argv, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        during = house.driver.holders()
        parent.kill()

    assert during == {child}
    poll(lambda: not house.driver.holders() or None, BOUND_S, "the child has ended")
    assert len(house.driver.calls("nvmlShutdown")) == 1


def test_a_child_whose_parent_has_nothing_to_say_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    """No traceback in the log for a daemon that ended between the start and the first message."""
    ours, theirs = socket.socketpair()
    child = launch_child(theirs.fileno())
    ours.close()
    theirs.close()

    assert child.wait(BOUND_S) == 0
    assert capfd.readouterr().err == ""


def test_threads_that_ask_at_once_each_get_their_own_answer(house: Nursery) -> None:
    """One question at a time crosses the socket."""
    house.scan()
    found: list[object] = []
    threads: list[threading.Thread] = [house.asking(found) for _ in range(8)]
    for thread in threads:
        thread.join(BOUND_S)

    assert [len(one) if isinstance(one, tuple) else one for one in found] == [len(GPUS)] * 8
    assert len(house.children) == 1
