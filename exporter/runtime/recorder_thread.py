"""The recorder's thread and the bounded queue before it: whoever samples puts a tick there and goes on, whatever the disk does."""

import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from exporter.recorder.newest import KEPT_MAX, NewestEvents
from exporter.recorder.recording import event_in
from exporter.recorder.tick import Event, Json, Life, Tick
from exporter.recorder.writer import Figures, Writer

log = logging.getLogger("fabric_exporter.recorder")
TICKS_MAX = 64
"""Ticks that wait for a slow disk: five minutes by default, one minute at 1 Hz and then some 10 MB [M]."""
EVENTS_MAX = 1000
"""Events of dropped ticks that still wait."""


class _Item(NamedTuple):
    """What stands in the queue: a life that begins, a tick, or events alone."""

    life: Life | None = None
    tick: Tick | None = None
    events: Sequence[Event] = ()
    memory: Mapping[str, Json] | None = None
    lost: int = 0


class RecorderThread:
    """Starts with the first life. `newest` is told of the events that the file holds from before; None if nobody is to be."""

    def __init__(self, writer: Writer, newest: NewestEvents | None = None) -> None:
        self._writer = writer
        self._newest = newest
        self._queue: deque[_Item] = deque()
        self._held = threading.Condition()
        self._stopping = False
        self._lost = 0
        self._late: list[Event] = []
        self._is_late = False
        self._thread: threading.Thread | None = None

    def begin(self, life: Life) -> None:
        """Another health from here on."""
        self._put(_Item(life=life))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
            self._thread.start()

    def take(self, tick: Tick, events: Sequence[Event] = (), memory: Mapping[str, Json] | None = None) -> None:
        """One tick and its events. Where the queue is full the tick is lost and counted; its events wait. Never waits."""
        with self._held:
            if len(self._queue) >= TICKS_MAX:
                self._lost += 1
                self._late = [*self._late, *events][-EVENTS_MAX:]
                is_news, self._is_late = not self._is_late, True
            else:
                item = _Item(None, tick, (*self._late, *events), memory, self._lost)
                self._lost, is_news = 0, False
                self._late.clear()
                self._queue.append(item)
                self._held.notify()
        if is_news:
            log.warning("the disk of %s is too slow: ticks are dropped until it has caught up", self._writer.path)

    def tell(self, events: Sequence[Event]) -> None:
        """Events that no tick brings."""
        self._put(_Item(events=events))

    def stop(self, timeout_s: float = 5.0) -> bool:
        """Write what waits; whether that was done in time. A disk that hangs keeps its thread until the kernel lets go."""
        with self._held:
            self._stopping = True
            self._held.notify()
        if self._thread is not None:
            self._thread.join(timeout_s)
            return not self._thread.is_alive()
        return True

    @property
    def figures(self) -> Figures:
        """The writer's, with what was dropped here."""
        figures = self._writer.figures
        return figures._replace(lost_ticks=figures.lost_ticks + self._lost)

    def _put(self, item: _Item) -> None:
        with self._held:
            if len(self._queue) < TICKS_MAX + EVENTS_MAX:
                self._queue.append(item)
            self._held.notify()

    def _run(self) -> None:
        while (item := self._next()) is not None:
            if item.life is not None:
                self._writer.begin(item.life)
                self._remember()
            elif item.tick is not None:
                self._writer.take(item.tick, item.events, item.lost, item.memory)
            else:
                self._writer.tell(item.events)
        self._writer.close()

    def _remember(self) -> None:
        """Tell of what the file holds from before, once."""
        if self._newest is not None:
            found = [event_in(*line) for line in self._writer.newest_events(KEPT_MAX)]
            self._newest.remember([event for event in found if event is not None])
            self._newest = None

    def _next(self) -> _Item | None:
        """The next item, waited for; None when the recorder is to stop and nothing is left."""
        with self._held:
            while not self._queue:
                if self._stopping:
                    return None
                self._held.wait()
            item = self._queue.popleft()
            if self._is_late and not self._queue:
                self._is_late = False
        return item
