"""The maintenance file: somebody works on the node."""

import os
from pathlib import Path

import pytest

from exporter.model.maintenance import Maintenance
from exporter.runtime.maintenance_file import MaintenanceFile

NOW_S = 1_772_366_400.0
"""2026-03-01T12:00:00Z."""


@pytest.fixture
def file(tmp_path: Path) -> MaintenanceFile:
    """A file that is not there yet."""
    return MaintenanceFile(str(tmp_path / "maintenance"))


def test_no_file_is_no_maintenance(file: MaintenanceFile) -> None:
    """And no problem."""
    assert (file.at(NOW_S), file.problem) == (Maintenance(), None)


@pytest.mark.parametrize(
    ("content", "reason", "until_s"),
    [
        ("", "file", None),
        ("new cables\n", "file: new cables", None),
        ("until: 2026-03-01T13:00:00Z\n", "file", NOW_S + 3600.0),
        ("new cables\nuntil: 2026-03-01T13:00:00+00:00\n", "file: new cables", NOW_S + 3600.0),
    ],
)
def test_a_file_says_that_somebody_works_on_the_node(file: MaintenanceFile, content: str, reason: str, until_s: float | None) -> None:
    """Its presence; a line until when, and one why."""
    Path(file.path).write_text(content)

    assert (file.at(NOW_S), file.problem) == (Maintenance(is_active=True, reason=reason, until_wall_s=until_s), None)


def test_its_time_ends_by_itself(file: MaintenanceFile) -> None:
    """Though the file is still there."""
    Path(file.path).write_text("until: 2026-03-01T13:00:00Z\n")

    assert [file.at(NOW_S + later_s).is_active for later_s in (0.0, 3599.0, 3600.0, 9999.0, 10.0)] == [True, True, False, False, True]


def test_a_change_is_seen_at_the_next_look(file: MaintenanceFile) -> None:
    """Another text, another file in its place, none."""
    Path(file.path).write_text("a")
    reasons = [file.at(NOW_S).reason]
    Path(file.path).write_text("bb")
    reasons.append(file.at(NOW_S).reason)
    Path(file.path + "-new").write_text("cc")
    os.replace(file.path + "-new", file.path)
    reasons.append(file.at(NOW_S).reason)
    os.unlink(file.path)
    reasons.append(file.at(NOW_S).reason)

    assert reasons == ["file: a", "file: bb", "file: cc", ""]


def test_a_file_that_cannot_be_read_counts_and_is_named(file: MaintenanceFile) -> None:
    """Whoever made it meant something by it; once it may be read it is."""
    Path(file.path).symlink_to(Path(file.path).parent / "target")
    Path(file.path).with_name("target").mkdir()
    as_folder = file.at(NOW_S).is_active, file.problem
    Path(file.path).with_name("target").rmdir()
    Path(file.path).with_name("target").write_text("why")

    assert as_folder == (True, f"{file.path}: is no regular file; the node counts as in maintenance until it is removed")
    assert (file.at(NOW_S).reason, file.problem) == ("file: why", None)


def test_a_pipe_does_not_hold_the_sampler(file: MaintenanceFile) -> None:
    """Opening one waits for a writer, for ever."""
    os.mkfifo(file.path)

    assert file.at(NOW_S).is_active
    assert "is no regular file" in (file.problem or "")


def test_a_time_that_cannot_be_read_is_no_end_and_is_said(file: MaintenanceFile) -> None:
    """Silence where somebody wanted it, and a line that tells what was expected."""
    Path(file.path).write_text("until: tomorrow\n")

    assert (file.at(NOW_S).is_active, file.at(NOW_S).until_wall_s) == (True, None)
    assert "expected a time with its zone" in (file.problem or "")


def test_a_large_file_is_read_in_part(file: MaintenanceFile) -> None:
    """A log that was put in its place."""
    Path(file.path).write_bytes(b"\xff\n" * 1_000_000)

    assert file.at(NOW_S).is_active


@pytest.mark.parametrize(
    ("for_s", "reason", "shown"),
    [
        (None, "", Maintenance(is_active=True, reason="file")),
        (None, "new cables", Maintenance(is_active=True, reason="file: new cables")),
        (3600.0, "new cables", Maintenance(is_active=True, reason="file: new cables", until_wall_s=NOW_S + 3600.0)),
        (3600.0, "two\nlines", Maintenance(is_active=True, reason="file: two lines", until_wall_s=NOW_S + 3600.0)),
        (60.0, "until: 2099-01-01T00:00:00Z", Maintenance(is_active=True, reason="file", until_wall_s=NOW_S + 60.0)),
    ],
)
def test_what_begins_is_what_is_seen(file: MaintenanceFile, for_s: float | None, reason: str, shown: Maintenance) -> None:
    """A reason cannot change the end that was asked for."""
    said = file.begin(NOW_S, for_s, reason)

    assert file.at(NOW_S) == shown
    assert said.startswith("maintenance is on")


def test_it_ends_once(file: MaintenanceFile) -> None:
    """Nothing to end is said, and no error."""
    file.begin(NOW_S, None, "")
    said = [file.end(), file.end()]

    assert said == ["maintenance is off", "maintenance was not on; nothing to do"]
    assert not file.at(NOW_S).is_active


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """For who asked."""
    with pytest.raises(OSError, match="No such file"):
        MaintenanceFile(str(tmp_path / "gone" / "maintenance")).begin(NOW_S, None, "")


def test_what_is_wrong_with_a_file_is_logged_once(file: MaintenanceFile, caplog: pytest.LogCaptureFixture) -> None:
    """Not at each tick, and again only when somebody changed it."""
    Path(file.path).write_text("until: tomorrow\n")
    for _ in range(3):
        file.at(NOW_S)

    assert [record.getMessage() for record in caplog.records] == [file.problem]
