"""What the PCIe source remembers of this node: names of GPUs and what links proved to do, in the state directory or in memory alone.

Knows which files there are and who may write them; what is in them is runtime's.
"""

import logging
import os
from dataclasses import dataclass, field

from exporter.config.schema import Config
from exporter.runtime import gpu_slot_map, learned_links
from exporter.runtime.gpu_slot_map import GpuSlotMap
from exporter.runtime.learned_links import LearnedLinks
from exporter.runtime.state_dir import StateDir
from exporter.runtime.state_file import StateFile, state_file

log = logging.getLogger("fabric_exporter.state")


@dataclass(slots=True)
class Memory:
    """Both memories. One lives as long as the daemon: a reload must not rename a GPU."""

    slots: GpuSlotMap
    learned: LearnedLinks
    _said: dict[str, str | None] = field(default_factory=dict)

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


def forgetful() -> Memory:
    """Remembers as long as the process lives."""
    return Memory(GpuSlotMap(None), LearnedLinks(None))


def kept(state: StateDir) -> Memory:
    """Reads the state directory's files and keeps them up to date; where the directory cannot be written, as `forgetful`."""
    return Memory(
        GpuSlotMap(state_file(state, gpu_slot_map.FILE, gpu_slot_map.VERSION)),
        LearnedLinks(state_file(state, learned_links.FILE, learned_links.VERSION)),
    )


def looked_up(config: Config) -> Memory:
    """Knows what the daemon of this configuration has learned, so that a one-shot command uses its names; writes nothing. What it cannot
    read is as if not learned: the command may run as another user."""

    def readable(name: str, version: int) -> StateFile | None:
        file = StateFile(os.path.join(state_path(config), name), version, is_kept=False)
        return file if file.load()[1] is None else None

    return Memory(
        GpuSlotMap(readable(gpu_slot_map.FILE, gpu_slot_map.VERSION)),
        LearnedLinks(readable(learned_links.FILE, learned_links.VERSION)),
    )
