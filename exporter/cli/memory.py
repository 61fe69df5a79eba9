"""What is remembered of this node: names of GPUs, what links proved to do, how far the kernel log was read; in the state directory or in
memory alone.

Knows which files there are and who may write them; what is in them is runtime's.
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from exporter.config.schema import Config
from exporter.model.gpu_slots import GpuSlots, in_pci_order
from exporter.runtime import gpu_modules, gpu_slot_map, kept_verdicts, kernel_log_state, learned_links, learned_nvlinks, learned_ports
from exporter.runtime.gpu_modules import GpuModules
from exporter.runtime.gpu_slot_map import GpuSlotMap
from exporter.runtime.kept_verdicts import KeptVerdicts
from exporter.runtime.kernel_log_state import KeptKernelLogState
from exporter.runtime.learned_links import LearnedLinks
from exporter.runtime.learned_nvlinks import LearnedNvlinks
from exporter.runtime.learned_ports import LearnedPorts
from exporter.runtime.state_dir import StateDir
from exporter.runtime.state_file import StateFile, state_file

log = logging.getLogger("fabric_exporter.state")
Names = Callable[[Collection[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Memory:
    """How GPUs at PCI addresses are called (`gpus`: those known by now), what PCIe links, NVLinks and ports proved to do, where GPUs sit on
    their board, how far the kernel log was read, and which links were not well."""

    names: Names
    gpus: Callable[[], Mapping[str, str]]
    learned: LearnedLinks
    nvlinks: LearnedNvlinks
    modules: GpuModules
    kernel_log: KeptKernelLogState
    ports: LearnedPorts
    verdicts: KeptVerdicts


@dataclass(slots=True)
class KeptMemory:
    """The daemon's memory: lives as long as the process, for a reload must not rename a GPU, and is kept where it can be."""

    slots: GpuSlotMap
    learned: LearnedLinks
    nvlinks: LearnedNvlinks
    modules: GpuModules
    kernel_log: KeptKernelLogState
    ports: LearnedPorts
    verdicts: KeptVerdicts
    _said: dict[str, str | None] = field(default_factory=dict)

    @property
    def memory(self) -> Memory:
        """As sources take it."""
        return Memory(self.slots.names, lambda: _names_of(self.slots.slots), self.learned, self.nvlinks, self.modules, self.kernel_log,
                      self.ports, self.verdicts)  # fmt: skip

    def settle(self) -> None:
        """Write what was learned since the last time, and log each trouble once. For the thread that may wait for the disk: once a tick
        and at the end."""
        for kept_in in (self.learned, self.nvlinks, self.modules, self.kernel_log, self.ports, self.verdicts):
            self._say(type(kept_in).__name__, kept_in.save_if_changed())
        self._say("slots", self.slots.problem)

    def _say(self, name: str, problem: str | None) -> None:
        if problem is not None and problem != self._said.get(name):
            log.warning("%s", problem)
        self._said[name] = problem


def state_path(config: Config) -> str:
    """The folder of this configuration's state. A simulated node has one of its own: it must not name this machine's GPUs."""
    profile = config.simulate.profile
    return config.state.dir if profile is None else os.path.join(config.state.dir, f"simulated-{profile.partition(',')[0]}")


def kept(state: StateDir) -> KeptMemory:
    """Reads the state directory's files and keeps them up to date; where it cannot be written, remembers while the process lives."""
    return _kept_in(lambda name, version: state_file(state, name, version))


def forgetful() -> Memory:
    """Knows nothing of earlier runs and keeps nothing."""
    return _kept_in(lambda _name, _version: None).memory


def looked_up(config: Config) -> Memory:
    """Knows what the daemon of this configuration has learned, so that a one-shot command uses its names; writes nothing. What it cannot
    read is as if not learned: the command may run as another user."""
    folder = state_path(config)
    known = _kept_in(lambda name, version: StateFile(os.path.join(folder, name), version))
    return replace(known.memory, names=lambda present: in_pci_order(present, known.slots.slots))


def _kept_in(file_of: Callable[[str, int], StateFile | None]) -> KeptMemory:
    return KeptMemory(
        GpuSlotMap(file_of(gpu_slot_map.FILE, gpu_slot_map.VERSION)),
        LearnedLinks(file_of(learned_links.FILE, learned_links.VERSION)),
        LearnedNvlinks(file_of(learned_nvlinks.FILE, learned_nvlinks.VERSION)),
        GpuModules(file_of(gpu_modules.FILE, gpu_modules.VERSION)),
        KeptKernelLogState(file_of(kernel_log_state.FILE, kernel_log_state.VERSION)),
        LearnedPorts(file_of(learned_ports.FILE, learned_ports.VERSION)),
        KeptVerdicts(file_of(kept_verdicts.FILE, kept_verdicts.VERSION)),
    )


def _names_of(slots: GpuSlots) -> Mapping[str, str]:
    return {address: slots.name_of(address) for address in slots.numbers}
