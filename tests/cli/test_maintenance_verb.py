"""`fabric-exporter maintenance`: what is asked of the daemon, what the daemon makes of it, and what both refuse."""

import os
from pathlib import Path

import pytest

from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.cli.maintenance_switch import switched_off, switched_on
from exporter.model.maintenance import REASON_LENGTH_MAX, Maintenance
from exporter.runtime.maintenance_file import MaintenanceFile
from tests.cli.control_socket import answer, answering

NOW_S = 1_772_388_000.0


@pytest.fixture
def file(tmp_path: Path) -> MaintenanceFile:
    """Not there yet."""
    return MaintenanceFile(str(tmp_path / "maintenance"))


@pytest.mark.parametrize(("words", "path"), [
    (["on"], "/maintenance/on"),
    (["on", "--for=2h", "--reason=swap optics & fans"], "/maintenance/on?for=2h&reason=swap+optics+%26+fans"),
    (["off"], "/maintenance/off"),
])  # fmt: skip
def test_one_post_carries_the_words(words: list[str], path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the daemon's line is shown."""
    place = tmp_path / "control.sock"
    with answering(place, answer("200 OK", b"so it is\n")) as requests:
        status = main(["maintenance", *words, f"--control-socket={place}"])

    assert (status, capsys.readouterr()) == (Exit.OK, ("so it is\n", ""))
    assert requests[0].startswith(f"POST {path} HTTP/1.1\r\n".encode())


@pytest.mark.parametrize("words", [
    ["on", "--for=2"], ["on", "--for=0s"], ["on", "--for=367d"], ["on", "--reason=until: tomorrow"],
    ["on", f"--reason={'x' * (REASON_LENGTH_MAX + 1)}"], ["off", "--for=2h"], ["perhaps"], [],
])  # fmt: skip
def test_a_mistake_is_one_line_and_asks_nobody(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2."""
    assert main(["maintenance", *words, "--control-socket=/nowhere/control.sock"]) == Exit.USAGE
    assert capsys.readouterr().err.count("\n") == 1


def test_without_a_daemon_nothing_is_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, and the line says where it looked."""
    assert main(["maintenance", "on", f"--control-socket={tmp_path}/nobody.sock"]) == Exit.FINDING
    assert f"no daemon listens on {tmp_path}/nobody.sock" in capsys.readouterr().err


def test_it_begins_and_ends(file: MaintenanceFile) -> None:
    """With reason and end, as the file then says."""
    begun = switched_on(file, {"for": "2h", "reason": " swap\n optics "}, NOW_S)
    meanwhile = file.at(NOW_S)
    ended = switched_off(file, NOW_S)

    assert (begun, ended) == ((True, "maintenance is on for 2h"), (True, "maintenance is off"))
    assert meanwhile == Maintenance(is_active=True, reason="file: swap optics", until_wall_s=NOW_S + 7200)
    assert file.at(NOW_S) == Maintenance()


def test_it_ends_by_itself(file: MaintenanceFile) -> None:
    """When its time is over."""
    switched_on(file, {"for": "90s"}, NOW_S)

    assert [file.at(NOW_S + after_s).is_active for after_s in (0, 89, 91)] == [True, True, False]


@pytest.mark.parametrize("query", [
    {"for": "2"}, {"for": "0s"}, {"for": "9999999w"}, {"fro": "2h"}, {"reason": "x" * 300}, {"reason": "Until: x"},
])  # fmt: skip
def test_what_is_not_understood_begins_nothing(query: dict[str, str], file: MaintenanceFile) -> None:
    """A mistyped word must not make maintenance without an end."""
    answer = switched_on(file, query, NOW_S)

    assert not answer.ok
    assert answer.text.startswith("maintenance was not begun: ")
    assert not os.path.exists(file.path)


def test_a_file_that_cannot_be_written_is_refused_with_its_path(tmp_path: Path) -> None:
    """And with the options that name another."""
    (tmp_path / "taken").write_text("")
    file = MaintenanceFile(f"{tmp_path}/taken/maintenance")

    answers = [switched_on(file, {}, NOW_S), switched_off(file, NOW_S)]

    assert [answer.ok for answer in answers] == [False, False]
    assert all(f"cannot write {file.path}: Not a directory; see state.dir" in answer.text for answer in answers)
