"""The workers of a probe together: one answer from each by a deadline, and the ladder that ends them all, whatever they do. Knows no plan.

The first worker that fails, ends or says nonsense is everybody's end: the others wait for it within NCCL, and not by our clock
(NVIDIA/nccl#582)."""

import selectors
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from exporter.probes.job import Bounds
from exporter.probes.messages import Abort, Answer, Failed, Order
from exporter.probes.outcome import Broken
from exporter.probes.reasons import Failure
from exporter.probes.worker.waiting import Clock
from exporter.probes.worker_process import WorkerProcess

Kind = TypeVar("Kind", bound=Answer)

LOOK_S = 0.01
"""Between two looks whether processes have ended."""
CAUSE_S = 0.3
"""Where one rank says that another failed, for so long the other may say so itself."""
GRACE_S = 1.0
"""A worker keeps its deadlines itself, and says which it missed; one that says nothing so long after that cannot speak."""


class Stop(Protocol):
    """Something that can be waited for: readable once the run is to be stopped. A socket or pipe."""

    def fileno(self) -> int:
        """Its descriptor."""
        ...


class BrokenError(Exception):
    """The run breaks off, for the reason it carries."""

    def __init__(self, broken: Broken) -> None:
        super().__init__(broken.words)
        self.broken = broken


class WorkerGroup:
    """Empty at first. `deadline_s` is when, by the clock, all must be over."""

    def __init__(self, clock: Clock, bounds: Bounds, deadline_s: float, stop: Stop | None) -> None:
        self._clock, self._bounds, self._deadline_s = clock, bounds, deadline_s
        self._selector = selectors.DefaultSelector()
        if stop is not None:
            self._selector.register(stop, selectors.EVENT_READ, None)
        self.workers: list[WorkerProcess] = []

    def start(self, rank: int | None, cores: Sequence[int], environment: Mapping[str, str]) -> WorkerProcess:
        """One more. Raises BrokenError."""
        try:
            worker = WorkerProcess(rank, self._bounds.nice, cores, environment)
        except OSError as error:
            raise BrokenError(Broken(Failure.WORKER_CRASH, f"cannot start a worker: {error}", rank)) from None
        self.workers.append(worker)
        self._selector.register(worker.answers, selectors.EVENT_READ, worker.answers)
        self._selector.register(worker.complaints, selectors.EVENT_READ, worker.complaints)
        return worker

    def tell(self, order: Order) -> None:
        """The same to all."""
        for worker in self.workers:
            worker.send(order)

    def gather(self, kind: type[Kind], within_s: float, late: Failure, what: str) -> list[Kind]:
        """One answer of that kind from each, in the order in which they were started. Raises BrokenError: for a worker that fails or ends,
        for another answer, when told to stop, and when the time is over, for `late` (`what`, for a person, is what took too long)."""
        give_up_s = min(self._clock.monotonic_s() + within_s + GRACE_S, self._deadline_s)
        got: dict[int, Kind] = {}
        while len(got) < len(self.workers):
            news = self._news(give_up_s)
            failed = [(worker, one) for worker, answers, _ in news for one in answers if isinstance(one, Failed)]
            if failed:
                raise BrokenError(self._cause(failed))
            for worker, answers, ended in news:
                for answer in answers:
                    if not isinstance(answer, kind) or worker.pid in got:
                        raise BrokenError(
                            Broken(Failure.WORKER_CRASH, f"{worker.name} answered out of turn: {type(answer).__name__}", worker.rank)
                        )
                    got[worker.pid] = answer
                if ended and worker.pid not in got:
                    raise BrokenError(self._crashed(worker))
            if self._clock.monotonic_s() >= give_up_s and len(got) < len(self.workers):
                raise BrokenError(self._late([one for one in self.workers if one.pid not in got], late, what))
        return [got[worker.pid] for worker in self.workers]

    def _news(self, until_s: float) -> list[tuple[WorkerProcess, list[Answer], bool]]:
        """What came next; nothing once it is that late. Raises BrokenError for nonsense and when told to stop."""
        ready = {key.data for key, _ in self._selector.select(max(0.0, until_s - self._clock.monotonic_s()))}
        if None in ready:
            raise BrokenError(Broken(None, "it was told to stop", aborted=True))
        news = []
        for worker in self.workers:
            if worker.complaints in ready and not worker.read_complaints():
                self._selector.unregister(worker.complaints)
            if worker.answers in ready:
                try:
                    answers, ended = worker.read()
                except ValueError as error:
                    raise BrokenError(
                        Broken(Failure.WORKER_CRASH, f"{worker.name} answered what is no answer: {error}", worker.rank)
                    ) from None
                if ended:
                    self._selector.unregister(worker.answers)
                news.append((worker, answers, ended))
        return news

    def _cause(self, failed: Sequence[tuple[WorkerProcess, Failed]]) -> Broken:
        """Of several that fail, whoever does not just tell of another."""
        told = list(failed)
        until_s = self._clock.monotonic_s() + CAUSE_S
        while all(one.reason is Failure.REMOTE_ERROR for _, one in told) and self._clock.monotonic_s() < until_s:
            try:
                for worker, answers, _ in self._news(until_s):
                    told += [(worker, one) for one in answers if isinstance(one, Failed)]
            except BrokenError:
                break
        worker, chosen = next(((who, one) for who, one in told if one.reason is not Failure.REMOTE_ERROR), told[0])
        hung = chosen.reason in {Failure.INIT_TIMEOUT, Failure.ITER_TIMEOUT}
        return Broken(chosen.reason, f"{worker.name}: {chosen.words}", worker.rank, aborted=hung)

    def _crashed(self, worker: WorkerProcess) -> Broken:
        """Of one that closed its pipe without an answer; it ends in a moment, if it has not yet."""
        until_s = self._clock.monotonic_s() + CAUSE_S
        while not worker.has_ended() and self._clock.monotonic_s() < until_s:
            self._pause()
        while worker.read_complaints() and self._clock.monotonic_s() < until_s:
            self._pause()
        last = worker.last_words()
        words = f"{worker.name} ended by itself ({worker.how_it_ended()})" + (f"; it last said: {last}" if last else "")
        return Broken(Failure.WORKER_CRASH, words, worker.rank)

    def _late(self, late: Sequence[WorkerProcess], reason: Failure, what: str) -> Broken:
        names = ", ".join(worker.name for worker in late)
        out_of_time = self._clock.monotonic_s() >= self._deadline_s
        words = f"{names}: no answer to {what} in time" + (f"; the whole run may take {self._bounds.wall_s:g} s" if out_of_time else "")
        return Broken(reason, words, late[0].rank if len(late) == 1 else None, aborted=True)

    def part(self) -> None:
        """All have said that they end: wait for that, and end who does not by the ladder."""
        for worker in self.workers:
            worker.close_input()
        if not self._gone_within(self._bounds.abort_s):
            self.end()

    def end(self) -> tuple[int, ...]:
        """The ladder: abort, SIGTERM, SIGKILL, each with its time. Returns who is still there, stuck; nothing else is left of anybody."""
        self.tell(Abort())
        for number, wait_s in (
            (None, self._bounds.abort_s),
            (signal.SIGTERM, self._bounds.terminate_s),
            (signal.SIGKILL, self._bounds.kill_s),
        ):
            if number is not None:
                for worker in self.workers:
                    if not worker.has_ended():
                        worker.signal(number)
            if self._gone_within(wait_s):
                break
        return tuple(worker.pid for worker in self.workers if not worker.has_ended())

    def close(self) -> None:
        """Bury the dead, and let go of those that cannot be ended."""
        self._selector.close()
        for worker in self.workers:
            if worker.has_ended():
                worker.bury()
            else:
                worker.close_pipes()

    def _gone_within(self, wait_s: float) -> bool:
        until_s = self._clock.monotonic_s() + wait_s
        while not all(worker.has_ended() for worker in self.workers):
            if self._clock.monotonic_s() >= until_s:
                return False
            self._pause()
        return True

    def _pause(self) -> None:
        """A moment, in which nobody is kept from speaking: a full pipe would hold a process up. What is said now counts for nothing."""
        for worker in self.workers:
            with suppress(ValueError):
                worker.read()
            worker.read_complaints()
        with selectors.DefaultSelector() as nothing:
            nothing.select(LOOK_S)
