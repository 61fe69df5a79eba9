"""The product's own parts put together for a benchmark: source, sampler, crew, board and pages on one tree, driven as the caller likes."""

from collections.abc import Collection, Mapping, Sequence

from exporter.exposition.page import Page, PageMaker
from exporter.model.metric import Cadence, Tier
from exporter.model.snapshot import Scene
from exporter.runtime.board import Board
from exporter.runtime.clock import SystemClock
from exporter.runtime.collect import Source
from exporter.runtime.crew import Crew
from exporter.runtime.open_files import raise_limit
from exporter.runtime.sampler import Sampler
from exporter.runtime.schedule import Intervals
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.infiniband import InfiniBandSource
from exporter.sources.sysfs import Files, RealFiles

SERIES_CAP = 1_000_000
STATE_AND_COUNTERS = (Cadence.FAST, Cadence.NORMAL)


def real_files(root: str) -> RealFiles:
    """The tree at `root` with as many files kept open as the daemon would keep."""
    return RealFiles(root, raise_limit())


class Node:
    """One node under our sampler; shows every series (tier full), without the process's own as node_exporter is run without them.

    `others` are sources beside InfiniBand.
    """

    def __init__(self, files: Files, *, hw_counters: bool, interval_s: float = 5.0, others: Sequence[Source] = ()) -> None:
        self.clock = SystemClock()
        self.crew = Crew(self.clock, caller_reads=True)
        self.board = Board()
        sources: list[Source] = [InfiniBandSource(files, DeviceFilter().wants, hw_counters=hw_counters), *others]
        intervals = Intervals(interval_s, interval_s, 300.0)
        self.sampler = Sampler([(source, intervals) for source in sources], self.clock, self.crew, self.board)
        self.pages = PageMaker(tier=Tier.FULL, series_cap=SERIES_CAP)

    def sample(self, cadences: Collection[Cadence] = STATE_AND_COUNTERS) -> None:
        """One pass over these cadences, due or not."""
        self.sampler.tick_all(cadences)

    def scene(self) -> Scene:
        """What is on the board now."""
        return self.board.current(self.clock.monotonic_s())

    def metrics(self, query: Mapping[str, Sequence[str]], accept: str, accept_encoding: str) -> Page:
        """The answer to one scrape, as the daemon gives it."""
        return self.pages.answer(self.scene(), query, accept, accept_encoding)

    def stop(self) -> None:
        """End the sampler and its threads."""
        self.sampler.stop()
        self.crew.stop()
