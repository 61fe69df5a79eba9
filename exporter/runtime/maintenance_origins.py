"""Schedulers that are asked, now and then, whether somebody works on the node: in a thread of their own, which waits for them as long as it
takes, so that neither the sampler nor a scrape does. With none there is no thread.

What an origin said counts for three of its intervals. One that cannot be asked claims nothing: absent is not zero, and a node that looks
broken must not be silenced by a scheduler that nobody can reach.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from zlib import crc32

from exporter.catalog import internals, limits
from exporter.model.entity import NODE
from exporter.model.fault import Reason
from exporter.model.maintenance import Claim
from exporter.model.snapshot import Number, Reading, SeriesKey
from exporter.runtime.clock import Clock
from exporter.runtime.origin import Origin, OriginError

log = logging.getLogger("fabric_exporter.health")
SPREAD = 1 << 32
GOODBYE_S = 0.5
"""Enough for a command to be killed, so that none is left behind; a question that goes on is not waited for any longer [D]."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What an origin said, and when it was asked."""

    claim: Claim | None
    wall_s: float
    monotonic_s: float


@dataclass(slots=True)
class _Asked:
    """How it goes with one origin. Written by the thread that asks; `answer` is replaced as a whole, others read it."""

    origin: Origin
    due_s: float = 0.0
    answer: _Answer | None = None
    is_answering: bool | None = None
    said: set[Reason] = field(default_factory=set)
    """Reasons in the log since the last answer."""
    faults: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(Reason, 0))


class MaintenanceOrigins:
    """`start` asks at once and then at each origin's interval, until `stop`; neither waits for an answer. `seed` (the node's name) spreads
    the questions of a fleet that was started at once over the interval."""

    def __init__(self, origins: Sequence[Origin], clock: Clock, seed: str = "") -> None:
        self._clock = clock
        self._asked = [_Asked(origin) for origin in origins]
        self._splay = crc32(seed.encode("utf-8", "replace")) / SPREAD
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Ask in a thread of its own."""
        if self._asked:
            thread = threading.Thread(target=self._run, name="maintenance", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # the limit of tasks or of memory: the daemon must outlive it
                log.warning("no thread to ask schedulers about maintenance: %s; allow this process more threads or tasks", error)
            else:
                self._thread = thread

    def stop(self) -> None:
        """Ask no more. A question under way is given up, or ends by its deadline with nobody waiting."""
        self._stop.set()
        for asked in self._asked:
            asked.origin.close()
        if self._thread is not None:
            self._thread.join(GOODBYE_S)

    def claims(self) -> tuple[Claim, ...]:
        """What counts now. From memory; any thread may ask."""
        return tuple(answer.claim for asked in self._asked if (answer := self._fresh(asked)) is not None and answer.claim is not None)

    def readings(self) -> tuple[Reading, ...]:
        """How each origin is doing, in the rows of the sources: up, its last answer, what went wrong. From memory."""
        return tuple(Reading(NODE, _values(asked, is_fresh=self._fresh(asked) is not None)) for asked in self._asked)

    def ask_due(self) -> float:
        """One beat: ask whoever is due. Returns when the next one is (monotonic seconds; infinity without origins)."""
        for asked in self._asked:
            if self._clock.monotonic_s() >= asked.due_s and not self._stop.is_set():
                self._ask(asked)
        return min((asked.due_s for asked in self._asked), default=float("inf"))

    def _run(self) -> None:
        while not self._stop.is_set():
            due_s = self.ask_due()
            self._stop.wait(max(0.0, due_s - self._clock.monotonic_s()))

    def _fresh(self, asked: _Asked) -> _Answer | None:
        answer = asked.answer
        oldest_s = self._clock.monotonic_s() - limits.STALE_INTERVALS * asked.origin.interval_s
        return answer if answer is not None and answer.monotonic_s >= oldest_s else None

    def _ask(self, asked: _Asked) -> None:
        now_s, wall_s = self._clock.monotonic_s(), self._clock.wall_s()
        is_first = asked.is_answering is None
        before = self._fresh(asked)
        try:
            claim = asked.origin.ask()
        except OriginError as error:
            asked.is_answering = False
            self._complain(asked, error)
        else:
            if not self._stop.is_set():
                self._tell(asked.origin.name, before.claim if before is not None else None, claim)
            if asked.said:
                log.info("asked again with success source=%s", asked.origin.name)
                asked.said.clear()
            asked.answer, asked.is_answering = _Answer(claim, wall_s, now_s), True
        interval_s = asked.origin.interval_s
        asked.due_s = now_s + (interval_s * self._splay if is_first else interval_s)

    def _complain(self, asked: _Asked, error: OriginError) -> None:
        """Once for each reason, until it answers again; counted each time."""
        if self._stop.is_set():
            return
        asked.faults[error.reason] += 1
        if error.reason not in asked.said:
            asked.said.add(error.reason)
            log.warning("cannot ask whether somebody works on the node source=%s reason=%s: %s; unless it answers soon it claims nothing",
                        asked.origin.name, error.reason.value, error.detail)  # fmt: skip

    @staticmethod
    def _tell(name: str, before: Claim | None, after: Claim | None) -> None:
        if after is not None and (before is None or before.reason != after.reason):
            log.info("the node is in maintenance source=%s: %s", name, after.reason or "no reason given")
        elif after is None and before is not None:
            log.info("maintenance is over source=%s", name)


def _values(asked: _Asked, *, is_fresh: bool) -> dict[SeriesKey, Number]:
    """Fault counters exist at 0 for every Reason, so that the first fault is an increase; `up` once it was asked, 0 also while a question
    does not come back."""
    name, answer, is_answering = asked.origin.name, asked.answer, asked.is_answering
    values: dict[SeriesKey, Number] = {(internals.SOURCE_FAULTS.key, name, reason.value): count for reason, count in asked.faults.items()}
    if is_answering is not None:
        values[internals.SOURCE_UP.key, name] = int(is_answering and is_fresh)
    if answer is not None:
        values[internals.SOURCE_LAST_SUCCESS.key, name] = answer.wall_s
    return values
