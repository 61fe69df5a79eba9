"""A scenario's faults come at their times, whoever looks how often: in memory, on disk and in the process that asks the driver."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.simulator.disk_tree import DiskTree
from exporter.simulator.fake_session import open_simulated
from exporter.simulator.fault_checks import problem_of
from exporter.simulator.fault_kinds import KINDS
from exporter.simulator.hardware import HEAD_START_S, ScenarioHardware
from exporter.simulator.node import DiskNode
from exporter.simulator.procfs import proc_entries
from exporter.simulator.profiles import PROFILES, profile_named
from exporter.simulator.scenario import PlannedFault, Scenario, flows_of
from exporter.simulator.stage import Stage
from exporter.simulator.timeline import Timeline, known_kinds
from tests.simulator.faulty import planned, scenario, traffic

EVERY_KIND = (
    planned("down", "infiniband/mlx5_0/1"),
    planned("flap", "nvlink/gpu0/3", until_s=None, period=7.0, count=4),
    planned("rate", "infiniband/mlx5_1/1", to="200 Gb/sec (4X HDR)"),
    planned("width", "infiniband/mlx5_2/1", to=1),
    planned("counter_rate", "nvlink/gpu1/*", counter="crc", per_second=3.5),
    planned("counter_set", "infiniband/mlx5_3/1", until_s=None, counter="symbol_error", value=40),
    planned("counter_reset", "roce/mlx5_8/1", until_s=None),
    planned("saturate", "infiniband/mlx5_4/1", counter="port_xmit_discards"),
    planned("stall", "infiniband/mlx5_5/1", ratio=0.01),
    planned("slow", "infiniband/mlx5_6/1", factor=3.0),
    planned("ecn", "roce/mlx5_9/1", ratio=0.05),
    planned("pause", "roce/mlx5_9/1", ratio=0.3),
    planned("pcie", "pcie/gpu4/upstream", speed="8.0 GT/s", width=4),
    planned("aer", "pcie/mlx5_3/upstream", until_s=None, severity="correctable", error="BadTLP", count=3, times=4, every=7.5),
    planned("unplug", "mlx5_7", at_s=70, until_s=100),
    planned("read_error", "infiniband/mlx5_0/1", file="counters/symbol_error", text="junk"),
    planned("hang", "ethernet"),
    planned("nvml_error", code="unknown", call="fabric"),
    planned("xid", "gpu2", until_s=None, xid=74, port=1),
    planned("mig", "gpu7"),
    planned("domain", "gpu6", says="in_progress"),
    planned("maintenance"),
    planned("gdr_off"),
    planned("clock_jump", until_s=None, by=60.0),
    planned("exporter_restart", until_s=60),
    planned("driver_reload", "mlx5_core", at_s=130, until_s=140, links_after=5.0),
    planned("reboot", at_s=150, until_s=170, links_after=10.0),
)
"""One of each."""
moments = st.lists(st.floats(0, 220), min_size=1, max_size=12).map(sorted)


def test_something_is_done_for_every_kind() -> None:
    """The table of kinds and what they do agree, and this test's list holds each."""
    assert known_kinds() == KINDS.keys()
    assert {one.kind for one in EVERY_KIND} == KINDS.keys()


def test_every_kind_can_be_done_to_its_node() -> None:
    """The checks let the list pass."""
    assert [problem for one in EVERY_KIND if (problem := problem_of(profile_named("hgx-h100"), one))] == []


def _moved(story: Scenario, times_s: list[float]) -> ScenarioHardware:
    hardware = ScenarioHardware(story)
    for moment_s in times_s:
        hardware.advance(HEAD_START_S + moment_s)
    return hardware


def _answers(nvml: object) -> list[object]:
    gpus = nvml.gpus  # type: ignore[attr-defined]
    return [(gpus.state(gpu, link), gpus.counter(gpus.moment(gpu), link, counter))
            for gpu in range(8) for link in range(18) for counter in (138, 139)]  # fmt: skip


@settings(deadline=None, max_examples=15)
@given(moments)
def test_how_often_somebody_looks_changes_nothing(times_s: list[float]) -> None:
    """With one fault of every kind: the same files, driver and log after many looks as after one."""
    story = scenario(*EVERY_KIND)
    many, one = _moved(story, times_s), _moved(story, times_s[-1:])

    assert many.tree.entries() == one.tree.entries()
    assert many.proc.entries() == one.proc.entries()
    assert _answers(many.nvml) == _answers(one.nvml)
    assert (many.wall_s(), many.monotonic_s(), many.boot_id) == (one.wall_s(), one.monotonic_s(), one.boot_id)
    assert many.log.records() == one.log.records()


@pytest.mark.parametrize("moment_s", [65, 90, 125, 145, 160, 200])
def test_real_files_say_what_memory_says(moment_s: float, tmp_path: Path) -> None:
    """All that plain files can say: on disk as in memory, with one fault of every kind."""
    story = scenario(*EVERY_KIND)
    memory = _moved(story, [moment_s])
    profile = memory.profile
    disk = DiskNode(profile, story.seed, tmp_path / "sys", flows_of(story, HEAD_START_S))
    stage = Stage(profile, story.seed, disk.life, DiskTree(proc_entries(profile, story.seed), tmp_path / "proc"))
    timeline = Timeline(story, stage, HEAD_START_S)
    for step_s in (0.0, 61.0, moment_s):
        timeline.advance(HEAD_START_S + min(step_s, moment_s))
        disk.advance(HEAD_START_S + min(step_s, moment_s))

    differing = [
        entry.path
        for entry in memory.tree.entries()
        if hasattr(entry, "content") and (tmp_path / "sys" / entry.path).read_bytes() != entry.content
    ]
    on_disk = {str(path.relative_to(tmp_path / "sys")) for path in (tmp_path / "sys").rglob("*") if path.is_file() or path.is_symlink()}

    assert differing == []
    assert on_disk == {entry.path for entry in memory.tree.entries()}


@pytest.mark.parametrize("moment_s", [65, 90, 125])
def test_the_process_that_asks_the_driver_sees_the_same(moment_s: float) -> None:
    """It knows the scenario and when it began, and comes to the same whenever it is first asked."""
    story = scenario(*EVERY_KIND)
    expected = _answers(_moved(story, [moment_s]).nvml)
    now_s = [500.0 + moment_s]
    nvml = open_simulated(lambda: now_s[0], story.node, story.seed, 500.0, HEAD_START_S, story)
    nvml.open()

    assert _answers(nvml) == expected


def test_a_call_that_hangs_comes_back_when_the_scenario_says() -> None:
    """In real time, in the process of its own."""
    story = scenario(planned("hang", "nvlink", at_s=1, until_s=2))
    asked = []

    def now_s() -> float:
        asked.append(1)
        return 1.5 if len(asked) < 3 else 2.5

    nvml = open_simulated(now_s, story.node, story.seed, 0.0, HEAD_START_S, story)
    nvml.open()

    assert len(asked) >= 3


def test_a_seed_is_another_node() -> None:
    """Other bytes, another boot id; the same faults."""
    one, other = (_moved(scenario(*EVERY_KIND, seed=seed), [90]) for seed in (1, 2))

    assert one.boot_id != other.boot_id
    assert one.tree.entries() != other.tree.entries()


def test_traffic_changes_when_the_scenario_says() -> None:
    """An hour of training before, then nothing, then steady."""
    parts = (traffic("training", 100.0), traffic("none", 200.0), traffic("steady", 7200.0))
    story = Scenario("no-gpu-ib", 7200.0, traffic=tuple(
        part.__class__(begin_s, part.to_s, part.flows) for begin_s, part in zip((0.0, 100.0, 200.0), parts, strict=True)
    ))  # fmt: skip
    hardware = ScenarioHardware(story)

    def sent(from_s: float, to_s: float) -> int:
        hardware.advance(HEAD_START_S + from_s)
        before = int(hardware.tree.content("class/infiniband/mlx5_0/ports/1/counters/port_xmit_data") or 0)
        hardware.advance(HEAD_START_S + to_s)
        return int(hardware.tree.content("class/infiniband/mlx5_0/ports/1/counters/port_xmit_data") or 0) - before

    assert sent(0, 100) > 0
    assert sent(100, 200) == 0
    assert sent(200, 300) > 0
    assert sent(7300, 7400) > 0


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(["down", "slow", "rate", "flap"]), st.floats(0, 90), st.floats(1, 60)), max_size=4))
def test_bytes_never_fall_and_never_exceed_the_line(plans: list[tuple[str, float, float]]) -> None:
    """Whatever befalls a port together; only a reset brings a counter down."""
    values: dict[str, dict[str, float | str]] = {
        "down": {}, "slow": {"factor": 2.5}, "rate": {"to": "100 Gb/sec (4X EDR)"}, "flap": {"period": 6.0, "count": 3},
    }  # fmt: skip
    faults: list[PlannedFault] = [
        planned(kind, "infiniband/mlx5_0/1", at_s, None if kind == "flap" else at_s + for_s, **values[kind]) for kind, at_s, for_s in plans
    ]
    hardware = ScenarioHardware(scenario(*faults, node="no-gpu-ib"))
    line = hardware.profile.hcas[0].line_bytes_per_s
    before = 0
    for number in range(80):
        hardware.advance(HEAD_START_S + number * 2)
        sent = int(hardware.tree.content("class/infiniband/mlx5_0/ports/1/counters/port_xmit_data") or 0) * 4

        assert number == 0 or 0 <= sent - before <= line * 2 + 4
        before = sent


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_can_reboot(name: str) -> None:
    """Nodes without GPUs, without HCAs of a kind, in racks."""
    hardware = _moved(scenario(planned("reboot", at_s=10, until_s=20, links_after=5.0), node=name), [5, 15, 22, 40])

    assert hardware.around.boots == 1
    assert not hardware.around.exporter_away
