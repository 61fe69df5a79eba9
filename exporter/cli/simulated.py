"""`run --simulate`: a simulated node as real files in a temporary folder, moved forward once a second by a thread (its byte counters much
more often, if somebody samples bursts), with what a scenario does to it."""

import logging
import shutil
import tempfile
import threading

from exporter.cli.gpus import Simulation
from exporter.cli.scenario_file import read_scenario
from exporter.config.mistake import Mistake, error_of
from exporter.runtime.clock import Clock
from exporter.simulator.disk_tree import DiskTree
from exporter.simulator.memory_kernel_log import MemoryKernelLog
from exporter.simulator.node import DiskNode
from exporter.simulator.procfs import UPTIME, proc_entries, uptime_text
from exporter.simulator.profiles import Profile, profile_named
from exporter.simulator.scenario import Scenario, flows_of
from exporter.simulator.stage import Stage
from exporter.simulator.timeline import Timeline
from exporter.simulator.traffic import TRAINING

log = logging.getLogger("fabric_exporter.simulator")
STEP_S = 1.0
STEPS_A_SAMPLE, STEP_LEAST_S = 10, 0.01
"""So often byte counters move between two samples of a burst sampler: files stand still between steps, hardware does not."""
HEAD_START_S = 600.0
"""Virtual age of the node at start, so that its counters are not all zero."""
SEED = 1
SCENARIO = "scenario="
NOT_SHOWN = {
    "clock_jump": "the clock is this machine's",
    "exporter_restart": "restart this daemon by hand",
    "maintenance": "say so with the maintenance verb",
    "hang": "reads of plain files do not hang; only nvlink does, in its own process",
}
"""Faults that a node in real time cannot have, and why."""


def profile_of(name: str) -> Profile:
    """The profile of that name; what follows a comma is not looked at. Raises ConfigError."""
    try:
        return profile_named(name.partition(",")[0])
    except ValueError as error:
        raise error_of((Mistake("--simulate", str(error)),)) from None


def scenario_in(simulate: str) -> Scenario | None:
    """The scenario of `PROFILE,scenario=FILE`; None for a profile alone. Raises ConfigError for a file that cannot be used, or one that is
    for another node."""
    name, comma, rest = simulate.partition(",")
    if not comma:
        return None
    if not rest.startswith(SCENARIO) or rest == SCENARIO:
        raise error_of((Mistake("--simulate", f"expected PROFILE or PROFILE,{SCENARIO}FILE, got {simulate}"),))
    file = rest.removeprefix(SCENARIO)
    scenario = read_scenario(file)
    if scenario.node != profile_of(name).name:
        raise error_of((Mistake("--simulate", f"the scenario is for {scenario.node}: its links are not those of {name}", file),))
    return scenario


class SimulatedMachine:
    """The node's files and the thread that moves them; `gpus` is what their reader needs to know of it. `folder` stands for /sys and `proc`
    for /proc; `log` is its kernel log. `simulate` as on the command line; `sampled_s`: how often a burst sampler reads, None without one.
    Raises ConfigError for a profile or scenario of no use."""

    def __init__(self, simulate: str, clock: Clock, sampled_s: float | None = None) -> None:
        profile, scenario = profile_of(simulate), scenario_in(simulate)
        seed = scenario.seed if scenario is not None else SEED
        self._clock = clock
        self._step_s = STEP_S if sampled_s is None else max(sampled_s / STEPS_A_SAMPLE, STEP_LEAST_S)
        self._parent = tempfile.mkdtemp(prefix="fabric-exporter-simulated-")
        self.folder, self.proc = f"{self._parent}/sys", f"{self._parent}/proc"
        self._node = DiskNode(profile, seed, self.folder, flows_of(scenario, HEAD_START_S) if scenario is not None else TRAINING)
        self._proc = DiskTree(proc_entries(profile, seed), self.proc)
        self._stage = Stage(profile, seed, self._node.life, self._proc)
        self._timeline = Timeline(scenario or Scenario(profile.name, 0.0), self._stage, HEAD_START_S)
        self._advance(HEAD_START_S)
        self._started_s = clock.monotonic_s()
        self.gpus = Simulation(profile.name, seed, self._started_s, HEAD_START_S, scenario)
        for kind in sorted({fault.kind for fault in scenario.faults if fault.target != "nvlink"} & NOT_SHOWN.keys()) if scenario else ():
            log.warning("a fault of the scenario is not shown in real time: kind=%s: %s", kind, NOT_SHOWN[kind])
        if scenario is not None and scenario.ports:
            log.warning("the scenario's ports are not configured in real time: set expect.ports: [%s]", ", ".join(scenario.ports))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="simulated-node", daemon=True)
        self._thread.start()

    @property
    def log(self) -> MemoryKernelLog:
        """The node's kernel log."""
        return self._stage.log

    def close(self) -> None:
        """Stop the node and remove its files."""
        self._stop.set()
        self._thread.join(2 * STEP_S)
        shutil.rmtree(self._parent, ignore_errors=True)

    def _advance(self, elapsed_s: float) -> None:
        self._timeline.advance(elapsed_s)
        self._node.advance(elapsed_s)
        self._proc.rewrite(UPTIME, uptime_text(elapsed_s - self._stage.around.booted_s))

    def _run(self) -> None:
        whole_s = 0.0
        while not self._stop.wait(self._step_s):
            elapsed_s = self._clock.monotonic_s() - self._started_s
            try:
                if elapsed_s - whole_s < STEP_S:
                    self._node.life.glance(HEAD_START_S + elapsed_s)
                else:
                    whole_s = elapsed_s
                    self._advance(HEAD_START_S + elapsed_s)
            except OSError as error:
                log.warning("the simulated node stands still: %s", error)
                return
