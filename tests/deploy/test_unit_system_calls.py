"""The unit's SystemCallFilter= against what the daemon and its NVML process really call, seen by strace.

Not systemd's own enforcement: that needs a running systemd. The driver's library is not there either; a simulated GPU stands in for it.
"""

import os
import signal
import subprocess
from pathlib import Path

from tests.deploy.unit_files import HERE, allowed_system_calls
from tests.real.daemon import environment
from tests.real.listener import fetch, poll
from tests.requires import need

EXCUSED_AS_ROOT = frozenset({"fchown"})
"""SQLite gives its files the database's owner where it runs as root; the unit never does."""


def test_the_filter_lets_through_whatever_the_daemon_calls(tmp_path: Path) -> None:
    """Start, passes, bursts, a scrape, a question, a reload, the recorder, the end. A call too few is a fault on a node, not here."""
    calls, log = tmp_path / "calls", tmp_path / "log"
    own = [f"--state-dir={tmp_path / 'state'}", f"--control-socket={tmp_path / 'control.sock'}"]
    argv = [need("strace", "apt-get install strace"), "-D", "-f", "-c", "-qq", "-o", str(calls), HERE, "run", "--simulate=hgx-h100",
            "--sources.bursts.enabled", "--web.listen-address=127.0.0.1:0", *own]  # fmt: skip
    with log.open("wb") as stream, subprocess.Popen(argv, env=environment(), stdout=stream, stderr=stream) as process:

        def address() -> str | None:
            found = [line.rpartition(" ")[2].strip('"') for line in log.read_text().splitlines() if "listening on 127" in line]
            return found[0] if found else None

        port = poll(address, 60, "it listens")
        poll(lambda: True if "fabric_nvlink_state_id" in fetch(f"http://{port}/metrics") else None, 60, "GPUs are shown")
        for verb in ("check", "reload", "release"):
            subprocess.run([HERE, verb, *own[1:]], env=environment(), capture_output=True, timeout=60, check=True)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    called = poll(lambda: names(calls) or None, 20, "strace has written its table")

    excused = EXCUSED_AS_ROOT if os.geteuid() == 0 else frozenset()
    assert {"openat", "accept4", "clone3", "fdatasync"} <= called
    assert called - excused - allowed_system_calls() == set()


def names(table: Path) -> set[str]:
    """Last column of strace's table; empty while it is not there."""
    lines = table.read_text().splitlines() if table.exists() else []
    rows = [line.split() for line in lines if line[:1] == " " or line[:1].isdigit()]
    return {row[-1] for row in rows if row and row[-1] not in ("total", "syscall")}
