"""P1: CPU of one sampling pass and the scrape of what it found, against node_exporter scraping the same files. One pass for each scrape."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from tests.benchmarks.figure import Figure, ms
from tests.benchmarks.meter import Scraper, alternate, load
from tests.benchmarks.peers import node_exporter, per_pass_server
from tests.benchmarks.trees import tree_of

STATE_AND_COUNTERS = "fast,normal"
WITH_IDENTITY = "fast,normal,slow"
NODE_SCRAPES, FLEET_SCRAPES = 150, 30
WARM_UP = 10


def measure(rounds: int) -> Iterator[Figure]:
    """Three gates for passes over state and all counters; for information the same with the identity texts in each pass as well."""
    yield from _side_by_side(
        10, NODE_SCRAPES, rounds, (("10 HCAs, the same files", False, 0.20), ("10 HCAs, with hw_counters", True, 0.35))
    )
    yield from _side_by_side(64, FLEET_SCRAPES, rounds, (("64 HCAs, the same files", False, 0.25),))


def _side_by_side(hcas: int, scrapes: int, rounds: int, variants: tuple[tuple[str, bool, float], ...]) -> Iterator[Figure]:
    with tree_of(hcas) as root, ExitStack() as running:
        contestants: dict[str, Callable[[], float]] = {}

        def enter(name: str, pid: int, port: int) -> None:
            scraper = running.enter_context(Scraper(port))
            load(pid, scraper, WARM_UP)
            contestants[name] = lambda: load(pid, scraper, scrapes).cpu_each_s

        base = running.enter_context(node_exporter(root))
        enter("node_exporter", base.pid, base.port)
        for what, hw_counters, _ in variants:
            for cadences in (STATE_AND_COUNTERS, WITH_IDENTITY):
                peer = running.enter_context(per_pass_server(root, cadences, hw_counters=hw_counters))
                enter(what + cadences, peer.pid, peer.port)
        medians = alternate(contestants, rounds)
        base_s = medians["node_exporter"]
        for what, _, limit in variants:
            for cadences in (STATE_AND_COUNTERS, WITH_IDENTITY):
                ours_s = medians[what + cadences]
                judged = limit if cadences == STATE_AND_COUNTERS else None  # the daemon reads identity every 300 s, not with each pass
                yield Figure("P1", f"{what}; each pass reads {cadences.replace(',', ' + ')}", ours_s / base_s, judged,
                             f"node_exporter {ms(base_s)}", ms(ours_s))  # fmt: skip
