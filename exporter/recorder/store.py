"""The recording as it is written: one SQLite file with a write-ahead log, both bounded. One connection, one thread.

Knows tables and bytes; not what is in a row. Trouble of the disk is sqlite3.Error or OSError, a damaged file among them (`is_damage`).
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from exporter.recorder.rows import Row
from exporter.recorder.schema import APPLICATION_ID, CREATE, TABLES, TROUBLE, VERSION, ForeignFileError, NewerRecordingError

Connect: TypeAlias = Callable[[str], sqlite3.Connection]
"""Opens a file. The seam for disks that are slow or full."""
WAIT_S = 2.0
"""For somebody who reads just when the log must be emptied."""
WAL_SHARE = 16
WAL_MIN_BYTES = 4 << 20
"""The log may grow to a sixteenth of the bound, at least to this: SQLite empties it when it has 1,000 pages, which are 4 MB."""
HEADROOM_SHARE = 64
"""What is cleared at a time: a sixty-fourth of the bound."""
SLACK_BYTES = 256 << 10
"""Pages that a row touches beside its own: indexes, the list of free pages."""
ROWS_AT_ONCE, EVENTS_AT_ONCE = 200, 2000
"""Removed in one transaction at most: each page that becomes free goes through the log."""
EMPTY = "id NOT IN (SELECT chapter FROM rows) AND id NOT IN (SELECT chapter FROM events)"
VACUUM_PAGES = 512
"""Free pages given back at a time, where a file is larger than it may be."""


class LogTooLongError(OSError):
    """Somebody reads in one go for so long that the write-ahead log cannot be emptied."""


class Bounds(NamedTuple):
    """What the file may hold: its size, log included, and how old."""

    size_max_bytes: int
    keep_s: float

    @property
    def wal_bytes(self) -> int:
        """What of it is the log's."""
        return max(self.size_max_bytes // WAL_SHARE, WAL_MIN_BYTES)

    @property
    def file_bytes(self) -> int:
        """What of it is the file's."""
        return self.size_max_bytes - self.wal_bytes


class EventLine(NamedTuple):
    """An event as the table takes it."""

    kind: str
    wall_s: float
    monotonic_s: float
    link: str
    document: str


def connect_for_writing(path: str) -> sqlite3.Connection:
    """A connection of the recorder's thread. Raises sqlite3.Error."""
    return sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)


def is_damage(error: Exception) -> bool:
    """Whether it says that the file itself is broken, lacks a table or is another's, and not that the disk is in trouble."""
    if isinstance(error, (ForeignFileError, UnicodeDecodeError)):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


class Store:
    """An open recording; a new file if there is none. Raises sqlite3.Error, NewerRecordingError for a later version's,
    ForeignFileError."""

    def __init__(self, path: str, bounds: Bounds, connect: Connect = connect_for_writing) -> None:
        self._path = path
        self._bounds = bounds
        if _has_odd_header(path):
            raise ForeignFileError("its header is damaged")
        self._db = connect(path)
        try:
            self._open()
            self._inode = os.stat(path).st_ino
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        version, tables = self._one("PRAGMA user_version"), self._one("SELECT count(*) FROM sqlite_schema")
        if version > VERSION:
            raise NewerRecordingError(f"{self._path} is a recording of version {version}, and this program writes {VERSION}")
        if tables and (version, self._one("PRAGMA application_id")) != (VERSION, APPLICATION_ID):
            raise ForeignFileError("it is a database of something else")
        if not tables:
            self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing; a power cut the last rows, never the file
        self._db.execute(f"PRAGMA journal_size_limit = {WAL_MIN_BYTES}")
        self._db.execute("PRAGMA cache_size = -512")
        if not tables:
            self._in_one([(statement, ()) for statement in CREATE])
        self._page_bytes = int(self._one("PRAGMA page_size"))
        for table in TABLES:
            self._db.execute(f"SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1").fetchall()  # noqa: S608  # our own names
        self._db.execute(f"PRAGMA max_page_count = {self._bounds.file_bytes // self._page_bytes}")

    @property
    def is_in_place(self) -> bool:
        """Whether the file is still the one of that name: somebody may have removed or replaced it."""
        try:
            return os.stat(self._path).st_ino == self._inode
        except OSError:
            return False

    @property
    def size_bytes(self) -> int:
        """Of the file and its log, on the disk."""
        return _size_bytes(self._path) + self._wal_bytes()

    def begin(self, is_start: bool, boot_id: str, wall_s: float, monotonic_s: float, document: bytes) -> int:  # noqa: FBT001  # a column
        """Begin a chapter; its number."""
        self._make_room(len(document))
        return self._in_one([("INSERT INTO chapters (is_start, boot_id, wall_s, monotonic_s, document) VALUES (?, ?, ?, ?, ?)",
                              (is_start, boot_id, wall_s, monotonic_s, document))])  # fmt: skip

    def write(self, chapter: int, layouts: Iterable[tuple[int, bytes]], row: Row) -> None:
        """A row and the layouts that are new with it, or nothing."""
        new = list(layouts)
        self._make_room(len(row.text) + sum(len(document) + 64 for _, document in new))
        statements: list[tuple[str, Sequence[object]]] = [
            ("INSERT INTO layouts VALUES (?, ?, ?)", (chapter, number, document)) for number, document in new
        ]
        self._in_one([*statements, ("INSERT INTO rows VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", (chapter, *row))])

    def tell(self, chapter: int, events: Iterable[EventLine]) -> None:
        """Write events, all or none."""
        lines = list(events)
        self._make_room(sum(len(line.document) + 128 for line in lines))
        self._in_one([("INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?, ?)", (chapter, *line)) for line in lines])

    def forget_old(self, boot_id: str, chapter: int, wall_s: float, monotonic_s: float) -> None:
        """Remove what is older than it may be at that time, in this boot by the monotonic clock: a wall clock that jumps ahead must not
        empty the recording. What earlier boots wrote goes by the wall clock, the only one that both have."""
        ours = "chapter IN (SELECT id FROM chapters WHERE id = ? OR (boot_id = ? AND boot_id <> ''))"
        times = (chapter, boot_id, monotonic_s - self._bounds.keep_s, chapter, boot_id, wall_s - self._bounds.keep_s)
        for table, which, most in (("rows", "last_", ROWS_AT_ONCE), ("events", "", EVENTS_AT_ONCE)):
            old = f"({ours} AND {which}monotonic_s < ?) OR (NOT {ours} AND {which}wall_s < ?)"
            delete = f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {old} LIMIT {most})"  # noqa: S608  # our own words
            while self._changed([(delete, times)]) == most:
                pass
        self._changed([
            (f"DELETE FROM chapters WHERE id < ? AND {EMPTY}", (chapter,)),  # noqa: S608  # as above
            ("DELETE FROM layouts WHERE chapter < ? AND chapter NOT IN (SELECT chapter FROM rows)", (chapter,)),
        ])  # fmt: skip

    def newest_events(self, most: int) -> list[EventLine]:
        """The last events, the oldest first."""
        found = self._db.execute("SELECT kind, wall_s, monotonic_s, link, document FROM events ORDER BY id DESC LIMIT ?", (most,))
        return [EventLine(*line) for line in reversed(found.fetchall())]

    def close(self) -> None:
        """Let go of the file. Raises nothing."""
        try:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except TROUBLE:
            pass  # what is in the log stays there, and the next one to open the file finds it
        finally:
            self._db.close()

    def _make_room(self, size_bytes: int) -> None:
        """Remove the oldest until so much more has its place, and keep the log short."""
        bounds, needed = self._bounds, size_bytes + SLACK_BYTES
        while self._used_bytes() + needed > bounds.file_bytes and self._drop_oldest(needed + bounds.file_bytes // HEADROOM_SHARE):
            pass
        if _size_bytes(self._path) > bounds.file_bytes:
            self._db.executescript(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")  # execute() takes one step, which is one page
        if self._wal_bytes() > bounds.wal_bytes:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if self._wal_bytes() > bounds.wal_bytes:
                raise LogTooLongError(f"somebody has been reading {self._path} for so long that its log is full")

    def _used_bytes(self) -> int:
        return int(self._one("PRAGMA page_count") - self._one("PRAGMA freelist_count")) * self._page_bytes

    def _drop_oldest(self, size_bytes: int) -> bool:
        """Remove the oldest rows of so many bytes together, and events older than the oldest row left; whether there was anything."""
        found = self._db.execute("SELECT id, length(text) FROM rows ORDER BY id LIMIT 1000").fetchall()
        last, freed = 0, 0
        for row, length in found:
            last, freed = row, freed + length
            if freed >= size_bytes:
                break
        oldest = self._db.execute("SELECT chapter, first_monotonic_s FROM rows WHERE id > ? ORDER BY id LIMIT 1", (last,)).fetchone()
        values: tuple[object, ...] = ()
        if oldest is not None and found:
            which, values = "chapter < ? OR (chapter = ? AND monotonic_s < ?)", (oldest[0], oldest[0], oldest[1])
        else:
            which = "id <= (SELECT min(id) + max(64, count(*) / 16) FROM events)"
        return bool(self._changed([
            ("DELETE FROM rows WHERE id <= ?", (last,)), (f"DELETE FROM events WHERE {which}", values),  # noqa: S608
            ("DELETE FROM layouts WHERE chapter < (SELECT max(id) FROM chapters) AND chapter NOT IN (SELECT chapter FROM rows)", ()),
            (f"DELETE FROM chapters WHERE id < (SELECT max(id) FROM chapters) AND {EMPTY}", ()),  # noqa: S608
        ]))  # fmt: skip

    def _in_one(self, statements: Iterable[tuple[str, Sequence[object]]]) -> int:
        """Run these in one transaction; the id of the last row that was inserted."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for statement, values in statements:
                last = self._db.execute(statement, values).lastrowid
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        return last or 0

    def _changed(self, statements: Iterable[tuple[str, Sequence[object]]]) -> int:
        """Run these in one transaction; how many rows they changed."""
        before = self._db.total_changes
        self._in_one(statements)
        return self._db.total_changes - before

    def _one(self, question: str) -> int:
        return int(self._db.execute(question).fetchone()[0])

    def _wal_bytes(self) -> int:
        return _size_bytes(self._path + "-wal")


def _has_odd_header(path: str) -> bool:
    """Whether the file's format versions (bytes 18 and 19) are none of ours: SQLite calls such a file read-only, as if the disk were."""
    try:
        with open(path, "rb") as file:
            versions = file.read(20)[18:]
    except OSError:
        return False
    return not set(versions) <= {1, 2}


def _size_bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
