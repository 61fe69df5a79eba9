"""The daemon records, tells its events, and keeps others out of its state directory."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.cli.daemon import Daemon
from exporter.cli.gpus import ChildGpus
from exporter.config.load import load
from exporter.config.mistake import ConfigError
from exporter.recorder.recording import open_recording
from exporter.recorder.schema import FILE
from exporter.runtime.clock import SystemClock
from tests.real.listener import poll
from tests.runtime.test_state_dir import HOLD, other

SOURCES = "sources: {{sysfs_root: {0}/sys, procfs_root: {0}/proc, kernel_log: {{enabled: false}}, nvlink: {{enabled: false}}}}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration for a machine without hardware, recorded each second."""
    (tmp_path / "sys").mkdir()
    (tmp_path / "proc").mkdir()
    path = tmp_path / "config.yaml"
    path.write_text(SOURCES.format(tmp_path) + f"state: {{dir: {tmp_path}/state}}\nrecorder: {{interval: 1s}}\n")
    return path


def started(file: Path) -> Daemon:
    """A daemon by that configuration."""
    clock = SystemClock()
    return Daemon(load(str(file)), lambda: load(str(file)), clock, ChildGpus(clock))


@pytest.fixture
def daemon(file: Path) -> Iterator[Daemon]:
    """Running, stopped in the end."""
    running = started(file)
    yield running
    running.stop()


def events(daemon: Daemon, **query: str) -> list[dict[str, object]]:
    """What `/api/v1/events` says."""
    found: list[dict[str, object]] = json.loads(daemon.events({name: [value] for name, value in query.items()}))["events"]
    return found


def test_start_reload_and_stop_are_events(file: Path, tmp_path: Path) -> None:
    """In memory while it runs, in the file afterwards; the next daemon still knows of them."""
    first = started(file)
    first.reload()
    poll(lambda: first.ready()[0] or None, 30.0, "a first pass")
    told = [event["text"] for event in events(first)]
    first.stop()
    recording = open_recording(str(tmp_path / "state" / FILE))
    kept = [event.facts["what"] for _, event in recording.events() if event.kind == "daemon"]
    spans = recording.spans()
    recording.close()
    second = started(file)
    remembered = poll(lambda: found if len(found := events(second, kind="daemon")) >= 4 else None, 30.0, "earlier events")
    second.stop()

    assert told[0] == "configuration reloaded"
    assert str(told[1]).endswith("started")
    assert kept == ["start", "reload", "stop"]
    assert sum(span.starts for span in spans) >= 1
    assert [event["what"] for event in remembered] == ["start", "stop", "reload", "start"]


def test_another_interval_after_a_reload_tells_nothing_twice(file: Path) -> None:
    """The file goes on in another thread; what is known of earlier stays as it is."""
    running = started(file)
    poll(lambda: running.ready()[0] or None, 30.0, "a first pass")
    file.write_text(file.read_text().replace("interval: 1s", "interval: 2s"))
    running.reload()
    running.stop()

    assert [event["what"] for event in events(running, kind="daemon")] == ["stop", "reload", "start"]


def test_maintenance_becomes_an_event(daemon: Daemon) -> None:
    """With the reason that somebody gave."""
    poll(lambda: daemon.ready()[0] or None, 30.0, "a first pass")
    daemon.maintenance_on({"reason": "cables"})

    found = poll(lambda: events(daemon, kind="maintenance") or None, 30.0, "the event")

    assert found[0]["text"] == "maintenance: file: cables"


@pytest.mark.parametrize(("query", "problem"), [
    ({"since": ["yesterday"]}, "expected a time such as"), ({"limit": ["0"]}, "limit: expected a whole number from 1 to 500"),
    ({"limit": ["many"]}, "limit: expected"), ({"kind": ["flaps"]}, 'there is no kind "flaps" of event; known: health, flap, fault'),
    ({"job": ["7"]}, 'unknown field "job"; known: since, limit, kind'),
])  # fmt: skip
def test_a_query_that_cannot_be_answered_says_why(daemon: Daemon, query: dict[str, list[str]], problem: str) -> None:
    """One line; the route makes it a 400."""
    with pytest.raises(ValueError, match=problem):
        daemon.events(query)


def test_since_and_limit_choose(daemon: Daemon) -> None:
    """`-1h` counts back from now; a year ahead there is nothing."""
    assert [event["what"] for event in events(daemon, since="-1h", limit="1", kind="daemon,health")] == ["start"]
    assert events(daemon, since="4000000000") == []


def test_a_recorder_that_is_off_keeps_no_file(file: Path, tmp_path: Path) -> None:
    """Events are known all the same; nothing is shown of the recorder."""
    file.write_text(file.read_text().replace("interval: 1s", "enabled: false"))
    running = started(file)
    poll(lambda: running.ready()[0] or None, 30.0, "a first pass")
    page = running.metrics({}, "", "").body
    told = events(running)
    running.stop()

    assert [event["what"] for event in told] == ["start"]
    assert not (tmp_path / "state" / FILE).exists()
    assert b"recorder" not in page


def test_the_recorder_shows_how_it_does(daemon: Daemon) -> None:
    """Rows, lost ticks, size."""
    poll(lambda: daemon.ready()[0] or None, 30.0, "a first pass")
    page = daemon.metrics({}, "", "").body

    assert b"\nfabric_exporter_recorder_rows_total 0\nfabric" not in page  # its help stands between
    assert b"\nfabric_exporter_recorder_dropped_total 0\n" in page


def test_no_state_directory_is_said_once(file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is recorded, and a reload does not say so again."""
    (tmp_path / "state").write_text("a file")
    running = started(file)
    running.reload()
    running.stop()

    assert sum("nothing is recorded" in record.message for record in caplog.records) == 1


def test_a_second_daemon_says_whose_the_directory_is(file: Path, tmp_path: Path) -> None:
    """And does not start; nor does a reload move into a directory that is taken."""
    (tmp_path / "state").mkdir()
    with other(tmp_path / "state", HOLD) as first:
        assert first.stdout is not None
        first.stdout.readline()
        with pytest.raises(ConfigError, match=rf"state\.dir: {tmp_path}/state is in use by process {first.pid}"):
            started(file)
        before = file.read_text()
        file.write_text(before.replace(f"{tmp_path}/state", f"{tmp_path}/own"))
        running = started(file)
        file.write_text(before)
        answer = running.reload()
        running.stop()
        first.kill()

    assert not answer.ok
    assert "is in use by process" in answer.text
