"""The daemon on sockets that somebody else opened, as systemd passes them: descriptors from 3 on and three variables."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.deploy.unit_files import HERE
from tests.real.daemon import environment
from tests.real.listener import fetch, poll

STARTER = """
import fcntl, os, sys
numbers, argv = [int(word) for word in sys.argv[1].split(",")], sys.argv[2:]
parked = [fcntl.fcntl(number, fcntl.F_DUPFD, 100) for number in numbers]
for target, number in enumerate(parked, 3):
    os.dup2(number, target, inheritable=True)
os.environ.setdefault("LISTEN_PID", str(os.getpid()))
os.execv(argv[0], argv)
"""
"""What systemd does between fork and exec."""


@contextmanager
def started(
    folder: Path, sockets: Sequence[socket.socket], variables: Mapping[str, str], *flags: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """The daemon with these sockets at 3 and up, on a machine without hardware; stopped in the end."""
    (folder / "sys").mkdir(exist_ok=True)
    numbers = [sock.fileno() for sock in sockets]
    own = [f"--sysfs-root={folder / 'sys'}", f"--state-dir={folder / 'state'}", f"--control-socket={folder / 'control.sock'}"]
    argv = [sys.executable, "-c", STARTER, ",".join(map(str, numbers)), HERE, "run", *own, *flags]
    with (folder / "journal").open("wb") as log, subprocess.Popen(
        argv, env={**environment(), **variables}, pass_fds=numbers, stdin=subprocess.DEVNULL, stdout=log, stderr=log
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def journal(folder: Path) -> str:
    return (folder / "journal").read_text(errors="replace")


def loopback() -> socket.socket:
    """A listening socket on a free port."""
    sock = socket.create_server(("127.0.0.1", 0))
    sock.listen(1024)
    return sock


def url(sock: socket.socket, path: str) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://{host}:{port}{path}"


def test_a_scrape_that_came_before_the_daemon_is_answered(tmp_path: Path) -> None:
    """The point of it: the port is open while the daemon is not yet there, and nobody is refused."""
    with loopback() as sock:
        early = socket.create_connection(sock.getsockname()[:2])
        early.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        with started(tmp_path, [sock], {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "metrics"}, "--web.systemd-socket"):
            early.settimeout(60)
            answer = early.recv(65_536).decode()
            early.close()

    assert answer.startswith("HTTP/1.1 200")
    assert " listening on 127.0.0.1:" in journal(tmp_path)


def test_a_health_socket_shows_health_alone(tmp_path: Path) -> None:
    """FileDescriptorName=health; the other shows all."""
    with (
        loopback() as everything,
        loopback() as health,
        started(tmp_path, [everything, health], {"LISTEN_FDS": "2", "LISTEN_FDNAMES": "metrics:health"}, "--web.systemd-socket"),
    ):
        healthy = fetch(url(health, "/-/healthy"))
        page = fetch(url(everything, "/metrics"))
        with pytest.raises(OSError, match="404"):
            fetch(url(health, "/metrics"))

    assert healthy.startswith("ok")
    assert "fabric_exporter_series" in page


def test_a_unix_socket_stays_systemd_s(tmp_path: Path) -> None:
    """The daemon does not unlink what it did not make: the next start needs it."""
    place = tmp_path / "web.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(place))
        sock.listen()
        with started(tmp_path, [sock], {"LISTEN_FDS": "1"}, "--web.systemd-socket"):
            poll(lambda: True if f"listening on {place}" in journal(tmp_path) else None, 40, "it listens")

    assert place.exists()


def test_the_port_survives_a_restart(tmp_path: Path) -> None:
    """Who connects between two daemons is answered by the second."""
    variables = {"LISTEN_FDS": "1"}
    with loopback() as sock:
        with started(tmp_path, [sock], variables, "--web.systemd-socket"):
            fetch(url(sock, "/-/healthy"))
        with socket.create_connection(sock.getsockname()[:2]) as between:
            between.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
            with started(tmp_path, [sock], variables, "--web.systemd-socket"):
                between.settimeout(60)
                answer = between.recv(4096).decode()

    assert answer.startswith("HTTP/1.1 200")


@pytest.mark.parametrize(("variables", "complaint"), [
    ({"LISTEN_FDS": "1", "LISTEN_PID": "1"}, 'web.systemd_socket: the sockets are for another process: LISTEN_PID="1" and this is '),
    ({"LISTEN_FDS": "2"}, "which systemd passed, cannot be used"),
    ({"LISTEN_FDS": "1", "LISTEN_FDNAMES": "a:b"}, 'web.systemd_socket: LISTEN_FDNAMES="a:b" names 2 sockets'),
    ({}, "web.systemd_socket: systemd passed no socket"),
])  # fmt: skip
def test_what_is_passed_wrongly_is_one_line_and_exit_3(tmp_path: Path, variables: dict[str, str], complaint: str) -> None:
    """Never a traceback, never another port in its place."""
    with loopback() as sock, started(tmp_path, [sock], variables, "--web.systemd-socket") as process:
        status = process.wait(60)

    assert status == 3
    assert complaint in journal(tmp_path)
    assert len(journal(tmp_path).splitlines()) == 1


def test_an_address_of_its_own_is_not_opened_and_that_is_said(tmp_path: Path) -> None:
    """Else one who has both would wonder which is meant."""
    with loopback() as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"  # in use: opening it would fail
        with loopback() as sock, started(tmp_path, [sock], {"LISTEN_FDS": "1"}, "--web.systemd-socket", f"--web.listen-address={taken}"):
            fetch(url(sock, "/-/healthy"))

    assert "web.listen_addresses is not used" in journal(tmp_path)


def test_sockets_that_nobody_asked_for_are_mentioned(tmp_path: Path) -> None:
    """Somebody enabled the .socket unit and forgot the drop-in."""
    with loopback() as sock, started(tmp_path, [sock], {"LISTEN_FDS": "1"}, "--web.listen-address=127.0.0.1:0"):
        poll(lambda: True if "listening on" in journal(tmp_path) else None, 40, "it listens")

    assert "systemd passed sockets that are not used: set web.systemd_socket (--web.systemd-socket)" in journal(tmp_path)


def test_the_starter_passes_what_it_says() -> None:
    """The harness is not idle: descriptor 3 of the started process is the socket."""
    shown = "import os, socket; print(socket.socket(fileno=3).getsockname()[1], os.environ['LISTEN_PID'] == str(os.getpid()))"
    with loopback() as sock:
        argv = [sys.executable, "-W", "ignore", "-c", STARTER, str(sock.fileno()), sys.executable, "-c", shown]
        done = subprocess.run(argv, pass_fds=[sock.fileno()], capture_output=True, text=True, timeout=60, check=True)

        assert done.stdout.split() == [str(sock.getsockname()[1]), "True"]
