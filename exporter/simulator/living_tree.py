"""The files of a simulated node in motion: its ports and interfaces along virtual time, files that a fault makes say something else, and
devices that go and come back.

Knows a tree that can be written, in memory or on disk; knows no fault by name. Time is in seconds since the node started.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from exporter.simulator.archive import Entry, File
from exporter.simulator.layout import node_entries
from exporter.simulator.netdevs import administration_numbers
from exporter.simulator.port import Port
from exporter.simulator.profiles import Profile
from exporter.simulator.traffic import NS_PER_S, Flow


class Tree(Protocol):
    """What the node is written to: MemoryTree or DiskTree. Errors are OSError."""

    def rewrite(self, path: str, content: bytes) -> bool:
        """Make a file that is there say `content`. False for a path with no file."""
        ...

    def content(self, path: str) -> bytes | None:
        """What the file says; None if there is none."""
        ...

    def fail(self, path: str, code: int | None) -> None:
        """From now on the file refuses to be read with that errno; None ends it."""
        ...

    def resolve(self, path: str) -> str:
        """The path with all links followed; OSError if nothing is there."""
        ...

    def remove(self, path: str) -> tuple[Entry, ...]:
        """Take away what is there and every link that leads into it; what went."""
        ...

    def add(self, entries: Iterable[Entry]) -> None:
        """Put entries in place."""
        ...


class LivingTree:
    """`ports` by the HCA's name. Used by one thread. `tree` holds node_entries(profile)."""

    def __init__(self, tree: Tree, profile: Profile, seed: int, flows: tuple[Flow, ...]) -> None:
        self.tree = tree
        self._profile = profile
        self.ports: Mapping[str, Port] = {hca.name: Port(hca, flows, seed) for hca in profile.hcas}
        self._nics = {f"{nic.netdev(0).folder}/": 0 for nic in profile.nics}
        """Where the counters of each interface lie, and since when (ns) it counts."""
        self._shown: dict[str, int] = {}
        self._held: dict[str, dict[object, bytes]] = {}
        self._said_before: dict[str, bytes] = {}
        self._taken: dict[object, list[tuple[Entry, ...]]] = {}
        self._at_s = 0.0

    def advance(self, to_s: float) -> None:
        """Bring the files to that time. Files that are not there stay away. Raises ValueError if time would go back, OSError for a file
        that cannot be written."""
        if to_s < self._at_s:
            raise ValueError(f"virtual time is at {self._at_s} s and cannot go back to {to_s} s")
        self._at_s = to_s
        rewrite, held = self.tree.rewrite, self._held
        for port in self.ports.values():
            for path, content in port.changes(to_s):
                if path not in held:
                    rewrite(path, content)
        for folder, since_ns in self._nics.items():
            for name, number in administration_numbers(round(to_s * NS_PER_S) - since_ns):
                path = folder + name
                if self._shown.get(path, 0) != number and path not in held:
                    self._shown[path] = number
                    rewrite(path, b"%d\n" % number)

    def glance(self, to_s: float) -> None:
        """Bring the byte counters of ports to that time; all other files stay as they are until `advance`."""
        self._at_s = to_s
        for port in self.ports.values():
            for path, content in port.bytes_at(to_s):
                if path not in self._held:
                    self.tree.rewrite(path, content)

    def hold(self, key: object, texts: Mapping[str, bytes]) -> None:
        """These files say this until `release` of the same key, whatever happens; of several the last one counts."""
        for path, text in texts.items():
            before = self.tree.content(path)
            if before is None:
                continue
            self._said_before.setdefault(path, before)
            self._held.setdefault(path, {})[key] = text
            self.tree.rewrite(path, text)

    def release(self, key: object) -> None:
        """They say again what they would say."""
        for path in [path for path, texts in self._held.items() if key in texts]:
            texts = self._held[path]
            del texts[key]
            if not texts:
                del self._held[path]
            self.tree.rewrite(path, next(reversed(texts.values()), self._said_before[path]))
            if not texts:
                del self._said_before[path]
                for port in self.ports.values():
                    port.forget(path)
                self._shown.pop(path, None)

    def paths_below(self, folder: str) -> list[str]:
        """Every file that a whole node has below that folder."""
        return [entry.path for entry in node_entries(self._profile) if isinstance(entry, File) and entry.path.startswith(f"{folder}/")]

    def fail(self, path: str, code: int | None) -> None:
        """From now on that file refuses to be read with that errno; None ends it. Nothing for a file that is not there."""
        if self.tree.content(path) is not None:
            self.tree.fail(path, code)

    def take_away(self, key: object, *paths: str) -> None:
        """What lies at these paths goes, with every link that leads there, until `bring_back` of the same key. What is not there is left
        out."""
        for path in paths:
            if self._is_there(path):
                self._taken.setdefault(key, []).append(self.tree.remove(path))

    def bring_back(self, key: object) -> None:
        """What went is there again, and says what it said."""
        for entries in reversed(self._taken.pop(key, [])):
            self.tree.add(entries)

    def restart(self, elapsed_s: float) -> None:
        """The node boots: every counter starts at 0."""
        for port in self.ports.values():
            port.restart(elapsed_s)
        self._nics = dict.fromkeys(self._nics, round(elapsed_s * NS_PER_S))
        self._shown = {}

    def _is_there(self, path: str) -> bool:
        try:
            self.tree.resolve(path)
        except OSError:
            return False
        return True
