"""Trouble costs rows and nothing else: a disk that is full or read-only, a file that is torn, of a later version or gone."""

import logging
import os
import resource
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.recorder.broken import KEPT_MAX, MARK
from exporter.recorder.recording import open_recording
from exporter.recorder.schema import FILE, VERSION
from exporter.recorder.store import Bounds, connect_for_writing
from exporter.recorder.tick import Tick
from exporter.recorder.writer import Options, Writer
from tests.recorder.ticks import LIFE, OPTIONS, WALL_S, event, tick


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where the recording is."""
    return str(tmp_path / FILE)


@pytest.fixture
def writer(path: str) -> Iterator[Writer]:
    """One with a life."""
    one = Writer(path, OPTIONS)
    one.begin(LIFE)
    yield one
    one.close()


def take(writer: Writer, from_s: float, count: int, step_s: float = 5.0) -> None:
    """So many ticks from that time on."""
    for number in range(count):
        writer.take(tick(from_s + number * step_s, ports=40))


def ticks(path: str) -> list[Tick]:
    """All that can be read again."""
    recording = open_recording(path)
    found = [one for part in recording.parts() for one in part.ticks]
    recording.close()
    return found


def times(path: str) -> list[float]:
    """Monotonic times of the ticks."""
    return [one.monotonic_s for one in ticks(path)]


@contextmanager
def no_file_larger_than(size_bytes: int) -> Iterator[None]:
    """As on a full disk: the kernel refuses to write behind that (RLIMIT_FSIZE; Python ignores SIGXFSZ)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_row_holds_ten_seconds(writer: Writer, path: str) -> None:
    """It is written when the next tick is no part of it; the rest at the end."""
    take(writer, 0.0, 5)

    assert writer.figures.rows == 2

    writer.close()

    assert times(path) == [0.0, 5.0, 10.0, 15.0, 20.0]
    assert [one.fresh for one in ticks(path)] == [tuple(tick(number * 5.0, ports=40).fresh) for number in range(5)]


def test_a_full_disk_costs_rows_until_there_is_room(writer: Writer, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Said once when it begins and once when it is over; what was lost is counted and marked."""
    caplog.set_level(logging.INFO, "fabric_exporter.recorder")
    take(writer, 0.0, 4)
    with no_file_larger_than(writer.figures.size_bytes // 2):
        take(writer, 20.0, 20)
    lost = writer.figures.lost_ticks
    take(writer, 120.0, 6)
    writer.close()

    said = [record.message for record in caplog.records]
    recording = open_recording(path)
    marked = sum(part.lost for part in recording.parts())
    recording.close()

    assert lost >= 16
    assert len(said) == 2
    assert "cannot record in" in said[0]
    assert "recording again" in said[1]
    assert marked == writer.figures.lost_ticks == lost
    assert set(times(path)) >= {0.0, 5.0, 130.0, 145.0}


def test_a_read_only_file_is_said_once_and_recovers(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """As after a remount: the connection of the next row can write again."""
    modes = ["rwc", "ro", "ro", "ro", "ro", "rwc"]

    def connect(file: str) -> sqlite3.Connection:
        mode = modes.pop(0) if len(modes) > 1 else modes[0]
        return sqlite3.connect(f"file:{file}?mode={mode}", uri=True, isolation_level=None)

    writer = Writer(path, OPTIONS, connect)
    writer.begin(LIFE)
    take(writer, 0.0, 3)
    writer.close()
    take(writer, 15.0, 13)
    writer.close()

    assert sum("cannot record in" in record.message and "readonly" in record.message for record in caplog.records) == 1
    assert writer.figures.lost_ticks > 0
    assert times(path)[-1] == 75.0


def test_a_folder_that_is_gone_costs_rows_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And comes back."""
    folder = tmp_path / "state"
    writer = Writer(str(folder / FILE), OPTIONS)
    writer.begin(LIFE)
    take(writer, 0.0, 6)
    folder.mkdir()
    take(writer, 30.0, 4)
    writer.close()

    assert times(str(folder / FILE))[-1] == 45.0
    assert sum("unable to open database file" in record.message for record in caplog.records) == 1


def test_a_file_that_somebody_removed_begins_anew(writer: Writer, path: str) -> None:
    """With its layouts: nothing is written into a file that nobody sees."""
    take(writer, 0.0, 5)
    for end in ("", "-wal", "-shm"):
        os.unlink(path + end)
    take(writer, 25.0, 5)
    writer.close()

    assert times(path)[-1] == 45.0
    assert len(ticks(path)[-1].fresh[0].readings) == 42


@pytest.mark.parametrize(
    "damage", [b"no database at all, but a text", b"SQLite format 3\x00" + b"\xff" * 4000, b"\x00" * 8192, "middle", "cut"]
)
def test_a_damaged_file_is_put_aside(path: str, damage: bytes | str, caplog: pytest.LogCaptureFixture) -> None:
    """Said once; a new one begins, and the old one is still there for who wants to save it."""
    if isinstance(damage, bytes):
        Path(path).write_bytes(damage)
    else:
        before = Writer(path, OPTIONS)
        before.begin(LIFE)
        take(before, 0.0, 200)
        before.close()
        raw = bytearray(Path(path).read_bytes())
        raw[4096:] = os.urandom(len(raw) - 4096) if damage == "middle" else b""
        Path(path).write_bytes(raw)
    writer = Writer(path, OPTIONS)
    writer.begin(LIFE)
    take(writer, 2000.0, 9)
    writer.close()

    aside = [name for name in os.listdir(os.path.dirname(path)) if MARK in name and not name.endswith(("-wal", "-shm"))]

    assert len(aside) == 1
    assert sum("was damaged" in record.message for record in caplog.records) == 1
    assert times(path)[-1] == 2040.0


def test_few_damaged_files_are_kept(path: str) -> None:
    """The newest."""
    for number in range(KEPT_MAX + 3):
        Path(path).write_bytes(b"damage" * 1000)
        writer = Writer(path, OPTIONS)
        writer.begin(LIFE)
        take(writer, number * 100.0, 4)
        writer.close()

    aside = [name for name in os.listdir(os.path.dirname(path)) if MARK in name]

    assert len(aside) == KEPT_MAX


def test_a_later_versions_file_is_left_alone(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is recorded, said once; every tick counts as lost."""
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
        db.execute("CREATE TABLE later (a)")
    db.close()
    before = Path(path).read_bytes()

    writer = Writer(path, OPTIONS)
    writer.begin(LIFE)
    take(writer, 0.0, 30)
    writer.close()

    assert Path(path).read_bytes() == before
    assert sum("nothing is recorded" in record.message for record in caplog.records) == 1
    assert writer.figures.is_refused
    assert writer.figures.lost_ticks > 25


def test_a_clock_that_goes_back_changes_no_order(writer: Writer, path: str) -> None:
    """Rows stand as they were written, with the wall times as they were."""
    writer.take(tick(0.0))
    writer.take(tick(5.0))
    writer.take(tick(10.0, wall_s=WALL_S - 5000.0))
    writer.take(tick(15.0, wall_s=WALL_S - 4995.0))
    writer.take(tick(20.0, wall_s=WALL_S + 20.0))
    writer.close()

    assert [(one.monotonic_s, one.wall_s - WALL_S) for one in ticks(path)] == [
        (0.0, 0.0), (5.0, 5.0), (10.0, -5000.0), (15.0, -4995.0), (20.0, 20.0),
    ]  # fmt: skip


def test_events_are_written_at_once(writer: Writer, path: str) -> None:
    """Whoever reads just after a crash finds the last one, though its row was not full."""
    writer.take(tick(0.0), [event(0.0, "link down")])

    recording = open_recording(path)
    found = [(boot, one.text) for boot, one in recording.events()]
    recording.close()

    assert found == [("boot-1", "link down")]
    assert times(path) == []


def test_events_wait_for_a_full_disk(writer: Writer, path: str) -> None:
    """They go with the next that can be written."""
    take(writer, 0.0, 4)
    with no_file_larger_than(1000):
        writer.take(tick(20.0), [event(20.0, "first")])
    writer.take(tick(25.0), [event(25.0, "second")])

    recording = open_recording(path)
    found = [one.text for _, one in recording.events()]
    recording.close()

    assert found == ["first", "second"]


def test_lost_ticks_end_a_row(writer: Writer, path: str) -> None:
    """What the queue dropped is marked where it is missing."""
    writer.take(tick(0.0))
    writer.take(tick(4.0), lost=3)
    writer.close()

    recording = open_recording(path)
    found = [(len(part.ticks), part.lost) for part in recording.parts()]
    recording.close()

    assert found == [(1, 0), (1, 3)]
    assert writer.figures.lost_ticks == 3


@pytest.mark.parametrize("step_s", [1.0, 7.3, 60.0])
def test_a_week_stays_within_a_day_and_its_size(path: str, step_s: float) -> None:
    """In virtual time, at a small bound."""
    bounds = Bounds(16_000_000, 3 * 3600.0)
    writer = Writer(path, Options(60.0, bounds))
    writer.begin(LIFE)
    now_s, largest = 0.0, 0
    for hour in range(24 * 7):
        for number in range(6):
            now_s = hour * 3600.0 + number * 600.0
            writer.take(tick(now_s, ports=200), [event(now_s)])
            writer.take(tick(now_s + step_s, ports=200))
        writer.take(tick(now_s + 300.0), memory={"verdicts": {}, "ports": {}})
        largest = max(largest, writer.figures.size_bytes)
    writer.close()

    recording = open_recording(path)
    chapters = recording.chapters()
    oldest_event = next(recording.events())[1]
    recording.close()

    assert largest <= bounds.size_max_bytes
    assert now_s - 3 * 3600.0 - 1200.0 <= min(times(path)) < now_s
    assert oldest_event.monotonic_s >= now_s - 3 * 3600.0 - 1200.0
    assert 3 <= len(chapters) <= 6


def test_a_slow_disk_holds_only_its_own_thread(path: str) -> None:
    """Whoever asks for figures is answered meanwhile."""
    inside, go_on = threading.Event(), threading.Event()

    def connect(file: str) -> sqlite3.Connection:
        inside.set()
        go_on.wait(30)
        return connect_for_writing(file)

    writer = Writer(path, OPTIONS, connect)
    writer.begin(LIFE)
    thread = threading.Thread(target=take, args=(writer, 0.0, 5), daemon=True)
    thread.start()
    assert inside.wait(30)
    figures = writer.figures
    go_on.set()
    thread.join(30)

    assert figures.rows == 0
    assert writer.figures.rows == 2
