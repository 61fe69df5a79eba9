"""`recordings list|export|replay`: what is printed of a recording, and what of none."""

import csv
import io
import json
import os
import sqlite3
from pathlib import Path

import pytest

from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.recorder.schema import FILE, VERSION
from tests.recorder.recorded import Tape, record

STORY = """\
node: no-gpu-ib
duration: 15m
seed: 3
faults:
  - {at: 2m, until: 4m, kind: width, link: infiniband/mlx5_0/1, to: 1}
  - {at: 6m, kind: flap, link: infiniband/mlx5_1/1, period: 40s, count: 2}
"""
START_S = 1_800_003_600


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    """Fifteen minutes of a small node."""
    return record(STORY, tmp_path_factory.mktemp("recorded") / FILE)


@pytest.fixture
def place(tape: Tape) -> str:
    """Its file."""
    return tape.writer.path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit status, standard output, standard error."""
    status = main(["recordings", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def lines(text: str) -> list[dict[str, object]]:
    """JSON Lines."""
    return [json.loads(line) for line in text.splitlines()]


def test_the_list_tells_boots_times_and_sizes(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line each; by the folder as well as by the file."""
    status, out, _ = printed(capsys, "list", "--recordings", place)
    by_folder = printed(capsys, "list", f"--recordings={os.path.dirname(place)}")

    assert status == Exit.OK
    assert by_folder == (Exit.OK, out, "")
    assert "90 rows" in out
    assert "2027-01-15T09:00:00.000Z to 2027-01-15T09:14:55.000Z; 90 rows, 180 ticks, " in out
    assert out.rstrip().endswith("1 starts of health")


def test_the_list_as_json(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for programs."""
    document = json.loads(printed(capsys, "list", "--json", "--recordings", place)[1])

    assert document["size_bytes"] == os.stat(place).st_size
    assert [(boot["rows"], boot["ticks"], boot["lost"], boot["starts"]) for boot in document["boots"]] == [(90, 180, 0, 1)]


def test_an_export_holds_every_number_by_its_public_name(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A header, the ticks in metric names and base units, the events."""
    status, out, err = printed(capsys, "export", "--recordings", place)
    header, *rest = lines(out)
    ticks = [line["tick"] for line in rest if "tick" in line]
    events = [line["event"] for line in rest if "event" in line]
    readings = [reading for one in ticks[0]["passes"] for reading in one["readings"] if reading.get("device") == "mlx5_0"]  # type: ignore[index]
    values = {name: value for reading in readings for name, value in reading["values"].items()}

    assert (status, err) == (Exit.OK, "")
    assert (header["recording"], header["schema"]) == ("fabric-exporter", VERSION)
    assert len(ticks) == 180
    assert values["fabric_infiniband_rate_bytes_per_second"] == 12_500_000_000
    assert 'fabric_infiniband_hw_events_total{event="packet_seq_err"}' in values
    assert {"health", "flap"} <= {event["kind"] for event in events}  # type: ignore[index]
    assert all(event["boot_id"] for event in events)  # type: ignore[index]


@pytest.mark.parametrize(("words", "count"), [
    ((f"--from={START_S + 100}", f"--to={START_S + 109}"), 2),
    (("--from=2027-01-15T09:01:40Z", "--to=2027-01-15T09:01:49Z"), 2),
    ((f"--to={START_S}",), 1),
])  # fmt: skip
def test_a_span_is_cut_to_the_tick(place: str, words: tuple[str, ...], count: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Though rows are longer."""
    _, out, _ = printed(capsys, "export", "--recordings", place, *words)

    assert sum("tick" in line for line in lines(out)) == count


@pytest.mark.parametrize("words", [("--from", "4000000000"), ("--to", "-99999h"), ("--from", "-2h", "--to", "-2h")])
def test_an_empty_span_is_no_mistake(place: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """The header, a note, exit 0."""
    status, out, err = printed(capsys, "export", "--recordings", place, *words)

    assert status == Exit.OK
    assert len(lines(out)) == 1
    assert err == "nothing was recorded in that time; fabric-exporter recordings list shows what is there\n"


def test_csv_has_a_line_for_each_number(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels within a series' name are quoted as CSV wants it."""
    _, out, _ = printed(capsys, "export", "--format=csv", f"--to={START_S}", "--recordings", place)
    rows = list(csv.DictReader(io.StringIO(out)))

    assert {"time": "2027-01-15T09:00:00.000Z", "source": "infiniband", "fabric": "infiniband", "device": "mlx5_0", "port": "1",
            "series": "fabric_infiniband_state_id", "value": "4"} in rows  # fmt: skip
    assert any(row["series"].startswith('fabric_infiniband_hw_events_total{event="') for row in rows)


def test_a_file_is_written_whole_or_not_at_all(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a folder that is not there is one line."""
    target = tmp_path / "night.jsonl"

    status = main(["recordings", "export", "--recordings", place, "--output", str(target)])
    refused, _, err = printed(capsys, "export", "--recordings", place, "--output", str(tmp_path / "nowhere/night.jsonl"))

    assert status == Exit.OK
    assert len(lines(target.read_text())) > 180
    assert os.listdir(tmp_path) == ["night.jsonl"]
    assert refused == Exit.OUTPUT
    assert "nowhere/night.jsonl: No such file or directory" in err


def test_a_replay_prints_the_night(tape: Tape, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each change of a verdict, a summary last; nothing of it in the log."""
    status, out, err = printed(capsys, "replay", "--recordings", place)
    *changes, summary = lines(out)

    assert (status, err) == (Exit.OK, "")
    assert [(line["monotonic"], line["link"]) for line in changes] == [(now_s, link) for now_s, link, *_ in tape.live]
    assert summary["summary"] == {"ticks": 180, "transitions": len(tape.live), "is_whole": True}


def test_a_row_that_is_broken_costs_itself(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest is printed; exit 5 and a line say so."""
    path = tmp_path / FILE
    path.write_bytes(Path(place).read_bytes())
    with sqlite3.connect(path) as db:
        db.execute("UPDATE rows SET text = substr(text, 1, 60) WHERE id = 5")
    db.close()

    status, out, err = printed(capsys, "export", "--recordings", str(path))
    replay, _, told = printed(capsys, "replay", "--recordings", str(path))

    assert (status, replay) == (Exit.PARTIAL, Exit.PARTIAL)
    assert 170 <= sum("tick" in line for line in lines(out)) < 180
    assert err.startswith("not all of it could be read: the row of ")
    assert told.startswith("not the whole story: ")


@pytest.mark.parametrize(("content", "problem"), [
    (None, "there is no recording"), (b"text", "file is not a database"), (b"", "is no recording of fabric-exporter"),
])  # fmt: skip
def test_no_recording_is_one_line(tmp_path: Path, content: bytes | None, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 5: something could not be read."""
    if content is not None:
        (tmp_path / FILE).write_bytes(content)

    for action in ("list", "export", "replay"):
        status, out, err = printed(capsys, action, "--state-dir", str(tmp_path))

        assert (status, out) == (Exit.PARTIAL, "")
        assert err == f"fabric-exporter recordings: {tmp_path / FILE}: {problem}\n"


def test_a_later_versions_recording_is_refused(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not guessed at."""
    path = tmp_path / FILE
    path.write_bytes(Path(place).read_bytes())
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()

    status, _, err = printed(capsys, "list", "--recordings", str(path))

    assert status == Exit.PARTIAL
    assert f"a later version made it (layout {VERSION + 1}, this program reads {VERSION})" in err


@pytest.mark.parametrize("words", [
    ("export", "--from=yesterday"), ("export", "--from=2026-03-01T18:00:00"), ("replay", "--to=-2x"), ("export", "--format=pickle"),
    ("list", "--from=-2h"), ("export", "--from=-1h", "--to=-2h"), (),
])  # fmt: skip
def test_a_mistake_is_one_line(place: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2."""
    arguments = [*words, "--recordings", place] if words else []

    status, out, err = printed(capsys, *arguments)

    assert (status, out) == (Exit.USAGE, "")
    assert err.count("\n") == 1


def test_a_recording_in_a_folder_that_cannot_be_written_is_read(place: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A tarball that was unpacked on a read-only mount: SQLite may make no file beside it. Here the names of those are folders."""
    path = tmp_path / FILE
    path.write_bytes(Path(place).read_bytes())
    (tmp_path / f"{FILE}-shm").mkdir()

    status, out, _ = printed(capsys, "list", "--recordings", str(path))

    assert status == Exit.OK
    assert "90 rows" in out
