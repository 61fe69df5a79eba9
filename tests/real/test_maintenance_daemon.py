"""Maintenance by a scheduler as an operator sees it, of a real daemon and a `scontrol` that is a program of the test."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.daemon import daemon
from tests.real.listener import poll
from tests.runtime.fake_scontrol import DRAINED, FakeScontrol, is_running, on_path

BOUND_S = 30.0


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeScontrol:
    """On the PATH of this process and so of the daemon's."""
    return on_path(tmp_path, monkeypatch)


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    """A machine without hardware, looked at often, and Slurm asked."""
    (tmp_path / "sys").mkdir()
    (tmp_path / "slurm.yaml").write_text("sources: {infiniband: {fast_interval: 200ms}}\n"
                                         "maintenance: {slurm: {enabled: true, node: gpu-1}}\n")  # fmt: skip
    return [f"--sysfs-root={tmp_path / 'sys'}", f"--config={tmp_path / 'slurm.yaml'}"]


def shows(get: Callable[[str], str], line: str) -> None:
    """Wait until /metrics holds it."""
    poll(lambda: True if line in get("/metrics").splitlines() else None, BOUND_S, f"{line} is shown")


def test_a_drained_node_is_in_maintenance_and_the_log_says_why(tmp_path: Path, scontrol: FakeScontrol, options: list[str]) -> None:
    """Within seconds of the start."""
    scontrol.prints(DRAINED)
    with daemon(tmp_path, options) as running:
        shows(running.get, "fabric_node_maintenance 1")
        shows(running.get, 'fabric_exporter_source_up{source="slurm"} 1')
        running.logged("the node is in maintenance source=slurm: swap optics [root@2026-03-01T09:00:00]")


def test_a_hanging_scontrol_ends_with_the_daemon(tmp_path: Path, scontrol: FakeScontrol, options: list[str]) -> None:
    """Pages are served meanwhile; SIGTERM waits for nobody and leaves no process behind."""
    scontrol.does(f"echo $$ > {tmp_path}/number; exec sleep 1000\n")
    with daemon(tmp_path, options) as running:
        number = poll(lambda: int(text) if (text := _text(tmp_path / "number")) else None, BOUND_S, "scontrol runs")
        shows(running.get, "fabric_node_maintenance 0")
        began_s = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        status = running.process.wait(BOUND_S)
        took_s = time.monotonic() - began_s

    assert status == 0
    assert took_s < 8.0
    poll(lambda: None if is_running(number) else True, BOUND_S, "scontrol is gone")


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""
