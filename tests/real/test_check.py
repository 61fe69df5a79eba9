"""`check` and `maintenance` against a real daemon process: a well node, a port that fails, work on the node, a daemon that is gone."""

import json
import subprocess
from pathlib import Path

import pytest

from exporter.simulator.archive import read_archive, unpack
from tests.machine import MACHINES, parsed
from tests.real.daemon import QUICK, DaemonProcess, command, daemon, environment
from tests.real.listener import poll

PATIENCE_S = 60.0


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    """Of a daemon and of every verb: the H100 machine as real files."""
    unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), tmp_path / "sys")
    (tmp_path / "config.yaml").write_text(QUICK)
    return [f"--sysfs-root={tmp_path / 'sys'}", f"--config={tmp_path / 'config.yaml'}"]


def said(folder: Path, *words: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a verb that has the daemon's socket and state."""
    own = [f"--control-socket={folder / 'control.sock'}", f"--state-dir={folder / 'state'}"]
    done = subprocess.run(command(*words, *own), capture_output=True, text=True, env=environment(), timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


def poll_status(folder: Path, status: int) -> dict[str, object]:
    """What check says as JSON, once its exit status is that."""

    def found() -> dict[str, object] | None:
        code, out, _ = said(folder, "check", "--json")
        return dict(json.loads(out)) if code == status else None

    return poll(found, PATIENCE_S, f"check exits with {status}")


def in_maintenance(running: DaemonProcess) -> float:
    return parsed(running.get("/metrics"))["fabric_node_maintenance", ()]


def take_down(folder: Path) -> None:
    """As the kernel shows it when a cable is pulled."""
    next((folder / "sys").glob("devices/**/mlx5_3/ports/1/state")).write_text("1: DOWN\n")


def test_a_simulated_node_is_well(tmp_path: Path) -> None:
    """As soon as every source has answered; it says that it is simulated."""
    with daemon(tmp_path, ["--simulate=hgx-h100"]):
        shown = poll_status(tmp_path, 0)
        status, out, err = said(tmp_path, "check")

    assert (shown["level"], shown["simulated"], shown["partial"]) == ("ok", True, [])
    assert str(shown["by"]).startswith("daemon on ")
    assert (status, err) == (0, "simulated node: every line is invented, no hardware is read\n")
    assert "nvlink 152 ok" in " ".join(out.split())


def test_a_port_that_goes_down_fails_the_check_and_stays_failed_without_the_daemon(options: list[str], tmp_path: Path) -> None:
    """With its reason; and once the daemon is killed and the port is up again, what the daemon has kept still stands."""
    with daemon(tmp_path, options) as running:
        before = poll_status(tmp_path, 0)["level"]
        take_down(tmp_path)
        failed = poll_status(tmp_path, 1)
        text = said(tmp_path, "check")[1]
        poll(lambda: (tmp_path / "state/verdicts.json").exists() or None, PATIENCE_S, "the verdict is kept")
        running.process.kill()
        running.process.wait(20)
    next((tmp_path / "sys").glob("devices/**/mlx5_3/ports/1/state")).write_text("4: ACTIVE\n")
    later = said(tmp_path, "check", "--window=10ms", *options)

    assert (before, failed["level"]) == ("ok", "failed")
    assert text.startswith("failed: infiniband/mlx5_3/1 (down); 1 of ")
    assert "state down" in text
    assert later[0] == 1
    assert later[1].startswith("failed: infiniband/mlx5_3/1; 1 of ")
    assert "no daemon listens on" in later[2]


def test_maintenance_shows_everywhere_and_hides_nothing(options: list[str], tmp_path: Path) -> None:
    """In check at once, in /metrics with the next pass; a finding is still one."""
    with daemon(tmp_path, options) as running:
        take_down(tmp_path)
        begun = said(tmp_path, "maintenance", "on", "--for=1h", "--reason=swap optics")
        meanwhile = said(tmp_path, "check")[1]
        poll(lambda: in_maintenance(running) == 1 or None, PATIENCE_S, "the node is in maintenance")
        status = poll_status(tmp_path, 1)
        ended = said(tmp_path, "maintenance", "off")
        afterwards = said(tmp_path, "check")[1]
        poll(lambda: in_maintenance(running) == 0 or None, PATIENCE_S, "maintenance is over")

    assert (begun[0], ended) == (0, (0, "maintenance is off\n", ""))
    assert "swap optics" in meanwhile
    assert status["level"] == "failed"
    assert "in maintenance" not in afterwards
