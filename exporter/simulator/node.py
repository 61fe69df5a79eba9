"""A simulated node: a profile's sysfs, moved forward by the traffic model, in memory or as real files.

Knows which file shows which total. Reads no clock: the caller says how far virtual time has come, in seconds since the node started.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from exporter.catalog.infiniband import CLAMPS
from exporter.model.quantity import BYTES_PER_IB_WORD
from exporter.simulator.archive import unpack
from exporter.simulator.hcas import Hca
from exporter.simulator.layout import node_entries, port_folder
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.mlx5_statistics import statistics_path, statistics_text
from exporter.simulator.netdevs import administration_numbers
from exporter.simulator.profiles import Profile
from exporter.simulator.traffic import NS_PER_S, TRAINING, Flow, PortTotals, port_totals


class SimulatedNode:
    """A node in memory, at rest at time 0. The same profile, flows and seed give the same files at the same time."""

    def __init__(self, profile: Profile, seed: int, flows: tuple[Flow, ...] = TRAINING) -> None:
        self._tree = MemoryTree(node_entries(profile))
        self._course = _Course(profile, seed, flows)

    def tree(self) -> MemoryTree:
        """The node's /sys; the same object all the time."""
        return self._tree

    def advance(self, to_s: float) -> None:
        """Bring the files to virtual time `to_s`. Files that were removed stay away. Raises ValueError if time would go back."""
        for path, content in self._course.changes(to_s):
            if self._tree.exists(path):
                self._tree.write(path, content)


class DiskNode:
    """The same node as real files below `folder`, which stands for /sys and must not hold one yet. Raises OSError."""

    def __init__(self, profile: Profile, seed: int, folder: str | os.PathLike[str], flows: tuple[Flow, ...] = TRAINING) -> None:
        self._folder = Path(folder)
        self._course = _Course(profile, seed, flows)
        unpack(node_entries(profile), self._folder)

    def advance(self, to_s: float) -> None:
        """Bring the files to virtual time `to_s`, each in place, so that a reader that keeps them open sees the new text.

        Files that were removed stay away. Raises ValueError if time would go back, OSError if a file cannot be written.
        """
        for path, content in self._course.changes(to_s):
            rewrite(self._folder / path, content)


def rewrite(path: Path, content: bytes) -> None:
    """Give a file new content in the same inode, in one write; a file that is not there is left alone. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        old_size = os.fstat(descriptor).st_size
        # Blank out a longer old text in the same write: a reader in between finds `5` and empty lines, never `5` and old digits.
        os.pwrite(descriptor, content.ljust(old_size, b"\n"), 0)
        if old_size > len(content):
            os.ftruncate(descriptor, len(content))
    finally:
        os.close(descriptor)


class _Course:
    """The counters of a node along virtual time, as changes of files."""

    def __init__(self, profile: Profile, seed: int, flows: tuple[Flow, ...]) -> None:
        self._hcas = tuple((hca, port_folder(hca)) for hca in profile.hcas)
        self._nics = tuple(nic.netdev(0).folder for nic in profile.nics)
        self._seed = seed
        self._flows = flows
        self._at_s = 0.0
        self._shown: dict[str, int] = {}
        self._said: dict[str, bytes] = {}

    def changes(self, to_s: float) -> Iterator[tuple[str, bytes]]:
        """Path and new text of each file that says something else at `to_s` than before."""
        if to_s < self._at_s:
            raise ValueError(f"virtual time is at {self._at_s} s and cannot go back to {to_s} s")
        self._at_s = to_s
        for hca, folder in self._hcas:
            totals = port_totals(hca, self._flows, self._seed, to_s)
            yield from self._moved(folder, _numbers(hca, totals))
            if hca.link_layer == "Ethernet":
                path, text = statistics_path(hca), statistics_text(hca, totals, to_s)
                if self._said.get(path) != text:
                    self._said[path] = text
                    yield path, text
        for folder in self._nics:
            yield from self._moved(folder, administration_numbers(round(to_s * NS_PER_S)))

    def _moved(self, folder: str, numbers: Iterable[tuple[str, int]]) -> Iterator[tuple[str, bytes]]:
        """Path and text of each number file that says something else than before."""
        for name, number in numbers:
            path = f"{folder}/{name}"
            if self._shown.get(path, 0) != number:
                self._shown[path] = number
                yield path, b"%d\n" % number


def _numbers(hca: Hca, totals: PortTotals) -> Iterator[tuple[str, int]]:
    """Each file that traffic moves and its number, clamped as the port's counters are."""
    counters = {
        "port_xmit_data": totals.transmitted_bytes // BYTES_PER_IB_WORD,
        "port_rcv_data": totals.received_bytes // BYTES_PER_IB_WORD,
        "port_xmit_packets": totals.transmitted_packets,
        "port_rcv_packets": totals.received_packets,
        "unicast_xmit_packets": totals.transmitted_packets - totals.multicast_packets,
        "unicast_rcv_packets": totals.received_packets - totals.multicast_packets,
        "multicast_xmit_packets": totals.multicast_packets,
        "multicast_rcv_packets": totals.multicast_packets,
        "port_xmit_wait": totals.wait_ticks,
        "symbol_error": totals.symbol_errors,
    }
    for name, number in counters.items():
        yield f"counters/{name}", min(number, CLAMPS.get(name, number))
    yield "hw_counters/rx_write_requests", totals.write_requests
    if hca.link_layer == "Ethernet":
        yield "hw_counters/np_ecn_marked_roce_packets", totals.ecn_marked
        yield "hw_counters/np_cnp_sent", totals.cnp_sent
        yield "hw_counters/rp_cnp_handled", totals.cnp_handled
