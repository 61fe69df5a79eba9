"""A recording played through health gives the transitions of the night itself: same links, same times, same evidence."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.recorder.store import Bounds
from exporter.recorder.writer import Options
from exporter.runtime.health import HealthSettings
from exporter.runtime.recorded_health import settings_in
from exporter.runtime.replay import Replayed, replayed
from tests.recorder.recorded import Tape, Transition, opened, record, transition

NIGHT = """\
node: hgx-h100
duration: 75m
seed: 5
traffic:
  - {from: 0s, to: 75m, pattern: training, step: 8s, communication: 1.2s}
faults:
  - {at: 3m, until: 9m, kind: rate, link: infiniband/mlx5_3/1, to: "200 Gb/sec (4X HDR)"}
  - {at: 4m, kind: counter_rate, link: nvlink/gpu5/7, counter: crc, per_second: 120}
  - {at: 6m, kind: flap, link: infiniband/mlx5_1/1, period: 40s, count: 5}
  - {at: 12m, until: 14m, kind: hang, source: pcie}
  - {at: 16m, kind: xid, device: gpu2, xid: 74, port: 3}
  - {at: 18m, kind: clock_jump, by: 2h}
  - {at: 22m, until: 23m, kind: exporter_restart}
  - {at: 24m, until: 26m, kind: maintenance}
  - {at: 28m, kind: unplug, device: mlx5_6}
  - {at: 40m, until: 43m, kind: reboot, links_after: 2m}
  - {at: 62m, until: 64m, kind: down, link: infiniband/mlx5_2/1}
"""
SMALL = """\
node: no-gpu-ib
duration: 30m
seed: 3
faults:
  - {at: 2m, until: 4m, kind: width, link: infiniband/mlx5_0/1, to: 1}
  - {at: 14m, kind: down, link: infiniband/mlx5_1/1}
"""


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tape, Path]:
    """A night with many faults, restarts and a reboot, recorded once."""
    path = tmp_path_factory.mktemp("night") / "recording.sqlite"
    return record(NIGHT, path), path


def looks(path: Path, from_s: float = 0.0, to_s: float = float("inf")) -> list[Replayed]:
    """Every look of the replay."""
    recording = opened(path)
    found = list(replayed(recording, from_s, to_s))
    recording.close()
    return found


def transitions(found: list[Replayed]) -> list[Transition]:
    """Its changes, as the tape kept the live ones."""
    return [transition(one.monotonic_s, *change) for one in found for change in one.changes]


def test_a_replay_says_what_was_said_live(night: tuple[Tape, Path]) -> None:
    """Over a restart of the exporter, a reboot of the node, a hang and a clock that jumped."""
    tape, path = night

    found = looks(path)

    assert len({link for _, link, *_ in tape.live}) >= 6
    assert transitions(found) == tape.live
    assert all(one.is_whole for one in found)


def test_the_night_has_its_events(night: tuple[Tape, Path]) -> None:
    """Of each kind, in the file as in memory; raw numbers tell what the counters did."""
    tape, path = night
    recording = opened(path)
    kept = [event for _, event in recording.events()]
    spans = recording.spans()
    recording.close()
    flap = next(event for event in kept if event.kind == "flap")
    xid = next(event for event in kept if event.kind == "xid")

    assert kept == tape.events
    assert {event.kind.value for event in kept} >= {"health", "flap", "fault", "xid", "maintenance", "grace"}
    assert flap.link == "infiniband/mlx5_1/1"
    assert {"fabric_infiniband_state_id", "fabric_infiniband_link_downed_total"} <= {one["series"] for one in flap.facts["numbers"]}  # type: ignore[index, union-attr]
    assert (xid.link, xid.facts["code"], xid.facts["before"], xid.facts["after"]) == ("nvlink/gpu2/3", "74", 0, 1)
    assert [span.starts for span in spans] == [2, 1]
    assert all(span.lost == 0 for span in spans)


def test_a_part_of_the_night_is_played_from_its_beginning(night: tuple[Tape, Path]) -> None:
    """Health knows what it knew then: what came before is played and not told."""
    tape, path = night
    at_s = next(one for one in tape.live if "mlx5_6" in one[1])[0]
    whole = looks(path)
    moment = next(one.wall_s for one in whole if one.monotonic_s == at_s)

    part = looks(path, moment - 60.0, moment + 60.0)

    assert transitions(part) == [one for one in tape.live if at_s - 60.0 <= one[0] <= at_s + 60.0]
    assert all(one.is_whole for one in part)


def test_a_recording_whose_beginning_has_left_says_so(tmp_path: Path) -> None:
    """It starts from what health remembered there, as after a restart."""
    path = tmp_path / "recording.sqlite"
    record(SMALL, path)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM rows WHERE id IN (SELECT id FROM rows ORDER BY id LIMIT 30)")
    db.close()

    found = looks(path)

    assert found[0].problem == "the beginning of this life is not in the recording"
    assert not any(one.is_whole for one in found)
    assert any("mlx5_1" in link and after == "3 None" for _, link, _, after, _ in transitions(found))


def test_a_recording_of_the_last_hours_starts_from_what_was_known(tmp_path: Path) -> None:
    """Each chapter tells which links were not well, and what ports had proved: a link that failed before is not forgotten."""
    path = tmp_path / "recording.sqlite"
    tape = record(SMALL.replace("duration: 30m", "duration: 100m"), path)
    with sqlite3.connect(path) as db:
        last = db.execute("SELECT max(id) FROM chapters").fetchone()[0]
        db.execute("DELETE FROM rows WHERE chapter < ?", (last,))
    db.close()
    live_failed = {link for _, link, _, after, _ in tape.live if after == "3 None"}

    recording = opened(path)
    memory = recording.life(recording.chapters()[-1]).memory
    recording.close()
    found = looks(path)

    assert last == 2
    assert set(memory["verdicts"]["links"]) == live_failed == {"infiniband/mlx5_1/1"}  # type: ignore[index, call-overload]
    assert not found[0].is_whole
    assert "0 None" not in {after for _, link, _, after, _ in transitions(found) if link in live_failed}


def test_lost_ticks_are_said_where_they_are_missing(tmp_path: Path) -> None:
    """A replay goes on, and is not whole from there."""
    path = tmp_path / "recording.sqlite"
    record(SMALL, path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE rows SET lost = 7 WHERE id = 10")
    db.close()

    found = looks(path)
    broken = [one for one in found if one.problem]

    assert [one.problem for one in broken] == ["7 ticks are missing before this one"]
    assert [one.is_whole for one in found] == [one.monotonic_s < broken[0].monotonic_s for one in found]


def test_another_threshold_may_be_asked_what_it_would_have_said(tmp_path: Path) -> None:
    """The settings of the night are in the recording; a caller may change them."""
    path = tmp_path / "recording.sqlite"
    record(SMALL, path)

    def patient(settings: HealthSettings) -> HealthSettings:
        return replace(settings, thresholds=replace(settings.thresholds, down_passes=8.0))

    recording = opened(path)
    later = [one.monotonic_s for one in replayed(recording, settings_of=patient) for change in one.changes
             if change.after.level == 3]  # fmt: skip
    sooner = [one.monotonic_s for one in replayed(recording) for change in one.changes if change.after.level == 3]
    recording.close()

    assert later[0] > sooner[0]


def test_rows_of_a_bound_that_bit_still_replay(tmp_path: Path) -> None:
    """A recording that is cut at its front by its size reads on."""
    path = tmp_path / "recording.sqlite"
    record(SMALL, path, options=Options(60.0, Bounds(16_000_000, 600.0)))

    found = looks(path)

    assert found
    assert found[0].problem
    assert 600.0 <= found[-1].monotonic_s - found[0].monotonic_s <= 1000.0


@pytest.mark.parametrize("words", [
    {}, {"thresholds": []}, {"thresholds": {"grace_s": "long"}, "ports": {}, "tick_bytes": None, "left_out": []},
    {"thresholds": {}, "ports": {"a": {"is_up": True}}, "tick_bytes": None, "left_out": []},
])  # fmt: skip
def test_settings_of_a_stranger_that_make_no_sense_are_a_value_error(words: dict[str, object]) -> None:
    """One line, no traceback."""
    with pytest.raises(ValueError, match="settings of a chapter make no sense"):
        settings_in(words)


def test_settings_of_another_version_have_our_defaults_where_it_names_none() -> None:
    """And what it names beyond ours is not looked at."""
    words = {"thresholds": {"grace_s": 5, "of_next_year": 1}, "ports": {}, "tick_bytes": 32, "left_out": ["flaps"]}

    settings = settings_in(words)

    assert (settings.thresholds.grace_s, settings.tick_bytes, settings.left_out) == (5.0, 32, ["flaps"])
    assert settings.thresholds.hold_s == HealthSettings().thresholds.hold_s
