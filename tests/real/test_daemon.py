"""The daemon as an operator meets it: a process, a real Prometheus, signals, and a machine without hardware."""

import signal
import subprocess
from pathlib import Path

import pytest

from exporter.model.quantity import BYTES_PER_IB_WORD
from exporter.simulator.archive import File, read_archive, unpack
from tests.machine import MACHINES, parsed, port_value
from tests.real.daemon import command, daemon, environment
from tests.real.prometheus_server import prometheus


@pytest.fixture
def h100(tmp_path: Path) -> Path:
    """The H100 machine as real files."""
    unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), tmp_path / "sys")
    return tmp_path / "sys"


def test_prometheus_stores_what_the_files_hold(h100: Path, tmp_path: Path) -> None:
    """A real Prometheus scrapes the daemon; its API gives back each port's bytes, four times the words in the file."""
    files = {entry.path: entry.content for entry in read_archive(MACHINES / "h100-8x-ndr400.tree") if isinstance(entry, File)}
    words = {
        path.split("/infiniband/")[1].split("/")[0]: int(content)
        for path, content in files.items()
        if path.endswith("counters/port_xmit_data")
    }
    expected = {device: count * BYTES_PER_IB_WORD for device, count in words.items()}

    with daemon(tmp_path, [f"--sysfs-root={h100}"]) as running, prometheus([running.address], tmp_path) as server:
        rows = server.query_until("fabric_infiniband_port_data_transmitted_bytes_total")
        found = {labels["device"]: value for labels, value in rows}
        up = [value for _, value in server.query_until("up")]

    assert found == {device: float(value) for device, value in expected.items()}
    assert up == [1.0]


def test_a_machine_without_hardware_serves_its_own_health(tmp_path: Path) -> None:
    """On a sysfs without RDMA devices the daemon starts, invents nothing and says what it looked for."""
    (tmp_path / "sys/class").mkdir(parents=True)

    with daemon(tmp_path, [f"--sysfs-root={tmp_path / 'sys'}"]) as running:
        samples = parsed(running.get("/metrics"))
        page = running.get("/")

    source = (("source", "infiniband"),)
    assert samples["fabric_exporter_source_up", source] == 1
    assert samples["fabric_exporter_source_devices", source] == 0
    assert not [name for name, _ in samples if name.startswith("fabric_infiniband")]
    assert "class/infiniband" in page


def test_the_daemon_starts_on_this_machines_own_sysfs(tmp_path: Path) -> None:
    """Whatever this machine is, the daemon starts on its real /sys."""
    with daemon(tmp_path, []) as running:
        samples = parsed(running.get("/metrics"))

    assert samples["fabric_exporter_simulated", ()] == 0
    assert ("fabric_exporter_source_devices", (("source", "infiniband"),)) in samples


def test_a_simulated_node_says_so_and_moves(tmp_path: Path) -> None:
    """`run --simulate` marks its page, and its counters grow as virtual time goes on."""
    config = tmp_path / "quick.yaml"
    config.write_text("sources: {infiniband: {fast_interval: 200ms, normal_interval: 400ms}}\n")

    with daemon(tmp_path, ["--simulate=hgx-h100", f"--config={config}"]) as running, prometheus([running.address], tmp_path) as server:
        rates = server.query_until("sum(rate(fabric_infiniband_port_data_transmitted_bytes_total[20s])) > 0")
        simulated = server.query_until("fabric_exporter_simulated")
        banner = running.log.read_text()

    assert rates
    assert [value for _, value in simulated] == [1.0]
    assert "SIMULATED NODE hgx-h100" in banner


def test_sighup_keeps_the_old_configuration_when_the_new_one_is_wrong(h100: Path, tmp_path: Path) -> None:
    """A reload validates first: a mistake is one log line and a gauge at 0; the right file then takes effect."""
    config = tmp_path / "config.yaml"
    config.write_text("exposition: {tier: basic}\n")
    name = "symbol_error_total"

    with daemon(tmp_path, [f"--sysfs-root={h100}", f"--config={config}"]) as running:
        before = port_value(parsed(running.get("/metrics")), name, "mlx5_0")
        config.write_text("exposition: {tier: enormous}\n")
        running.hang_up()
        running.logged("reload refused")
        config.write_text("exposition: {tier: standard}\n")
        running.hang_up()
        running.logged("configuration reloaded")
        running.wait_ready()
        after = port_value(parsed(running.get("/metrics")), name, "mlx5_0")

    assert before is None
    assert after is not None


def test_sigterm_ends_the_daemon_with_status_0(h100: Path, tmp_path: Path) -> None:
    """A stop is clean: status 0 and a last log line."""
    with daemon(tmp_path, [f"--sysfs-root={h100}"]) as running:
        running.process.send_signal(signal.SIGTERM)
        status = running.process.wait(20)
        log = running.log.read_text()

    assert status == 0
    assert log.rstrip().endswith("msg=stopped")


def test_a_port_in_use_is_one_line(h100: Path, tmp_path: Path) -> None:
    """A second daemon on the same port ends with status 3 and one line that names the port."""
    with daemon(tmp_path, [f"--sysfs-root={h100}"]) as running:
        argv = command("run", f"--web.listen-address={running.address}", f"--state-dir={tmp_path}")
        second = subprocess.run(argv, capture_output=True, text=True, env=environment(), timeout=60, check=False)

    assert second.returncode == 3
    assert len(second.stderr.splitlines()) == 1
    assert running.address in second.stderr
    assert "in use" in second.stderr


def test_healthcheck_finds_the_daemon(h100: Path, tmp_path: Path) -> None:
    """`healthcheck` with the daemon's address says healthy; after its end it says not healthy, status 1."""
    argv = ["healthcheck"]
    with daemon(tmp_path, [f"--sysfs-root={h100}"]) as running:
        argv.append(f"--web.listen-address={running.address}")
        alive = subprocess.run(command(*argv), capture_output=True, text=True, env=environment(), timeout=60, check=False)
    dead = subprocess.run(command(*argv), capture_output=True, text=True, env=environment(), timeout=60, check=False)

    assert (alive.returncode, dead.returncode) == (0, 1)
    assert alive.stdout.startswith("healthy")
