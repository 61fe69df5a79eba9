"""Which schedulers the daemon asks, and that it asks none, and loads nothing for it, unless told to."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.cli.daemon import Daemon
from exporter.cli.scheduler_origins import origins_of
from exporter.config.load import Loaded, load
from exporter.runtime.clock import ManualClock, SystemClock
from tests.cli.test_daemon_control import Hold
from tests.runtime.api_server import api_server, certificate, node, status
from tests.runtime.fake_scontrol import DRAINED, FakeScontrol, is_running, on_path
from tests.runtime.fakes import PATIENCE_S

SLURM_ON = "maintenance: {slurm: {enabled: true, node: gpu-1, interval: 30s}}\n"
IMPORTED = """
import sys
from exporter.cli.daemon import Daemon
from exporter.cli.scheduler_origins import origins_of
from exporter.config.schema import Config
from exporter.runtime.clock import SystemClock
origins_of(Config(), SystemClock()).start()
print([name for name in ("exporter.runtime.slurm_node", "exporter.runtime.kubernetes_node") if name in sys.modules])
"""


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeScontrol:
    """On the PATH."""
    return on_path(tmp_path, monkeypatch)


def loading(folder: Path) -> Callable[[str], Loaded]:
    """Configurations of a machine without hardware, with further lines each."""
    (folder / "sys").mkdir(exist_ok=True)
    path = folder / "config.yaml"

    def with_lines(lines: str) -> Loaded:
        path.write_text(
            f"sources: {{sysfs_root: {folder}/sys, infiniband: {{fast_interval: 200ms}}}}\nstate: {{dir: {folder}/state}}\n{lines}"
        )
        return load(str(path))

    return with_lines


@contextmanager
def running(folder: Path, lines: str) -> Iterator[Daemon]:
    """A daemon by that configuration, stopped in the end."""
    first = loading(folder)(lines)
    daemon = Daemon(first, lambda: load(str(folder / "config.yaml")), SystemClock(), gpus=Hold())
    try:
        yield daemon
    finally:
        daemon.stop()


def series(daemon: Daemon, name: str) -> list[str]:
    """Lines of /metrics that begin so."""
    return [line for line in daemon.metrics({}, "", "").body.decode().splitlines() if line.startswith(name)]


def wait_for(daemon: Daemon, line: str) -> None:
    """Until /metrics shows it."""
    until_s = time.monotonic() + PATIENCE_S
    while line not in series(daemon, line.partition(" ")[0]):
        assert time.monotonic() < until_s, f"{line} is not shown"
        time.sleep(0.05)


def first_number(file: Path) -> int:
    """Of the process that writes it there, once it has."""
    until_s = time.monotonic() + PATIENCE_S
    while not file.exists() or not file.read_text().strip():
        assert time.monotonic() < until_s, "nobody wrote it"
        time.sleep(0.01)
    return int(file.read_text())


def test_nothing_is_loaded_unless_switched_on() -> None:
    """Neither Slurm's side nor Kubernetes'."""
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "[]\n"


def test_slurm_s_word_reaches_the_page_and_the_health(tmp_path: Path, scontrol: FakeScontrol) -> None:
    """Beside how the origin itself is doing; and `maintenance off` tells that it stays."""
    scontrol.prints(DRAINED)
    with running(tmp_path, SLURM_ON) as daemon:
        wait_for(daemon, "fabric_node_maintenance 1")
        wait_for(daemon, 'fabric_exporter_source_up{source="slurm"} 1')
        told, answer = daemon.health()["maintenance"], daemon.maintenance_off()

    reason = "slurm: swap optics [root@2026-03-01T09:00:00]"
    assert told == {"active": True, "reason": reason, "until": None}
    assert answer == (True, f"maintenance was not on; nothing to do, but the node stays in maintenance: {reason}")
    assert 'fabric_exporter_source_faults_total{source="slurm",reason="timeout"} 0' in series(daemon, "fabric_exporter_source_faults_total")


def test_kubernetes_word_reaches_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment of a pod."""
    cert = certificate(tmp_path)
    (tmp_path / "token").write_text("t")
    with api_server(cert) as server:
        server.answers = status(200, node({"key": "fabric-exporter/maintenance", "effect": "NoSchedule"}))
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", server.address.host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.address.port))
        monkeypatch.setenv("NODE_NAME", "gpu-1")
        with running(
            tmp_path, f"maintenance: {{kubernetes: {{enabled: true, ca_file: {cert[0]}, token_file: {tmp_path}/token}}}}\n"
        ) as daemon:
            wait_for(daemon, "fabric_node_maintenance 1")
            told = daemon.health()["maintenance"]

    assert told == {"active": True, "reason": "kubernetes: fabric-exporter/maintenance", "until": None}


def test_a_hanging_scontrol_keeps_nobody(tmp_path: Path, scontrol: FakeScontrol) -> None:
    """Not the start, not a pass, not the end, after which it is gone."""
    scontrol.does(f"echo $$ > {tmp_path}/number; exec sleep 1000\n")
    began_s = time.monotonic()
    with running(tmp_path, SLURM_ON) as daemon:
        wait_for(daemon, "fabric_node_maintenance 0")
        number = first_number(tmp_path / "number")
        stopped_s = time.monotonic()
    ended_s = time.monotonic()

    assert not is_running(number)
    assert len(scontrol.calls) == 1
    assert stopped_s - began_s < 8.0
    assert ended_s - stopped_s < 6.0


def test_a_reload_keeps_what_was_said_and_obeys_a_change(tmp_path: Path, scontrol: FakeScontrol) -> None:
    """The same origins go on; one that is switched off claims nothing any more."""
    scontrol.prints(DRAINED)
    with running(tmp_path, SLURM_ON) as daemon:
        wait_for(daemon, "fabric_node_maintenance 1")
        before = daemon._origins
        loading(tmp_path)(f"{SLURM_ON}exposition: {{tier: full}}\n")
        daemon.reload()
        kept = daemon._origins is before, len(before.claims())
        loading(tmp_path)("")
        daemon.reload()
        wait_for(daemon, "fabric_node_maintenance 0")
        shown = series(daemon, 'fabric_exporter_source_up{source="slurm"}')

    assert kept == (True, 1)
    assert shown == []


def test_the_environment_names_node_and_server(tmp_path: Path, scontrol: FakeScontrol) -> None:
    """SLURMD_NODENAME before the host's name; without NODE_NAME Kubernetes is not asked for anybody."""
    scontrol.prints("State=IDLE\n")
    config = loading(tmp_path)("maintenance: {slurm: {enabled: true}, kubernetes: {enabled: true}}\n").config
    for environ in ({"SLURMD_NODENAME": "gpu-9"}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}):
        origins_of(config, ManualClock(), environ).ask_due()
    asked = [call.split()[2] for call in scontrol.calls]

    assert asked[0] == "gpu-9"
    assert asked[1] == Path("/proc/sys/kernel/hostname").read_text().strip().partition(".")[0]


def test_a_simulated_node_is_in_no_scheduler(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Said once."""
    loading(tmp_path)(SLURM_ON)
    config = load(str(tmp_path / "config.yaml"), flags={"simulate.profile": ("hgx-h100",)}).config

    assert origins_of(config, ManualClock()).readings() == ()
    assert [record.getMessage() for record in caplog.records] == ["maintenance.*: no scheduler is asked about a simulated node"]
