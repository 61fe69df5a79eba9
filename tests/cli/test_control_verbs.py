"""`release`, `resume` and `reload` against a real unix socket: done, refused, silent, absent, something else; where they look for it."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter.cli.control_client import TIMEOUT_S
from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.cli.run import control_socket
from exporter.config.load import load
from exporter.web.connection import Limits

DONE = b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nGPUs released\n"
REFUSED = b"HTTP/1.1 409 Conflict\r\nContent-Length: 23\r\n\r\nthe child \x1b[1mholds\r\non\n"

Serve = Callable[[bytes | None], list[bytes]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the socket is."""
    return tmp_path / "control.sock"


@pytest.fixture
def serve(place: Path) -> Iterator[Serve]:
    """Answer one connection with some bytes (None: never); the requests seen are in the list."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(place))
    asked = threading.Event()
    threads: list[threading.Thread] = []

    def start(answer: bytes | None) -> list[bytes]:
        listener.listen(8)
        listener.settimeout(10)
        requests: list[bytes] = []

        def work() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(10)
                requests.append(connection.recv(4096))
                if answer is None:
                    asked.wait(10)
                else:
                    connection.sendall(answer)

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return requests

    yield start
    asked.set()
    for thread in threads:
        thread.join()
    listener.close()


@pytest.mark.parametrize("verb", ["release", "resume", "reload"])
def test_what_is_done_is_exit_0_with_the_daemons_line(verb: str, serve: Serve, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One POST of the verb's path."""
    requests = serve(DONE)

    assert main([verb, "--control-socket", str(place)]) == Exit.OK
    assert capsys.readouterr() == ("GPUs released\n", "")
    assert requests[0].startswith(f"POST /{verb} HTTP/1.1\r\n".encode())


@pytest.mark.parametrize(("answer", "words"), [
    (REFUSED, "the child ?[1mholds on"),
    (b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", "the daemon on {place} answered HTTP 500"),
    (b"", "the daemon on {place} hung up: Remote end closed connection without response; look at its log"),
    (b"SSH-2.0-OpenSSH_9.6\r\n", "the answer from {place} is not HTTP (BadStatusLine); does something else listen there?"),
    (None, "no answer within 0.1 s from {place}; the daemon may still be doing it, its log says how it ends"),
])  # fmt: skip
def test_what_is_not_done_is_exit_1_with_the_reason(
    answer: bytes | None, words: str, serve: Serve, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused (whatever its text holds is one printable line), failed, closed at once, another program, silent."""
    serve(answer)
    patience = "100ms" if answer is None else "10s"

    assert main(["release", "--timeout", patience, "--control-socket", str(place)]) == Exit.FINDING
    assert capsys.readouterr() == ("", words.format(place=place) + "\n")


@pytest.mark.parametrize(("name", "why"), [
    ("absent", "No such file or directory"), ("stale", "Connection refused"), ("stale/below", "Not a directory"),
])  # fmt: skip
def test_no_daemon_is_exit_1_and_says_how_to_name_another_socket(
    name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No file, the file of a killed daemon, a file in place of the folder."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(f"{tmp_path}/stale")

    assert main(["release", f"--control-socket={tmp_path}/{name}"]) == Exit.FINDING
    expected = f"no daemon listens on {tmp_path}/{name}: {why}; start it, or name its socket with --control-socket\n"
    assert capsys.readouterr().err == expected


def test_a_path_that_no_socket_can_have_is_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    """Longer than unix(7) allows."""
    assert main(["release", f"--control-socket=/{'x' * 200}"]) == Exit.FINDING
    assert capsys.readouterr().err.endswith("AF_UNIX path too long; name its socket with --control-socket\n")


def test_the_flag_is_enough_where_the_file_is_wrong(serve: Serve, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake in the daemon's file must keep nobody from releasing the GPUs; and a reload is for the daemon to refuse."""
    (tmp_path / "config.yaml").write_text("no such option: true\n")
    serve(DONE)

    assert main(["reload", f"--config={tmp_path}/config.yaml", f"--control-socket={place}"]) == Exit.OK
    assert main(["reload", f"--config={tmp_path}/config.yaml"]) == Exit.CONFIGURATION
    assert "no such option" in capsys.readouterr().err


def test_the_variable_names_the_socket(serve: Serve, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for the daemon."""
    monkeypatch.setenv("FABRIC_CONTROL_SOCKET", str(place))
    serve(DONE)

    assert main(["release"]) == Exit.OK


def test_the_flag_beats_the_variable(serve: Serve, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for every option."""
    monkeypatch.setenv("FABRIC_CONTROL_SOCKET", "/nowhere.sock")
    serve(DONE)

    assert main(["release", f"--control-socket={place}"]) == Exit.OK


def test_the_configuration_names_the_socket(serve: Serve, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither flag nor variable does."""
    monkeypatch.delenv("FABRIC_CONTROL_SOCKET", raising=False)
    (tmp_path / "config.yaml").write_text(f"control: {{socket: {place}}}\n")
    serve(DONE)

    assert main(["release", f"--config={tmp_path}/config.yaml"]) == Exit.OK


def test_a_socket_that_is_no_text_is_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    """The mistake names option and flag."""
    assert main(["release", "--control-socket", " "]) == Exit.CONFIGURATION
    assert capsys.readouterr().err == 'control.socket: expected a text, got " " (--control-socket)\n'


def test_the_client_waits_longer_than_the_daemon_keeps_anybody_waiting() -> None:
    """So that the daemon's reason arrives."""
    assert Limits().answer_s < TIMEOUT_S


def test_a_control_socket_that_cannot_be_made_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    """With path, reason and option; the daemon does without."""
    expected = (
        "no control socket, so check, release and others cannot reach this daemon: cannot listen on unix:///nowhere/at/all/control.sock: "
        "No such file or directory; choose another with --control-socket (option control.socket)"
    )

    assert control_socket(load(flags={"control.socket": ("/nowhere/at/all/control.sock",)})) == {}
    assert [record.getMessage() for record in caplog.records] == [expected]


def test_a_simulated_node_has_a_control_socket_only_if_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without a word where nobody asked: `make demo` runs as anybody."""
    without = control_socket(load(flags={"simulate.profile": ("hgx-h100",)}))
    made = control_socket(load(flags={"simulate.profile": ("hgx-h100",), "control.socket": (f"{tmp_path}/control.sock",)}))
    for listener in made.values():
        listener.close()

    assert (without, [str(address) for address in made]) == ({}, [f"unix://{tmp_path}/control.sock"])
    assert caplog.records == []


def test_a_control_socket_that_is_switched_off_is_not_made(tmp_path: Path) -> None:
    """Even where it is named."""
    config = tmp_path / "config.yaml"
    config.write_text(f"control: {{enabled: false, socket: {tmp_path}/control.sock}}\n")

    assert control_socket(load(str(config))) == {}
    assert not (tmp_path / "control.sock").exists()
