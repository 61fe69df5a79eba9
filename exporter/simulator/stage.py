"""What faults are done to: the parts of one simulated node, as far as this process has them, and what surrounds it. No fault by name.

Time is in seconds since the node started; `now_s` is the moment of the fault that is being done, not of whoever looks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.model.entity import Fabric, Link
from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.living_tree import LivingTree, Tree
from exporter.simulator.memory_kernel_log import MemoryKernelLog
from exporter.simulator.nvlink_wiring import Place
from exporter.simulator.port import Port
from exporter.simulator.procfs import BOOT_ID, UPTIME, boot_id, uptime_text
from exporter.simulator.profiles import Profile
from exporter.simulator.simulated_gpus import ACTIVE


@dataclass(slots=True)
class Surroundings:
    """What is no hardware of the node: reads that hang (by fault: source and device, "" for all of it), how far the wall clock is off,
    whether the exporter is there and how often it was started, whether the node is being worked on and how often it has booted, the last
    time when."""

    hanging: dict[object, tuple[str, str]] = field(default_factory=dict)
    clock_off_s: float = 0.0
    exporter_away: set[object] = field(default_factory=set)
    exporter_starts: int = 0
    maintenance: set[object] = field(default_factory=set)
    boots: int = 0
    booted_s: float = 0.0

    def hangs(self, source: str, device: str) -> bool:
        """Whether a read of that device would not come back; device "" is the source's own look around."""
        return any(one == source and of in ("", device) for one, of in self.hanging.values())


@dataclass(slots=True)
class Stage:
    """`files` is None in the process that asks the driver only, `nvml` where another one does."""

    profile: Profile
    seed: int
    files: LivingTree | None = None
    proc: Tree | None = None
    nvml: FakeNvml | None = None
    log: MemoryKernelLog = field(default_factory=MemoryKernelLog)
    around: Surroundings = field(default_factory=Surroundings)
    now_s: float = 0.0
    link_states: dict[Place, dict[object, int]] = field(default_factory=dict)
    """States that NVLinks were put into, by fault."""
    ramps: dict[tuple[Place, int], dict[object, float]] = field(default_factory=dict)
    """Errors a second of an NVLink's counter (field), by fault."""

    def ports(self, links: tuple[Link, ...]) -> Mapping[Link, Port]:
        """The RDMA ports among the links that this process has."""
        files = self.files
        wanted = [link for link in links if link.fabric in (Fabric.INFINIBAND, Fabric.ROCE)]
        return {} if files is None else {link: files.ports[link.device] for link in wanted}

    def log_line(self, line: str) -> None:
        """The kernel says so now."""
        self.log.append(line, usec=round((self.now_s - self.around.booted_s) * 1_000_000))

    def put_link(self, key: object, place: Place, state: int | None) -> None:
        """Put an NVLink into a state until None ends it; of several the last one counts. Nothing for a port that leads nowhere."""
        if self.nvml is None or place not in self.profile.nvlinks:
            return
        states = self.link_states.setdefault(place, {})
        if state is None:
            states.pop(key, None)
        else:
            states[key] = state
        self.nvml.gpus.set_link(place.gpu, place.link, next(reversed(states.values()), ACTIVE))

    def add_errors(self, key: object, place: Place, counter: int, per_second: float | None) -> None:
        """Let a counter of an NVLink grow faster until None ends it; several add up."""
        if self.nvml is None:
            return
        rates = self.ramps.setdefault((place, counter), {})
        if per_second is None:
            rates.pop(key, None)
        else:
            rates[key] = per_second
        self.nvml.gpus.add_errors(place.gpu, place.link, counter, per_second=sum(rates.values()))

    def boot(self) -> None:
        """The node starts: another boot id, uptime from 0, an empty kernel log."""
        self.around.boots += 1
        self.around.booted_s = self.now_s
        self.log.restart()
        if self.proc is not None:
            self.proc.rewrite(BOOT_ID, f"{self.boot_id}\n".encode())
            self.proc.rewrite(UPTIME, uptime_text(0.0))

    @property
    def boot_id(self) -> str:
        """Of the boot that is on."""
        return boot_id(self.profile, self.seed, self.around.boots)
