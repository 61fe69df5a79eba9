"""Health as an operator sees it, of a real daemon over the files of a simulated node: failed over a kill, up and down level by level."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporter.runtime.kept_verdicts import FILE as VERDICTS
from exporter.runtime.learned_ports import FILE as PORTS
from exporter.simulator.node import DiskNode
from exporter.simulator.profiles import profile_named
from tests.machine import parsed
from tests.real.daemon import DaemonProcess, daemon
from tests.real.listener import poll

BOUND_S = 60.0
LEVELS = ("ok", "suspect", "degraded", "failed")
CHANGE = re.compile(r"health changed link=(\S+) from=(\w+) to=(\w+) reasons=(.*)")
QUICK = """
sources:
  infiniband: {fast_interval: 200ms, normal_interval: 400ms, slow_interval: 1s}
  nvlink: {enabled: false}
  pcie: {enabled: false}
  ethernet: {enabled: false}
  kernel_log: {enabled: false}
signals: {grace: 1s, hold: 2s, failed_hold: 4s}
"""


class Node:
    """The files of a simulated node, which the test edits, and a daemon over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        DiskNode(profile_named("h100-pcie"), 1, folder / "sys")
        (folder / "quick.yaml").write_text(QUICK)

    def port(self, device: str) -> Path:
        """The folder of its port."""
        return (self.folder / "sys/class/infiniband" / device).resolve() / "ports/1"

    def write(self, device: str, **texts: str) -> None:
        """Files of the port, each in place."""
        for name, text in texts.items():
            (self.port(device) / name.replace("__", "/")).write_text(text + "\n")

    @contextmanager
    def running(self) -> Iterator[DaemonProcess]:
        """The daemon, until the end or until it is killed."""
        options = [f"--sysfs-root={self.folder / 'sys'}", f"--config={self.folder / 'quick.yaml'}"]
        with daemon(self.folder, options) as running:
            yield running

    def kept(self, name: str) -> str:
        """A file of the state directory; "" while there is none."""
        file = self.folder / "state" / name
        return file.read_text() if file.exists() else ""

    def changes(self, device: str) -> list[tuple[str, str]]:
        """What the log of the newest daemon says of the port: from, to."""
        found = CHANGE.findall((self.folder / "daemon.log").read_text(errors="replace"))
        return [(before, after) for link, before, after, _ in found if link == f"infiniband/{device}/1"]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Two HCAs whose ports are up."""
    return Node(tmp_path)


def status(running: DaemonProcess, device: str) -> str | None:
    """What /metrics says of the port; None if nothing."""
    labels = (("device", device), ("fabric", "infiniband"), ("port", "1"))
    value = parsed(running.get("/metrics")).get(("fabric_link_health_status", labels))
    return None if value is None else LEVELS[int(value)]


def wait_for(running: DaemonProcess, device: str, wanted: str) -> None:
    """Until the page shows it."""
    poll(lambda: True if status(running, device) == wanted else None, BOUND_S, f"{device} is {wanted}")


def test_a_killed_daemon_keeps_a_failed_link_failed_and_clears_it_once(node: Node) -> None:
    """SIGKILL leaves no time to say a word. The link is up again before the next daemon starts: it is failed all the same, falls level by
    level by its own rule, each step one line, and nothing of it is kept then."""
    with node.running() as running:
        poll(lambda: True if "mlx5_0" in node.kept(PORTS) else None, BOUND_S, "it is learned that the port should be up")
        node.write("mlx5_0", state="1: DOWN", phys_state="2: Polling")
        wait_for(running, "mlx5_0", "failed")
        poll(lambda: True if "mlx5_0" in node.kept(VERDICTS) else None, BOUND_S, "the verdict is kept")
        running.process.send_signal(signal.SIGKILL)
        running.process.wait(BOUND_S)
    node.write("mlx5_0", state="4: ACTIVE", phys_state="5: LinkUp")

    with node.running() as running:
        seen = [poll(lambda: status(running, "mlx5_0"), BOUND_S, "the link is shown")]
        wait_for(running, "mlx5_0", "ok")
        changes, others = node.changes("mlx5_0"), node.changes("mlx5_1")
        kept = poll(lambda: None if "mlx5_0" in (text := node.kept(VERDICTS)) else text, BOUND_S, "nothing is kept of it")

    assert seen == ["failed"]
    assert changes == [("failed", "degraded"), ("degraded", "suspect"), ("suspect", "ok")]
    assert others == []
    assert '"links": {}' in kept


def test_a_link_goes_up_and_down_level_by_level_in_page_and_log(node: Node) -> None:
    """One port loses connections and then two of its lanes, another two lanes; both train well again. The first is suspect for the ten
    minutes that a broken connection counts."""
    narrow, whole = "200 Gb/sec (2X NDR)", "400 Gb/sec (4X NDR)"
    with node.running() as running:
        poll(lambda: True if "mlx5_0" in (kept := node.kept(PORTS)) and "mlx5_1" in kept else None, BOUND_S, "both ports are learned")
        node.write("mlx5_0", hw_counters__req_transport_retries_exceeded="3")
        wait_for(running, "mlx5_0", "suspect")
        node.write("mlx5_0", rate=narrow)
        node.write("mlx5_1", rate=narrow)
        wait_for(running, "mlx5_0", "degraded")
        wait_for(running, "mlx5_1", "degraded")
        page = running.get("/metrics?tier=aggregate")
        node.write("mlx5_0", rate=whole)
        node.write("mlx5_1", rate=whole)
        wait_for(running, "mlx5_1", "ok")
        wait_for(running, "mlx5_0", "suspect")
        log = (node.folder / "daemon.log").read_text()

    assert node.changes("mlx5_0") == [("ok", "suspect"), ("suspect", "degraded"), ("degraded", "suspect")]
    assert node.changes("mlx5_1") == [("ok", "degraded"), ("degraded", "suspect"), ("suspect", "ok")]
    assert 'fabric_link_condition{fabric="infiniband",device="mlx5_1",port="1",reason="width_downgrade"} 1' in page
    assert 'fabric_link_health_status{fabric="infiniband",device="mlx5_1",port="1"} 2' in page
    assert "fabric_node_health_status 2" in page
    assert "retries_exceeded: " in log
    assert "width_downgrade: " in log
