"""The control socket of a real daemon process: the verbs as an operator runs them, who may open it, and what becomes of its file."""

import json
import re
import signal
import socket
import stat
import subprocess
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.real.daemon import DaemonProcess, command, daemon, environment
from tests.real.listener import listening


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the socket is; its folder is for the daemon to make."""
    (tmp_path / "sys").mkdir()
    return tmp_path / "run" / "control.sock"


def options(place: Path, *more: str) -> list[str]:
    """A daemon on a machine without hardware, with that control socket."""
    return [f"--sysfs-root={place.parents[1] / 'sys'}", f"--control-socket={place}", *more]


def said(place: Path, *words: str) -> tuple[int, str]:
    """Exit status and whatever the verb printed."""
    done = subprocess.run(command(*words, f"--control-socket={place}"), capture_output=True, text=True, env=environment(), timeout=60,
                          check=False)  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def asked(place: Path, method: str, path: str) -> tuple[int, str]:
    """Status and body by the socket itself."""
    connection = HTTPConnection("localhost", timeout=20)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(20)
    connection.sock.connect(str(place))
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def posted(running: DaemonProcess, path: str) -> int:
    """Status of a POST over TCP."""
    connection = HTTPConnection(running.address, timeout=20)
    try:
        connection.request("POST", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_release_and_resume_answer(place: Path, tmp_path: Path) -> None:
    """Without a GPU both are as good as done; the status tells, and it goes on serving."""
    with daemon(tmp_path, options(place)) as running:
        answers = said(place, "release"), said(place, "resume")
        shown = json.loads(asked(place, "GET", "/status")[1])
        page = running.get("/metrics")

    expected = (0, "the GPUs are free: no process of ours holds them\n"), (0, "the GPUs are read again from the next pass on\n")
    assert answers == expected
    assert (shown["gpus"]["released"], shown["under_way"]) == (False, None)
    assert page


def test_reload_by_verb_adopts_a_right_file_and_refuses_a_wrong_one(place: Path, tmp_path: Path) -> None:
    """Exit 1 and the reason with its line, though the verb was given the same file; SIGHUP still works afterwards."""
    config = tmp_path / "config.yaml"
    config.write_text("exposition: {tier: basic}\n")

    with daemon(tmp_path, options(place, f"--config={config}")) as running:
        config.write_text("exposition:\n  tier: enormous\n")
        refused = said(place, "reload", f"--config={config}")
        shown = json.loads(asked(place, "GET", "/status")[1])
        config.write_text("exposition: {tier: full}\n")
        adopted = said(place, "reload", f"--config={config}")
        config.write_text("nonsense: true\n")
        running.hang_up()
        running.logged("nonsense: unknown key")

    assert refused[0] == 1
    assert re.fullmatch(r"reload refused, the old configuration stays: exposition\.tier: expected .* \(.*config\.yaml:2\)\n", refused[1])
    assert adopted == (0, "configuration reloaded\n")
    assert shown["configuration"]["last_reload_ok"] is False


def test_only_the_control_socket_carries_them_and_only_by_post(place: Path, tmp_path: Path) -> None:
    """GET changes nothing; TCP knows none of the paths; the control socket has no page."""
    with daemon(tmp_path, options(place)) as running:
        by_get = [asked(place, "GET", path)[0] for path in ("/release", "/resume", "/reload", "/metrics")]
        by_tcp = [posted(running, path) for path in ("/release", "/resume", "/reload", "/status")]

    assert by_get == [405, 405, 405, 404]
    assert by_tcp == [404] * 4


def test_the_socket_is_for_owner_and_group_and_goes_with_the_daemon(place: Path, tmp_path: Path) -> None:
    """0660 in a folder 0750; SIGTERM removes the file."""
    with daemon(tmp_path, options(place)) as running:
        modes = stat.S_IMODE(place.stat().st_mode), stat.S_IMODE(place.parent.stat().st_mode)
        running.process.send_signal(signal.SIGTERM)
        status = running.process.wait(20)
        left = list(place.parent.iterdir())

    assert (modes, status, left) == ((0o660, 0o750), 0, [])
    assert said(place, "release")[0] == 1


def test_the_socket_of_a_killed_daemon_is_taken_over(place: Path, tmp_path: Path) -> None:
    """Its file is still there; the next daemon answers on it."""
    with daemon(tmp_path, options(place)) as running:
        running.process.kill()
        running.process.wait(20)
        stale = place.is_socket()
    with daemon(tmp_path, options(place)) as running:
        answer = said(place, "release")
        log = running.log.read_text()

    assert (stale, answer[0]) == (True, 0)
    assert "control socket" not in log


def test_a_second_daemon_leaves_a_live_socket_alone_and_warns(place: Path, tmp_path: Path) -> None:
    """One line that names path, reason and option; it serves all the same, and the first keeps its socket beyond the second's end."""
    (tmp_path / "second").mkdir()

    with daemon(tmp_path, options(place)):
        with daemon(tmp_path / "second", options(place)) as second:
            page = second.get("/metrics")
            log = second.log.read_text()
        answer = said(place, "release")

    warnings = [text for text in log.splitlines() if "control socket" in text]
    assert len(warnings) == 1
    assert all(word in warnings[0] for word in ("level=warning", str(place), "already in use", "option control.socket"))
    assert (bool(page), answer[0]) == (True, 0)


def test_a_simulated_node_makes_no_control_socket_and_says_nothing_of_it(tmp_path: Path) -> None:
    """`make demo` runs as anybody."""
    argv = command("run", "--simulate=no-gpu-ib", "--web.listen-address=127.0.0.1:0", f"--state-dir={tmp_path / 'state'}")
    log = tmp_path / "daemon.log"
    with listening(argv, log, re.compile(r"listening on (127\.0\.0\.1:\d+)"), "the daemon", environment()) as (process, address):
        running = DaemonProcess(address, log, process)
        running.wait_ready()
        text = log.read_text()

    assert "SIMULATED NODE" in text
    assert "control" not in text
