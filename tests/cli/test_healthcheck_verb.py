"""`healthcheck` against real sockets: TCP, IPv6, unix; healthy, unhealthy, silent, absent, something else."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from exporter.cli.exits import Exit
from exporter.cli.main import main
from tests.requires import lacking

HEALTHY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
UNHEALTHY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"

Serve = Callable[[socket.socket, bytes | None], list[bytes]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Answer one connection of a listening socket with some bytes (None: never); the requests seen are in the list."""
    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(listener: socket.socket, answer: bytes | None) -> list[bytes]:
        listener.listen(8)
        listener.settimeout(10)
        opened.append(listener)
        requests: list[bytes] = []

        def work() -> None:
            connection, _ = listener.accept()
            opened.append(connection)
            connection.settimeout(10)
            requests.append(connection.recv(4096))
            if answer is not None:
                connection.sendall(answer)
                connection.close()

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return requests

    yield start
    for thread in threads:
        thread.join()
    for opened_socket in opened:
        opened_socket.close()


def tcp(family: socket.AddressFamily = socket.AF_INET, host: str = "127.0.0.1") -> tuple[socket.socket, int]:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.bind((host, 0))
    except OSError as error:
        listener.close()
        lacking(f"no {family.name} on this machine: {error}")
    return listener, listener.getsockname()[1]


def test_healthy_daemon_is_exit_0(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and the daemon saw one GET of /-/healthy."""
    listener, port = tcp()
    requests = serve(listener, HEALTHY)

    assert main(["healthcheck", "--web.listen-address", f"127.0.0.1:{port}"]) == Exit.OK
    assert capsys.readouterr().out == f"healthy: 127.0.0.1:{port}/-/healthy\n"
    assert requests[0].startswith(b"GET /-/healthy HTTP/1.1\r\n")


def test_address_of_every_interface_is_asked_on_loopback(serve: Serve) -> None:
    """`:29100` is where to listen, not where to connect."""
    listener, port = tcp()
    serve(listener, HEALTHY)

    assert main(["healthcheck", "--web.listen-address", f":{port}"]) == Exit.OK


def test_ipv6_daemon_is_reached(serve: Serve) -> None:
    """Brackets are for the URL, not for the socket."""
    listener, port = tcp(socket.AF_INET6, "::1")
    serve(listener, HEALTHY)

    assert main(["healthcheck", "--web.listen-address", f"[::1]:{port}"]) == Exit.OK


def test_address_of_every_interface_is_found_on_ipv6_alone(serve: Serve) -> None:
    """A node without IPv4."""
    listener, port = tcp(socket.AF_INET6, "::1")
    serve(listener, HEALTHY)

    assert main(["healthcheck", "--web.listen-address", f":{port}"]) == Exit.OK


def test_unix_socket_is_reached(serve: Serve, tmp_path: Path) -> None:
    """A daemon behind a local proxy."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = tmp_path / "x.sock"
    listener.bind(str(path))
    serve(listener, HEALTHY)

    assert main(["healthcheck", "--web.listen-address", f"unix://{path}"]) == Exit.OK


def test_health_address_is_preferred(serve: Serve) -> None:
    """The plain address is there for this."""
    listener, port = tcp()
    serve(listener, HEALTHY)

    assert main(["healthcheck", "--web.listen-address", ":1", "--web.health-address", f"127.0.0.1:{port}"]) == Exit.OK


@pytest.mark.parametrize(("answer", "words"), [
    (UNHEALTHY, "HTTP 503"), (b"SSH-2.0-OpenSSH_9.6\r\n", "the answer is not HTTP (BadStatusLine); does something else listen there?"),
    (b"", "Remote end closed connection without response; is the daemon running?"), (None, "no answer within 0.1 s"),
])  # fmt: skip
def test_bad_answer_is_exit_1_with_the_reason(answer: bytes | None, words: str, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """Unhealthy, another program, closed at once, silent."""
    listener, port = tcp()
    serve(listener, answer)
    patience = "100ms" if answer is None else "10s"

    assert main(["healthcheck", "--timeout", patience, "--web.listen-address", f"127.0.0.1:{port}"]) == Exit.FINDING
    assert capsys.readouterr().out == f"not healthy: 127.0.0.1:{port}/-/healthy: {words}\n"


def test_nobody_there_is_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    """The port is bound but not listening, so nobody else can take it meanwhile."""
    listener, port = tcp()
    with closing(listener):
        assert main(["healthcheck", "--web.listen-address", f"127.0.0.1:{port}"]) == Exit.FINDING
    assert capsys.readouterr().out == f"not healthy: 127.0.0.1:{port}/-/healthy: Connection refused; is the daemon running?\n"


def test_port_of_the_kernels_choice_cannot_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Port 0 names no port."""
    assert main(["healthcheck", "--web.listen-address", ":0"]) == Exit.FINDING
    assert "set web.health_address" in capsys.readouterr().out


def test_bad_configuration_is_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    """Not a finding about the daemon."""
    assert main(["healthcheck", "--web.listen-address", "nonsense"]) == Exit.CONFIGURATION
    assert capsys.readouterr().err.startswith("web.listen_addresses: expected an address")
