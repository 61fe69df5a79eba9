"""A whole simulated node in virtual time, with everything that a scenario does to it: files, NVML, kernel log, clock, the exporter.

Knows how the parts fit together; what a fault does is faults/'s. Time is in seconds since the node started and moves by `advance` alone.
"""

from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.memory_kernel_log import MemoryKernelLog
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.node import SimulatedNode
from exporter.simulator.procfs import UPTIME, proc_entries, uptime_text
from exporter.simulator.profiles import profile_named
from exporter.simulator.scenario import Scenario, flows_of
from exporter.simulator.stage import Stage, Surroundings
from exporter.simulator.timeline import Timeline

HEAD_START_S = 3600.0
"""How old a node is when a scenario begins: long past its start."""
WALL_START_S = 1_800_000_000.0
"""Unix time of that moment less the head start."""


class ScenarioHardware:
    """The node of a scenario, as old as its head start; Unix time was `wall_start_s` when it started. Raises ValueError for an unknown
    profile."""

    def __init__(self, scenario: Scenario, head_start_s: float = HEAD_START_S, wall_start_s: float = WALL_START_S) -> None:
        self._wall_start_s = wall_start_s
        self.profile = profile_named(scenario.node)
        flows = flows_of(scenario, head_start_s)
        self._node = SimulatedNode(self.profile, scenario.seed, flows)
        self.proc = MemoryTree(proc_entries(self.profile, scenario.seed))
        self._stage = Stage(self.profile, scenario.seed, self._node.life, self.proc)
        self.nvml = FakeNvml(self.profile, scenario.seed, lambda: self._stage.now_s, flows)
        self._stage.nvml = self.nvml
        self._timeline = Timeline(scenario, self._stage, head_start_s)
        self.head_start_s = head_start_s
        self.advance(head_start_s)

    @property
    def tree(self) -> MemoryTree:
        """Its /sys."""
        return self._node.tree()

    @property
    def log(self) -> MemoryKernelLog:
        """Its kernel log."""
        return self._stage.log

    @property
    def around(self) -> Surroundings:
        """Hanging reads, the exporter, maintenance, boots."""
        return self._stage.around

    @property
    def boot_id(self) -> str:
        """Of the boot that is on."""
        return self._stage.boot_id

    @property
    def now_s(self) -> float:
        """How far it has come."""
        return self._stage.now_s

    @property
    def next_step_s(self) -> float | None:
        """When something befalls it next; None if nothing does any more."""
        return self._timeline.next_s

    def advance(self, to_s: float) -> None:
        """Bring everything to that time. Raises ValueError if time would go back."""
        self._timeline.advance(to_s)
        self._node.advance(to_s)
        self.proc.rewrite(UPTIME, uptime_text(to_s - self.around.booted_s))

    def glance(self, to_s: float) -> None:
        """The same as far as the byte counters of ports are concerned, where nothing else befalls the node until then; all other files say
        what they said. For samplers that read nothing else many times a second."""
        self._stage.now_s = to_s
        self._node.life.glance(to_s)

    # The clock of the node (runtime/clock.py).

    def wall_s(self) -> float:
        """Unix time as the node's clock says it."""
        return self._wall_start_s + self.now_s + self.around.clock_off_s

    def monotonic_s(self) -> float:
        """Seconds since the node booted."""
        return self.now_s - self.around.booted_s

    def thread_cpu_s(self) -> float:
        """Virtual work costs no CPU time."""
        return self.now_s
