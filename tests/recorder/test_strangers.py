"""A recording of a stranger, or one that a bad disk changed: the commands say what they could read, and never fall over."""

import json
import random
import sqlite3
import zlib
from pathlib import Path

import pytest

from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.recorder.schema import FILE
from exporter.recorder.writer import Writer
from tests.recorder.recorded import record
from tests.recorder.ticks import LIFE, OPTIONS, event, tick

STORY = """\
node: no-gpu-ib
duration: 4m
seed: 3
faults:
  - {at: 1m, until: 2m, kind: width, link: infiniband/mlx5_0/1, to: 1}
"""
TIMES = 60
CHANGES = (
    "UPDATE rows SET text = 'a text'", "UPDATE rows SET text = x''",
    "UPDATE rows SET lost = 'many'",     "UPDATE rows SET first_wall_s = 'yesterday', last_wall_s = 'today'",
    "UPDATE rows SET chapter = 99",
    "UPDATE chapters SET document = x'00'",     "UPDATE chapters SET boot_id = x'ff', wall_s = 'a', monotonic_s = 'b'",
    "UPDATE layouts SET document = x'00'", "DELETE FROM layouts",     "DELETE FROM chapters", "UPDATE events SET document = '[]'",
    "UPDATE events SET wall_s = 'x', link = 7, kind = 'later'", "DROP TABLE events",     "ALTER TABLE rows DROP COLUMN lost",
    "UPDATE events SET chapter = 77",
    "UPDATE rows SET ticks = 1e300, lost = -5",     "DROP TABLE rows; CREATE VIEW rows AS SELECT 1 AS id",
    "UPDATE layouts SET number = number + 1000",
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Four minutes of a small node, as bytes."""
    path = tmp_path_factory.mktemp("whole") / FILE
    record(STORY, path)
    return path.read_bytes()


def statuses(path: Path, capsys: pytest.CaptureFixture[str]) -> set[int]:
    """How list, export and replay end; each must say something."""
    found = set()
    for action in ("list", "export", "replay"):
        found.add(main(["recordings", action, "--recordings", str(path)]))
        captured = capsys.readouterr()
        assert captured.out or captured.err
        assert "Traceback" not in captured.err
        assert "this is a bug" not in captured.err, captured.err
    return found


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_stands_in_the_tables_is_survived(whole: bytes, change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other types, other tables, numbers that no clock says."""
    path = tmp_path / FILE
    path.write_bytes(whole)
    db = sqlite3.connect(path)
    if "DROP COLUMN" not in change or sqlite3.sqlite_version_info >= (3, 35):
        db.executescript(change)
    db.close()

    assert statuses(path, capsys) <= {Exit.OK, Exit.PARTIAL}


def test_flipped_bytes_are_survived(whole: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Anywhere in the file, a few or many, or its end is missing."""
    chance = random.Random(11)  # noqa: S311  # chance, no secret
    path = tmp_path / FILE
    for number in range(TIMES):
        raw = bytearray(whole)
        for _ in range(chance.choice((1, 10, 300))):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        path.write_bytes(raw[: chance.randrange(1, len(raw))] if number % 7 == 0 else raw)

        assert statuses(path, capsys) <= {Exit.OK, Exit.PARTIAL}


@pytest.mark.parametrize(("key", "value"), [
    ("settings", {}), ("settings", None), ("memory", {"verdicts": 7, "ports": []}),
    ("memory", {"verdicts": {"links": {"x": 1}}, "ports": {}}),
    ("uptime_s", "long"), ("began_wall_s", None), ("boot_id", ["a"]), ("version", {}),
    ("settings", {"thresholds": {"grace_s": 1e400}, "ports": {"(": {"is_up": True, "speed": {}}}, "tick_bytes": 1, "left_out": []}),
])  # fmt: skip
def test_a_life_that_makes_no_sense_is_said(whole: bytes, key: str, value: object, tmp_path: Path,
                                            capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    """Or is played as far as it does."""
    path = tmp_path / FILE
    path.write_bytes(whole)
    db = sqlite3.connect(path)
    ((packed,),) = db.execute("SELECT document FROM chapters").fetchall()
    document = json.loads(zlib.decompress(packed)) | {key: value}
    db.execute("UPDATE chapters SET document = ?", (zlib.compress(json.dumps(document).encode()),))
    db.commit()
    db.close()

    assert statuses(path, capsys) <= {Exit.OK, Exit.PARTIAL}


def test_the_recorder_goes_on_over_flipped_bytes(whole: bytes, tmp_path: Path) -> None:
    """It records there, or puts the file aside and records in a new one; it never raises."""
    chance = random.Random(12)  # noqa: S311  # as above
    for number in range(TIMES):
        path = tmp_path / str(number) / FILE
        path.parent.mkdir()
        raw = bytearray(whole)
        for _ in range(chance.choice((1, 10, 300))):
            raw[chance.choice((chance.randrange(100), chance.randrange(len(raw))))] = chance.randrange(256)
        path.write_bytes(raw[: chance.randrange(1, len(raw))] if number % 7 == 0 else raw)
        writer = Writer(str(path), OPTIONS)
        writer.begin(LIFE)
        for at in range(8):
            writer.take(tick(at * 5.0), [event(at * 5.0)])
        writer.newest_events(100)
        writer.close()

        assert writer.figures.rows >= 3 or writer.figures.is_refused
