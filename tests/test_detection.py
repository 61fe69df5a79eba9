"""The runner of `make detection`: its arithmetic on stand-in outcomes, a quick selection of real scenarios, and the library's labels."""

import re
from pathlib import Path

import pytest

from exporter.simulator.scenario import Expected, PlannedFault, Scenario
from exporter.simulator.scenario_outcome import Met, Outcome
from tests.detection.__main__ import MISSED, OK, USAGE, line, main, table
from tests.detection.figures import PCIE, RAIL, SLOW_STATE, STATE, STORMS, Figure, class_of, complaints, detections, figures_of, wrong_links
from tests.detection.library import FOLDER, Entry, by_rule, read, scenario_files, unknown_labels
from tests.detection.playing import Played, Task, play_all

PORT, OTHER = "infiniband/mlx5_0/1", "infiniband/mlx5_1/1"
DOWN = PlannedFault(0, "down", 60.0, target=PORT)
QUICK = ("02-unprovisioned-port-is-unknown", "06-domain-that-does-not-apply", "10-ports-by-what-the-node-has",
         "11-drop-is-held-after-recovery")  # fmt: skip


def played(*expect: Expected, after_s: float | None = 10.0, faults: tuple[PlannedFault, ...] = (DOWN,), broken: tuple[str, ...] = (),
           raised: tuple[str, ...] = (PORT,)) -> Played:  # fmt: skip
    """What became of a stand-in scenario in which every expectation was met after so long."""
    scenario = Scenario("no-gpu-ib", 600.0, faults=faults, expect=expect)
    met = tuple(Met(number, expected.link, after_s) for number, expected in enumerate(expect))
    return Played("stand-in", scenario, Outcome(met, broken, raised, ()), 0.1)


def failed(reason: str = "down", link: str = PORT) -> Expected:
    """A link must fail within a minute."""
    return Expected(link, "failed", 60.0, reason)


def verdicts(*plays: Played) -> dict[str, bool]:
    """Whether each target is reached."""
    return {figure.what: figure.passed for figure in figures_of(plays)}


def measured(what: str, *plays: Played) -> str:
    """What one figure says."""
    return next(figure.measured for figure in figures_of(plays) if figure.what == what)


@pytest.fixture(scope="module")
def library() -> list[Entry]:
    """Every scenario, read."""
    return read(scenario_files())


def test_every_scenario_reads_and_has_a_title(library: list[Entry]) -> None:
    """A scenario with a mistake raises while it is read."""
    assert library
    assert [entry.name for entry in library if not entry.scenario.title] == []


def test_a_row_of_public_reports_carries_its_thread(library: list[Entry]) -> None:
    """Those that begin with a number name owner, repository and issue, or the repository where the thread is all of it."""
    rows = [entry for entry in library if re.match(r"\d\d-", entry.name)]

    assert rows
    assert [entry.name for entry in rows if not re.search(r"[\w-]+#\d+", entry.scenario.reference)] == []


def test_every_label_is_a_rule_and_every_rule_is_a_label(library: list[Entry]) -> None:
    """So that `make detection WITHOUT=RULE` has something to fail on."""
    assert unknown_labels(library) == []
    assert [rule for rule, entries in by_rule(library).items() if not entries] == []


def test_a_scenario_of_a_fault_or_of_silence_asks_for_something(library: list[Entry]) -> None:
    """One without `expect` and `silent` could not fail."""
    assert [entry.name for entry in library if not entry.scenario.expect and not entry.scenario.silent] == []


def test_a_quick_selection_is_found_with_a_seed_never_used_before(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way through the command, in this process."""
    files = [str(FOLDER / f"{name}.yaml") for name in QUICK]
    status = main([*files, "--jobs", "1", "--seed", "90210"])
    out = capsys.readouterr().out

    assert status == OK, out
    assert [text.split()[:2] for text in out.splitlines()[: len(QUICK)]] == [["ok", name] for name in QUICK]
    assert "faults found (recall)" in out
    assert "MISS" not in out


def test_without_its_rule_a_labelled_scenario_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """That is what proves the rule; scenarios that are not labelled with it are not played."""
    files = [str(FOLDER / f"{name}.yaml") for name in QUICK]
    status = main([*files, "--jobs", "1", "--without", "presence"])
    out = capsys.readouterr().out

    assert status == MISSED
    assert f"{PORT} was not failed (down) within 15 s" in out
    assert "without presence: 2 of 2 scenarios" in out


def test_each_rule_tells_those_that_nothing_proves(capsys: pytest.CaptureFixture[str]) -> None:
    """Of one scenario's rules one is needed, for all others there is no scenario."""
    status = main([str(FOLDER / f"{QUICK[0]}.yaml"), "--jobs", "1", "--each-rule"])
    said = {words[0]: " ".join(words[1:]) for text in capsys.readouterr().out.splitlines() if (words := text.split())}

    assert status == MISSED
    assert said["presence"] == f"needed by {QUICK[0]}"
    assert said["flaps"] == "NO SCENARIO is labelled with it"


def test_processes_say_what_one_says(library: list[Entry]) -> None:
    """In the order of the tasks."""
    tasks = [Task(entry) for entry in library if entry.name in QUICK]

    assert [one.outcome for one in play_all(tasks, 2)] == [one.outcome for one in play_all(tasks, 1)]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--without", "presense"), "there is no rule presense"),
        (("--without", "xids"), "no scenario is labelled with xids"),
    ],
)
def test_what_cannot_be_played_is_a_usage_error(words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Never a success: nothing was proved."""
    assert main([str(FOLDER / f"{QUICK[0]}.yaml"), *words]) == USAGE
    assert complaint in capsys.readouterr().err


def test_a_scenario_with_a_mistake_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `simulate` says it."""
    file = tmp_path / "wrong.yaml"
    file.write_text("node: nowhere\nduration: 1m\n", encoding="utf-8")

    assert main([str(file)]) == USAGE
    assert 'no node profile is called "nowhere"' in capsys.readouterr().err


def test_all_found_in_time_and_nothing_else_passes() -> None:
    """Every target; those of classes that were not played as well."""
    assert set(verdicts(played(failed())).values()) == {True}


def test_recall_counts_each_link_that_should_be_worse_than_ok() -> None:
    """49 of 50 pass, one less does not; a `failed` one must always be found."""
    suspect = Expected(PORT, "suspect", 60.0)
    found, lost = played(suspect), played(suspect, after_s=None)

    assert verdicts(*[found] * 49, lost)["faults found (recall)"]
    assert not verdicts(*[found] * 48, lost)["faults found (recall)"]
    assert verdicts(*[found] * 49, lost)["faults that are `failed`, found"]
    assert not verdicts(*[played(failed())] * 99, played(failed(), after_s=None))["faults that are `failed`, found"]


def test_what_must_be_ok_or_unknown_is_no_fault_and_must_hold() -> None:
    """It is neither found nor timed, and one miss is too many."""
    missed = played(Expected(PORT, "unknown", 60.0, at_s=0.0), after_s=None, raised=())

    assert detections(missed) == []
    assert not verdicts(missed, *[played(failed())] * 99)["other expectations met"]


def test_broken_silence_and_links_that_nothing_befell_are_false_alarms() -> None:
    """A link that is both counts once; an expectation of worse than ok explains, so does a fault aimed at the link."""
    wrong = played(failed(), raised=(PORT, OTHER), broken=(OTHER,))

    assert measured("false alarms", wrong) == "1"
    assert measured("the right link named", wrong) == "1 of 2 = 0.500"
    assert not verdicts(wrong)["false alarms"]
    assert wrong_links(played(failed(link=OTHER), raised=(PORT, OTHER))) == []


def test_a_signal_that_should_never_have_been_seen_is_a_false_alarm() -> None:
    """And is said."""
    wrong = played(raised=())
    wrong = wrong._replace(outcome=wrong.outcome._replace(unwanted=(f"{PORT} signal_congestion_class victim",)))

    assert measured("false alarms", wrong) == "1"
    assert list(complaints(wrong)) == [f"{PORT} signal_congestion_class victim should never have been seen"]


def test_a_fault_of_the_whole_node_explains_no_link() -> None:
    """After a reboot every link may be raised falsely: who expects something of one says so."""
    assert wrong_links(played(faults=(PlannedFault(0, "reboot", 60.0),))) == [PORT]


def test_a_fault_of_a_device_explains_its_links_and_one_of_a_pcie_link_both_its_ends() -> None:
    """The other end is a link of its own in the metrics."""
    unplug = PlannedFault(0, "unplug", 60.0, target="mlx5_0")
    slow = PlannedFault(0, "pcie", 60.0, target="pcie/mlx5_0/upstream")
    ends = ("pcie/mlx5_0/0000:31:01.0", "pcie/mlx5_0/upstream")

    assert wrong_links(played(faults=(unplug,), raised=(PORT, OTHER))) == [OTHER]
    assert wrong_links(played(faults=(slow,), raised=(*ends, PORT))) == [PORT]


@pytest.mark.parametrize(
    ("expected", "fault", "kind"),
    [
        (failed(), DOWN, STATE),
        (failed("missing"), PlannedFault(0, "unplug", 60.0, target="mlx5_0"), STATE),
        (failed(link="ethernet/eno1/1"), DOWN, SLOW_STATE),
        (failed("fabric_unhealthy", "nvlink/gpu0/fabric"), DOWN, SLOW_STATE),
        (failed("speed_downgrade", "pcie/gpu0/upstream"), DOWN, PCIE),
        (failed("error_budget"), PlannedFault(0, "counter_rate", 60.0, target="infiniband/*", values={"per_second": 20}), STORMS),
        (failed("error_budget"), PlannedFault(0, "counter_rate", 60.0, target="infiniband/*", values={"per_second": 0.1}), ""),
        (failed("flapping"), DOWN, ""),
        (failed("slow_rail"), PlannedFault(0, "slow", 60.0, target=PORT), RAIL),
    ],
)
def test_the_class_of_a_fault_says_how_soon_it_must_be_found(expected: Expected, fault: PlannedFault, kind: str) -> None:
    """Errors that drip and flaps take as long as they take."""
    assert [class_of(one) for one in detections(played(expected, faults=(fault,)))] == [kind]


@pytest.mark.parametrize(("after_s", "is_soon"), [(15.0, True), (15.1, False)])
def test_the_slowest_of_a_class_decides(after_s: float, is_soon: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """Three fast intervals for a state; the figure names the scenario."""
    what = f"time to detect, {STATE}"

    assert verdicts(played(failed(), after_s=2.0), played(failed(), after_s=after_s))[what] is is_soon
    assert measured(what, played(failed(), after_s=after_s)) == f"{after_s:g} s (stand-in), 1 in all"


def test_a_miss_says_what_was_missed() -> None:
    """A line for each: what did not come, what should have been silent, what nobody expected."""
    wrong = played(failed(), after_s=None, broken=(OTHER,), raised=(OTHER, "pcie/mlx5_0/upstream"))

    assert list(complaints(wrong)) == [
        f"{PORT} was not failed (down) within 60 s",
        f"{OTHER} should have been silent",
        "pcie/mlx5_0/upstream was raised, and nothing had befallen it",
    ]
    assert line(wrong).startswith("MISS stand-in (600 s in 0.1 s)\n     ")


def test_the_table_says_pass_or_miss_in_its_last_column() -> None:
    """Columns are as wide as their widest cell."""
    assert table([Figure("a", "0", "0", passed=True), Figure("longer", "≤ 1 s", "2 s", passed=False)]) == (
        "a       0      0    pass\nlonger  ≤ 1 s  2 s  MISS"
    )
