"""The unit's own command under a notify socket, as systemd would start it: ready, alive, reloading, stopping."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from exporter.simulator.archive import read_archive, unpack
from tests.deploy.notify_socket import Message, NotifySocket, notify_socket, says
from tests.deploy.unit_files import command
from tests.machine import MACHINES
from tests.nvml_library import FakeDriver, profile
from tests.real.daemon import LISTENING, QUICK, environment
from tests.real.listener import fetch, poll

WATCHDOG_S = 2.0


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[NotifySocket]:
    """At a path, as systemd's is."""
    with notify_socket(str(tmp_path / "notify")) as made:
        yield made


def variables(folder: Path, manager: NotifySocket) -> dict[str, str]:
    """What systemd and the environment file set."""
    return {
        **environment(),
        "NOTIFY_SOCKET": manager.address,
        "WATCHDOG_USEC": str(round(WATCHDOG_S * 1e6)),
        "FABRIC_CONFIG": str(folder / "config.yaml"),
        "FABRIC_STATE_DIR": str(folder / "state"),
        "FABRIC_CONTROL_SOCKET": str(folder / "control.sock"),
        "FABRIC_WEB_LISTEN_ADDRESS": "127.0.0.1:0",
    }


@contextmanager
def unit(folder: Path, manager: NotifySocket, arguments: str = "",
         more: Mapping[str, str] | None = None) -> Iterator["subprocess.Popen[bytes]"]:  # fmt: skip
    """ExecStart= of the unit on the H100 machine as real files, with `more` variables, killed in the end if it has not ended."""
    if not (folder / "sys").exists():
        unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), folder / "sys")
        (folder / "config.yaml").write_text(QUICK)
    argv = command("ExecStart", f"--sysfs-root={folder / 'sys'} {arguments}")
    with (folder / "journal").open("ab") as log:
        process = subprocess.Popen(
            argv, env={**variables(folder, manager), **(more or {})}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait(20)


def journal(folder: Path) -> str:
    return (folder / "journal").read_text(errors="replace")


def test_ready_is_said_once_and_only_after_the_first_pass(tmp_path: Path, manager: NotifySocket) -> None:
    """When it comes, the page is already there."""
    with unit(tmp_path, manager) as process:
        told = manager.until(says("READY", "1"))
        found = LISTENING.search(journal(tmp_path))
        assert found is not None
        ready = fetch(f"http://{found[1]}/-/ready")
        page = fetch(f"http://{found[1]}/metrics")
        manager.until(says("WATCHDOG"), since=len(manager.messages))
        process.terminate()
        process.wait(20)

    assert ready.startswith("ok")
    assert 'fabric_infiniband_state_id{device="mlx5_0",port="1"} 4' in page
    assert told.fields["STATUS"].startswith("ok: all ")
    assert sum(says("READY")(message) for message in manager.messages) == 1


def test_the_watchdog_is_fed_twice_a_period_at_least(tmp_path: Path, manager: NotifySocket) -> None:
    """As sd_watchdog_enabled(3) asks for."""
    with unit(tmp_path, manager):
        manager.until(says("READY"))
        fed: list[Message] = []
        while len(fed) < 6:
            since = len(manager.messages)
            fed.append(manager.until(says("WATCHDOG", "1"), since))

    gaps = [later.at_s - earlier.at_s for earlier, later in pairwise(fed)]
    assert max(gaps) < WATCHDOG_S / 2


def test_a_driver_that_hangs_does_not_starve_the_watchdog(tmp_path: Path, manager: NotifySocket) -> None:
    """It is flagged, and the sampler goes on: a restart would only meet the same driver, and lose the minutes of a whole node."""
    driver = FakeDriver(tmp_path / "driver").write(profile("h100-nvl"))
    hang = "g1.call.nvmlDeviceGetFieldValues.sleep_ms"
    env = {**driver.environment(), "FABRIC_SOURCES_NVLINK_ENABLED": "true", "FABRIC_SOURCES_NVLINK_FAST_INTERVAL": "1s"}
    with unit(tmp_path, manager, f"--nvml-library={driver.library}", env) as process:
        manager.until(says("READY"))
        driver.change({hang: "forever"})
        manager.until(lambda message: "not seen: nvlink" in message.fields.get("STATUS", ""))
        since, begun_s = len(manager.messages), time.monotonic()
        while time.monotonic() < begun_s + 5 * WATCHDOG_S:
            manager.hear(WATCHDOG_S)
        fed = [message.at_s for message in manager.messages[since:] if says("WATCHDOG")(message)]
        is_running = process.poll() is None
        driver.remove(hang)
        process.terminate()
        process.wait(40)

    assert is_running
    assert max(later - earlier for earlier, later in pairwise([begun_s, *fed])) < WATCHDOG_S / 2


def test_status_tells_what_is_wrong(tmp_path: Path, manager: NotifySocket) -> None:
    """In the line that `systemctl status` shows."""
    with unit(tmp_path, manager):
        manager.until(says("READY"))
        next((tmp_path / "sys").glob("devices/**/mlx5_3/ports/1/state")).write_text("1: DOWN\n")
        told = manager.until(lambda message: message.fields.get("STATUS", "").startswith("failed"))

    assert told.fields["STATUS"].startswith("failed: infiniband/mlx5_3/1 (down); 1 of ")


def test_a_reload_is_told_and_ended(tmp_path: Path, manager: NotifySocket) -> None:
    """By SIGHUP and by ExecReload= alike; one that is refused ends too, with a failure of `systemctl reload` and in the status."""
    with unit(tmp_path, manager) as process:
        manager.until(says("READY"))
        since = len(manager.messages)
        process.send_signal(signal.SIGHUP)
        begun = manager.until(says("RELOADING", "1"), since)
        ended = manager.until(says("READY", "1"), since)
        since = len(manager.messages)
        good = subprocess.run(
            command("ExecReload"), env=variables(tmp_path, manager), capture_output=True, text=True, timeout=60, check=False
        )
        manager.until(says("RELOADING", "1"), since)
        manager.until(says("READY", "1"), since)
        (tmp_path / "config.yaml").write_text("sources: {infinibandd: {}}\n")
        since = len(manager.messages)
        bad = subprocess.run(
            command("ExecReload"), env=variables(tmp_path, manager), capture_output=True, text=True, timeout=60, check=False
        )
        refused = manager.until(says("READY", "1"), since)

    assert begun.fields["MONOTONIC_USEC"].isdigit()
    assert begun.at_s <= ended.at_s
    assert (good.returncode, good.stdout) == (0, "configuration reloaded\n")
    assert (bad.returncode, "infinibandd: unknown key" in bad.stderr) == (1, True)
    assert "the last reload was refused" in refused.fields["STATUS"]


def test_stopping_is_told_before_the_end(tmp_path: Path, manager: NotifySocket) -> None:
    """And no sign of life comes after it."""
    with unit(tmp_path, manager) as process:
        manager.until(says("READY"))
        process.terminate()
        manager.until(says("STOPPING", "1"))
        status = process.wait(20)
        while manager.hear(0.2):
            pass

    assert status == 0
    assert manager.messages[-1].fields == {"STOPPING": "1", "STATUS": "stopping"}


def test_an_abstract_socket_is_told_too(tmp_path: Path) -> None:
    """`@NAME`, as container managers use."""
    with notify_socket(f"@fabric-exporter-test-{os.getpid()}") as manager, unit(tmp_path, manager):
        assert manager.until(says("READY", "1"))


def test_a_manager_that_is_gone_costs_one_line(tmp_path: Path, manager: NotifySocket) -> None:
    """The daemon serves on."""
    with unit(tmp_path, manager) as process:
        manager.until(says("READY"))
        manager.close()
        Path(manager.address).unlink()
        poll(lambda: True if "cannot tell the service manager" in journal(tmp_path) else None, 20, "it says so")
        found = LISTENING.search(journal(tmp_path))
        assert found is not None
        healthy = fetch(f"http://{found[1]}/-/healthy")
        process.terminate()
        process.wait(20)

    assert healthy.startswith("ok")
    assert journal(tmp_path).count("cannot tell the service manager") == 1


def test_a_wrong_configuration_ends_with_the_status_that_is_not_restarted(tmp_path: Path, manager: NotifySocket) -> None:
    """RestartPreventExitStatus= of the unit names it, and nobody was told READY."""
    (tmp_path / "sys").mkdir()
    (tmp_path / "config.yaml").write_text("sources: {infinibandd: {}}\n")
    with unit(tmp_path, manager) as process:
        status = process.wait(60)

    assert status == 3
    assert manager.hear(0.1) is False
    assert "infinibandd: unknown key; did you mean infiniband?" in journal(tmp_path)


def test_no_child_inherits_the_socket_s_name(tmp_path: Path, manager: NotifySocket) -> None:
    """What the NVML process or scontrol said would be taken for ours."""
    (tmp_path / "config.yaml").write_text("")
    argv = [*command("ExecStart"), "--simulate=hgx-h100"]
    with (
        (tmp_path / "journal").open("wb") as log,
        subprocess.Popen(argv, env=variables(tmp_path, manager), stdout=log, stderr=log) as process,
    ):
        manager.until(says("READY"))
        children = [child for task in Path(f"/proc/{process.pid}/task").iterdir() for child in (task / "children").read_text().split()]
        environments = [Path(f"/proc/{child}/environ").read_bytes() for child in children]
        process.terminate()

    assert environments
    assert [found for found in environments if b"NOTIFY_SOCKET" in found or b"WATCHDOG" in found] == []


def test_a_socket_of_another_kind_is_only_a_warning(tmp_path: Path) -> None:
    """vsock, which virtual machines get, is not ours to speak."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM):
        argv = command("ExecStart", f"--sysfs-root={tmp_path} --state-dir={tmp_path}/state --control-socket={tmp_path}/c.sock")
        env = {**environment(), "NOTIFY_SOCKET": "vsock:2:1234", "FABRIC_WEB_LISTEN_ADDRESS": "127.0.0.1:0"}
        with (tmp_path / "journal").open("wb") as log, subprocess.Popen(argv, env=env, stdout=log, stderr=log) as process:
            poll(lambda: True if LISTENING.search(journal(tmp_path)) else None, 40, "it listens")
            process.terminate()

    assert "NOTIFY_SOCKET=vsock:2:1234 is neither a path nor an abstract socket" in journal(tmp_path)
