"""Who the service manager is, by the environment, and what a message looks like."""

import socket
from pathlib import Path

import pytest

from exporter.runtime.service_manager import STATUS_LENGTH_MAX, ServiceManager, service_manager

PID = 4242


def test_the_variables_are_taken_out() -> None:
    """A child must not speak in our name."""
    environ = {"NOTIFY_SOCKET": "/run/systemd/notify", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(PID), "PATH": "/bin"}

    manager = service_manager(environ, PID)

    assert (manager.listens, manager.watchdog_s) == (True, 60.0)
    assert environ == {"PATH": "/bin"}


@pytest.mark.parametrize(("environ", "watchdog_s"), [
    ({"WATCHDOG_USEC": "2000000"}, 2.0), ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"}, None), ({}, None),
    ({"WATCHDOG_USEC": "0"}, None), ({"WATCHDOG_USEC": "-1"}, None), ({"WATCHDOG_USEC": "1s"}, None), ({"WATCHDOG_USEC": "²"}, None),
])  # fmt: skip
def test_a_watchdog_is_fed_only_if_it_is_ours_and_makes_sense(environ: dict[str, str], watchdog_s: float | None) -> None:
    """WATCHDOG_PID may name another process; what is no number counts as not given."""
    assert service_manager({"NOTIFY_SOCKET": "/run/notify", **environ}, PID).watchdog_s == watchdog_s


@pytest.mark.parametrize("address", ["", "notify", "vsock:2:99", "/", "@"])
def test_an_address_that_is_none_means_nobody(address: str) -> None:
    """The daemon serves all the same."""
    assert not service_manager({"NOTIFY_SOCKET": address}, PID).listens


def test_a_status_is_one_printable_line_that_fits(tmp_path: Path) -> None:
    """Whatever a device's text holds: a line break would be a field of its own."""
    place = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(place)
        ServiceManager(place).status("one\nREADY=1\x1b[31m " + "x" * 5000)
        text = manager.recv(8192).decode()

    assert text.startswith("STATUS=one READY=1?[31m xxx")
    assert len(text) == len("STATUS=") + STATUS_LENGTH_MAX
    assert "\n" not in text
