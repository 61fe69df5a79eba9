"""A recording as it is read: while the daemon writes it, or offline. Never writes. Reads in short steps, so that the daemon can
empty its log meanwhile. Knows tables; times are Unix seconds."""

import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from exporter.recorder.layouts import layout_in
from exporter.recorder.rows import Layouts, ticks_in, unpacked
from exporter.recorder.schema import APPLICATION_ID, TABLES, TROUBLE, VERSION, NewerRecordingError, NoRecordingError
from exporter.recorder.tick import Event, EventKind, Life, Tick

WAIT_S = 5.0
ROWS_A_STEP = 32
EVENTS_A_STEP = 500
LAYOUTS_MAX_BYTES = 64 << 20
"""Of one chapter's document or layout, unpacked."""
ENDLESS = float("inf")
NUMBER_MAX = 1e15


class Chapter(NamedTuple):
    """Its number, whether health began with it, which boot, and when its first tick was."""

    number: int
    is_start: bool
    boot_id: str
    wall_s: float
    monotonic_s: float


class Span(NamedTuple):
    """Rows of one boot: from when to when by the wall clock, how many rows and ticks there are, how many ticks are known to be missing, and
    how many events. Times are None where there is no row."""

    boot_id: str
    first_wall_s: float | None
    last_wall_s: float | None
    rows: int
    ticks: int
    lost: int
    events: int
    starts: int


class Part(NamedTuple):
    """Ticks of one row, as far as it makes sense: `problem` says why there are no more. `lost` are missing before it."""

    chapter: Chapter
    ticks: tuple[Tick, ...]
    lost: int
    problem: str = ""


@dataclass(slots=True)
class Recording:
    """An open recording. Methods raise NoRecordingError if the file turns out to be damaged."""

    path: str
    _db: sqlite3.Connection
    _layouts: dict[int, Layouts] = field(default_factory=dict)

    def size_bytes(self) -> int:
        """Of the file and its log."""
        return sum(os.stat(self.path + end).st_size for end in ("", "-wal") if os.path.exists(self.path + end))

    def chapters(self) -> list[Chapter]:
        """All of them, in order."""
        found = self._all("SELECT id, is_start, boot_id, wall_s, monotonic_s FROM chapters ORDER BY id")
        return [Chapter(number, bool(is_start), str(boot_id), _number(wall_s), _number(monotonic_s))
                for number, is_start, boot_id, wall_s, monotonic_s in found]  # fmt: skip

    def spans(self) -> list[Span]:
        """One for each boot, in order."""
        spans: dict[str, Span] = {}
        for chapter in self.chapters():
            (rows,) = self._all("SELECT min(first_wall_s), max(last_wall_s), count(*), total(ticks), total(lost) FROM rows "
                                "WHERE chapter = ?", chapter.number)  # fmt: skip
            ((events,),) = self._all("SELECT count(*) FROM events WHERE chapter = ?", chapter.number)
            first_s, last_s = (None if time_s is None else _number(time_s) for time_s in rows[:2])
            count, ticks, lost = rows[2:]
            before = spans.get(chapter.boot_id, Span(chapter.boot_id, None, None, 0, 0, 0, 0, 0))
            spans[chapter.boot_id] = Span(
                chapter.boot_id, _of_both(min, before.first_wall_s, first_s), _of_both(max, before.last_wall_s, last_s),
                before.rows + count, before.ticks + int(_number(ticks)), before.lost + int(_number(lost)), before.events + events,
                before.starts + chapter.is_start,
            )  # fmt: skip
        return list(spans.values())

    def life(self, chapter: Chapter) -> Life:
        """What makes the health of that chapter."""
        ((packed,),) = self._all("SELECT document FROM chapters WHERE id = ?", chapter.number) or (_nothing(self.path),)
        try:
            found = json.loads(unpacked(packed, LAYOUTS_MAX_BYTES))
            uptime_s = found["uptime_s"]
            return Life(str(found["boot_id"]), None if uptime_s is None else float(uptime_s), float(found["uptime_at_s"]),
                        dict(found["settings"]), dict(found["memory"]), str(found["version"]), float(found["began_wall_s"]))  # fmt: skip
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise NoRecordingError(f"{self.path}: chapter {chapter.number} makes no sense") from error

    def parts(self, from_s: float = 0.0, to_s: float = ENDLESS, first_chapter: int = 0) -> Iterator[Part]:
        """The rows that have ticks within that time, in the order in which they were written. A row that makes no sense costs itself."""
        chapters = {chapter.number: chapter for chapter in self.chapters()}
        last = 0
        while True:
            found = self._all("SELECT id, chapter, lost, text FROM rows WHERE id > ? AND chapter >= ? "
                              "AND max(first_wall_s, last_wall_s) >= ? AND min(first_wall_s, last_wall_s) <= ? "
                              "ORDER BY id LIMIT ?", last, first_chapter, from_s, min(to_s, 1e300), ROWS_A_STEP)  # fmt: skip
            for row, number, lost, text in found:
                last = row
                chapter = chapters.get(number)
                if chapter is None:  # it began after we looked
                    chapters = {one.number: one for one in self.chapters()}
                    chapter = chapters.get(number) or Chapter(number, is_start=False, boot_id="", wall_s=0.0, monotonic_s=0.0)
                yield self._part(chapter, int(_number(lost)), text if isinstance(text, bytes) else b"")
            if len(found) < ROWS_A_STEP:
                return

    def events(self, from_s: float = 0.0, to_s: float = ENDLESS) -> Iterator[tuple[str, Event]]:
        """The events within that time with the boot they are of, in the order in which they were written."""
        last = 0
        while True:
            found = self._all("SELECT e.id, c.boot_id, e.kind, e.wall_s, e.monotonic_s, e.link, e.document FROM events e "
                              "LEFT JOIN chapters c ON c.id = e.chapter WHERE e.id > ? AND e.wall_s >= ? AND e.wall_s <= ? ORDER BY e.id "
                              "LIMIT ?", last, from_s, min(to_s, 1e300), EVENTS_A_STEP)  # fmt: skip
            for number, boot_id, *words in found:
                last = number
                event = event_in(*words)
                if event is not None:
                    yield str(boot_id or ""), event
            if len(found) < EVENTS_A_STEP:
                return

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _part(self, chapter: Chapter, lost: int, text: bytes) -> Part:
        ticks: list[Tick] = []
        try:
            for tick in ticks_in(text, self._layouts_of(chapter.number)):
                ticks.append(tick)  # noqa: PERF402  # those before the trouble are kept
        except (ValueError, TypeError) as error:
            return Part(chapter, tuple(ticks), lost, str(error))
        return Part(chapter, tuple(ticks), lost)

    def _layouts_of(self, chapter: int) -> Layouts:
        """Those of that chapter; the daemon may have written more of them since we last looked."""
        known = self._layouts.get(chapter)
        ((count,),) = self._all("SELECT count(*) FROM layouts WHERE chapter = ?", chapter)
        if known is None or len(known.feeds) + len(known.sources) != count:
            found = self._all("SELECT number, document FROM layouts WHERE chapter = ?", chapter)
            layouts = {number: layout_in(json.loads(unpacked(packed, LAYOUTS_MAX_BYTES))) for number, packed in found}
            self._layouts.clear()  # rows of a chapter stand together
            known = self._layouts[chapter] = Layouts(layouts)
        return known

    def _all(self, question: str, *values: object) -> list[Any]:
        """Every line of the answer at once, so that nothing stays open in between."""
        try:
            return self._db.execute(question, values).fetchall()
        except TROUBLE as error:
            raise NoRecordingError(f"{self.path}: {error}") from error


def open_recording(path: str) -> Recording:
    """Open it for reading. Raises NoRecordingError in one line; NewerRecordingError for a later version's."""
    if not os.path.exists(path):
        raise NoRecordingError(f"{path}: there is no recording")
    db = _connected(path)
    try:
        (version,), (application,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("user_version", "application_id"))
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        db.execute("PRAGMA trusted_schema = OFF")
    except TROUBLE as error:
        db.close()
        raise NoRecordingError(f"{path}: {error}") from error
    if application == APPLICATION_ID and version <= VERSION and tables >= TABLES.keys():
        return Recording(path, db)
    db.close()
    if application == APPLICATION_ID and version <= VERSION:
        raise NoRecordingError(f"{path}: is damaged: it lacks {', '.join(sorted(TABLES.keys() - tables))}")
    if application != APPLICATION_ID:
        raise NoRecordingError(f"{path}: is no recording of fabric-exporter")
    raise NewerRecordingError(f"{path}: a later version made it (layout {version}, this program reads {VERSION})")


def _connected(path: str) -> sqlite3.Connection:
    """Read-only. Where the folder cannot be written either, a file whose log is empty can still be read, as one that nobody writes."""
    problem: Exception | None = None
    is_settled = not os.path.exists(path + "-wal") or os.stat(path + "-wal").st_size == 0
    for mode in ("mode=ro", "mode=ro&immutable=1") if is_settled else ("mode=ro",):
        try:
            db = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?{mode}", uri=True, timeout=WAIT_S, isolation_level=None)
        except TROUBLE as error:
            problem = error
            continue
        try:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except TROUBLE as error:
            problem = error
            db.close()
        else:
            return db
    raise NoRecordingError(f"{path}: {problem}")


def event_in(kind: str, wall_s: float, monotonic_s: float, link: str, document: str) -> Event | None:
    """The event of a line; None if a later version knows such events alone, or it is torn."""
    try:
        facts = json.loads(document)
        return Event(EventKind(kind), _number(wall_s), _number(monotonic_s), str(link), str(facts.pop("text", "")), facts)
    except (AttributeError, TypeError, ValueError, RecursionError):
        return None


def _number(value: object) -> float:
    """A number as it is; 0 for what a stranger may have put in its place."""
    return float(value) if isinstance(value, int | float) and abs(value) < NUMBER_MAX else 0.0


def _nothing(path: str) -> tuple[bytes]:
    raise NoRecordingError(f"{path}: a chapter has left the recording meanwhile")


def _of_both(choose: Any, before: float | None, now: float | None) -> float | None:
    known = [time_s for time_s in (before, now) if time_s is not None]
    return choose(known) if known else None
