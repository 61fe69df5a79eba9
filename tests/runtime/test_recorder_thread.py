"""The recorder's thread: whoever hands it a tick never waits, and what could not be written is counted."""

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter.recorder.newest import KEPT_MAX, NewestEvents
from exporter.recorder.recording import open_recording
from exporter.recorder.schema import FILE
from exporter.recorder.store import connect_for_writing
from exporter.recorder.writer import Writer
from exporter.runtime.recorder_thread import TICKS_MAX, RecorderThread
from tests.real.listener import poll
from tests.recorder.ticks import LIFE, OPTIONS, event, tick


class SlowDisk:
    """A disk on which the file cannot be opened before `go_on` is set."""

    def __init__(self) -> None:
        self.waits, self.go_on = threading.Event(), threading.Event()

    def connect(self, path: str) -> sqlite3.Connection:
        """Opens it, when it may."""
        self.waits.set()
        self.go_on.wait(60)
        return connect_for_writing(path)


@pytest.fixture
def disk() -> Iterator[SlowDisk]:
    """Slow until told; let go in the end."""
    one = SlowDisk()
    yield one
    one.go_on.set()


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where the recording is."""
    return str(tmp_path / FILE)


Start = Callable[..., RecorderThread]


@pytest.fixture
def start(path: str) -> Iterator[Start]:
    """Starts a recorder; stopped in the end."""
    started: list[RecorderThread] = []

    def go(connect: Callable[[str], sqlite3.Connection] = connect_for_writing, newest: NewestEvents | None = None) -> RecorderThread:
        started.append(RecorderThread(Writer(path, OPTIONS, connect), newest or NewestEvents()))
        started[-1].begin(LIFE)
        return started[-1]

    yield go
    for one in started:
        one.stop(10.0)


def recorded(path: str) -> tuple[list[float], list[str], int]:
    """Times of ticks, texts of events, how many ticks are marked as lost."""
    recording = open_recording(path)
    parts = list(recording.parts())
    found = ([one.monotonic_s for part in parts for one in part.ticks], [one.text for _, one in recording.events()],
             sum(part.lost for part in parts))  # fmt: skip
    recording.close()
    return found


def test_all_that_was_handed_over_is_written_at_the_end(start: Start, path: str) -> None:
    """Stop waits for the disk, within reason."""
    recorder = start()
    for number in range(20):
        recorder.take(tick(number * 5.0), [event(number * 5.0, f"event {number}")])

    assert recorder.stop(30.0)
    assert recorded(path) == ([number * 5.0 for number in range(20)], [f"event {number}" for number in range(20)], 0)


def test_a_slow_disk_costs_ticks_and_no_event(start: Start, path: str, disk: SlowDisk, caplog: pytest.LogCaptureFixture) -> None:
    """The queue is full: further ticks are lost, counted and said once; events wait. Then it catches up."""
    recorder = start(disk.connect)
    assert disk.waits.wait(30)
    for number in range(TICKS_MAX + 30):
        recorder.take(tick(number * 5.0), [event(number * 5.0, f"event {number}")])
    lost = recorder.figures.lost_ticks
    disk.go_on.set()
    recorder.take(tick(10_000.0))
    poll(lambda: recorder.figures.rows >= TICKS_MAX // 2 - 1 or None, 30.0, "the recorder has caught up")
    recorder.take(tick(10_005.0))

    assert recorder.stop(30.0)

    times, events, marked = recorded(path)

    assert lost == 30
    assert [text for text in events if text.startswith("event")] == [f"event {number}" for number in range(TICKS_MAX + 30)]
    assert marked == recorder.figures.lost_ticks in (30, 31)
    assert times[:TICKS_MAX] == [number * 5.0 for number in range(TICKS_MAX)]
    assert times[-1] == 10_005.0
    assert sum("too slow" in record.message for record in caplog.records) == 1


def test_a_disk_that_hangs_does_not_keep_the_daemon(start: Start, disk: SlowDisk) -> None:
    """Stop gives up in time; the thread ends with the process."""
    recorder = start(disk.connect)
    recorder.take(tick(0.0))

    assert not recorder.stop(0.05)


def test_what_was_before_is_remembered(start: Start, path: str) -> None:
    """Events of an earlier life are in memory once the file has been read, before those of this one."""
    first = start()
    first.take(tick(0.0), [event(0.0, "earlier")])
    first.stop(30.0)
    newest = NewestEvents()
    newest.add([event(5.0, "now")])

    start(newest=newest).stop(30.0)

    assert [one.text for one in newest.since(0.0, (), KEPT_MAX)[0]] == ["now", "earlier"]


def test_a_kind_and_a_time_and_a_number_choose_events() -> None:
    """The newest first; whether there are more."""
    newest = NewestEvents()
    newest.add([event(float(number), str(number)) for number in range(KEPT_MAX + 10)])

    found, is_cut = newest.since(1_800_000_000.0 + KEPT_MAX, ("health",), 3)

    assert [one.text for one in found] == [str(KEPT_MAX + 9), str(KEPT_MAX + 8), str(KEPT_MAX + 7)]
    assert is_cut
    assert newest.since(0.0, ("flap",), 3) == ([], False)
    assert len(newest.since(0.0, (), KEPT_MAX * 2)[0]) == KEPT_MAX


def test_the_log_says_when_recording_goes_on(start: Start, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """A new life in the same thread: the file goes on."""
    caplog.set_level(logging.INFO, "fabric_exporter.recorder")
    recorder = start()
    recorder.take(tick(0.0))
    recorder.begin(LIFE._replace(began_wall_s=1.0))
    recorder.take(tick(5.0))
    recorder.stop(30.0)
    recording = open_recording(path)
    chapters = recording.chapters()
    recording.close()

    assert [(chapter.is_start, chapter.monotonic_s) for chapter in chapters] == [(True, 0.0), (True, 5.0)]
    assert caplog.records == []
