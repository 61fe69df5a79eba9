"""Health of a node without a daemon: a few passes of this process's own, over the hardware or in virtual time over a simulated node.

Knows how often to look; what is made of it is health's, what stands behind a link's verdict so far the state directory's.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from exporter.cli.compose import Machine, sources_of, this_machine
from exporter.cli.gpus import ChildGpus
from exporter.cli.health import health_of
from exporter.cli.memory import Memory, looked_up
from exporter.config.schema import Config
from exporter.model.node_health import NodeHealth
from exporter.runtime import health as runtime_health
from exporter.runtime.board import Board
from exporter.runtime.clock import Clock, SystemClock
from exporter.runtime.crew import Crew, Executor, Place
from exporter.runtime.health import Boot, Health
from exporter.runtime.open_files import raise_limit
from exporter.runtime.pause import pause
from exporter.runtime.sampler import Sampler
from exporter.sources.sysfs import RealFiles

PASSES = 6
"""In a window: one more than most reasons look back on (catalog/conditions.py), as a rate takes two."""


def seen(config: Config, window_s: float) -> NodeHealth:
    """The node after PASSES passes within that time, by what the state directory knows of earlier; nothing is written there."""
    clock = SystemClock()
    gpus = ChildGpus(clock)
    try:
        machine = this_machine(config, RealFiles(config.sources.sysfs_root, raise_limit()), gpus, clock.monotonic_s())
        return followed(config, machine, looked_up(config), clock, Crew(clock), pause, window_s)
    finally:
        gpus.close()


def followed(config: Config, machine: Machine, memory: Memory, clock: Clock, executor: Executor, wait: Callable[[float], None],
             window_s: float) -> NodeHealth:  # fmt: skip
    """The same for whatever machine and clock. What still has not answered in the end hangs."""
    health = health_of(config, memory, machine.boot)
    sampler = Sampler(sources_of(config, machine, memory), clock, executor, Board(), observe=health.observe)
    started_s = clock.monotonic_s()
    with _without_news():
        sampler.tick()
        for number in range(1, PASSES):
            wait(max(0.0, started_s + window_s * number / (PASSES - 1) - clock.monotonic_s()))
            sampler.tick_all()
    found = _with_hung(health.now(), executor.busy())
    sampler.stop()
    executor.stop()
    return found


def simulated(config: Config, window_s: float) -> NodeHealth:
    """The simulated node after that time, or at the end of its scenario, in virtual time. Raises ConfigError."""
    from exporter.cli.simulated import profile_of, scenario_in  # noqa: PLC0415  # nothing that a real node's check need load
    from exporter.cli.virtual_run import played  # noqa: PLC0415
    from exporter.simulator.scenario import Scenario  # noqa: PLC0415

    lives: list[Health] = []

    def life(config: Config, memory: Memory, boot: Boot) -> Health:
        lives.append(health_of(config, memory, boot))
        return lives[-1]

    simulate = config.simulate.profile or ""
    scenario = scenario_in(simulate) or Scenario(profile_of(simulate).name, max(window_s, 1.0))
    with _without_news():
        for _ in played(scenario, config, life):
            pass
    nothing = NodeHealth(0.0, (), ())
    return (lives[-1].now() if lives else nothing)._replace(simulated=True)


def _with_hung(found: NodeHealth, busy: Collection[Place]) -> NodeHealth:
    """With those that somebody is still waiting for, flagged or not."""
    out = {look.name: [subject or "scan" for source, subject in sorted(busy) if source == look.name] for look in found.sources}
    looks = [look._replace(hung=(*look.hung, *(name for name in out[look.name] if name not in look.hung))) for look in found.sources]
    return found._replace(sources=tuple(looks))


@contextmanager
def _without_news() -> Iterator[None]:
    """Health logs each change of a verdict; here the answer says it all, and faults still have their lines."""
    before = runtime_health.log.level
    runtime_health.log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        runtime_health.log.setLevel(before)
