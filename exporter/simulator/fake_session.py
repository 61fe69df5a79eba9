"""The FakeNvml of a simulated node in real time, as the NVML child asks for it by name (`Setup.opener`), with what a scenario does to it.

Reads no clock of its own. The daemon's process moves the node's files (cli/simulated.py) by the same scenario and the same times: both show
the same node.
"""

import threading
from collections.abc import Callable
from math import inf

from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.profiles import profile_named
from exporter.simulator.scenario import Scenario, flows_of
from exporter.simulator.stage import Stage
from exporter.simulator.timeline import Timeline
from exporter.simulator.traffic import TRAINING

SOURCE = "nvlink"


def open_simulated(monotonic_s: Callable[[], float], profile: str, seed: int, started_s: float, head_start_s: float,
                   scenario: Scenario | None = None) -> FakeNvml:  # fmt: skip
    """GPUs of that profile; at monotonic `started_s` the node was `head_start_s` old and the scenario began. Raises ValueError for an
    unknown profile."""

    def elapsed_s() -> float:
        return head_start_s + monotonic_s() - started_s

    if scenario is None:
        return FakeNvml(profile_named(profile), seed, elapsed_s, TRAINING)
    stage = Stage(profile_named(profile), seed)
    timeline = Timeline(scenario, stage, head_start_s)
    nvml = stage.nvml = FakeNvml(stage.profile, seed, lambda: stage.now_s, flows_of(scenario, head_start_s))

    def before_call(_call: str, _gpu: int | None) -> None:
        timeline.advance(max(stage.now_s, elapsed_s()))
        if stage.around.hangs(SOURCE, ""):
            _wait_while_hanging(stage, timeline, elapsed_s)

    nvml.troubles.before_call = before_call
    return nvml


def _wait_while_hanging(stage: Stage, timeline: Timeline, elapsed_s: Callable[[], float]) -> None:
    """A call that does not come back before the scenario says so; for ever if it never does."""
    clock = threading.Event()
    while stage.around.hangs(SOURCE, ""):
        next_s = timeline.next_s
        wait_s = inf if next_s is None else next_s - elapsed_s()
        clock.wait(None if wait_s == inf else max(wait_s, 0.001))
        timeline.advance(max(stage.now_s, elapsed_s()))
