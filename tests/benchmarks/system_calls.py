"""P7: system calls on the tree, counted by strace on the real daemon: none for a scrape, about one a counter for a pass."""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from exporter.model.metric import Cadence
from exporter.runtime.board import Board
from exporter.runtime.clock import ManualClock
from exporter.runtime.collect import Source
from exporter.runtime.crew import Inline
from exporter.runtime.sampler import Sampler
from exporter.runtime.schedule import Intervals
from exporter.simulator.node import SimulatedNode
from exporter.simulator.profiles import profile_named
from exporter.simulator.tree_ethtool import TreeEthtool
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.ethernet import EthernetSource
from exporter.sources.infiniband import InfiniBandSource
from tests.benchmarks.figure import Figure
from tests.benchmarks.meter import Scraper, free_port
from tests.benchmarks.peers import Peer, daemon_command, node_exporter_command, started
from tests.benchmarks.trees import counter_files, tree_of

HCAS = 10
SCRAPES = 50
BASE_SCRAPES = 4
WATCH_S = 6.5
FIRST_PASS_WITHIN_S = 20
LIMIT = 1.1
_CALL = re.compile(r"^(?:\d+ +)?(?:\[pid +\d+\] )?(\d+\.\d+) (\w+)\(")


def measure(_rounds: int) -> Iterator[Figure]:
    """Counts, so one round is as good as many. Raises RuntimeError without strace."""
    if shutil.which("strace") is None:
        raise RuntimeError("strace is not installed: apt-get install strace")
    with tree_of(HCAS) as root:
        on_scrape = _during_scrapes(root)
        passing = _during_passes(root) / counter_files(root, hw_counters=True)
        of_one_scrape = _of_node_exporter(root)
        base = of_one_scrape / counter_files(root, hw_counters=False)
    what = f"calls on sysfs during {SCRAPES} scrapes of the daemon"
    yield Figure("P7", what, on_scrape, 0, f"node_exporter {of_one_scrape * SCRAPES:,.0f}", str(on_scrape), "")
    what = "calls on sysfs a counter and pass, state files included"
    yield Figure("P7", what, passing, LIMIT, f"node_exporter {base:.2f}", f"{passing:.2f}", "")
    calls, ioctls, numbers = of_a_roce_node()
    what = "calls a number and pass on a RoCE node, ethtool's ioctl counted"
    yield Figure("P7", what, calls / numbers, LIMIT, f"{ioctls} ioctls, {calls - ioctls} reads", f"{numbers} numbers", "")


class _CountedEthtool(TreeEthtool):
    """Counts the calls that would be an ioctl each."""

    calls = 0

    def values(self, netdev: str, count: int) -> tuple[int, ...]:
        """One ioctl."""
        self.calls += 1
        return super().values(netdev, count)


def of_a_roce_node() -> tuple[int, int, int]:
    """Calls, ioctls among them, and numbers of one pass over a simulated node of eight RoCE rails, once all is open and learned."""
    tree = SimulatedNode(profile_named("roce-h200"), 1).tree()
    ethtool = _CountedEthtool(SimulatedNode(profile_named("roce-h200"), 1).tree())
    clock, board = ManualClock(), Board()
    intervals = Intervals(5.0, 15.0, 300.0)
    wants = DeviceFilter().wants
    sources: list[tuple[Source, Intervals]] = [
        (InfiniBandSource(tree, wants), intervals),
        (EthernetSource(tree, ethtool, wants, root="/sys"), intervals),
    ]
    sampler = Sampler(sources, clock, Inline(clock), board)
    for _ in range(4):
        sampler.tick()
        clock.advance(15.0)
    began, ethtool.calls = tree.preads + tree.opens + tree.listdirs, 0
    cadences = (Cadence.FAST, Cadence.NORMAL)
    sampler.tick_all(cadences)
    calls = tree.preads + tree.opens + tree.listdirs - began + ethtool.calls
    snapshots = [snapshot for feed, snapshot in board.current(clock.monotonic_s()).snapshots.items() if feed.cadence in cadences]
    return calls, ethtool.calls, sum(len(reading.values) for snapshot in snapshots for reading in snapshot.readings)


def _during_scrapes(root: str) -> int:
    """Between two passes: the first is over, the next is a minute away."""
    with _daemon_traced(root, ("1m", "1m", "1h")) as (peer, calls), Scraper(peer.port) as scraper:
        time.sleep(2.0)
        began_s = time.time()
        for _ in range(SCRAPES):
            scraper.scrape()
        ended_s = time.time()
        time.sleep(0.5)
        return sum(began_s <= at_s <= ended_s for at_s in calls())


def _during_passes(root: str) -> int:
    """Calls in the fullest pass once all files are open; nobody scrapes. Not a mean: strace makes reads so slow that the duty guard may
    leave devices out of a pass."""
    with _daemon_traced(root, ("2s", "2s", "1h")) as (_, calls):
        _until_all_is_open(calls)
        began_s = time.time()
        time.sleep(WATCH_S)
        passes: list[list[float]] = []
        for at_s in sorted(at_s for at_s in calls() if at_s > began_s):
            if not passes or at_s - passes[-1][-1] > 0.5:
                passes.append([])
            passes[-1].append(at_s)
    return max(map(len, passes))


def _until_all_is_open(calls: "Calls") -> None:
    """Wait for the end of the first pass, which opens every file: that it took its time on a busy machine is no finding. Raises
    RuntimeError if it does not end."""
    for _ in range(FIRST_PASS_WITHIN_S):
        seen = len(calls())
        time.sleep(1.0)
        if 0 < seen == len(calls()):
            return
    raise RuntimeError("the daemon's first pass does not end")


def _of_node_exporter(root: str) -> float:
    """Calls of one scrape."""
    port = free_port()
    with _traced(root, node_exporter_command(root, port), port) as (_, calls), Scraper(port) as scraper:
        scraper.scrape()
        time.sleep(0.5)
        before = len(calls())
        for _ in range(BASE_SCRAPES):
            scraper.scrape()
        time.sleep(0.5)
        return (len(calls()) - before) / BASE_SCRAPES


@contextmanager
def _daemon_traced(root: str, intervals: tuple[str, str, str]) -> Iterator[tuple[Peer, "Calls"]]:
    port = free_port()
    with daemon_command(root, port, intervals) as command, _traced(root, command, port) as running:
        yield running


class Calls:
    """The times of calls that touched a tree, from an strace log that is still being written."""

    def __init__(self, log: Path, root: str) -> None:
        self._log = log
        self._root = root

    def __call__(self) -> list[float]:
        """Unix time of each call so far that names a path of the tree or a file descriptor below it."""
        found = []
        for line in self._log.read_text(errors="replace").splitlines():
            match = _CALL.match(line)
            if match and self._root in line:
                found.append(float(match[1]))
        return found


@contextmanager
def _traced(root: str, command: Sequence[str], port: int) -> Iterator[tuple[Peer, Calls]]:
    """A server under strace, and the calls it made on the tree."""
    with tempfile.TemporaryDirectory(prefix="fabric-bench-") as folder:
        log = Path(folder, "calls")
        traced = ["strace", "-f", "-qq", "-y", "-ttt", "-e", "trace=file,desc", "-e", "signal=none", "-o", str(log), *command]
        with started(traced, port) as peer:
            yield peer, Calls(log, root)
            for child in Path(f"/proc/{peer.pid}/task/{peer.pid}/children").read_text().split():
                subprocess.run(["kill", child], check=False)
