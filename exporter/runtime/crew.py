"""Threads that run errands. Devices that answer at once share one thread; devices that make us wait get one each; a thread stuck in the
kernel keeps only its own device, the rest of its work is taken over.

Why not a thread per device always: threads that never wait only fight for the interpreter lock (ten of them cost several times the
work); why not one thread: firmware answers in tens to hundreds of microseconds a file, and eight HCAs would queue behind each other.
"""

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

from exporter.catalog import limits
from exporter.runtime.clock import Clock
from exporter.runtime.collect import Errand, Outcome, not_started, run_errand

WORKERS_MAX = 64
"""Threads beside stuck ones, at most; devices beyond share."""
WAITS_REMEMBERED = 3
"""Passes in a row in which a device must have made us wait before it gets a thread of its own. A mean would not do: one preemption looks
like a wait, a device alone without need makes all others wait for the interpreter lock, and so on until every device is alone [M]."""

Place = tuple[str, str]


class Executor(Protocol):
    """Runs errands and says which places are busy since when (monotonic seconds)."""

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:
        """Start these and return what has come back within about gather_s, late outcomes of earlier calls included."""
        ...

    def busy(self) -> dict[Place, float]:
        """Places whose errand runs now, with its start; none of them may be started again."""
        ...

    def stop(self) -> None:
        """Let idle threads end. Stuck ones end with the process."""
        ...


class Inline:
    """Runs everything in the calling thread: virtual time, golden files, tests. A hang would hang the caller."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:  # noqa: ARG002  # same shape as Crew
        """Do them one after the other."""
        return [run_errand(errand, self._clock) for errand in errands]

    def busy(self) -> dict[Place, float]:
        """Nothing is ever left running."""
        return {}

    def stop(self) -> None:
        """Nothing to stop."""


class _Worker:
    """One thread and its batch; guarded by the crew's lock. `wake` wakes this thread alone."""

    def __init__(self, lock: threading.Lock) -> None:
        self.wake = threading.Condition(lock)
        self.batch: deque[Errand] = deque()
        self.current: Errand | None = None
        self.started_s = 0.0
        self.retired = False

    @property
    def is_done(self) -> bool:
        """Nothing running and nothing left."""
        return self.current is None and not self.batch


class Crew:
    """See the module. `run` is called by one thread (the sampler)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._came_back = threading.Condition(self._lock)
        self._idle: list[_Worker] = []
        self._workers: set[_Worker] = set()
        self._outcomes: list[Outcome] = []
        self._waits: dict[Place, tuple[float, ...]] = {}
        self._stopping = False

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:
        """Start these; return what came back. After gather_s the rest of a stuck thread's batch is spread over other threads; what is
        then left behind a device that hangs as well, with the next call. An errand that finds no thread comes back with a Fault."""
        with self._lock:
            at_work = [heir for worker in self._with_rest() for heir in self._take_over(worker)]
            at_work += [self._assign(batch) for batch in self._batches(errands)]
            if not self._came_back.wait_for(lambda: all(worker.is_done for worker in at_work), gather_s):
                heirs = [heir for worker in self._with_rest() for heir in self._take_over(worker)]
                self._came_back.wait_for(lambda: all(worker.is_done for worker in heirs), gather_s if heirs else 0)
            outcomes, self._outcomes = self._outcomes, []
        for outcome in outcomes:
            self._remember_wait(outcome)
        return outcomes

    def busy(self) -> dict[Place, float]:
        """Places whose errand runs now, or waits in a batch (then with the present as its start)."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            found = {errand.place: now_s for worker in self._workers for errand in worker.batch}
            found |= {worker.current.place: worker.started_s for worker in self._workers if worker.current is not None}
            return found

    def stop(self) -> None:
        """Let idle threads end."""
        with self._lock:
            self._stopping = True
            for worker in self._workers:
                worker.wake.notify()

    def _batches(self, errands: Sequence[Errand]) -> list[deque[Errand]]:
        """Errands that are known to wait alone, spread over WORKERS_MAX; all others together."""
        alone: list[Errand] = []
        together: deque[Errand] = deque()
        for errand in errands:
            (alone if self._is_slow(errand.place) else together).append(errand)
        return [*_spread(alone), together] if together else _spread(alone)

    def _is_slow(self, place: Place) -> bool:
        waits = self._waits.get(place, ())
        return len(waits) == WAITS_REMEMBERED and min(waits) > limits.PATIENT_WAIT_S

    def _with_rest(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.batch]

    def _assign(self, batch: deque[Errand]) -> _Worker:
        worker = self._idle.pop() if self._idle else _Worker(self._lock)
        try:
            if worker not in self._workers:
                self._hire(worker)
        except RuntimeError as error:  # the limit of tasks or of memory: the sampler must outlive it
            self._outcomes += [not_started(errand, str(error), self._clock) for errand in batch]
            return worker
        worker.batch = batch
        worker.wake.notify()
        return worker

    def _hire(self, worker: _Worker) -> None:
        threading.Thread(target=self._work, args=(worker,), name=f"sampler-{len(self._workers) + 1}", daemon=True).start()
        self._workers.add(worker)

    def _take_over(self, stuck: _Worker) -> list[_Worker]:
        """Spread a stuck thread's remaining batch over others; its device counts as one that makes us wait from now on."""
        rest, stuck.batch = stuck.batch, deque()
        stuck.retired = True
        if stuck.current is not None:
            self._waits[stuck.current.place] = (limits.GATHER_MAX_S,) * WAITS_REMEMBERED
        return [self._assign(batch) for batch in _spread(rest)]

    def _work(self, worker: _Worker) -> None:
        outcome: Outcome | None = None
        while True:
            with self._lock:
                if outcome is not None:
                    self._hand_in(worker, outcome)
                while not (worker.batch or self._stopping or worker.retired):
                    worker.wake.wait()
                if not worker.batch:
                    self._workers.discard(worker)
                    return
                errand = worker.current = worker.batch.popleft()
                worker.started_s = self._clock.monotonic_s()
            outcome = run_errand(errand, self._clock)

    def _hand_in(self, worker: _Worker, outcome: Outcome) -> None:
        worker.current = None
        self._outcomes.append(outcome)
        if not worker.batch:
            if not worker.retired:
                self._idle.append(worker)
            self._came_back.notify_all()

    def _remember_wait(self, outcome: Outcome) -> None:
        place = outcome.errand.place
        self._waits[place] = (*self._waits.get(place, ()), outcome.waited_s)[-WAITS_REMEMBERED:]


def _spread(errands: Iterable[Errand]) -> list[deque[Errand]]:
    """One batch each, or WORKERS_MAX batches if there are more errands than that."""
    listed = list(errands)
    return [deque(listed[start::WORKERS_MAX]) for start in range(min(len(listed), WORKERS_MAX))]
