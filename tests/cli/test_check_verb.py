"""`fabric-exporter check`: what the daemon says, what it finds itself without one, and what its exit status means."""

import json
from pathlib import Path

import pytest

from exporter.cli.check import exit_of
from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.model.entity import Fabric, Link
from exporter.model.health import Active, Level, Unknown, Verdict, Why
from exporter.model.health_document import document_of
from exporter.model.maintenance import Maintenance
from exporter.model.node_health import NodeHealth, SourceLook
from exporter.runtime.kept_verdicts import FILE, VERSION
from exporter.simulator.archive import read_archive, unpack
from tests.cli.control_socket import answer, answering
from tests.machine import MACHINES

NOW_S = 1_772_388_000.0
SEES = SourceLook("infiniband", up=True, devices=8)
GONE = SourceLook("infiniband", up=True, devices=0, looked_for="RDMA devices in /sys/class/infiniband")
HANGS = SourceLook("nvlink", up=False, devices=8, hung=("gpu3",))
QUICK = "--window=1ms"


def link(level: Level | None, device: str = "mlx5_3") -> Verdict:
    active = (Active(Why.DOWN, level, NOW_S - 60, "state down; it should be up"),) if level else ()
    return Verdict(Link(Fabric.INFINIBAND, device, "1"), level, Unknown.STALE if level is None else None, NOW_S - 60, active)


def node(*links: Verdict, sources: tuple[SourceLook, ...] = (SEES,)) -> NodeHealth:
    return NodeHealth(NOW_S, links, sources)


WELL, ILL, EMPTY, PART = node(link(Level.OK)), node(link(Level.FAILED)), node(sources=(GONE,)), node(link(Level.OK), sources=(SEES, HANGS))


def told(health: NodeHealth) -> bytes:
    """The daemon's answer."""
    return answer("200 OK", json.dumps(document_of(health)).encode())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the socket is."""
    return tmp_path / "control.sock"


@pytest.fixture
def h100(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The H100 machine as real files, its state and a socket on which nobody listens. Its interfaces are left alone, as is this machine's
    own kernel log."""
    for source in ("ETHERNET", "KERNEL_LOG", "NVLINK"):
        monkeypatch.setenv(f"FABRIC_SOURCES_{source}_ENABLED", "false")
    unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), tmp_path / "sys")
    return [f"--sysfs-root={tmp_path / 'sys'}", f"--state-dir={tmp_path / 'state'}", f"--control-socket={tmp_path}/nobody.sock", QUICK]


@pytest.mark.parametrize(("health", "fail_on", "status"), [
    (WELL, "suspect", Exit.OK),
    (ILL, "failed", Exit.FINDING),
    (node(link(Level.DEGRADED)), "failed", Exit.OK),
    (node(link(Level.DEGRADED)), "degraded", Exit.FINDING),
    (node(link(Level.SUSPECT)), "degraded", Exit.OK),
    (node(link(Level.SUSPECT)), "suspect", Exit.FINDING),
    (node(link(None)), "suspect", Exit.OK),
    (EMPTY, "failed", Exit.NO_HARDWARE),
    (PART, "failed", Exit.PARTIAL),
    (node(link(Level.FAILED), sources=(SEES, HANGS)), "failed", Exit.FINDING),
    (node(link(Level.FAILED), sources=(GONE,)), "failed", Exit.FINDING),
    (node(sources=(GONE, HANGS)), "failed", Exit.PARTIAL),
    (ILL._replace(maintenance=Maintenance(is_active=True)), "failed", Exit.FINDING),
])  # fmt: skip
def test_the_exit_status(health: NodeHealth, fail_on: str, status: Exit) -> None:
    """Bad news first, then what cannot be seen, then that there is nothing; maintenance changes nothing."""
    assert exit_of(health, fail_on) is status


def test_the_daemons_word_is_shown(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One GET; the text on stdout, nothing on stderr."""
    with answering(place, told(ILL)) as requests:
        status = main(["check", f"--control-socket={place}"])

    streams = capsys.readouterr()
    assert requests[0].startswith(b"GET /health HTTP/1.1\r\n")
    assert (status, streams.err) == (Exit.FINDING, "")
    assert streams.out.startswith("failed: infiniband/mlx5_3/1 (down); 1 of 1 links is not ok\n")


def test_json_is_the_daemons_document_and_who_said_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For scripts."""
    with answering(place, told(ILL)):
        main(["check", "--json", f"--control-socket={place}"])

    assert json.loads(capsys.readouterr().out) == {"by": f"daemon on {place}", **document_of(ILL)}


@pytest.mark.parametrize(("health", "words"), [(EMPTY, "no supported hardware; nothing is failed"), (PART, "nvlink: no answer from gpu3")])
def test_a_prolog_is_not_stopped_by_what_is_not_seen(
    health: NodeHealth, words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0 with one line on stderr, in place of 4 and 5."""
    with answering(place, told(health)):
        plain = main(["check", f"--control-socket={place}"])
        capsys.readouterr()
        in_prolog = main(["check", "--prolog", f"--control-socket={place}"])

    streams = capsys.readouterr()
    assert (plain, in_prolog) == (exit_of(health, "failed"), Exit.OK)
    assert words in streams.err
    assert streams.err.count("\n") == 1


def test_a_prolog_is_stopped_by_a_finding(place: Path) -> None:
    """That is what it is for."""
    with answering(place, told(ILL)):
        assert main(["check", "--prolog", f"--control-socket={place}"]) == Exit.FINDING


@pytest.mark.parametrize(("reply", "words"), [
    (b"SSH-2.0-OpenSSH_9.6\r\n", "is not HTTP"),
    (b"", "hung up"),
    (answer("404 Not Found", b"not found\n"), "answered HTTP 404; is it of another version?"),
    (answer("200 OK", b"{"), "makes no sense: it is no JSON"),
    (answer("200 OK", b"[" * 100_000), "makes no sense: it is no JSON"),
    (answer("200 OK", b"\xff\xfe\x00"), "makes no sense: it is no JSON"),
    (answer("200 OK", b'{"links": []}'), "makes no sense: it is no health of a node, or another version's"),
])  # fmt: skip
def test_an_answer_that_is_none_is_told_and_replaced_by_own_passes(
    reply: bytes, words: str, h100: list[str], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever listens there."""
    with answering(place, reply):
        status = main(["check", *h100, f"--control-socket={place}"])

    streams = capsys.readouterr()
    assert status == Exit.OK
    assert words in streams.err
    assert "looking for 0.001 s instead" in streams.err
    assert "infiniband 8 ok" in streams.out


def test_without_a_daemon_it_looks_itself(h100: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And writes nothing into the state directory."""
    (tmp_path / "state").mkdir()

    status = main(["check", "--json", *h100])

    streams = capsys.readouterr()
    shown = json.loads(streams.out)
    assert (status, shown["by"], shown["level"]) == (Exit.OK, "own passes", "ok")
    assert streams.err == f"no daemon listens on {tmp_path}/nobody.sock: looking for 0.001 s\n"
    assert list((tmp_path / "state").iterdir()) == []


def test_a_port_that_should_be_up_and_is_down_is_found_without_a_daemon(
    h100: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one window: the passes suffice for what must hold several times. Nothing of it is logged beside."""
    monkeypatch.setenv("FABRIC_EXPECT_PORTS", "mlx5_3=400Gb/s")
    monkeypatch.setenv("FABRIC_SIGNALS_GRACE", "100ms")
    next((tmp_path / "sys").glob("devices/**/mlx5_3/ports/1/state")).write_text("1: DOWN\n")

    status = main(["check", *h100])

    streams = capsys.readouterr()
    assert status == Exit.FINDING
    assert streams.out.startswith("failed: infiniband/mlx5_3/1 (down); 1 of ")
    assert "health changed" not in streams.err


def test_a_verdict_of_the_daemon_counts_though_its_link_is_gone(
    h100: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The state directory knows of it: silence clears nothing."""
    entry = {"identity": "0000:aa:00.0", "level": 3, "since": NOW_S, "sick": NOW_S, "relapses": 0, "reasons": {"down": [7, NOW_S, "down"]}}
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (tmp_path / "state").mkdir()
    kept = {"version": VERSION, "boot_id": boot_id, "links": {"infiniband/mlx5_77/1": entry, "nonsense": entry}}
    (tmp_path / f"state/{FILE}").write_text(json.dumps(kept))

    status = main(["check", *h100])

    assert status == Exit.FINDING
    assert capsys.readouterr().out.startswith("failed: infiniband/mlx5_77/1 (down)")


def test_a_machine_without_hardware_is_exit_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And says what it looked for."""
    status = main(["check", QUICK, f"--sysfs-root={tmp_path}", f"--state-dir={tmp_path}", f"--control-socket={tmp_path}/nobody.sock"])

    streams = capsys.readouterr()
    assert (status, streams.out) == (Exit.NO_HARDWARE, "unknown: no supported hardware\n")
    assert f"{tmp_path}/class/infiniband" in streams.err


def test_a_simulated_node_is_checked_in_virtual_time(capsys: pytest.CaptureFixture[str]) -> None:
    """No daemon of this machine is asked; it says that it is simulated."""
    status = main(["check", "--simulate=no-gpu-ib", "--json"])

    streams = capsys.readouterr()
    shown = json.loads(streams.out)
    assert (status, shown["by"], shown["simulated"], shown["level"]) == (Exit.OK, "own passes", True, "ok")
    assert streams.err == "simulated node: every line is invented, no hardware is read\n"


def test_a_scenario_is_run_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is found then is the answer."""
    story = tmp_path / "down.yaml"
    story.write_text('node: no-gpu-ib\nduration: 20m\nfaults:\n  - {at: 15m, kind: down, link: "infiniband/mlx5_0/1"}\n')

    status = main(["check", f"--simulate=no-gpu-ib,scenario={story}"])

    assert status == Exit.FINDING
    assert capsys.readouterr().out.startswith("failed: infiniband/mlx5_0/1 (down)")


def test_colour_is_for_a_terminal_and_never_where_it_is_not_wanted(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR and a dumb terminal have none."""
    shown: list[bool] = []
    with answering(place, told(WELL)):
        for terminal, no_colour, term in ((False, "", "xterm"), (True, "", "xterm"), (True, "1", "xterm"), (True, "", "dumb")):
            monkeypatch.setattr("sys.stdout.isatty", lambda terminal=terminal: terminal)
            monkeypatch.setenv("NO_COLOR", no_colour)
            monkeypatch.setenv("TERM", term)
            main(["check", f"--control-socket={place}"])
            shown.append("\x1b[" in capsys.readouterr().out)

    assert shown == [False, True, False, False]


def test_a_level_that_is_none_is_a_mistake_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """One line."""
    assert main(["check", "--fail-on=ok"]) == Exit.USAGE
    assert capsys.readouterr().err.count("\n") == 1
