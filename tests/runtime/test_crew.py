"""Real threads: who shares one, who gets one alone, and what a device that never answers costs the others."""

import threading
from collections.abc import Iterator

import pytest

from exporter.catalog import limits
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Reading
from exporter.runtime.clock import ManualClock, SystemClock
from exporter.runtime.collect import Errand, Outcome, is_elsewhere
from exporter.runtime.crew import WAITS_REMEMBERED, WORKERS_MAX, Crew
from tests.runtime.fakes import PATIENCE_S, ElsewhereSource, FakeReader, FakeSource, errands

SHORT_S = 0.05
"""A gathering time that a stuck device surely overruns; nothing is asserted about it."""

Behaviour = tuple[tuple[Reading, ...], tuple[Fault, ...]]


class WaitingClock(ManualClock):
    """Virtual time of which no thread's own work takes any: whatever passes, passes waiting."""

    def thread_cpu_s(self) -> float:
        """None."""
        return 0.0


class Stuck:
    """A read that does not return until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.released = threading.Event()

    def __call__(self, cadence: Cadence) -> Behaviour:  # noqa: ARG002  # same for each
        """A pass."""
        self.entered.release()
        self.released.wait(PATIENCE_S)
        return (), ()


class Thicket:
    """Crews and stuck reads of one test; afterwards all are let go and the threads end."""

    def __init__(self) -> None:
        self.crews: list[Crew] = []
        self.hangs: list[Stuck] = []
        self.before = set(threading.enumerate())

    def crew(self, clock: ManualClock | None = None) -> Crew:
        """A crew, on the machine's clock unless told otherwise."""
        self.crews.append(Crew(clock or SystemClock()))
        return self.crews[-1]

    def stuck(self, subject: str) -> tuple[FakeReader, Stuck]:
        """A device that hangs, and what lets it go."""
        self.hangs.append(Stuck())
        return FakeReader(subject, behave=self.hangs[-1]), self.hangs[-1]

    @property
    def threads(self) -> list[threading.Thread]:
        """Threads that live now and did not before the test."""
        return [thread for thread in threading.enumerate() if thread not in self.before]

    def end(self) -> None:
        """Let everything go and wait for the threads."""
        for hang in self.hangs:
            hang.released.set()
        for crew in self.crews:
            crew.stop()
        for thread in self.threads:
            thread.join(PATIENCE_S)


@pytest.fixture
def thicket() -> Iterator[Thicket]:
    """See Thicket; no thread may be left."""
    found = Thicket()
    yield found
    found.end()
    assert found.threads == []


def source_of(*readers: FakeReader) -> FakeSource:
    """A source with these devices."""
    return FakeSource(list(readers))


def devices(count: int) -> list[FakeReader]:
    """That many devices that answer at once."""
    return [FakeReader(f"d{n:03}") for n in range(count)]


def names(outcomes: list[Outcome]) -> list[str]:
    """Which devices came back."""
    return sorted(outcome.errand.place[1] for outcome in outcomes)


def gather(crew: Crew, expected: int) -> list[Outcome]:
    """Outcomes of earlier errands, waited for: run() without errands does not wait."""
    found: list[Outcome] = []
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        found += crew.run([], SHORT_S)
        if len(found) >= expected:
            break
        pause.wait(0.01)
    return found


def until_idle(crew: Crew) -> None:
    """Wait until nothing is busy."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if not crew.busy():
            return
        pause.wait(0.01)
    raise AssertionError(f"still busy: {crew.busy()}")


def make_known_to_wait(crew: Crew, clock: WaitingClock, readers: list[FakeReader]) -> None:
    """Passes in which each of these takes a millisecond of waiting, as often as the crew wants to see."""
    for reader in readers:

        def wait(cadence: Cadence) -> Behaviour:
            clock.advance(2 * limits.PATIENT_WAIT_S)
            return (), ()

        reader.behave = wait
    for _ in range(WAITS_REMEMBERED):
        crew.run(errands(source_of(*readers)), PATIENCE_S)


def test_devices_that_answer_at_once_share_one_thread(thicket: Thicket) -> None:
    """Threads that never wait would only fight for the interpreter lock."""
    crew, readers = thicket.crew(ManualClock()), devices(20)
    for _ in range(5):
        crew.run(errands(source_of(*readers)), PATIENCE_S)

    assert len({name for reader in readers for name in reader.threads}) == 1
    assert len(thicket.threads) == 1


def test_devices_that_wait_are_read_at_the_same_time(thicket: Thicket) -> None:
    """All eight are inside their read at once, or the barrier would break."""
    clock = WaitingClock()
    crew, readers = thicket.crew(clock), devices(8)
    make_known_to_wait(crew, clock, readers)
    barrier = threading.Barrier(8)

    def meet(cadence: Cadence) -> Behaviour:
        barrier.wait(PATIENCE_S)
        return (), ()

    for reader in readers:
        reader.behave = meet
    outcomes = crew.run(errands(source_of(*readers)), PATIENCE_S)

    assert len(outcomes) == 8
    assert not [fault for outcome in outcomes for snapshot in outcome.snapshots for fault in snapshot.faults]


def test_device_that_stops_waiting_shares_a_thread_again(thicket: Thicket) -> None:
    """One pass without waiting is enough."""
    clock = WaitingClock()
    crew, readers = thicket.crew(clock), devices(4)
    make_known_to_wait(crew, clock, readers)
    for reader in readers:
        reader.behave = None
        reader.threads.clear()
    crew.run(errands(source_of(*readers)), PATIENCE_S)
    crew.run(errands(source_of(*readers)), PATIENCE_S)

    assert len({reader.threads[1] for reader in readers}) == 1


def test_one_long_wait_does_not_earn_a_thread(thicket: Thicket) -> None:
    """A preemption looks like a wait."""
    clock = WaitingClock()
    crew, readers = thicket.crew(clock), devices(4)
    for _ in range(WAITS_REMEMBERED - 1):
        clock_reader = readers[0]

        def wait(cadence: Cadence) -> Behaviour:
            clock.advance(1.0)
            return (), ()

        clock_reader.behave = wait
        crew.run(errands(source_of(*readers)), PATIENCE_S)

    assert len(thicket.threads) == 1


def test_threads_for_waiting_devices_are_bounded(thicket: Thicket) -> None:
    """A thousand devices do not mean a thousand threads."""
    clock = WaitingClock()
    crew, readers = thicket.crew(clock), devices(3 * WORKERS_MAX)
    make_known_to_wait(crew, clock, readers)
    outcomes = crew.run(errands(source_of(*readers)), PATIENCE_S)

    assert len(outcomes) == len(readers)
    assert len(thicket.threads) <= WORKERS_MAX + 1


def test_device_that_never_returns_does_not_keep_its_batch(thicket: Thicket) -> None:
    """The others of its batch still come back in the same run, whether before or behind it."""
    crew, others = thicket.crew(), devices(6)
    stuck, _ = thicket.stuck("stuck")
    outcomes = crew.run(errands(source_of(*others[:2], stuck, *others[2:])), SHORT_S)
    outcomes += gather(crew, 6 - len(outcomes)) if len(outcomes) < 6 else []

    assert names(outcomes) == [reader.subject for reader in others]
    assert set(crew.busy()) == {("test", "stuck")}


def test_several_devices_that_never_return_keep_a_thread_each_and_no_more(thicket: Thicket) -> None:
    """At most one stuck thread for each hung device."""
    crew, others = thicket.crew(), devices(4)
    hung = [thicket.stuck(f"stuck{n}") for n in range(3)]
    crew.run(errands(source_of(*(reader for reader, _ in hung), *others)), SHORT_S)
    for _, hang in hung:
        assert hang.entered.acquire(timeout=PATIENCE_S)
    for _ in range(3):
        crew.run(errands(source_of(*others)), PATIENCE_S)

    assert set(crew.busy()) == {("test", reader.subject) for reader, _ in hung}
    assert [len(reader.passes) for reader, _ in hung] == [1, 1, 1]
    assert [len(reader.passes) for reader in others] == [4, 4, 4, 4]


def test_more_hung_devices_than_threads_do_not_keep_the_rest(thicket: Thicket) -> None:
    """Whoever inherits work behind a device that hangs as well loses it again to others: nobody waits for ever."""
    crew, others = thicket.crew(), devices(WORKERS_MAX + 40)
    hung = [thicket.stuck(f"stuck{n}") for n in range(3)]
    batch = [hung[0][0], hung[1][0], hung[2][0], *others]
    outcomes = crew.run(errands(source_of(*batch)), SHORT_S)
    outcomes += gather(crew, len(others) - len(outcomes))

    assert names(outcomes) == [reader.subject for reader in others]
    assert set(crew.busy()) == {("test", reader.subject) for reader, _ in hung}


def test_busy_tells_since_when(thicket: Thicket) -> None:
    """By the clock of the crew."""
    clock = ManualClock()
    crew = thicket.crew(clock)
    reader, hang = thicket.stuck("stuck")
    clock.advance(7.0)
    crew.run(errands(source_of(reader)), SHORT_S)
    assert hang.entered.acquire(timeout=PATIENCE_S)
    clock.advance(100.0)

    assert crew.busy() == {("test", "stuck"): 7.0}


def test_device_that_returns_late_is_handed_over_and_used_again(thicket: Thicket) -> None:
    """Its outcome comes with a later run, and it can be started again."""
    crew = thicket.crew()
    reader, hang = thicket.stuck("stuck")
    crew.run(errands(source_of(reader)), SHORT_S)
    hang.released.set()
    assert names(gather(crew, 1)) == ["stuck"]

    assert crew.busy() == {}
    assert names(crew.run(errands(source_of(reader)), PATIENCE_S)) == ["stuck"]


def test_threads_do_not_pile_up_over_hangs(thicket: Thicket) -> None:
    """Ten hangs, each ended: as many threads as before, and a few idle ones at most."""
    crew, others = thicket.crew(), devices(3)
    for n in range(10):
        reader, hang = thicket.stuck(f"stuck{n}")
        first = crew.run(errands(source_of(reader, *others)), SHORT_S)
        hang.released.set()
        gather(crew, 4 - len(first))
        until_idle(crew)

    assert len(thicket.threads) <= 6


def test_exception_in_a_device_is_an_outcome(thicket: Thicket) -> None:
    """The thread goes on with the next device."""
    crew, others = thicket.crew(), devices(2)

    def fail(cadence: Cadence) -> Behaviour:
        raise LookupError("crew test")

    outcomes = crew.run(errands(source_of(FakeReader("bad", behave=fail), *others)), PATIENCE_S)
    reasons = [fault.reason for outcome in outcomes for snapshot in outcome.snapshots for fault in snapshot.faults]

    assert names(outcomes) == ["bad", "d000", "d001"]
    assert reasons == [Reason.BUG]


def test_scan_runs_like_a_device(thicket: Thicket) -> None:
    """Its place has an empty subject."""
    outcomes = thicket.crew().run([Errand(source_of(*devices(2)), None, (Cadence.NORMAL,))], PATIENCE_S)

    assert [outcome.scan is not None for outcome in outcomes] == [True]


def test_run_without_errands_returns_nothing(thicket: Thicket) -> None:
    """And starts no thread."""
    assert thicket.crew().run([], PATIENCE_S) == []
    assert thicket.threads == []


def test_stop_ends_idle_threads_and_leaves_the_stuck_one(thicket: Thicket) -> None:
    """The stuck one ends with its read."""
    crew, others = thicket.crew(), devices(4)
    reader, hang = thicket.stuck("stuck")
    crew.run(errands(source_of(reader, *others)), SHORT_S)
    assert hang.entered.acquire(timeout=PATIENCE_S)
    crew.stop()
    idle = [thread for thread in thicket.threads if thread.name not in reader.threads]
    for thread in idle:
        thread.join(PATIENCE_S)

    assert [thread.name for thread in thicket.threads] == reader.threads
    hang.released.set()


def test_without_a_thread_to_be_had_devices_are_faulty_and_nothing_raises(thicket: Thicket, monkeypatch: pytest.MonkeyPatch) -> None:
    """TasksMax or a pids cgroup: the sampler must outlive it, and say so."""
    crew, readers = thicket.crew(), devices(2)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        outcomes = crew.run(errands(source_of(*readers)), SHORT_S)
    reasons = [fault.reason for outcome in outcomes for snapshot in outcome.snapshots for fault in snapshot.faults]

    assert (names(outcomes), reasons) == (["d000", "d001"], [Reason.EXHAUSTED] * 2)
    assert crew.busy() == {}
    assert names(crew.run(errands(source_of(*readers)), PATIENCE_S)) == ["d000", "d001"]


@pytest.mark.parametrize("caller_reads", [True, False])
def test_what_another_process_reads_never_runs_in_the_callers_thread(thicket: Thicket, caller_reads: bool) -> None:  # noqa: FBT001  # pytest's
    """Its answer may be ten seconds away; the quick devices of other sources are read by the caller all the same."""
    crew = Crew(ManualClock(), caller_reads=caller_reads)
    thicket.crews.append(crew)
    here, there = devices(3), [FakeReader(f"gpu{n}") for n in range(3)]
    elsewhere = ElsewhereSource(there)
    for _ in range(WAITS_REMEMBERED + 2):
        crew.run([*errands(source_of(*here)), *errands(elsewhere), Errand(elsewhere, None, (Cadence.NORMAL,))], PATIENCE_S)

    caller = threading.current_thread().name
    assert caller not in {name for reader in there for name in reader.threads}
    assert caller not in elsewhere.scan_threads
    assert {name == caller for reader in here for name in reader.threads} == {caller_reads}


def test_a_hang_in_another_process_holds_neither_caller_nor_other_questions(thicket: Thicket) -> None:
    """One thread waits for it; there is nobody to depose."""
    crew = Crew(SystemClock(), caller_reads=True)
    thicket.crews.append(crew)
    reader, hang = thicket.stuck("gpu0")
    elsewhere, others = ElsewhereSource([reader]), devices(3)
    outcomes = crew.run([*errands(elsewhere), *errands(source_of(*others))], SHORT_S)
    assert hang.entered.acquire(timeout=PATIENCE_S)

    assert names(outcomes) == [device.subject for device in others]
    assert set(crew.busy()) == {("elsewhere", "gpu0")}
    assert not crew.depose(0.0)
    assert [outcome.scan is not None for outcome in crew.run([Errand(elsewhere, None, (Cadence.NORMAL,))], PATIENCE_S)] == [True]


def test_a_source_that_says_nothing_of_it_is_read_here() -> None:
    """`is_elsewhere` is an ability, not a duty."""
    assert [is_elsewhere(source_of()), is_elsewhere(ElsewhereSource([]))] == [False, True]
