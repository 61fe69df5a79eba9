"""A folder of eight number files in memory, and the FileSet over it."""

from collections.abc import Mapping

from exporter.simulator.archive import Entry, File, Refusal
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.file_set import FileSet

FOLDER = "counters"
NAMES = tuple("abcdefgh")


def folder_tree(refusing: Mapping[str, int] = {}) -> MemoryTree:
    """Files of NAMES, each saying its position, or refusing with the errno given."""
    entries: list[Entry] = [
        Refusal(f"{FOLDER}/{name}", refusing[name]) if name in refusing else File(f"{FOLDER}/{name}", b"%d\n" % position)
        for position, name in enumerate(NAMES)
    ]
    return MemoryTree(entries)


def file_set(tree: MemoryTree) -> FileSet:
    """The FileSet over all of them."""
    return FileSet(tree, FOLDER, NAMES)


def preads_of(tree: MemoryTree, files: FileSet, now_s: float) -> int:
    """How many reads one pass takes at that time."""
    before = tree.preads
    files.read(now_s)
    return tree.preads - before
