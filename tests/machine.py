"""Builds the Scene and the page of a machine fixture: the real source, sampler and renderer over an in-memory tree, in virtual time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from exporter.exposition.page import render
from exporter.exposition.selection import Selection
from exporter.model.gpu_slots import in_pci_order
from exporter.model.maintenance import Maintenance
from exporter.model.metric import Tier
from exporter.model.snapshot import Number, Scene
from exporter.runtime.board import Board
from exporter.runtime.clock import ManualClock
from exporter.runtime.collect import Source
from exporter.runtime.crew import Inline
from exporter.runtime.health import Boot, Health, HealthSettings
from exporter.runtime.kept_verdicts import KeptVerdicts
from exporter.runtime.kernel_log_state import KeptKernelLogState
from exporter.runtime.learned_ports import LearnedPorts
from exporter.runtime.sampler import Sampler
from exporter.runtime.schedule import Intervals
from exporter.signals.rules import RULES
from exporter.simulator.archive import parse_archive
from exporter.simulator.fake_nvml import FakeNvml
from exporter.simulator.memory_kernel_log import MemoryKernelLog
from exporter.simulator.memory_processes import MemoryProcesses
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.node import SimulatedNode
from exporter.simulator.procfs import proc_entries
from exporter.simulator.profiles import profile_named
from exporter.simulator.tree_ethtool import TreeEthtool
from exporter.sources.ethernet import EthernetSource
from exporter.sources.gpudirect import GpuDirectSource
from exporter.sources.gpus_on_bus import GpusOnBus
from exporter.sources.infiniband import InfiniBandSource
from exporter.sources.jobs import JobsSource
from exporter.sources.kernel_log import KernelLogSource
from exporter.sources.node_places import NodePlaces
from exporter.sources.nvlink import NvlinkSource
from exporter.sources.nvml_session import Nvml
from exporter.sources.nvswitches import NvSwitches
from exporter.sources.pcie import PcieSource
from exporter.sources.pod_names import PodNames
from exporter.sources.process_jobs import ProcessJobs

MACHINES = Path(__file__).parent / "machines"
FULL = Selection(Tier.FULL)
INTERVALS = Intervals(5.0, 15.0, 300.0)
SIMULATED = "simulated-"
SIMULATED_PROFILES = ("v100", "a100-pcie-unbridged", "h100-pcie", "gb200-tray")
"""Simulated nodes whose whole page is kept: one of each generation and kind of wiring, the smaller ones."""
AGE_S, SEED = 3600.0, 1

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], Number]


def everything(device: str) -> bool:
    """The filter of a site that reads every device."""
    return bool(device) or True


@dataclass
class Machine:
    """A tree, and GPUs where there are some, under a sampler that is driven by hand. `advance` moves what is simulated to a time."""

    tree: MemoryTree
    wants: Callable[[str], bool] = everything
    clock: ManualClock = field(default_factory=ManualClock)
    board: Board = field(default_factory=Board)
    nvml: Nvml | None = None
    procfs: MemoryTree = field(default_factory=MemoryTree)
    advance: Callable[[float], object] = float

    def __post_init__(self) -> None:
        sources: list[Source] = [
            InfiniBandSource(self.tree, self.wants, places=NodePlaces(self.tree)),
            PcieSource(self.tree, self.wants),
            EthernetSource(self.tree, TreeEthtool(self.tree), self.wants),
            *self._gpu_sources(),
        ]
        self.health = Health(RULES, HealthSettings(), LearnedPorts(None), KeptVerdicts(None), Boot(), lambda _wall_s: Maintenance())
        pairs = [(source, INTERVALS) for source in sources]
        self.sampler = Sampler(pairs, self.clock, Inline(self.clock), self.board, observe=self.health.observe)
        self.sampler.tick()

    def run(self, seconds: float) -> "Machine":
        """Let that much virtual time pass, beat by beat."""
        until_s = self.clock.monotonic_s() + seconds
        while True:
            due_s = self.sampler.tick()
            if due_s >= until_s:
                break
            self._wait_until(due_s)
        self._wait_until(until_s)
        self.sampler.tick()
        return self

    def _wait_until(self, moment_s: float) -> None:
        self.clock.advance(moment_s - self.clock.monotonic_s())
        self.advance(self.clock.monotonic_s())

    def _gpu_sources(self) -> list[Source]:
        """NVLink, the kernel log and jobs; nothing for a machine that is a tree alone."""
        if self.nvml is None:
            return []
        names = GpusOnBus(self.tree, in_pci_order)
        nvlink = NvlinkSource(self.nvml, self.wants, full=True, with_processes=True)
        log = KernelLogSource(MemoryKernelLog(), KeptKernelLogState(None), "", gpus=names.names, switches=NvSwitches(self.tree).addresses)
        jobs = JobsSource(lambda: nvlink.facts.processes or {}, processes=ProcessJobs(MemoryProcesses(), PodNames(MemoryTree())))
        return [nvlink, log, jobs, GpuDirectSource(self.tree, self.procfs, self.wants)]

    @property
    def scene(self) -> Scene:
        """The current Scene."""
        return self.board.current(self.clock.monotonic_s())

    @property
    def page(self) -> str:
        """The full tier's page."""
        return render(self.scene, FULL, 30_000)

    @property
    def samples(self) -> Samples:
        """The page, parsed by prometheus_client: (name, sorted label pairs) → value."""
        return parsed(self.page)


def machine(name: str) -> Machine:
    """The fixture of that name after its first pass."""
    if name.startswith(SIMULATED):
        return simulated(name.removeprefix(SIMULATED))
    return Machine(MemoryTree(parse_archive((MACHINES / f"{name}.tree").read_text(encoding="utf-8"))))


def simulated(profile_name: str) -> Machine:
    """A simulated node, an hour old at its first pass."""
    clock = ManualClock()
    clock.advance(AGE_S)
    profile = profile_named(profile_name)
    node = SimulatedNode(profile, SEED)
    node.advance(AGE_S)
    nvml, procfs = FakeNvml(profile, SEED, clock.monotonic_s), MemoryTree(proc_entries(profile, SEED))
    return Machine(node.tree(), clock=clock, nvml=nvml, procfs=procfs, advance=node.advance)


def tree_names() -> list[str]:
    """The machines that are a tree which stands still, by name."""
    return sorted(path.stem for path in MACHINES.glob("*.tree"))


def machine_names() -> list[str]:
    """Every machine fixture, by name: those, and the simulated ones."""
    return sorted([*tree_names(), *(SIMULATED + name for name in SIMULATED_PROFILES)])


def parsed(page: str) -> Samples:
    """A page's samples as prometheus_client's parser sees them."""
    families = text_string_to_metric_families(page)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def port_value(samples: Samples, name: str, device: str, port: str = "1", **labels: str) -> Number | None:
    """One port's value by short name (without fabric_infiniband_), None if there is no such series."""
    pairs = {"device": device, "port": port, **labels}
    return samples.get((f"fabric_infiniband_{name}", tuple(sorted(pairs.items()))))
