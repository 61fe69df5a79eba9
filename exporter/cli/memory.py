"""What the PCIe source remembers of this node: names of GPUs and what links proved to do, in the state directory or in memory alone.

Knows which files there are and who may write them; what is in them is runtime's.
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from exporter.config.schema import Config
from exporter.model.gpu_slots import in_pci_order
from exporter.runtime import gpu_slot_map, learned_links
from exporter.runtime.gpu_slot_map import GpuSlotMap
from exporter.runtime.learned_links import LearnedLinks
from exporter.runtime.state_dir import StateDir
from exporter.runtime.state_file import StateFile, state_file

log = logging.getLogger("fabric_exporter.state")
Names = Callable[[Collection[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Memory:
    """How GPUs at PCI addresses are called, and what links proved to do."""

    names: Names
    learned: LearnedLinks


@dataclass(slots=True)
class KeptMemory:
    """The daemon's memory: lives as long as the process, for a reload must not rename a GPU, and is kept where it can be."""

    slots: GpuSlotMap
    learned: LearnedLinks
    _said: dict[str, str | None] = field(default_factory=dict)

    @property
    def memory(self) -> Memory:
        """As sources take it."""
        return Memory(self.slots.names, self.learned)

    def settle(self) -> None:
        """Write what was learned since the last time, and log each trouble once. For the thread that may wait for the disk: once a tick
        and at the end."""
        self.learned.save_if_changed()
        for name, problem in (("slots", self.slots.problem), ("learned", self.learned.problem)):
            if problem is not None and problem != self._said.get(name):
                log.warning("%s", problem)
            self._said[name] = problem


def state_path(config: Config) -> str:
    """The folder of this configuration's state. A simulated node has one of its own: it must not name this machine's GPUs."""
    profile = config.simulate.profile
    return config.state.dir if profile is None else os.path.join(config.state.dir, f"simulated-{profile}")


def kept(state: StateDir) -> KeptMemory:
    """Reads the state directory's files and keeps them up to date; where it cannot be written, remembers while the process lives."""
    return KeptMemory(
        GpuSlotMap(state_file(state, gpu_slot_map.FILE, gpu_slot_map.VERSION)),
        LearnedLinks(state_file(state, learned_links.FILE, learned_links.VERSION)),
    )


def forgetful() -> Memory:
    """Knows nothing of earlier runs and keeps nothing."""
    return Memory(GpuSlotMap(None).names, LearnedLinks(None))


def looked_up(config: Config) -> Memory:
    """Knows what the daemon of this configuration has learned, so that a one-shot command uses its names; writes nothing. What it cannot
    read is as if not learned: the command may run as another user."""
    folder = state_path(config)
    known = GpuSlotMap(StateFile(os.path.join(folder, gpu_slot_map.FILE), gpu_slot_map.VERSION)).slots
    learned = LearnedLinks(StateFile(os.path.join(folder, learned_links.FILE), learned_links.VERSION))
    return Memory(lambda present: in_pci_order(present, known), learned)
