"""What is done with each tick: it joins the row that is being made, and a full row is written. Trouble costs rows, never the caller.

One thread. The log has each change of state once: cannot write, writes again, a damaged file put aside. Knows no queue and no clock: times
are those of the ticks.
"""

import json
import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from exporter.recorder.broken import put_aside
from exporter.recorder.layouts import LayoutBook, document_of
from exporter.recorder.rows import Row, RowWriter
from exporter.recorder.schema import TROUBLE, ForeignFileError, NewerRecordingError
from exporter.recorder.store import Bounds, Connect, EventLine, Store, connect_for_writing, is_damage
from exporter.recorder.tick import Event, Json, Life, Tick

log = logging.getLogger("fabric_exporter.recorder")
UNTOLD_MAX = 1000
"""Events that wait for a disk that cannot be written; they go with the first that can."""
FORGET_EVERY_S = 300.0
"""How often what is too old is looked for."""


class Options(NamedTuple):
    """Seconds in a row, and the bounds of the file."""

    interval_s: float
    bounds: Bounds


class Figures(NamedTuple):
    """Since the daemon started: rows written, ticks that could not be, and the size of the file with its log now."""

    rows: int = 0
    lost_ticks: int = 0
    size_bytes: int = 0
    is_refused: bool = False
    """A later version's file: nothing is recorded."""


class Writer:
    """`begin` first, then `take` for each tick, `close` at the end."""

    def __init__(self, path: str, options: Options, connect: Connect = connect_for_writing) -> None:
        self.path = path
        self._options = options
        self._connect = connect
        self._store: Store | None = None
        self._life: Life | None = None
        self._is_start = False
        self._memory: Mapping[str, Json] = {}
        self._chapter: int | None = None
        self._book = LayoutBook()
        self._row = RowWriter(self._book)
        self._untold: list[Event] = []
        self._now = 0.0, 0.0
        self._looked_s: float | None = None
        self._trouble = ""
        self._lost_rows = 0
        self.figures = Figures()

    def begin(self, life: Life) -> None:
        """Another health from here on."""
        self._end_row()
        self._life, self._memory, self._is_start = life, life.memory, True
        self._new_chapter()
        self._row.lost = 0

    def take(self, tick: Tick, events: Sequence[Event] = (), lost: int = 0, memory: Mapping[str, Json] | None = None) -> None:
        """One tick and what happened by it. `lost` ticks before it never came: a row ends. `memory` is what makes health stand where
        it stands after this tick: with it the next chapter begins."""
        if self.figures.is_refused:
            self._count(lost_ticks=1 + lost)
            return
        if lost:
            self._end_row()
            self._lose(lost)
        elif self._row.ticks and not 0.0 <= self._row.elapsed_s(tick.monotonic_s) < self._options.interval_s - 0.05:
            self._end_row()
        self._now = tick.wall_s, tick.monotonic_s
        self._row.add(tick)
        self.tell(events)
        if memory is not None:
            self._end_row()
            self._memory, self._is_start = memory, False
            self._new_chapter()

    def tell(self, events: Sequence[Event]) -> None:
        """Write events at once: they are few, and what came just before a crash is what somebody will ask for."""
        self._untold += events
        times = self._row.first or (self._now if self._chapter is not None else None)
        if self._untold and times is not None:  # else they wait for the first tick
            lines = [EventLine(event.kind.value, event.wall_s, event.monotonic_s, event.link, _json({**event.facts, "text": event.text}))
                     for event in self._untold]  # fmt: skip
            if self._guarded(lambda store, chapter: store.tell(chapter, lines), times) or len(self._untold) > UNTOLD_MAX:
                self._untold.clear()

    def newest_events(self, most: int) -> list[EventLine]:
        """The last events of the file, the oldest first; none where it cannot be read."""
        found: list[EventLine] = []
        self._guarded_store(lambda store: found.extend(store.newest_events(most)))
        return found

    def close(self) -> None:
        """Write what waits, and let go of the file."""
        self._end_row()
        if self._store is not None:
            self._store.close()
            self._store = None

    def _end_row(self) -> None:
        """Write the row that is being made, if it has a tick."""
        if not self._row.ticks:
            return
        row = self._row.end()
        self._row = RowWriter(self._book)
        times = row.first_wall_s, row.first_monotonic_s
        if not self._guarded(lambda store, chapter: self._write(store, chapter, row), times):
            self._lost_rows += 1
            self._row.lost += row.lost  # counted already
            self._lose(row.ticks)
        elif self._looked_s is None or not 0.0 <= row.last_monotonic_s - self._looked_s < FORGET_EVERY_S:
            self._looked_s = row.last_monotonic_s
            self._guarded(self._forget_old, self._now)

    def _write(self, store: Store, chapter: int, row: Row) -> None:
        fresh = [(number, _packed(document_of(layout))) for number, layout in self._book.fresh]
        store.write(chapter, fresh, row)
        self._book.fresh.clear()
        self._count(rows=1, size_bytes=store.size_bytes)

    def _forget_old(self, store: Store, chapter: int) -> None:
        store.forget_old(self._life.boot_id if self._life is not None else "", chapter, *self._now)

    def _new_chapter(self) -> None:
        """The next that is written begins one, with all layouts."""
        self._chapter, self._book = None, LayoutBook()
        self._row = RowWriter(self._book, self._row.lost)

    def _guarded(self, work: Callable[[Store, int], None], times: tuple[float, float]) -> bool:
        """Do it with the file open and a chapter begun, with a tick of those times; whether that could be done."""
        return self._guarded_store(lambda store: work(store, self._begun(store, times)))

    def _begun(self, store: Store, times: tuple[float, float]) -> int:
        if self._chapter is None:
            assert self._life is not None  # noqa: S101  # `begin` comes first
            life = self._life._replace(memory=self._memory)
            self._chapter = store.begin(self._is_start, life.boot_id, *times, _packed(life._asdict()))
            self._is_start = False
        return self._chapter

    def _guarded_store(self, work: Callable[[Store], None]) -> bool:
        if self.figures.is_refused:
            return False
        for _ in range(2):  # once more with a new file, where the old one is damaged
            try:
                if self._store is not None and not self._store.is_in_place:
                    self._let_go()
                if self._store is None:
                    self._store = Store(self.path, self._options.bounds, self._connect)
                work(self._store)
            except NewerRecordingError as error:
                log.error("nothing is recorded: %s; move it away, or run the version that made it", error)  # noqa: TRY400
                self.figures = self.figures._replace(is_refused=True)
                return False
            except (*TROUBLE, OSError, ForeignFileError) as error:
                self._let_go()
                if not is_damage(error) or not self._put_aside(error):
                    self._say(error)
                    return False
            else:
                self._say(None)
                return True
        return False

    def _let_go(self) -> None:
        """Close the file: what follows begins a chapter with all layouts, in whatever file is there then."""
        if self._store is not None:
            self._store.close()
            self._store = None
        self._chapter = None
        self._book.again()

    def _put_aside(self, error: Exception) -> bool:
        try:
            aside = put_aside(self.path, self._now[0])
        except OSError as refused:
            self._say(refused)
            return False
        log.error("the recording was damaged (%s): put aside as %s, a new one begins", error, aside)
        return True

    def _say(self, error: Exception | None) -> None:
        """Log it when it begins, when it becomes another, and when it is over."""
        trouble = str(error) if error is not None else ""
        if trouble and trouble != self._trouble:
            log.warning("cannot record in %s: %s; what happens until it can be written is not in the recording", self.path, trouble)
        elif self._trouble and not trouble:
            log.info("recording again in %s; rows lost meanwhile: %d", self.path, self._lost_rows)
            self._lost_rows = 0
        self._trouble = trouble

    def _lose(self, ticks: int) -> None:
        """So many ticks are missing before the next row."""
        self._row = RowWriter(self._book, self._row.lost + ticks)
        self._count(lost_ticks=ticks)

    def _count(self, rows: int = 0, lost_ticks: int = 0, size_bytes: int | None = None) -> None:
        before = self.figures
        self.figures = Figures(before.rows + rows, before.lost_ticks + lost_ticks,
                               before.size_bytes if size_bytes is None else size_bytes, before.is_refused)  # fmt: skip


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _packed(document: Mapping[str, object]) -> bytes:
    return zlib.compress(_json(document).encode())
