"""P6: one file of one HCA whose read never returns. What a scrape takes beside it, how old the others' data gets, when it is flagged."""

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from exporter.model.metric import Cadence
from tests.benchmarks.figure import Figure, ms
from tests.benchmarks.files import StuckFiles
from tests.benchmarks.meter import Scraper, load, percentile
from tests.benchmarks.node import Node, real_files
from tests.benchmarks.peers import live_server
from tests.benchmarks.trees import tree_of

HCAS = 10
INTERVAL_S = 1.0
HUNG = "mlx5_3"
WATCH_INTERVALS = 5
LOOK_EVERY_S = 0.02
SCRAPES = 300
NOISE = {"p50": 1.25, "p99": 1.5}
"""A scrape beside a hang may differ from a healthy one by what two healthy runs differ by on a busy machine."""


@dataclass(frozen=True, slots=True)
class Course:
    """What was seen in the intervals after a read got stuck: the oldest fast sample of any other HCA and the delay of the flag, in
    intervals, and the most threads that were stuck. The flag is infinite if it never came."""

    oldest_intervals: float
    flagged_intervals: float
    stuck: int


def measure(rounds: int) -> Iterator[Figure]:
    """Latency over HTTP, then age, flag and threads within this process."""
    yield from _latency(rounds)
    with tree_of(HCAS) as root:
        course = watch(root, INTERVAL_S)
    yield Figure("P6", "oldest sample of any other HCA", course.oldest_intervals, 2, "–", f"{course.oldest_intervals:.2f}", "intervals")
    yield Figure("P6", "until the hung one is flagged", course.flagged_intervals, 2, "–", f"{course.flagged_intervals:.2f}", "intervals")
    yield Figure("P6", "threads stuck", course.stuck, 1, "–", str(course.stuck), "")


def watch(root: str, interval_s: float) -> Course:
    """Hang one HCA of a sampling node and watch the board for a few intervals."""
    files = StuckFiles(real_files(root), f"/{HUNG}/ports/1/counters/symbol_error")
    node = Node(files, hw_counters=True, interval_s=interval_s)
    node.sampler.start()
    time.sleep(2.5 * interval_s)
    files.hang()
    began_s = node.clock.monotonic_s()
    oldest_s, flagged_s, stuck = 0.0, float("inf"), 0
    while (now_s := node.clock.monotonic_s()) < began_s + WATCH_INTERVALS * interval_s:
        scene = node.scene()
        others = [s.monotonic_s for feed, s in scene.snapshots.items() if feed.cadence is Cadence.FAST and feed.subject != HUNG]
        oldest_s = max(oldest_s, now_s - min(others))
        if any(HUNG in status.hung for status in scene.sources):
            flagged_s = min(flagged_s, now_s - files.stuck_since_s)
        stuck = max(stuck, files.stuck)
        time.sleep(LOOK_EVERY_S)
    files.let_go()
    node.stop()
    return Course(oldest_s / interval_s, flagged_s / interval_s, stuck)


def _latency(rounds: int) -> Iterator[Figure]:
    """A healthy and a hung server, scraped in turns; identical but for the hang."""
    with tree_of(HCAS) as root, ExitStack() as running:
        peers = {"healthy": running.enter_context(live_server(root, INTERVAL_S)),
                 "hung": running.enter_context(live_server(root, INTERVAL_S, HUNG))}  # fmt: skip
        scrapers = {name: running.enter_context(Scraper(peer.port, gzip=False)) for name, peer in peers.items()}
        time.sleep(6 * INTERVAL_S)
        if b'source_devices_hung{source="infiniband"} 1\n' not in scrapers["hung"].scrape():
            raise RuntimeError("the device that should hang is not flagged as hung")
        walls: dict[str, list[tuple[float, float]]] = {name: [] for name in peers}
        for _ in range(rounds):
            for name, peer in peers.items():
                found = load(peer.pid, scrapers[name], SCRAPES).walls_s
                walls[name].append((percentile(found, 0.5), percentile(found, 0.99)))
    for position, what in enumerate(("p50", "p99")):
        healthy_s, hung_s = (statistics.median(pair[position] for pair in walls[name]) for name in ("healthy", "hung"))
        yield Figure("P6", f"scrape beside a hung file, {what}", hung_s / healthy_s, NOISE[what], f"healthy {ms(healthy_s)}", ms(hung_s))
