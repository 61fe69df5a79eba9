"""The sampler: on each tick it starts what is due, gathers what came back and publishes one Scene. Waits for nobody who hangs."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from exporter.catalog import limits
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Reading, Snapshot, SourceStatus
from exporter.runtime.board import Board
from exporter.runtime.clock import Clock
from exporter.runtime.collect import Outcome, Source, close_reader
from exporter.runtime.crew import DeposedError, Executor
from exporter.runtime.ledger import Ledger
from exporter.runtime.log_once import FaultLog
from exporter.runtime.schedule import Intervals
from exporter.runtime.status import status_readings

log = logging.getLogger("fabric_exporter.sampler")
WAVES_MAX = 2
"""Rounds of errands in one tick: the scan, then the devices it found."""


class Observe(Protocol):
    """Who makes more of what was seen: health (runtime/health.py)."""

    def __call__(self, newest: Mapping[Feed, tuple[Snapshot, float]], statuses: Sequence[SourceStatus], wall_s: float,
                 now_s: float) -> Snapshot:  # fmt: skip
        """A Snapshot that is shown beside those of the sources."""
        ...


class Sampler:
    """Drives the sources of one daemon. `tick` does one beat; `start` runs ticks in a thread until `stop`, and a second thread that
    watches the first: if a read holds it, a successor goes on from the next tick, and the held one ends when the kernel lets go."""

    def __init__(self, sources: Sequence[tuple[Source, Intervals]], clock: Clock, executor: Executor, board: Board,
                 own_readings: Callable[[], tuple[Reading, ...]] = tuple, observe: Observe | None = None) -> None:  # fmt: skip
        self._clock = clock
        self._executor = executor
        self._board = board
        self._own_readings = own_readings
        self._observe = observe
        fault_log = FaultLog()
        self._ledgers = [Ledger(source, intervals, fault_log, groups=executor.takes_groups) for source, intervals in sources]
        shortest_s = min((intervals.fast_s for _, intervals in sources), default=limits.STALE_MIN_S)
        self._shortest_s = shortest_s
        self._gather_s = min(limits.GATHER_RATIO * shortest_s, limits.GATHER_MAX_S)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._opened = False
        self.last_tick_s: float | None = None

    def tick(self, forced: Collection[Cadence] = ()) -> float:
        """One beat: start what is due (and the forced cadences), gather, publish. Returns the monotonic time at which the next one is
        due."""
        now_s = self._clock.monotonic_s()
        if not self._opened:
            self._opened = True
            for ledger in self._ledgers:
                ledger.open(now_s)
        for wave in range(WAVES_MAX):
            busy = self._executor.busy()
            errands = [errand for ledger in self._ledgers for errand in ledger.due(now_s, busy, () if wave else forced)]
            outcomes = self._executor.run(errands, self._gather_s)
            for outcome in outcomes:
                self._absorb(outcome, now_s)
            if all(outcome.scan is None for outcome in outcomes):
                break  # only a scan makes more errands
        busy = self._executor.busy()
        after_s = self._clock.monotonic_s()
        for ledger in self._ledgers:
            ledger.flag_hung(after_s, busy)
            ledger.let_go(busy)
        self._publish(after_s)
        self.last_tick_s = after_s
        next_s = min((ledger.next_due_s(busy) for ledger in self._ledgers), default=float("inf"))
        return max(now_s, min(next_s, now_s + self._shortest_s))

    def tick_all(self, cadences: Collection[Cadence] = tuple(Cadence)) -> None:
        """One beat that reads these cadences, due or not: a one-shot command's pass, and a benchmark's."""
        self.tick(cadences)

    def start(self) -> None:
        """Tick in a thread of its own until stop()."""
        self._lead()
        threading.Thread(target=self._watch, name="sampler-watch", daemon=True).start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the ticks and give handles back; a device that hangs keeps its thread until the kernel lets go. The executor goes on:
        another sampler may take over from here (reload), and must know which devices are still busy."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
            self._executor.depose(0.0)
        busy = self._executor.busy()
        for ledger in self._ledgers:
            ledger.close(busy)

    def is_alive(self, now_s: float) -> bool:
        """True while ticks advance: the last one is no older than five of the shortest intervals, or ten seconds."""
        return self.last_tick_s is not None and now_s - self.last_tick_s < max(5 * self._shortest_s, 10.0)

    def _absorb(self, outcome: Outcome, now_s: float) -> None:
        for ledger in self._ledgers:
            if ledger.source is outcome.errand.source:
                ledger.absorb(outcome, now_s)
                return
        if outcome.errand.reader is not None:  # it belonged to the sampler before the reload, and came back only now
            close_reader(outcome.errand.reader)

    def _lead(self) -> None:
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                due_s = self.tick()
            except DeposedError:
                return
            self._stop.wait(max(0.0, due_s - self._clock.monotonic_s()))

    def _watch(self) -> None:
        while not self._stop.wait(self._gather_s):
            if self._executor.depose(self._gather_s):
                self._lead()

    def _publish(self, now_s: float) -> None:
        newest: dict[Feed, tuple[Snapshot, float]] = {}
        for ledger in self._ledgers:
            newest |= ledger.newest
        statuses = tuple(ledger.status(now_s) for ledger in self._ledgers)
        wall_s = self._clock.wall_s()
        if self._observe is not None:
            derived = self._observe(newest, statuses, wall_s, now_s)
            newest[derived.feed] = derived, now_s + max(limits.STALE_INTERVALS * self._shortest_s, limits.STALE_MIN_S)
        readings = (*self._own_readings(), *status_readings(statuses, now_s))
        self._board.publish(newest, statuses, readings, wall_s, now_s)
