"""What the daemon does when it is told to let go of the GPUs, to take them back, or to reload, and what it tells of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.cli.daemon import Daemon
from exporter.cli.gpus import VirtualGpus
from exporter.config.load import load
from exporter.runtime.clock import SystemClock
from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.profiles import NO_GPU_IB


class Hold(VirtualGpus):
    """GPUs that are let go at once, or held on to while `stuck`."""

    is_stuck = False

    def __init__(self) -> None:
        super().__init__(FakeNvml(NO_GPU_IB, 1, lambda: 0.0))
        self.is_released = False
        self.stuck = False

    def unknown_error_since_s(self) -> float | None:
        """Never."""
        return None

    def drop(self) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing to end."""

    def release(self) -> tuple[bool, str]:
        """Let go, unless stuck."""
        if self.stuck:
            return False, "the NVML child cannot be stopped"
        self.is_released = True
        return True, "GPUs released"

    def resume(self) -> tuple[bool, str]:
        """Take back."""
        self.is_released = False
        return True, "GPUs are read again"


class Wall(SystemClock):
    """The machine's clock, with a wall time that the test sets."""

    now_s = 1000.0

    def wall_s(self) -> float:
        """As set."""
        return self.now_s


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration for a machine without hardware."""
    (tmp_path / "sys").mkdir()
    path = tmp_path / "config.yaml"
    path.write_text(f"sources: {{sysfs_root: {tmp_path}/sys}}\nstate: {{dir: {tmp_path}/state}}\n")
    return path


@pytest.fixture
def clock() -> Wall:
    """Stands at 1000 s."""
    return Wall()


@pytest.fixture
def hold() -> Hold:
    """Not released."""
    return Hold()


@pytest.fixture
def daemon(file: Path, clock: Wall, hold: Hold) -> Iterator[Daemon]:
    """Running, stopped in the end."""
    running = Daemon(load(str(file)), lambda: load(str(file)), clock, gpus=hold)
    yield running
    running.stop()


def gpus(daemon: Daemon) -> object:
    return daemon.status()["gpus"]


def test_the_status_tells_since_when_the_gpus_are_released(daemon: Daemon, clock: Wall) -> None:
    """Since the start, since the release (asking again changes nothing), since the resumption."""
    told = [gpus(daemon)]
    for now_s, act in ((1010.0, daemon.release), (1020.0, daemon.release), (1030.0, daemon.resume)):
        clock.now_s = now_s
        act()
        told.append(gpus(daemon))

    assert told == [
        {"released": False, "since_s": 1000.0},
        {"released": True, "since_s": 1010.0},
        {"released": True, "since_s": 1010.0},
        {"released": False, "since_s": 1030.0},
    ]


def test_a_release_that_fails_is_passed_on_and_changes_nothing(daemon: Daemon, clock: Wall, hold: Hold) -> None:
    """With its reason."""
    hold.stuck, clock.now_s = True, 1010.0

    assert daemon.release() == (False, "the NVML child cannot be stopped")
    assert gpus(daemon) == {"released": False, "since_s": 1000.0}


def test_a_reload_does_not_take_the_gpus_back(daemon: Daemon, clock: Wall) -> None:
    """Somebody resets them just now."""
    daemon.release()
    clock.now_s = 1010.0

    assert daemon.reload() == (True, "configuration reloaded")
    assert gpus(daemon) == {"released": True, "since_s": 1000.0}
    assert daemon.status()["configuration"] == {"loaded_s": 1010.0, "last_reload_ok": True}


def test_a_reload_tells_what_is_wrong(daemon: Daemon, file: Path, clock: Wall) -> None:
    """Every mistake in one line; the time of the configuration in force stays."""
    file.write_text("exposition: {tier: enormous}\nlogging: {level: loud}\n")
    clock.now_s = 1010.0

    ok, text = daemon.reload()

    assert not ok
    assert text.startswith("reload refused, the old configuration stays: exposition.tier: expected")
    assert "; logging.level: expected" in text
    assert daemon.status()["configuration"] == {"loaded_s": 1000.0, "last_reload_ok": False}


@pytest.mark.parametrize("section", ["web: {max_connections: 7}", "control: {enabled: false}"])
def test_a_reload_tells_what_waits_for_the_next_start(daemon: Daemon, file: Path, section: str) -> None:
    """Sockets are bound once."""
    file.write_text(f"{file.read_text()}{section}\n")

    assert daemon.reload() == (True, "configuration reloaded; web.* and control.* take effect at the next start")


def test_maintenance_is_known_at_once(daemon: Daemon, tmp_path: Path) -> None:
    """Whoever asks for the health right afterwards sees it, though no pass has been made since."""
    told = []
    for act in (lambda: daemon.maintenance_on({"for": "2h", "reason": "swap optics"}), daemon.maintenance_off):
        answer = act()
        told.append((answer.ok, daemon.health()["maintenance"]))

    assert told == [
        (True, {"active": True, "reason": "file: swap optics", "until": 8200.0}),
        (True, {"active": False, "reason": "", "until": None}),
    ]
    assert not (tmp_path / "state/maintenance").exists()


def test_released_gpus_are_not_the_whole_picture(daemon: Daemon) -> None:
    """The health says why."""
    daemon.release()

    assert "the GPUs are released: fabric-exporter resume takes them back" in str(daemon.health()["partial"])
