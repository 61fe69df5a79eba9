"""`simulate`: the whole pipeline in virtual time, its lines, its exit status; the exporter killed and the node rebooted on the way."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from exporter.cli.exits import Exit
from exporter.cli.main import main
from exporter.cli.memory import Memory
from exporter.cli.scenario_file import scenario_of
from exporter.cli.simulate import play
from exporter.cli.virtual_daemon import HealthEngine, VirtualDaemon
from exporter.cli.virtual_run import played
from exporter.config.schema import Config
from exporter.model.entity import Link
from exporter.model.health import Active, Level, Verdict, Why
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Snapshot, SourceStatus
from exporter.runtime.health import Boot
from exporter.runtime.state_dir import StateDir, open_state_dir
from exporter.simulator.hardware import ScenarioHardware

STORY = """\
node: no-gpu-ib
duration: 10m
seed: 3
faults:
  - {at: 2m, until: 4m, kind: width, link: infiniband/mlx5_0/1, to: 1}
expect:
  - {link: infiniband/mlx5_0/1, status: degraded, reason: width_downgrade, within: 60s}
silent: [infiniband/mlx5_1/1, "pcie/*"]
"""


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A short scenario in a file."""
    file = tmp_path / "story.yaml"
    file.write_text(STORY, encoding="utf-8")
    return file


class StandIn:
    """Health that says of each port what its width is, and counts its lives."""

    lives = 0
    boots: tuple[Boot, ...] = ()
    seen: Mapping[Feed, tuple[Snapshot, float]]

    def __init__(self, _config: Config, _memory: Memory, boot: Boot) -> None:
        StandIn.lives += 1
        StandIn.boots = (*StandIn.boots, boot)
        self.changes: Sequence[tuple[Verdict, Verdict]] = ()
        self.notes: Sequence[str] = ()
        self.statuses: Sequence[SourceStatus] = ()
        self._levels: dict[Link, Level] = {}
        self.walls: list[float] = []

    def observe(self, newest: Mapping[Feed, tuple[Snapshot, float]], statuses: Sequence[SourceStatus], wall_s: float,
                now_s: float) -> Snapshot:  # fmt: skip
        """Two lanes are well, one is not."""
        self.seen, self.statuses = newest, statuses
        self.walls.append(wall_s)
        found: list[tuple[Verdict, Verdict]] = []
        for snapshot, _ in newest.values():
            for entity, values in snapshot.readings:
                if isinstance(entity, Link) and "ib_width" in values:
                    level = Level.OK if values["ib_width"] == 2 else Level.DEGRADED
                    before = self._levels.get(entity, Level.OK)
                    self._levels[entity] = level
                    if before is not level:
                        found.append((Verdict(entity, before, None, wall_s), _verdict(entity, level, wall_s)))
        self.changes = found
        return Snapshot(Feed("signals", "", Cadence.FAST), wall_s, now_s, ())


def _verdict(link: Link, level: Level, wall_s: float) -> Verdict:
    active = (Active(Why.WIDTH_DOWNGRADE, level, wall_s, "1 lane of 2"),) if level else ()
    return Verdict(link, level, None, wall_s, active)


def stand_in(config: Config, memory: Memory, boot: Boot) -> HealthEngine:
    """Makes one."""
    return StandIn(config, memory, boot)


def lines(out: str) -> list[dict[str, object]]:
    """Each line of the output as JSON."""
    return [json.loads(line) for line in out.splitlines()]


def test_transitions_and_a_summary_are_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of time, with reasons and evidence."""
    status = play(scenario_of(STORY, "s"), Config(), stand_in)
    *changes, last = lines(capsys.readouterr().out)

    assert status == Exit.OK
    assert changes == [
        {"t": 120.0, "link": "infiniband/mlx5_0/1", "from": "ok", "to": "degraded", "reasons": ["width_downgrade"],
         "evidence": ["1 lane of 2"]},
        {"t": 240.0, "link": "infiniband/mlx5_0/1", "from": "degraded", "to": "ok", "reasons": [], "evidence": []},
    ]  # fmt: skip
    assert last == {"summary": {
        "node": "no-gpu-ib", "seed": 3, "duration_s": 600.0, "holds": True, "expected": 1, "met": 1, "missed": [],
        "after_s": {"infiniband/mlx5_0/1 degraded": 0.0}, "slowest_s": 0.0, "broken_silence": [], "unwanted": [],
        "raised": ["infiniband/mlx5_0/1"], "unexplained": [], "notes": [], "unsaid": [], "transitions": 2,
    }}  # fmt: skip


@pytest.mark.parametrize(
    "broken",
    [STORY.replace("status: degraded", "status: failed"), STORY.replace("mlx5_1/1,", "mlx5_0/1,")],
    ids=["an expectation", "silence"],
)
def test_what_does_not_hold_is_a_finding(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, and the summary says what."""
    assert play(scenario_of(broken, "s"), Config(), stand_in) == Exit.FINDING
    assert lines(capsys.readouterr().out)[-1]["summary"]["holds"] is False  # type: ignore[index]


def test_the_real_rules_find_it_and_say_the_same_each_time(story: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Through the command, twice: the same bytes."""
    outputs = []
    for _ in range(2):
        assert main(["simulate", "--node", "no-gpu-ib", "--scenario", str(story)]) == Exit.OK
        outputs.append(capsys.readouterr().out)

    assert outputs[0] == outputs[1]
    assert ("ok", "degraded") in [(line["from"], line["to"]) for line in lines(outputs[0])[:-1] if line["link"] == "infiniband/mlx5_0/1"]


def test_a_rule_left_out_does_not_find_it(story: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that its scenarios prove that it is needed."""
    assert main(["simulate", "--scenario", str(story), "--without", "downgrade"]) == Exit.FINDING
    assert lines(capsys.readouterr().out)[-1]["summary"]["met"] == 0  # type: ignore[index]


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        ((), Exit.USAGE, "the following arguments are required: --scenario"),
        (("--scenario", "none.yaml"), Exit.CONFIGURATION, "none.yaml: cannot be read"),
        (("--scenario", "STORY", "--node", "v100"), Exit.CONFIGURATION, "the scenario is for no-gpu-ib"),
        (("--scenario", "STORY", "--seed", "x"), Exit.USAGE, "expected a whole number"),
        (("--scenario", "STORY", "--without", "downgrad"), Exit.CONFIGURATION, "there is no rule downgrad; did you mean downgrade"),
    ],
)
def test_a_mistake_is_one_line(words: tuple[str, ...], status: Exit, complaint: str, story: Path,
                               capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    """On stderr, and nothing is played."""
    assert main(["simulate", *(str(story) if word == "STORY" else word for word in words)]) == status
    printed = capsys.readouterr()

    assert complaint in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_killed_exporter_lives_again_on_the_same_state(capsys: pytest.CaptureFixture[str]) -> None:
    """One life more for each restart; a reboot is one, with another boot id."""
    StandIn.lives, StandIn.boots = 0, ()
    text = "node: no-gpu-ib\nduration: 20m\nfaults:\n  - {at: 1m, kind: exporter_restart}\n"
    text += "  - {at: 2m, until: 3m, kind: exporter_restart}\n  - {at: 5m, until: 8m, kind: reboot}\n"
    list(played(scenario_of(text, "s"), Config(), stand_in))

    assert StandIn.lives == 4
    assert [len({boot.boot_id for boot in StandIn.boots[:3]}), len({boot.boot_id for boot in StandIn.boots})] == [1, 2]
    assert [boot.uptime_s for boot in StandIn.boots] == [3600.0, 3660.0, 3780.0, 0.0]


def _daemon(text: str, state: StateDir) -> tuple[ScenarioHardware, VirtualDaemon, list[StandIn]]:
    hardware = ScenarioHardware(scenario_of(text, "s"))
    made: list[StandIn] = []

    def make(config: Config, memory: Memory, boot: Boot) -> HealthEngine:
        made.append(StandIn(config, memory, boot))
        return made[-1]

    return hardware, VirtualDaemon(Config(), hardware, state, make), made


def _until(hardware: ScenarioHardware, daemon: VirtualDaemon, t_s: float) -> None:
    end_s = hardware.head_start_s + t_s
    while hardware.now_s < end_s:
        wait_s, _ = daemon.tick()
        hardware.advance(min(end_s, hardware.now_s + wait_s))
    daemon.tick()


def test_a_source_that_hangs_is_flagged_and_answers_again(tmp_path: Path) -> None:
    """Its reads do not come back meanwhile; the other sources go on."""
    text = "node: no-gpu-ib\nduration: 20m\nfaults:\n  - {at: 60s, until: 120s, kind: hang, source: infiniband, device: mlx5_0}\n"
    hardware, daemon, made = _daemon(text, open_state_dir(str(tmp_path)))

    def hung(t_s: float) -> tuple[str, ...]:
        _until(hardware, daemon, t_s)
        return next(status.hung for status in made[0].statuses if status.source == "infiniband")

    assert hung(55) == ()
    assert hung(80) == ("mlx5_0",)
    assert any(feed.subject == "mlx5_1" and snapshot.monotonic_s > 3670 for feed, (snapshot, _) in made[0].seen.items())
    assert hung(130) == ()


def test_maintenance_is_said_in_the_state_directory(tmp_path: Path) -> None:
    """As a person does, for as long as the scenario says."""
    text = "node: no-gpu-ib\nduration: 20m\nfaults:\n  - {at: 60s, until: 120s, kind: maintenance}\n"
    hardware, daemon, _ = _daemon(text, open_state_dir(str(tmp_path)))
    there = []
    for moment in (55, 70, 130):
        _until(hardware, daemon, moment)
        there.append((tmp_path / "maintenance").exists())

    assert there == [False, True, False]


def test_the_wall_clock_that_jumps_reaches_health(tmp_path: Path) -> None:
    """Monotonic time does not: beats go on as before."""
    text = "node: no-gpu-ib\nduration: 20m\nfaults:\n  - {at: 60s, kind: clock_jump, by: -1h}\n"
    hardware, daemon, made = _daemon(text, open_state_dir(str(tmp_path)))
    _until(hardware, daemon, 100)
    steps = {round(after - before) for before, after in pairwise(made[0].walls)}

    assert steps == {5, -3595}


def test_what_a_scrape_would_show_is_there(tmp_path: Path) -> None:
    """The Scene of the virtual daemon, in which the fault stands."""
    text = STORY.replace("at: 2m", "at: 1m")
    hardware, daemon, _ = _daemon(text, open_state_dir(str(tmp_path)))
    _until(hardware, daemon, 90)
    widths = {str(entity): values["ib_width"] for snapshot in daemon.scene.snapshots.values() for entity, values in snapshot.readings
              if "ib_width" in values}  # fmt: skip

    assert widths == {"infiniband/mlx5_0/1": 1, "infiniband/mlx5_1/1": 2}
