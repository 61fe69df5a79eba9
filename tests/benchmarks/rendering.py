"""P3: rendering a page against prometheus_client's generate_latest of the same samples, which must parse to the same result."""

import gc
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from prometheus_client.parser import text_string_to_metric_families

from exporter.catalog import CATALOGUE
from exporter.exposition.client_library import encode, families_of
from exporter.exposition.layout import selected_readings
from exporter.exposition.page import PageMaker
from exporter.exposition.selection import Selection
from exporter.model.metric import Tier
from exporter.model.snapshot import Scene
from exporter.runtime.board import Board
from exporter.runtime.clock import ManualClock
from exporter.runtime.crew import Inline
from exporter.runtime.sampler import Sampler
from exporter.runtime.schedule import Intervals
from exporter.simulator.node import SimulatedNode
from exporter.sources.infiniband import InfiniBandSource
from tests.benchmarks.figure import Figure, ms
from tests.benchmarks.meter import alternate, cpu_of
from tests.benchmarks.node import SERIES_CAP
from tests.benchmarks.trees import AGE_S, dgx

FULL = Selection(Tier.FULL)
LIMIT = 0.04


def measure(rounds: int) -> Iterator[Figure]:
    """Two sizes: about 2,200 and about 22,000 samples."""
    for hcas, times in ((37, 20), (370, 2)):
        yield _side_by_side(hcas, times, rounds)


def _side_by_side(hcas: int, times: int, rounds: int) -> Figure:
    """`times` is how often generate_latest runs in a round; ours runs ten times as often."""
    scene = scene_of(hcas)
    families = families_of(selected_readings(scene, FULL), CATALOGUE, FULL)
    pages = PageMaker(tier=Tier.FULL, series_cap=SERIES_CAP)
    generation = count(scene.generation)

    def theirs() -> bytes:
        return encode(families)

    def ours() -> bytes:
        return pages.page(replace(scene, generation=next(generation)), FULL).body

    samples = check_same(scene)
    ours()  # lays the page out
    gc.collect()
    gc.freeze()  # the tree and the families are not what either side would have in its heap
    medians = alternate({"base": lambda: cpu_of(theirs, times), "ours": lambda: cpu_of(ours, 10 * times)}, rounds)
    what = f"rendering {samples:,} samples, parsed result equal"
    return Figure("P3", what, medians["ours"] / medians["base"], LIMIT, f"generate_latest {ms(medians['base'])}", ms(medians["ours"]))


def scene_of(hcas: int) -> Scene:
    """What a node of that many HCAs shows after one pass, in virtual time."""
    clock, board = ManualClock(), Board()
    node = SimulatedNode(dgx(hcas), 1)
    node.advance(AGE_S)
    sampler = Sampler([(InfiniBandSource(node.tree(), bool), Intervals(5, 15, 300))], clock, Inline(clock), board)
    sampler.tick()
    return board.current(clock.monotonic_s())


def check_same(scene: Scene) -> int:
    """How many samples both ways show. Raises ValueError if they do not parse to the same result."""
    ours = _parsed(PageMaker(tier=Tier.FULL, series_cap=SERIES_CAP).page(scene, replace(FULL, sources=frozenset({"infiniband"}))).body)
    chosen = replace(FULL, sources=frozenset({"infiniband"}))
    theirs = _parsed(encode(families_of(selected_readings(scene, chosen), CATALOGUE, chosen)))
    if ours != theirs:
        raise ValueError(f"rendered pages differ: {sorted(set(ours) ^ set(theirs))[:3]}")
    return len(ours)


def _parsed(page: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(page.decode())
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for family in families for sample in family.samples}
