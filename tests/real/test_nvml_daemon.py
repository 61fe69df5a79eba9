"""The daemon over a driver that hangs, goes, comes back and is let go: a real process, and the C stand-in of the driver's library."""

import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from exporter.simulator.archive import read_archive, unpack
from tests.machine import MACHINES, Samples, parsed
from tests.nvml_library import BOARDS, FakeDriver, answer, field_id, profile
from tests.nvml_library.profiles import KIB, uuid
from tests.nvml_library.scenario import Value
from tests.real.daemon import DaemonProcess, command, daemon, environment
from tests.real.listener import poll

BOARD = "h100-nvl"
GPUS = BOARDS[BOARD].gpus
LINKS = GPUS * len(BOARDS[BOARD].wired)
BOUND_S = 60.0
INTERVAL_S = 1.0
HANG = "g1.call.nvmlDeviceGetFieldValues.sleep_ms"
BYTES = "fabric_nvlink_transmit_bytes_total"
QUICK = """
sources:
  infiniband: {{fast_interval: 1s, normal_interval: 1s}}
  pcie: {{normal_interval: 1s}}
  nvlink: {{enabled: {enabled}, fast_interval: 1s, normal_interval: 1s, slow_interval: 1s}}
  nvml: {{exit_on_unknown_error_after: {patience}}}
  kernel_log: {{enabled: false}}
exposition: {{tier: {tier}}}
"""


class Node:
    """A machine of InfiniBand ports and GPUs, and how its daemon is started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.driver = FakeDriver(folder / "driver").write(profile(BOARD))
        self.control = folder / "control.sock"  # where `daemon` puts it
        unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), folder / "sys")
        self.configure()

    def configure(self, *, enabled: bool = True, patience: str = "null", tier: str = "standard") -> None:
        """Write the file."""
        (self.folder / "quick.yaml").write_text(QUICK.format(enabled=str(enabled).lower(), patience=patience, tier=tier))

    @property
    def options(self) -> list[str]:
        """Of the command line."""
        return [f"--sysfs-root={self.folder / 'sys'}", f"--nvml-library={self.driver.library}", f"--config={self.folder / 'quick.yaml'}"]

    def said(self, verb: str) -> tuple[int, str]:
        """Exit status and whatever the verb printed."""
        argv = command(verb, f"--control-socket={self.control}")
        done = subprocess.run(argv, capture_output=True, text=True, env=environment(), timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def nobody_holds(self) -> bool | None:
        """True once no process holds the driver."""
        return not self.driver.holders() or None


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A well one; the daemon's child finds the stand-in by this process's environment."""
    made = Node(tmp_path)
    for name, value in made.driver.environment().items():
        monkeypatch.setenv(name, value)
    return made


OF_RULES = ("fabric_link_", "fabric_node_")
OF_GPUS = ("fabric_nvlink_", "fabric_gpu_", "fabric_xid_", "fabric_node_nvlink_")


def of_gpus(samples: Samples) -> set[str]:
    """Names of the series about GPUs and their links."""
    return {name for name, _ in samples if name.startswith(OF_GPUS)}


def of_others(samples: Samples) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
    """Series about other hardware."""
    return {key for key in samples if key[0].startswith("fabric_") and not key[0].startswith((*OF_GPUS, *OF_RULES, "fabric_exporter_"))}


def about(samples: Samples, name: str, source: str = "nvlink", **labels: str) -> float | None:
    """A number about a source."""
    value = samples.get((f"fabric_exporter_{name}", tuple(sorted({"source": source, **labels}.items()))))
    return None if value is None else float(value)


def page_when(running: DaemonProcess, test: Callable[[Samples], object], what: str) -> Samples:
    """The first page of which that holds."""

    def look() -> Samples | None:
        samples = parsed(running.get("/metrics"))
        return samples if test(samples) else None

    return poll(look, BOUND_S, what)


def is_whole(samples: Samples) -> bool:
    """Whether every link's bytes are there, the source is up, and the other sources have been read."""
    links = sum(name == BYTES for name, _ in samples)
    return links == LINKS and about(samples, "source_up") == 1 and bool(about(samples, "source_devices", "infiniband"))


def is_without_gpus(samples: Samples) -> bool:
    """Whether the GPUs' source is off the page and the others have been read: the page of before a reload stays until the first tick."""
    return about(samples, "source_up") is None and bool(about(samples, "source_devices", "infiniband"))


def whole(running: DaemonProcess) -> Samples:
    """The page of a well node."""
    return page_when(running, is_whole, "all links are on the page")


def is_flagged(samples: Samples) -> bool:
    """Whether the hang is to be seen."""
    return (about(samples, "source_devices_hung") or 0) > 0 and about(samples, "source_up") == 0


def test_a_call_that_sleeps_for_ever_costs_the_other_sources_nothing(node: Node, tmp_path: Path) -> None:
    """Flagged while it hangs; scrapes bring the same series of other hardware, none older than two intervals; the GPUs' series leave, and
    come back when the driver does."""
    with daemon(tmp_path, node.options) as running:
        before = whole(running)
        node.driver.change({HANG: "forever"})
        page_when(running, is_flagged, "the hang is flagged")
        ages: list[float | None] = []
        during: list[Samples] = []

        def gone(samples: Samples) -> bool:
            during.append(samples)
            ages.append(about(samples, "sample_age_seconds", "infiniband"))
            return BYTES not in of_gpus(samples)

        page_when(running, gone, "the series of the links leave")
        holders = node.driver.holders()
        node.driver.remove(HANG)
        after = whole(running)

    assert {frozenset(of_others(samples)) for samples in during} == {frozenset(of_others(before))}
    assert [age for age in ages if age is None or age > 2 * INTERVAL_S] == []
    assert len(holders) == 1
    assert about(after, "source_devices_hung") == 0
    assert of_others(after) == of_others(before)


def test_after_release_no_handle_is_open_and_the_page_goes_on(node: Node, tmp_path: Path) -> None:
    """Through a reload as well; resume brings the same series back."""
    with daemon(tmp_path, node.options) as running:
        before = whole(running)
        released = node.said("release")
        held = node.driver.holders()
        page = page_when(running, lambda samples: not of_gpus(samples), "the GPUs' series leave")
        running.hang_up()
        running.logged("configuration reloaded")
        page_when(running, lambda samples: about(samples, "source_faults_total", reason="released"), "the GPUs are asked about")
        still = node.driver.holders()
        resumed = node.said("resume")
        after = whole(running)

    assert released == (0, "the GPUs are free: the process that held them has ended\n")
    assert (held, still) == (set(), set())
    assert (page["fabric_exporter_gpus_released", ()], of_others(page)) == (1, of_others(before))
    assert resumed == (0, "the GPUs are read again from the next pass on\n")
    assert (after["fabric_exporter_gpus_released", ()], of_gpus(after)) == (0, of_gpus(before))


def test_sigterm_leaves_no_child(node: Node, tmp_path: Path) -> None:
    """It has let go of the driver in order before the daemon is gone."""
    with daemon(tmp_path, node.options) as running:
        whole(running)
        held = node.driver.holders()
        running.process.send_signal(signal.SIGTERM)
        status = running.process.wait(20)
        left = node.driver.holders()

    assert (status, len(held), left) == (0, 1, set())
    assert len(node.driver.calls("nvmlShutdown")) == 1


def test_sigterm_ends_the_daemon_though_a_call_hangs(node: Node, tmp_path: Path) -> None:
    """The child is left to finish its call; then it ends by itself."""
    with daemon(tmp_path, node.options) as running:
        whole(running)
        node.driver.change({HANG: "forever"})
        page_when(running, is_flagged, "the hang is flagged")
        running.process.send_signal(signal.SIGTERM)
        status = running.process.wait(20)
        log = running.log.read_text()
    held = node.driver.holders()
    node.driver.remove(HANG)
    poll(node.nobody_holds, BOUND_S, "the child has ended")

    assert (status, len(held)) == (0, 1)
    assert "Traceback" not in log


def test_a_child_that_is_killed_comes_back(node: Node, tmp_path: Path) -> None:
    """By whom ever: the GPUs are back with the next passes, none of them called lost."""
    with daemon(tmp_path, node.options) as running:
        whole(running)
        (child,) = node.driver.holders()
        subprocess.run(["kill", "-9", str(child)], check=True)
        page_when(running, lambda samples: about(samples, "source_faults_total", reason="driver"), "the end is counted")
        after = whole(running)
        (successor,) = node.driver.holders()

    assert successor != child
    assert about(after, "source_faults_total", reason="lost") == 0


def swapped(statements: Mapping[str, Value]) -> dict[str, Value]:
    """The same machine; the driver numbers its first two GPUs the other way round."""
    other = {"g0": "g1", "g1": "g0"}
    return {".".join(other.get(part, part) for part in key.split(".")): value for key, value in statements.items()}


def test_another_order_of_gpus_and_another_driver_keep_each_name(node: Node, tmp_path: Path) -> None:
    """Library and kernel differ for a while, then a new driver counts its GPUs in another order: each link goes on under its GPU's name."""
    statements = profile(BOARD)
    key = f"f{field_id('NVLINK_THROUGHPUT_DATA_TX')}"
    expected = {f"gpu{gpu}": answer(statements, f"g{gpu}.l2.{key}") for gpu in range(GPUS)}
    with daemon(tmp_path, node.options) as running:
        whole(running)
        (child,) = node.driver.holders()
        node.driver.change({"init.ret": 18, "call.nvmlDeviceGetCount_v2.ret": 18})
        page_when(running, lambda samples: about(samples, "source_up") == 0, "the source is down")
        node.driver.write({**swapped(statements), "driver": "560.35.05"})
        after = whole(running)
        (successor,) = node.driver.holders()

    found = {dict(labels)["device"]: value for (name, labels), value in after.items() if name == BYTES and dict(labels)["port"] == "2"}
    names = {dict(labels)["device"]: dict(labels)["uuid"] for name, labels in after if name == "fabric_gpu_info"}
    assert found == {name: kib * KIB for name, kib in expected.items() if isinstance(kib, int)}
    assert names == {f"gpu{gpu}": uuid(gpu) for gpu in range(GPUS)}
    assert after["fabric_gpu_driver_info", (("driver_version", "560.35.05"),)] == 1
    assert successor != child


def test_gpus_that_are_switched_off_by_a_reload_are_let_go(node: Node, tmp_path: Path) -> None:
    """`sources.nvlink.enabled: false` means that no process of ours holds them; switched on again they are read."""
    with daemon(tmp_path, node.options) as running:
        whole(running)
        node.configure(enabled=False)
        reloaded = node.said("reload")
        poll(node.nobody_holds, BOUND_S, "the child has ended")
        page = page_when(running, is_without_gpus, "the others are read, and the page of before is gone")
        node.configure()
        node.said("reload")
        whole(running)

    assert reloaded == (0, "configuration reloaded\n")
    assert (of_gpus(page), about(page, "source_up")) == (set(), None)


def test_a_reload_that_tells_the_child_something_else_starts_another(node: Node, tmp_path: Path) -> None:
    """The full tier's histogram, which the first child did not read; a reload that changes nothing keeps the child."""
    with daemon(tmp_path, node.options) as running:
        whole(running)
        first = node.driver.holders()
        node.said("reload")
        whole(running)
        kept = node.driver.holders()
        node.configure(tier="full")
        node.said("reload")
        poll(lambda: (node.driver.holders() not in (first, set())) or None, BOUND_S, "another child")
        whole(running)
        second = node.driver.holders()

    assert kept == first
    assert len(second) == 1


def test_unknown_error_for_so_long_ends_the_daemon_with_a_failure(node: Node, tmp_path: Path) -> None:
    """So that a container that lost its devices is started anew; the reason is the last thing it says of them."""
    node.driver.change({"init.ret": 999})
    node.configure(patience="10s")
    with daemon(tmp_path, node.options) as running:
        page = page_when(running, lambda samples: about(samples, "source_faults_total", reason="unknown_error"), "it says so")
        status = running.process.wait(BOUND_S)
        log = running.log.read_text()

    assert (status, about(page, "source_up")) == (1, 0)
    assert "Unknown Error for 10 s (sources.nvml.exit_on_unknown_error_after)" in log


@pytest.mark.parametrize("state", ["library", "driver", "gpus"])
def test_a_node_without_library_driver_or_gpu_shows_its_other_hardware(node: Node, tmp_path: Path, state: str) -> None:
    """No failure: up, no GPU, no child kept; the line in the log says what was looked for. With the driver the GPUs come."""
    library = tmp_path / "libnvidia-ml.so.1"
    node.driver.change({"driver": {"init.ret": 9}, "gpus": {"gpus": 0}}.get(state, {}))
    with daemon(tmp_path, [*node.options, *([f"--nvml-library={library}"] if state == "library" else [])]) as running:
        page = page_when(running, lambda samples: about(samples, "source_faults_total", reason="absent"), "it says so")
        poll(node.nobody_holds, BOUND_S, "no child is kept")
        library.symlink_to(node.driver.library)
        node.driver.write(profile(BOARD))
        whole(running)

    assert (about(page, "source_up"), about(page, "source_devices")) == (1, 0)
    assert any(name.startswith("fabric_infiniband_") for name, _ in page)
