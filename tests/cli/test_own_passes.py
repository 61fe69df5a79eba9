"""A node looked at without a daemon: how often, within what time, and what becomes of a device that does not answer."""

from collections.abc import Sequence

import pytest

from exporter.cli.check import exit_of
from exporter.cli.exits import Exit
from exporter.cli.gpus import VirtualGpus
from exporter.cli.memory import forgetful
from exporter.cli.own_passes import PASSES, followed
from exporter.cli.simulated_machine import simulated_machine
from exporter.config.load import load
from exporter.model.node_health import NodeHealth, gaps_of
from exporter.runtime.clock import ManualClock
from exporter.runtime.collect import Errand, Outcome
from exporter.runtime.crew import Executor, Inline, Place
from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.node import SimulatedNode
from exporter.simulator.profiles import NO_GPU_IB

HUNG: Place = ("infiniband", "mlx5_1")


class Hanging:
    """Runs everything at once, but for one device that never comes back."""

    takes_groups = False

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._inline = Inline(clock)
        self._since_s: float | None = None

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:
        """All but that one."""
        if any(errand.place == HUNG for errand in errands):
            self._since_s = self._clock.monotonic_s()
        return self._inline.run([errand for errand in errands if errand.place != HUNG], gather_s)

    def busy(self) -> dict[Place, float]:
        """That one, once it was asked."""
        return {} if self._since_s is None else {HUNG: self._since_s}

    def depose(self, stuck_for_s: float) -> bool:  # noqa: ARG002  # the shape of an Executor
        """Nobody is inside."""
        return False

    def stop(self) -> None:
        """Nothing to stop."""


@pytest.fixture
def clock() -> ManualClock:
    """Virtual time."""
    return ManualClock()


def looked_at(clock: ManualClock, executor: Executor, window_s: float) -> tuple[NodeHealth, list[float]]:
    """A simulated node's health, and how long was waited each time."""
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        clock.advance(seconds)

    node = SimulatedNode(NO_GPU_IB, 1)
    node.advance(600.0)
    machine = simulated_machine(node.tree(), MemoryTree(), VirtualGpus(FakeNvml(NO_GPU_IB, 1, lambda: 600.0)), "/sys")
    return followed(load().config, machine, forgetful(), clock, executor, wait, window_s), waits


def test_passes_are_spread_over_the_window(clock: ManualClock) -> None:
    """Evenly, the last one at its end."""
    health, waits = looked_at(clock, Inline(clock), 10.0)

    assert waits == pytest.approx([10.0 / (PASSES - 1)] * (PASSES - 1))
    assert (exit_of(health, "suspect"), gaps_of(health)) == (Exit.OK, ())


@pytest.mark.parametrize("window_s", [0.5, 60.0])
def test_a_device_that_does_not_answer_is_named_once(window_s: float, clock: ManualClock) -> None:
    """Flagged as hung already or not; the others are judged."""
    health, _ = looked_at(clock, Hanging(clock), window_s)

    assert gaps_of(health) == ("infiniband: no answer from mlx5_1",)
    assert exit_of(health, "failed") is Exit.PARTIAL
    assert {verdict.link.device for verdict in health.links} >= {"mlx5_0"}
