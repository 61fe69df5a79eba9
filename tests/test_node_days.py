"""Healthy node-days: what their schedules may hold, what counts as a false alarm, and the runner of `make node-days` on short pieces."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from exporter.simulator.fault_checks import problem_of
from exporter.simulator.profiles import PROFILES
from exporter.simulator.scenario import PlannedFault, Scenario
from exporter.simulator.scenario_outcome import Transition
from tests.node_days import results
from tests.node_days.__main__ import FOUND, OK, USAGE, main
from tests.node_days.code_digest import bare, digest
from tests.node_days.day import NodeDay, node_day, node_of
from tests.node_days.hours import DAY_S, WORK
from tests.node_days.noise import BIT_ERROR_RATIO, OWN_SYMBOL_ERRORS, apart
from tests.node_days.playing import FalseAlarm, false_alarms, play_day, unknown_s
from tests.node_days.report import report
from tests.node_days.upkeep import Event

DAYS = range(1, 55)
SMALLEST = "no-gpu-ib"
PORT = "infiniband/mlx5_0/1"
SMALL_DAY = next(number for number in DAYS if node_of(number) == SMALLEST)


@pytest.fixture(scope="module")
def days() -> list[NodeDay]:
    """Six days of each node."""
    return [node_day(number) for number in DAYS]


def record(day: int, *alarms: dict[str, Any], code: str = "", took_s: float = 100.0) -> dict[str, Any]:
    """A line of results of a whole day; of the present code unless told."""
    return {"day": day, "node": SMALLEST, "commit": "abc", "digest": code or digest(), "virtual_s": DAY_S, "took_s": took_s,
            "false_alarms": list(alarms), "unknown_s": {"grace": 7200.0}}  # fmt: skip


def alarm(reason: str) -> dict[str, Any]:
    """One false alarm as it stands in a line of results."""
    return {"t_s": 60.0, "at": "00:01:00", "link": PORT, "level": "failed", "reasons": [reason], "evidence": ["it is not up"]}


def written(file: Path, *records: dict[str, Any]) -> Path:
    """A file of these results."""
    file.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
    return file


def test_the_same_number_is_the_same_day() -> None:
    """Seed, node, traffic, events; another number is another day."""
    assert node_day(7) == node_day(7)
    assert node_day(7).scenario.seed != node_day(16).scenario.seed


def test_nine_days_are_one_of_each_node() -> None:
    """So that no node waits for its turn, however few days are played."""
    assert sorted(map(node_of, range(10, 19))) == sorted(PROFILES)


def test_every_event_can_be_done_to_its_node_and_traffic_has_no_hole(days: list[NodeDay]) -> None:
    """As a scenario file is checked."""
    for day in days:
        profile, parts = PROFILES[day.scenario.node], day.scenario.traffic

        assert [problem for fault in day.scenario.faults if (problem := problem_of(profile, fault))] == []
        assert [fault for fault in day.scenario.faults if fault.until_s is not None and fault.until_s < fault.at_s] == []
        assert [one.to_s for one in parts] == [*(one.from_s for one in parts[1:]), DAY_S]
        assert parts[0].from_s == 0


def test_days_hold_all_that_a_healthy_node_goes_through(days: list[NodeDay]) -> None:
    """Every kind of use and event that the target names comes in some of them."""
    uses = {use for day in days for use in day.uses}
    kinds = {fault.kind for day in days for fault in day.scenario.faults}

    assert uses == WORK | {"idle", "gap"}
    assert kinds >= {"reboot", "driver_reload", "exporter_restart", "clock_jump", "counter_reset", "maintenance", "pcie", "pause", "xid"}
    assert {fault.target for day in days for fault in day.scenario.faults if fault.kind == "driver_reload"} == {"mlx5_core", "nvidia"}


def test_a_piece_of_a_day_is_its_beginning(days: list[NodeDay]) -> None:
    """So that what a short run finds a whole one finds too."""
    piece = node_day(3, 6 * 3600.0).scenario

    assert piece.faults == tuple(fault for fault in days[2].scenario.faults if fault.at_s < 6 * 3600)
    assert piece.traffic == tuple(part for part in days[2].scenario.traffic if part.from_s < 6 * 3600)


def test_operations_end_before_the_next_one_and_before_a_job(days: list[NodeDay]) -> None:
    """A scheduler drains a node first: no flow of a job runs while a driver is loaded."""
    for day in days:
        operations = [fault for fault in day.scenario.faults if fault.kind in ("reboot", "driver_reload")]
        ends_s = [(fault.until_s or 0.0) + fault.number_of("links_after") for fault in operations]
        working = [part for part in day.scenario.traffic if any(flow.name.startswith(("gradients", "requests", "mixed compute"))
                                                                for flow in part.flows)]  # fmt: skip

        assert [fault for fault, end_s in zip(operations[1:], ends_s, strict=False) if fault.at_s < end_s] == []
        assert [fault for fault, end_s in zip(operations, ends_s, strict=True)
                if any(part.from_s < end_s and fault.at_s < part.to_s for part in working)] == []  # fmt: skip


def test_bit_errors_stay_below_the_budget_of_their_link(days: list[NodeDay]) -> None:
    """Half of it in a day, those of the simulator's healthy port included; links that may have fewer than those get none."""
    for day in days:
        for hca in PROFILES[day.scenario.node].hcas:
            errors = [fault for fault in day.scenario.faults
                      if fault.values.get("counter") == "symbol_error" and fault.target.split("/")[1] == hca.name]  # fmt: skip

            assert not errors or len(errors) + OWN_SYMBOL_ERRORS <= 0.5 * BIT_ERROR_RATIO * 8 * hca.line_bytes_per_s * DAY_S


MARKS_OF_DAY_27 = ("ecn", "roce/mlx5_8/1")


def test_no_two_pressures_of_one_kind_lie_over_each_other() -> None:
    """Two spells of marks, each below the limit, added up to 1.18 % on day 27: no healthy day, and the alarm was right."""
    spells = [Event("ecn", 0.0, 10.0, "roce/a/1"), Event("ecn", 5.0, 15.0, "roce/a/1"), Event("ecn", 5.0, 15.0, "roce/b/1"),
              Event("pause", 5.0, 15.0, "roce/a/1", {"direction": "receive"}), Event("ecn", 10.0, 20.0, "roce/a/1")]  # fmt: skip
    marks = sorted(
        (fault.at_s, fault.until_s or 0.0) for fault in node_day(27).scenario.faults if (fault.kind, fault.target) == MARKS_OF_DAY_27
    )

    assert list(apart(spells)) == [spells[0], *spells[2:]]
    assert [(one, after) for one, after in pairwise(marks) if one[1] > after[0]] == []


def test_a_planted_fault_is_counted_as_an_alarm() -> None:
    """A port that goes down for good in the midst of a healthy piece is written down with link, reason, evidence and time."""
    piece = node_day(SMALL_DAY, 600.0)
    down = PlannedFault(len(piece.scenario.faults), "down", 300.0, target=PORT)
    healthy, ill = play_day(piece), play_day(replace(piece, scenario=replace(piece.scenario, faults=(*piece.scenario.faults, down))))

    assert healthy.false_alarms == ()
    assert [(one.link, one.level, one.reasons) for one in ill.false_alarms] == [(PORT, "failed", ("down",))]
    assert 300 < ill.false_alarms[0].t_s <= 320
    assert ill.false_alarms[0].evidence != ("",)


def test_a_run_that_was_broken_off_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Days that are there are not played again, a line that broke off is; then nothing is left to do."""
    file = tmp_path / "results.jsonl"
    asked = ["--first", str(SMALL_DAY), "--minutes", "2", "--jobs", "1", "--results", str(file)]
    first = main([*asked, "--days", "1"])
    with file.open("a", encoding="utf-8") as out:
        out.write('{"day": 2, "se')
    capsys.readouterr()
    second = main([*asked, "--days", "2"])
    said = capsys.readouterr().out
    third = main([*asked, "--days", "2"])

    assert (first, second, third) == (OK, OK, OK)
    assert [json.loads(line)["day"] for line in file.read_text(encoding="utf-8").splitlines()] == [SMALL_DAY, SMALL_DAY + 1]
    assert "1 of 2 days are there already" in said
    assert f"ok    day {SMALL_DAY + 1} {node_of(SMALL_DAY + 1)}" in said
    assert f"day {SMALL_DAY} {SMALLEST}" not in said
    assert "2 of 2 days are there already" in capsys.readouterr().out


def test_processes_play_what_one_plays(tmp_path: Path) -> None:
    """Only times of the real clock differ, and the digest if somebody writes code meanwhile."""
    files = tmp_path / "one", tmp_path / "two"
    for jobs, file in enumerate(files, 1):
        assert main(["--days", "2", "--minutes", "1", "--jobs", str(jobs), "--results", str(file)]) == OK
    one, two = ({line["day"]: {**line, "took_s": 0, "digest": ""} for line in results.read(file)} for file in files)

    assert one == two


def test_a_false_alarm_among_the_days_asked_for_is_status_1(tmp_path: Path) -> None:
    """Also one that was found before; not one of other days or other code."""
    file = written(tmp_path / "results", record(1), record(2, alarm("down")), record(1, alarm("down"), code="other"))

    assert main(["--days", "1", "--results", str(file)]) == OK
    assert main(["--days", "2", "--results", str(file)]) == FOUND


def test_days_of_other_code_or_length_are_not_done() -> None:
    """A changed rule asks for all of them anew."""
    known = [record(1), record(2, code="other"), record(3) | {"virtual_s": 60.0}]

    assert results.done(known, digest(), DAY_S) == {1}


def test_a_line_that_is_no_result_is_told_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs that wrote at once, or an editor."""
    file = tmp_path / "results"
    file.write_text(f"{json.dumps(record(1))}\n[]\n", encoding="utf-8")

    assert main(["--days", "1", "--results", str(file)]) == USAGE
    assert f"{file}:2: this is no result of a node-day" in capsys.readouterr().err


def test_the_report_compares_versions() -> None:
    """Days, false alarms by reason and the median speed of each; the alarms of the present one."""
    known = [record(1, alarm("flaps"), code="older", took_s=200), record(1), record(2, alarm("down"), alarm("down"), took_s=50)]
    lines = report(known, digest()).splitlines()

    assert [line.split()[0] for line in lines[1:3]] == ["older", f"*{digest()}"]
    assert "1 (flaps 1)" in lines[1]
    assert "432 ×" in lines[1]
    assert "2 (down 2)" in lines[2]
    assert lines[-1] == f"day 2 ({SMALLEST}) 00:01:00 {PORT} failed: down: it is not up"


def test_a_report_without_results_says_so() -> None:
    """Before the first run."""
    assert report([], digest()) == "no node-day was played yet"


def test_an_alarm_is_each_new_reason_of_a_link() -> None:
    """What stays, and what falls level by level, is none; a reason that comes back is."""
    found = false_alarms([
        Transition(10.0, PORT, "ok", "unknown", unknown="grace"),
        Transition(20.0, PORT, "unknown", "suspect", ("congested",), ("held back",)),
        Transition(30.0, PORT, "suspect", "failed", ("down", "congested"), ("it is not up", "held back")),
        Transition(40.0, PORT, "failed", "suspect"),
        Transition(50.0, PORT, "suspect", "ok"),
        Transition(60.0, PORT, "ok", "suspect", ("congested",), ("again",)),
    ])  # fmt: skip

    assert found == (
        FalseAlarm(20.0, PORT, "suspect", ("congested",), ("held back",)),
        FalseAlarm(30.0, PORT, "failed", ("down",), ("it is not up",)),
        FalseAlarm(60.0, PORT, "suspect", ("congested",), ("again",)),
    )


def test_unknown_seconds_end_with_the_life_of_an_exporter() -> None:
    """One that is killed says nothing more; the next says it anew."""
    scenario = Scenario(SMALLEST, 1000.0, faults=(PlannedFault(0, "exporter_restart", 300.0, 400.0),))
    found = unknown_s(scenario, [
        Transition(100.0, PORT, "ok", "unknown", unknown="grace"),
        Transition(150.0, PORT, "unknown", "unknown", unknown="stale"),
        Transition(900.0, PORT, "ok", "unknown", unknown="grace"),
    ])  # fmt: skip

    assert found == {"grace": 50.0 + 100.0, "stale": 150.0}


def test_remarks_make_no_other_code() -> None:
    """Two hours of node-days outlive a better docstring, and no changed threshold."""
    code = 'def ok(x):\n    """Whether."""\n    return x > 3\n'

    assert bare(code) == bare("def ok(x): return x > 3  # enough\n")
    assert bare(code) != bare(code.replace("3", "4"))
