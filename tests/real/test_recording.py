"""The flight recorder of a real daemon: read while it runs, over HTTP, and after it was killed."""

import json
import subprocess
from pathlib import Path

from exporter.recorder.schema import FILE
from tests.real.daemon import command, daemon, environment
from tests.real.listener import poll

CONFIG = """\
recorder: {interval: 1s}
sources:
  infiniband: {fast_interval: 1s, normal_interval: 1s}
"""


def recordings(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """`fabric-exporter recordings …` over the daemon's file."""
    argv = command("recordings", *words, "--recordings", str(folder / "state/simulated-no-gpu-ib" / FILE))
    return subprocess.run(argv, env=environment(), capture_output=True, text=True, timeout=60, check=False)


def rows(folder: Path) -> int:
    """How many rows there are by now."""
    done = recordings(folder, "list", "--json")
    return sum(boot["rows"] for boot in json.loads(done.stdout)["boots"]) if done.returncode == 0 else 0


def test_a_killed_daemon_leaves_its_recording(tmp_path: Path) -> None:
    """Another process lists, exports and replays it, before and after; the next daemon goes on in the same file and knows of the first."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    arguments = ["--simulate", "no-gpu-ib", f"--config={tmp_path / 'config.yaml'}"]
    with daemon(tmp_path, arguments) as running:
        poll(lambda: rows(tmp_path) >= 2 or None, 30.0, "rows while it runs")
        running.process.kill()
        running.process.wait()
    first = rows(tmp_path)
    exported, replayed = recordings(tmp_path, "export"), recordings(tmp_path, "replay")

    with daemon(tmp_path, arguments) as running:
        told = poll(lambda: found if len(found := json.loads(running.get("/api/v1/events?kind=daemon"))["events"]) == 2 else None, 30.0,
                    "events of both")  # fmt: skip
    events = [json.loads(line)["event"] for line in recordings(tmp_path, "export").stdout.splitlines() if line.startswith('{"event"')]

    assert first >= 2
    assert exported.returncode == replayed.returncode == 0, exported.stderr + replayed.stderr
    assert sum(line.startswith('{"tick"') for line in exported.stdout.splitlines()) >= 2 * first - 2
    assert [event["what"] for event in told] == ["start", "start"]
    assert [event["what"] for event in events if event["kind"] == "daemon"] == ["start", "start", "stop"]
    assert rows(tmp_path) > first
