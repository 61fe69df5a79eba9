"""The file keeps its bounds in size and age, whatever is in it and whoever reads it."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.recorder.recording import open_recording
from exporter.recorder.rows import Row
from exporter.recorder.schema import FILE, VERSION, ForeignFileError, NewerRecordingError
from exporter.recorder.store import Bounds, EventLine, LogTooLongError, Store

SMALL = Bounds(16_000_000, 86_400.0)
WALL_S = 1_800_000_000.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the recording is."""
    return tmp_path / FILE


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """An open one, with a chapter."""
    one = Store(str(path), SMALL)
    one.begin(is_start=True, boot_id="boot-1", wall_s=WALL_S, monotonic_s=0.0, document=b"")
    yield one
    one.close()


def row(now_s: float, size_bytes: int = 6000, wall_s: float | None = None) -> Row:
    """Ten seconds from that time on, of that size once compressed."""
    wall_s = WALL_S + now_s if wall_s is None else wall_s
    return Row(wall_s, wall_s + 5, now_s, now_s + 5, 2, 0, os.urandom(size_bytes))


def write_on(store: Store, count: int) -> None:
    """So many rows."""
    for number in range(count):
        store.write(1, [], row(number * 10.0, 20_000))


def told(now_s: float, size_bytes: int = 200, wall_s: float | None = None) -> EventLine:
    """An event of that time."""
    return EventLine("health", WALL_S + now_s if wall_s is None else wall_s, now_s, "nvlink/gpu0/1", '{"text": "' + "x" * size_bytes + '"}')


def first_and_count(path: Path, table: str = "rows", column: str = "first_monotonic_s") -> tuple[float, int]:
    """The oldest in the table, and how many there are."""
    with sqlite3.connect(path) as db:
        found = db.execute(f"SELECT min({column}), count(*) FROM {table}").fetchone()  # noqa: S608  # names of this file
    db.close()
    return float(found[0] or 0.0), int(found[1])


def test_a_file_that_is_full_stays_so(path: Path, store: Store) -> None:
    """Three times its bound is written: file and log never pass it, and the oldest left first."""
    largest = 0
    for number in range(3 * SMALL.size_max_bytes // 20_000):
        store.write(1, [(number, b"layout")] if number < 5 else [], row(number * 10.0, 20_000))
        if number % 50 == 0:
            store.tell(1, [told(number * 10.0)])
        largest = max(largest, store.size_bytes)

    oldest_s, rows = first_and_count(path)
    oldest_event_s, _ = first_and_count(path, "events", "monotonic_s")

    assert 0.6 * SMALL.size_max_bytes < largest <= SMALL.size_max_bytes
    assert rows > 300
    assert oldest_s > 10_000
    assert oldest_event_s >= oldest_s - 10


def test_events_alone_cannot_fill_the_disk(path: Path, store: Store) -> None:
    """A storm of them: the oldest go."""
    for number in range(150):
        store.tell(1, [told(float(number), 4000) for _ in range(50)])

    _, count = first_and_count(path, "events", "monotonic_s")

    assert store.size_bytes <= SMALL.size_max_bytes
    assert count > 1000


def test_a_smaller_bound_shrinks_the_file(path: Path) -> None:
    """Step by step, as rows are written."""
    large = Store(str(path), Bounds(64_000_000, 86_400.0))
    chapter = large.begin(is_start=True, boot_id="boot-1", wall_s=WALL_S, monotonic_s=0.0, document=b"")
    for number in range(800):
        large.write(chapter, [], row(number * 10.0, 40_000))
    large.close()
    before = path.stat().st_size

    small = Store(str(path), SMALL)
    for number in range(30):
        small.write(chapter, [], row(8000.0 + number * 10.0))
    small.close()

    assert before > 30_000_000
    assert path.stat().st_size <= SMALL.size_max_bytes


def test_what_is_too_old_leaves_by_the_clock_that_both_have(path: Path, store: Store) -> None:
    """Within a boot by the monotonic one, across boots by the wall clock. Chapters and layouts go with their last row."""
    store.write(1, [(0, b"layout")], row(0.0))
    second = store.begin(is_start=True, boot_id="boot-2", wall_s=WALL_S + 1000, monotonic_s=10.0, document=b"")
    store.write(second, [(0, b"layout")], row(10.0, wall_s=WALL_S + 1000))
    store.tell(second, [told(10.0, wall_s=WALL_S + 1000)])

    store.forget_old("boot-2", second, WALL_S + 86_400 + 20, 20.0)  # the first row is a day old by the wall clock

    assert first_and_count(path, "chapters", "id") == (2.0, 1)
    assert first_and_count(path, "layouts", "chapter") == (2.0, 1)
    assert first_and_count(path) == (10.0, 1)

    store.forget_old("boot-2", second, WALL_S + 10 * 86_400, 40.0)  # the wall clock jumps ahead by days

    assert first_and_count(path) == (10.0, 1)

    store.forget_old("boot-2", second, WALL_S, 86_400.0 + 30)  # a day later by the monotonic clock, the wall clock went back

    assert first_and_count(path)[1] == first_and_count(path, "events", "id")[1] == 0


def test_a_whole_day_leaves_in_steps(path: Path, store: Store) -> None:
    """A machine that was off for days: the log stays short while the rows leave."""
    for number in range(1500):
        store.write(1, [], row(number * 10.0))
    largest = (path.parent / f"{FILE}-wal").stat().st_size

    store.forget_old("boot-1", 1, WALL_S, 200_000.0)

    assert first_and_count(path)[1] == 0
    assert max(largest, (path.parent / f"{FILE}-wal").stat().st_size) < 6_000_000


def test_boots_without_a_name_go_by_the_wall_clock(path: Path, store: Store) -> None:
    """Nobody can tell whose monotonic time it is."""
    nameless = store.begin(is_start=True, boot_id="", wall_s=WALL_S, monotonic_s=50_000.0, document=b"")
    store.write(nameless, [], row(50_000.0, wall_s=WALL_S))
    ours = store.begin(is_start=True, boot_id="", wall_s=WALL_S + 100, monotonic_s=0.0, document=b"")

    store.forget_old("", ours, WALL_S + 100, 200_000.0)

    assert first_and_count(path)[1] == 1


def test_a_later_versions_file_is_not_touched(path: Path) -> None:
    """It is refused before anything is written."""
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
        db.execute("CREATE TABLE later (a)")
    db.close()
    before = path.read_bytes()

    with pytest.raises(NewerRecordingError, match=f"of version {VERSION + 1}"):
        Store(str(path), SMALL)

    assert path.read_bytes() == before


def test_a_database_of_something_else_is_not_ours(path: Path) -> None:
    """It has tables, and not our mark."""
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE other (a)")
    db.close()

    with pytest.raises(ForeignFileError):
        Store(str(path), SMALL)


def test_a_reader_that_does_not_let_go_cannot_grow_the_log(path: Path, store: Store) -> None:
    """Its log is full at its bound; then rows are refused until the reader has ended."""
    store.write(1, [], row(0.0))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM rows").fetchone()
    with pytest.raises(LogTooLongError, match="its log is full"):
        write_on(store, 1000)

    assert store.size_bytes < SMALL.size_max_bytes

    reader.execute("COMMIT")
    reader.close()
    store.write(1, [], row(20_000.0))


def test_our_own_reader_lets_go_between_steps(path: Path, store: Store) -> None:
    """An export that takes for ever holds nothing."""
    for number in range(100):
        store.write(1, [], row(number * 10.0))
    recording = open_recording(str(path))
    parts = recording.parts()
    next(parts)
    for number in range(100, 1200):
        store.write(1, [], row(number * 10.0, 20_000))

    rest = sum(1 for _ in parts)
    recording.close()

    assert rest > 100
