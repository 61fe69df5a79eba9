"""Threads that run errands. Devices that answer at once share one thread; devices that make us wait get one each; a thread stuck in the
kernel keeps only its own device, the rest of its work is taken over.

Why not a thread per device always: threads that never wait only fight for the interpreter lock (ten of them cost several times the
work); why not one thread: firmware answers in tens to hundreds of microseconds a file, and eight HCAs would queue behind each other.
In the daemon the shared thread is the sampler's own: handing ten quick devices to another thread and back costs a third of reading
them [M]. If it gets stuck it is deposed: another thread takes the sampler over (sampler.py).
"""

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import Protocol

from exporter.catalog import limits
from exporter.runtime.clock import Clock
from exporter.runtime.collect import Errand, Outcome, is_elsewhere, not_started, run_errand
from exporter.runtime.reader_group import ReaderGroup

WORKERS_MAX = 64
"""Threads beside stuck ones, at most; devices beyond share."""
WAITS_REMEMBERED = 3
"""Passes in a row in which a device must have made us wait before it gets a thread of its own. A mean would not do: one preemption looks
like a wait, a device alone without need makes all others wait for the interpreter lock, and so on until every device is alone [M]."""

Place = tuple[str, str]

_WORK, _END = True, False
"""What rings a thread's bell."""


class Executor(Protocol):
    """Runs errands and says which places are busy since when (monotonic seconds)."""

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:
        """Start these and return what has come back within about gather_s, late outcomes of earlier calls included."""
        ...

    @property
    def takes_groups(self) -> bool:
        """Whether quick devices may come as a ReaderGroup: only where a group that is held can be abandoned."""
        ...

    def busy(self) -> dict[Place, float]:
        """Places whose errand runs now, with its start; none of them may be started again."""
        ...

    def depose(self, stuck_for_s: float) -> bool:
        """If the thread that called run() has been in one read for so long: take its work away, so that run() may be called by another
        thread now, and raises DeposedError in the stuck one once it comes back. False if there is no such thread."""
        ...

    def stop(self) -> None:
        """Let idle threads end. Stuck ones end with the process."""
        ...


class DeposedError(Exception):
    """Raised by run() in a thread whose work another one has taken over: it must end and touch nothing."""


class Inline:
    """Runs everything in the calling thread: virtual time, golden files, tests. A hang would hang the caller."""

    takes_groups = False

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:  # noqa: ARG002  # same shape as Crew
        """Do them one after the other."""
        return [run_errand(errand, self._clock) for errand in errands]

    def busy(self) -> dict[Place, float]:
        """Nothing is ever left running."""
        return {}

    def depose(self, stuck_for_s: float) -> bool:  # noqa: ARG002  # same shape as Crew
        """Nobody could."""
        return False

    def stop(self) -> None:
        """Nothing to stop."""


class _Worker:
    """One thread, its batch and what it reads now with the start of it. The crew fills the batch and rings; only the thread empties it,
    unless the crew takes the rest away: each errand is popped by exactly one of them."""

    __slots__ = ("batch", "bell", "current", "retired")

    def __init__(self) -> None:
        self.bell: SimpleQueue[bool] = SimpleQueue()
        self.batch: deque[Errand] = deque()
        self.current: tuple[Place, float] | None = None
        self.retired = False


class Crew:
    """See the module. `run` and `busy` are called by one thread at a time (the sampler). With `caller_reads` that thread reads the quick
    devices itself, and somebody must watch it with `depose`; without, every read is another thread's and a call always comes back."""

    def __init__(self, clock: Clock, *, caller_reads: bool = False) -> None:
        self._clock = clock
        self._caller_reads = self.takes_groups = caller_reads
        self._lock = threading.Lock()
        self._term = 0
        self._here: deque[Errand] = deque()
        self._current: tuple[Errand, float] | None = None
        """What the caller reads itself: still to do, and now with its start; guarded by the lock, like the term."""
        self._stuck: dict[Place, float] = {}
        """Places in which a deposed thread is, with their start."""
        self._returned: SimpleQueue[_Worker] = SimpleQueue()
        self._outcomes: deque[Outcome] = deque()
        self._idle: list[_Worker] = []
        self._workers: set[_Worker] = set()
        self._out: set[Place] = set()
        """Places whose outcome has not been taken in yet: the one record of what may not be started again."""
        self._suspects: dict[Place, tuple[float, ...]] = {}
        """Places that took long of late, with their last waits; only these are measured."""
        self._stopping = False

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:
        """Start these; return what came back. After gather_s the rest of a stuck thread's batch is spread over other threads; what is
        then left behind a device that hangs as well, with the next call. An errand that finds no thread comes back with a Fault."""
        self._welcome()
        at_work = [heir for worker in self._with_rest() for heir in self._take_over(worker)]
        self._out.update([errand.place for errand in errands])
        alone, together = self._sorted(errands)
        at_work += [self._assign(batch) for batch in _spread(alone)]
        if together and self._caller_reads:
            self._read_here(together)
        elif together:
            at_work.append(self._assign(together))
        if at_work and not self._await(at_work, gather_s):
            heirs = [heir for worker in self._with_rest() for heir in self._take_over(worker)]
            self._await(heirs, gather_s)
        return self._take_in()

    def busy(self) -> dict[Place, float]:
        """Places whose errand runs now with its start, or waits in a batch (then with the present as its start)."""
        if not self._out:
            return {}
        found = dict.fromkeys(self._out, self._clock.monotonic_s()) | self._stuck
        for current in [worker.current for worker in list(self._workers)]:
            if current is not None and current[0] in found:
                found[current[0]] = current[1]
        return found

    def depose(self, stuck_for_s: float) -> bool:
        """See Executor. The stuck device gets a thread of its own from now on; what was not started is free to be started again."""
        with self._lock:
            current = self._current
            if current is None or self._clock.monotonic_s() - current[1] < stuck_for_s:
                return False
            self._term += 1
            self._current = None
            errand, started_s = current
            self._out.discard(errand.place)
            if isinstance(errand.reader, ReaderGroup):
                errand.reader.abandon()  # from now on the errand's place is that of the member that holds the thread
            self._out.add(errand.place)
            self._stuck[errand.place] = started_s
            self._suspects[errand.place] = (limits.GATHER_MAX_S,) * WAITS_REMEMBERED
            self._out.difference_update([errand.place for errand in self._here])
            self._here = deque()
            return True

    def stop(self) -> None:
        """Let idle threads end."""
        self._stopping = True
        for worker in list(self._workers):
            worker.bell.put(_END)

    def _read_here(self, errands: deque[Errand]) -> None:
        clock, term = self._clock, self._term
        self._here = errands
        while errands:
            with self._lock:
                errand = errands.popleft()
                self._current = errand, clock.monotonic_s()
            outcome = run_errand(errand, clock, measure_wait=errand.place in self._suspects)
            self._outcomes.append(outcome)
            with self._lock:
                if self._term != term:
                    raise DeposedError
                self._current = None

    def _take_in(self) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while self._outcomes:
            outcome = self._outcomes.popleft()
            place = outcome.errand.place
            self._out.discard(place)
            self._stuck.pop(place, None)
            if outcome.waited_s > limits.PATIENT_WAIT_S or place in self._suspects:
                self._suspect(place, outcome.waited_s)
            outcomes.append(outcome)
        return outcomes

    def _suspect(self, place: Place, waited_s: float) -> None:
        """Remember how long a place that once took long made us wait, until it has been quick so many times in a row."""
        self._suspects[place] = waits = (*self._suspects.get(place, ())[1 - WAITS_REMEMBERED :], waited_s)
        if max(waits) <= limits.PATIENT_WAIT_S:
            del self._suspects[place]

    def _await(self, workers: Sequence[_Worker], gather_s: float) -> bool:
        """Whether all of these came back within gather_s."""
        pending = {worker for worker in workers if worker in self._workers and worker not in self._idle}
        until_s = self._clock.monotonic_s() + gather_s
        while pending:
            try:
                worker = self._returned.get(timeout=max(0.0, until_s - self._clock.monotonic_s()))
            except Empty:
                return False
            self._settle(worker)
            pending.discard(worker)
        return True

    def _welcome(self) -> None:
        """Take in threads that came back since the last call."""
        while not self._returned.empty():
            self._settle(self._returned.get())

    def _settle(self, worker: _Worker) -> None:
        if worker.retired:
            worker.bell.put(_END)
        else:
            self._idle.append(worker)

    def _sorted(self, errands: Sequence[Errand]) -> tuple[list[Errand], deque[Errand]]:
        """Errands that are known to wait, and all others."""
        alone: list[Errand] = []
        together: deque[Errand] = deque()
        for errand in errands:
            (alone if is_elsewhere(errand.source) or self._is_slow(errand.place) else together).append(errand)
        return alone, together

    def _is_slow(self, place: Place) -> bool:
        waits = self._suspects.get(place, ())
        return len(waits) == WAITS_REMEMBERED and min(waits) > limits.PATIENT_WAIT_S

    def _with_rest(self) -> list[_Worker]:
        return [worker for worker in list(self._workers) if worker.batch]

    def _assign(self, batch: deque[Errand]) -> _Worker:
        worker = self._idle.pop() if self._idle else _Worker()
        worker.batch = batch
        try:
            if worker not in self._workers:
                self._hire(worker)
        except RuntimeError as error:  # the limit of tasks or of memory: the sampler must outlive it
            self._outcomes.extend([not_started(errand, str(error), self._clock) for errand in batch])
            return worker
        worker.bell.put(_WORK)
        return worker

    def _hire(self, worker: _Worker) -> None:
        threading.Thread(target=self._work, args=(worker,), name=f"sampler-{len(self._workers) + 1}", daemon=True).start()
        self._workers.add(worker)

    def _take_over(self, stuck: _Worker) -> list[_Worker]:
        """Spread a stuck thread's remaining batch over others; its device counts as one that makes us wait from now on."""
        rest: deque[Errand] = deque()
        while stuck.batch:
            try:
                rest.appendleft(stuck.batch.pop())
            except IndexError:  # the thread took the last one just now: it is not stuck after all
                break
        stuck.retired = True
        current = stuck.current
        if current is not None:
            self._suspects[current[0]] = (limits.GATHER_MAX_S,) * WAITS_REMEMBERED
        return [self._assign(batch) for batch in _spread(rest)]

    def _work(self, worker: _Worker) -> None:
        clock, outcomes = self._clock, self._outcomes
        while worker.bell.get() and not self._stopping:
            batch = worker.batch
            while batch:
                try:
                    errand = batch.popleft()
                except IndexError:  # the crew took the rest away
                    break
                worker.current = errand.place, clock.monotonic_s()
                outcome = run_errand(errand, clock, measure_wait=errand.place in self._suspects)
                worker.current = None
                outcomes.append(outcome)
            self._returned.put(worker)
        self._workers.discard(worker)


def _spread(errands: Iterable[Errand]) -> list[deque[Errand]]:
    """One batch each, or WORKERS_MAX batches if there are more errands than that."""
    listed = list(errands)
    return [deque(listed[start::WORKERS_MAX]) for start in range(min(len(listed), WORKERS_MAX))]
