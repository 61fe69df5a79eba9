"""P9: wall time of a pass when every read takes 200 µs more, against the slowest single HCA: devices must be read beside each other."""

import statistics
import time
from collections.abc import Iterator

from exporter.sources.hca import HcaReader
from tests.benchmarks.figure import Figure, ms
from tests.benchmarks.files import SlowFiles
from tests.benchmarks.node import STATE_AND_COUNTERS, Node, real_files
from tests.benchmarks.trees import dgx, tree_of

DELAY_S = 200e-6
HCAS = 10
LIMIT = 1.3
WARM_UP = 5
"""Passes before the crew has learned which devices make it wait."""


def measure(rounds: int) -> Iterator[Figure]:
    """One figure."""
    with tree_of(HCAS) as root:
        files = SlowFiles(real_files(root), DELAY_S)
        node = Node(files, hw_counters=True)
        alone = [HcaReader(files, hca.name, hw_counters=True) for hca in dgx(HCAS).hcas]
        for _ in range(WARM_UP):
            node.sample()
        for reader in alone:
            _read(reader)
        whole, single = [], []
        for _ in range(rounds):
            single.append(max(_read(reader) for reader in alone))
            whole.append(_wall(node))
        node.stop()
    base_s, ours_s = statistics.median(single), statistics.median(whole)
    yield Figure("P9", f"pass over {HCAS} HCAs with {DELAY_S * 1e6:.0f} µs more a read, wall time", ours_s / base_s, LIMIT,
                 f"slowest HCA alone {ms(base_s)}", ms(ours_s))  # fmt: skip


def _wall(node: Node) -> float:
    started_s = time.perf_counter()
    node.sample()
    return time.perf_counter() - started_s


def _read(reader: HcaReader) -> float:
    started_s = time.perf_counter()
    for cadence in STATE_AND_COUNTERS:
        reader.read(cadence, 0.0, started_s)
    return time.perf_counter() - started_s
