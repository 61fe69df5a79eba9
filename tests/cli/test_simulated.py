"""The simulated node of `run --simulate`, with and without a scenario: what its files show and what is refused on the command line."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.cli.simulated import HEAD_START_S, SimulatedMachine, scenario_in
from exporter.config.mistake import ConfigError
from exporter.runtime.clock import ManualClock
from exporter.simulator.scenario import Scenario

STORY = """\
node: no-gpu-ib
duration: 10m
seed: 5
faults:
  - {at: 2m, until: 4m, kind: down, link: infiniband/mlx5_0/1}
  - {at: 3m, kind: reboot, until: 5m}
  - {at: 3m, kind: clock_jump, by: 1h}
"""


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A scenario in a file."""
    file = tmp_path / "story.yaml"
    file.write_text(STORY, encoding="utf-8")
    return file


@pytest.fixture
def machine(story: Path) -> Iterator[SimulatedMachine]:
    """A node with that scenario; its clock stands still, so that its thread moves nothing."""
    found = SimulatedMachine(f"no-gpu-ib,scenario={story}", ManualClock())
    yield found
    found.close()


def test_the_files_follow_the_scenario(machine: SimulatedMachine) -> None:
    """From the daemon's start on: state, boot id and uptime of the node."""
    state = Path(machine.folder, "class/infiniband/mlx5_0/ports/1/state")
    boot_id, uptime = Path(machine.proc, "sys/kernel/random/boot_id"), Path(machine.proc, "uptime")
    before = state.read_text(), boot_id.read_text(), uptime.read_text()
    machine._advance(HEAD_START_S + 130)
    down = state.read_text()
    machine._advance(HEAD_START_S + 310)

    assert before[0] == "4: ACTIVE\n"
    assert down == "1: DOWN\n"
    assert before[2] == "600.00 0.00\n"
    assert uptime.read_text() == "10.00 0.00\n"
    assert boot_id.read_text() != before[1]


def test_what_reads_the_gpus_is_told_the_seed_and_the_time(machine: SimulatedMachine) -> None:
    """So that both processes show the same node."""
    assert (machine.gpus.profile, machine.gpus.seed, machine.gpus.head_start_s) == ("no-gpu-ib", 5, HEAD_START_S)
    assert isinstance(machine.gpus.scenario, Scenario)
    assert [fault.kind for fault in machine.gpus.scenario.faults] == ["down", "reboot", "clock_jump"]


def test_what_real_time_cannot_show_is_said_once(story: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A clock that jumps would be this machine's."""
    with caplog.at_level(logging.WARNING, "fabric_exporter.simulator"):
        SimulatedMachine(f"no-gpu-ib,scenario={story}", ManualClock()).close()

    assert [record.getMessage() for record in caplog.records if record.name == "fabric_exporter.simulator"] == [
        "a fault of the scenario is not shown in real time: kind=clock_jump: the clock is this machine's"
    ]


def test_a_profile_alone_has_no_scenario() -> None:
    """As ever."""
    found = SimulatedMachine("no-gpu-ib", ManualClock())
    found.close()

    assert found.gpus.scenario is None
    assert not Path(found.folder).exists()


@pytest.mark.parametrize(
    ("simulate", "complaint"),
    [
        ("no-gpu-ib,STORY", "--simulate: expected PROFILE or PROFILE,scenario=FILE, got no-gpu-ib,STORY"),
        ("no-gpu-ib,scenario=", "--simulate: expected PROFILE or PROFILE,scenario=FILE, got no-gpu-ib,scenario="),
        ("no-gpu-ib,scenario=none.yaml", "none.yaml: cannot be read: No such file or directory"),
        ("v100,scenario=STORY", "--simulate: the scenario is for no-gpu-ib: its links are not those of v100 (STORY)"),
    ],
)
def test_a_mistake_is_one_line(simulate: str, complaint: str, story: Path) -> None:
    """What was expected, or what is wrong with the file."""
    with pytest.raises(ConfigError) as caught:
        scenario_in(simulate.replace("=STORY", f"={story}"))

    assert str(caught.value) == complaint.replace("(STORY)", f"({story})")
