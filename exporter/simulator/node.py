"""A simulated node: a profile's sysfs, moved forward by the traffic model, in memory or as real files.

Knows which tree the files are in; what they say is living_tree.py's. Reads no clock: the caller says how far virtual time has come, in
seconds since the node started.
"""

import os

from exporter.simulator.disk_tree import DiskTree, rewrite
from exporter.simulator.layout import node_entries
from exporter.simulator.living_tree import LivingTree
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.profiles import Profile
from exporter.simulator.traffic import TRAINING, Flow

__all__ = ["DiskNode", "SimulatedNode", "rewrite"]


class SimulatedNode:
    """A node in memory, at rest at time 0. The same profile, flows and seed give the same files at the same time. `life` is for those who
    meddle."""

    def __init__(self, profile: Profile, seed: int, flows: tuple[Flow, ...] = TRAINING) -> None:
        self._tree = MemoryTree(node_entries(profile))
        self.life = LivingTree(self._tree, profile, seed, flows)

    def tree(self) -> MemoryTree:
        """The node's /sys; the same object all the time."""
        return self._tree

    def advance(self, to_s: float) -> None:
        """Bring the files to virtual time `to_s`. Files that were removed stay away. Raises ValueError if time would go back."""
        self.life.advance(to_s)


class DiskNode:
    """The same node as real files below `folder`, which stands for /sys and must not hold one yet. Raises OSError."""

    def __init__(self, profile: Profile, seed: int, folder: str | os.PathLike[str], flows: tuple[Flow, ...] = TRAINING) -> None:
        self.life = LivingTree(DiskTree(node_entries(profile), folder), profile, seed, flows)

    def advance(self, to_s: float) -> None:
        """Bring the files to virtual time `to_s`, each in place, so that a reader that keeps them open sees the new text.

        Files that were removed stay away. Raises ValueError if time would go back, OSError if a file cannot be written.
        """
        self.life.advance(to_s)
