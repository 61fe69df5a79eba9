"""The daemon's parts on a simulated node in virtual time: the same sources, sampler and health, driven by hand, with a state directory.

Knows how they fit together and what a killed exporter loses; when time passes is virtual_run.py's.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from exporter.cli.compose import Machine, bursts_of, sources_of
from exporter.cli.gpus import VirtualGpus
from exporter.cli.memory import Memory, kept
from exporter.config.schema import Config
from exporter.model.health import Verdict
from exporter.model.snapshot import Feed, Reading, Scene, Snapshot, SourceStatus
from exporter.runtime.board import Board
from exporter.runtime.collect import Errand, Outcome, run_errand
from exporter.runtime.crew import Place
from exporter.runtime.health import Boot
from exporter.runtime.maintenance_file import NAME
from exporter.runtime.sampler import Sampler
from exporter.runtime.state_dir import StateDir
from exporter.runtime.whole_file import write_whole
from exporter.signals.engine import FEED
from exporter.simulator.hardware import ScenarioHardware
from exporter.simulator.memory_processes import MemoryProcesses
from exporter.simulator.tree_ethtool import TreeEthtool

ROOT = "the simulated node's /sys"


class HealthEngine(Protocol):
    """What the daemon asks of health (runtime/health.py)."""

    @property
    def changes(self) -> Sequence[tuple[Verdict, Verdict]]:
        """What the newest `observe` changed: verdicts before and after."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What it cannot tell now, and why."""
        ...

    def observe(self, newest: Mapping[Feed, tuple[Snapshot, float]], statuses: Sequence[SourceStatus], wall_s: float,
                now_s: float) -> Snapshot:  # fmt: skip
        """Take in what is new; what is to be shown."""
        ...


MakeHealth = Callable[[Config, Memory, Boot], HealthEngine]
"""Makes the health of one daemon (cli/health.py): anew at each start of the exporter, from what the state directory holds."""


class VirtualDaemon:
    """One life of the exporter. A killed one needs no end: what it had not saved is lost, as it would be."""

    def __init__(self, config: Config, hardware: ScenarioHardware, state: StateDir, make_health: MakeHealth) -> None:
        hardware.log.close()
        hardware.nvml.close()
        self._kept = kept(state)
        now_s = hardware.monotonic_s()
        boot = Boot(hardware.boot_id, now_s, now_s)
        machine = Machine(hardware.tree, TreeEthtool(hardware.tree), hardware.log, MemoryProcesses(), VirtualGpus(hardware.nvml), ROOT,
                          procfs=hardware.proc, boot=boot, log_boot_id=hardware.boot_id)  # fmt: skip
        self._hardware = hardware
        self._maintenance = os.path.join(state.path, NAME)
        self._health = make_health(config, self._kept.memory, boot)
        self._board = Board()
        self._bursts = bursts_of(config, hardware)
        sources = sources_of(config, machine, self._kept.memory, self._bursts)
        self._sampler = Sampler(sources, hardware, WithHangs(hardware), self._board, observe=self._health.observe)

    def tick(self) -> tuple[float, Sequence[tuple[Verdict, Verdict]]]:
        """One beat: how long until the next one is due, and the verdicts that changed."""
        self._say_whether_maintained()
        due_s = self._sampler.tick()
        self._kept.settle()
        return due_s - self._hardware.monotonic_s(), self._health.changes

    @property
    def samples_each_s(self) -> float | None:
        """How often the burst sampler wants to read; None if it is off."""
        return self._bursts.period_s if self._bursts is not None else None

    def sample(self) -> None:
        """One pass of the burst sampler."""
        if self._bursts is not None:
            self._bursts.sample()

    @property
    def notes(self) -> Sequence[str]:
        """What health cannot tell now, and why."""
        return self._health.notes

    def _say_whether_maintained(self) -> None:
        """As a person does, with a file in the state directory."""
        is_there = os.path.exists(self._maintenance)
        if self._hardware.around.maintenance and not is_there:
            write_whole(self._maintenance, "scenario\n")
        elif is_there and not self._hardware.around.maintenance:
            os.unlink(self._maintenance)

    @property
    def signals(self) -> Sequence[Reading]:
        """What health said last, of every link."""
        shown = self.scene.snapshots.get(FEED)
        return shown.readings if shown is not None else ()

    @property
    def scene(self) -> Scene:
        """What /metrics would show."""
        return self._board.current(self._hardware.monotonic_s())


class WithHangs:
    """Runs errands in the calling thread, but for those whose reads hang on this node: they stay busy until they do not hang any more."""

    takes_groups = False

    def __init__(self, hardware: ScenarioHardware) -> None:
        self._hardware = hardware
        self._held: dict[Place, tuple[Errand, float]] = {}

    def run(self, errands: Sequence[Errand], gather_s: float) -> list[Outcome]:  # noqa: ARG002  # the shape of an Executor
        """Those that come back by now."""
        hangs, now_s = self._hardware.around.hangs, self._hardware.monotonic_s()
        answered = [place for place in self._held if not hangs(*place)]
        ready = [self._held.pop(place)[0] for place in answered]
        for errand in errands:
            if hangs(*errand.place):
                self._held[errand.place] = errand, now_s
            else:
                ready.append(errand)
        return [run_errand(errand, self._hardware) for errand in ready]

    def busy(self) -> dict[Place, float]:
        """What hangs, and since when."""
        return {place: since_s for place, (_, since_s) in self._held.items()}

    def depose(self, stuck_for_s: float) -> bool:  # noqa: ARG002  # the shape of an Executor
        """Nobody is ever inside a read."""
        return False

    def stop(self) -> None:
        """Nothing to stop."""
