"""The daemon as an operator meets it: a process, a real Prometheus, signals, a restart, and a machine without hardware."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from exporter.model.quantity import BYTES_PER_IB_WORD
from exporter.simulator.archive import File, read_archive, unpack
from tests.machine import MACHINES, parsed, port_value
from tests.real.daemon import DaemonProcess, command, daemon, environment
from tests.real.listener import poll
from tests.real.prometheus_server import prometheus
from tests.real.promtool import lint_metrics
from tests.requires import lacking

ONLY_GPUS = "--sources.pcie.include=gpu[0-9]+"


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


def test_the_status_page_leads_to_the_configured_path(tmp_path: Path) -> None:
    """A metrics path of the site's own is the one that the status page links to."""
    (tmp_path / "sys/class").mkdir(parents=True)

    with daemon(tmp_path, [f"--sysfs-root={tmp_path / 'sys'}", "--web.telemetry-path=/fabric"]) as running:
        page = running.get("/")
        samples = parsed(running.get("/fabric"))

    assert 'href="/fabric"' in page
    assert "/metrics" not in page
    assert samples


def test_a_machine_without_hardware_serves_its_own_health(tmp_path: Path) -> None:
    """On a sysfs without RDMA devices the daemon starts, invents nothing and says what it looked for."""
    (tmp_path / "sys/class").mkdir(parents=True)

    with daemon(tmp_path, [f"--sysfs-root={tmp_path / 'sys'}"]) as running:
        samples = parsed(running.get("/metrics"))
        page = running.get("/")

    sources = [(("source", source),) for source in ("infiniband", "ethernet", "pcie")]
    ours = ("fabric_exporter_", "fabric_kernel_log_", "fabric_node_", "process_", "python_")  # a log and a node are there on every machine
    assert [samples["fabric_exporter_source_up", source] for source in sources] == [1, 1, 1]
    assert [samples["fabric_exporter_source_devices", source] for source in sources] == [0, 0, 0]
    assert {name for name, _ in samples if not name.startswith(ours)} == set()
    assert all(place in page for place in ("class/infiniband", "class/net", "bus/pci"))


def test_the_daemon_starts_on_this_machines_own_sysfs(tmp_path: Path) -> None:
    """Whatever this machine is, the daemon starts on its real /sys."""
    with daemon(tmp_path, []) as running:
        samples = parsed(running.get("/metrics"))

    assert samples["fabric_exporter_simulated", ()] == 0
    assert all(("fabric_exporter_source_devices", (("source", source),)) in samples for source in ("infiniband", "ethernet", "pcie"))


def test_this_machines_own_interfaces_are_shown_as_the_kernel_counts_them(tmp_path: Path) -> None:
    """Each physical interface, from the real sysfs and the real ioctl: received bytes lie between those before and after."""
    netdevs = [path.parent.name for path in Path("/sys/class/net").glob("*/device") if "virtual" not in path.parent.resolve().parts]
    if not netdevs:
        lacking("this machine has no physical network interface: run it on one that has")

    before = {netdev: received_bytes(netdev) for netdev in netdevs}
    with daemon(tmp_path, []) as running:
        samples = parsed(running.get("/metrics"))
    after = {netdev: received_bytes(netdev) for netdev in netdevs}

    infos = [dict(labels) for name, labels in samples if name == "fabric_ethernet_info"]
    shown = {
        info["netdev"]: samples.get(("fabric_ethernet_received_bytes_total", (("device", info["device"]), ("port", info["port"]))))
        for info in infos
    }
    assert set(shown) <= set(netdevs)
    assert shown
    assert all(before[netdev] <= value <= after[netdev] for netdev, value in shown.items() if value is not None)


def received_bytes(netdev: str) -> int:
    """What the kernel says now."""
    return int(Path(f"/sys/class/net/{netdev}/statistics/rx_bytes").read_text())


def test_gpu_names_and_links_survive_a_restart(tmp_path: Path) -> None:
    """Both files stand in the state directory, in the simulated node's own folder, and the second daemon goes by them."""
    kept = tmp_path / "state/simulated-hgx-h100"

    with daemon(tmp_path, ["--simulate=hgx-h100", ONLY_GPUS]) as running:
        first = gpus_once(running, 8)
    document = json.loads((kept / "gpu-slots.json").read_text())
    links = json.loads((kept / "learned-links.json").read_text())["links"]
    document["numbers"] = {address: number + 8 for address, number in document["numbers"].items()}
    (kept / "gpu-slots.json").write_text(json.dumps(document))
    with daemon(tmp_path, ["--simulate=hgx-h100", ONLY_GPUS]) as running:
        second = gpus_once(running, 8)

    assert sorted(first) == [f"gpu{number}" for number in range(8)]
    assert set(first.values()) <= set(links)
    assert second == {f"gpu{int(name.removeprefix('gpu')) + 8}": address for name, address in first.items()}
    assert {"gpu-slots.json", "learned-links.json"} <= {path.name for path in kept.iterdir()}


def test_a_reload_renames_no_gpu(tmp_path: Path) -> None:
    """Where nothing can be kept, a GPU that is gone leaves its number free after SIGHUP as before."""
    unpack(read_archive(MACHINES / "hgx-h100-pcie.tree"), tmp_path / "sys")
    (tmp_path / "state").write_text("a file where the state directory should be\n")
    config = tmp_path / "quick.yaml"
    config.write_text("sources: {pcie: {normal_interval: 100ms, slow_interval: 100ms}}\n")

    with daemon(tmp_path, [f"--sysfs-root={tmp_path / 'sys'}", f"--config={config}", ONLY_GPUS]) as running:
        before = gpus_once(running, 8)
        (tmp_path / "sys/bus/pci/devices" / before["gpu0"]).unlink()
        running.hang_up()
        running.logged("configuration reloaded")
        after = gpus_once(running, 7)

    assert after == {name: address for name, address in before.items() if name != "gpu0"}


def labels_once(running: DaemonProcess, name: str, count: int) -> list[dict[str, str]]:
    """Labels of each series of that name, once the page has that many: on a busy machine the first page may lack some devices."""

    def found() -> list[dict[str, str]] | None:
        labels = [dict(pairs) for shown, pairs in parsed(running.get("/metrics")) if shown == name]
        return labels if len(labels) == count else None

    return poll(found, 60.0, f"the page has {count} of {name}")


def gpus_once(running: DaemonProcess, count: int) -> dict[str, str]:
    """PCI address by name of all devices on PCI, once there are that many."""
    return {labels["device"]: labels["pci"] for labels in labels_once(running, "fabric_pcie_info", count)}


def test_a_simulated_roce_node_shows_its_drivers_statistics(tmp_path: Path) -> None:
    """`run --simulate roce-h200` reads files, the ioctl's among them: pause of priority 3 on each rail, both ways."""
    with daemon(tmp_path, ["--simulate=roce-h200"]) as running:
        paused = labels_once(running, "fabric_ethernet_pause_seconds_total", 16)

    assert {(labels["device"], labels["priority"]) for labels in paused} == {(f"mlx5_{n}", "3") for n in range(8)}


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


BURSTS = "sources: {infiniband: {fast_interval: 200ms, normal_interval: 400ms}, bursts: {enabled: %s, interval: 50ms}}\n"


def test_bursts_are_sampled_and_a_reload_switches_them_off(tmp_path: Path) -> None:
    """A real Prometheus reads the histogram, and promtool has nothing to say; after the reload the series leave."""
    config = tmp_path / "bursts.yaml"
    config.write_text(BURSTS % "true" + "exposition: {tier: full}\n")

    with daemon(tmp_path, ["--simulate=hgx-h100", f"--config={config}"]) as running, prometheus([running.address], tmp_path) as server:
        samples = server.query_until("histogram_quantile(0.99, sum by (le) (fabric_link_sample_utilization_ratio_bucket)) >= 0")
        ports = server.query_until('count(fabric_link_busy_ratio{direction="transmit"}) == 10')
        complaints = lint_metrics(running.get("/metrics"))
        config.write_text(BURSTS % "false" + "exposition: {tier: full}\n")
        running.hang_up()
        running.logged("configuration reloaded")
        running.wait_ready()
        left = poll(lambda: True if "fabric_link_busy_ratio" not in running.get("/metrics") else None, 30.0, "series of bursts leave")

    assert samples
    assert ports
    assert complaints == []
    assert left


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
