"""Builds the Scene and the page of a machine fixture: the real source, sampler and renderer over an in-memory tree, in virtual time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from exporter.exposition.page import render
from exporter.exposition.selection import Selection
from exporter.model.metric import Tier
from exporter.model.snapshot import Number, Scene
from exporter.runtime.board import Board
from exporter.runtime.clock import ManualClock
from exporter.runtime.crew import Inline
from exporter.runtime.sampler import Sampler
from exporter.runtime.schedule import Intervals
from exporter.simulator.archive import parse_archive
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.tree_ethtool import TreeEthtool
from exporter.sources.ethernet import EthernetSource
from exporter.sources.infiniband import InfiniBandSource
from exporter.sources.pcie import PcieSource

MACHINES = Path(__file__).parent / "machines"
FULL = Selection(Tier.FULL)
INTERVALS = Intervals(5.0, 15.0, 300.0)

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], Number]


def everything(device: str) -> bool:
    """The filter of a site that reads every device."""
    return bool(device) or True


@dataclass
class Machine:
    """A tree under a sampler that is driven by hand."""

    tree: MemoryTree
    wants: Callable[[str], bool] = everything
    clock: ManualClock = field(default_factory=ManualClock)
    board: Board = field(default_factory=Board)

    def __post_init__(self) -> None:
        sources = [
            InfiniBandSource(self.tree, self.wants),
            PcieSource(self.tree, self.wants),
            EthernetSource(self.tree, TreeEthtool(self.tree), self.wants),
        ]
        self.sampler = Sampler([(source, INTERVALS) for source in sources], self.clock, Inline(self.clock), self.board)
        self.sampler.tick()

    def run(self, seconds: float) -> "Machine":
        """Let that much virtual time pass, beat by beat."""
        until_s = self.clock.monotonic_s() + seconds
        while True:
            due_s = self.sampler.tick()
            if due_s >= until_s:
                break
            self.clock.advance(due_s - self.clock.monotonic_s())
        self.clock.advance(until_s - self.clock.monotonic_s())
        self.sampler.tick()
        return self

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
    return Machine(MemoryTree(parse_archive((MACHINES / f"{name}.tree").read_text(encoding="utf-8"))))


def machine_names() -> list[str]:
    """Every machine fixture, by name."""
    return sorted(path.stem for path in MACHINES.glob("*.tree"))


def parsed(page: str) -> Samples:
    """A page's samples as prometheus_client's parser sees them."""
    families = text_string_to_metric_families(page)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def port_value(samples: Samples, name: str, device: str, port: str = "1", **labels: str) -> Number | None:
    """One port's value by short name (without fabric_infiniband_), None if there is no such series."""
    pairs = {"device": device, "port": port, **labels}
    return samples.get((f"fabric_infiniband_{name}", tuple(sorted(pairs.items()))))
