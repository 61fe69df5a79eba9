"""P6: a call of the NVIDIA driver that never returns. What a scrape takes beside it, how old the HCAs' data gets, when it is flagged, and
how many NVML children there are at most."""

import re
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from exporter.model.metric import Cadence
from exporter.model.snapshot import Scene
from exporter.runtime.child_process import MODULE
from exporter.runtime.clock import SystemClock
from exporter.runtime.worker import Patience
from tests.benchmarks.driver import fake_driver, gpus, inherited, without_log
from tests.benchmarks.figure import Figure, ms
from tests.benchmarks.hang import HCAS, LOOK_EVERY_S, NOISE
from tests.benchmarks.meter import Scraper, family, load, percentile
from tests.benchmarks.node import Node, real_files
from tests.benchmarks.peers import live_server_with_gpus
from tests.benchmarks.trees import tree_of
from tests.nvml_library import FakeDriver

INTERVAL_S = 1.0
SCRAPES = 1000
HCAS_ONLY = "/metrics?collect[]=infiniband"
"""Both pages must hold the same: the hung GPUs' series leave after a while."""
SOURCE = "nvlink"
HANG = {"g3.call.nvmlDeviceGetFieldValues.sleep_ms": "forever"}
IMPATIENT = Patience(answer_s=2.0, term_s=1.0, kill_s=1.0, back_off_s=0.5, back_off_max_s=0.5)
"""So that the whole ladder, up to a second child that hangs as well, is climbed while we look; the daemon's own is slower."""
WATCH_INTERVALS = 12
READY_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class Course:
    """What was seen after the call got stuck: the oldest fast sample of any HCA, the delay of the flag since the call was due, in
    intervals (infinite if it never came), the most children at once, and how many there were in turn."""

    oldest_intervals: float
    flagged_intervals: float
    children: int
    started: int


def measure(rounds: int) -> Iterator[Figure]:
    """Latency over HTTP, then age, flag and children of a node in this process."""
    with tree_of(HCAS) as root:
        yield from _latency(root, rounds)
        with fake_driver() as driver, inherited(without_log(driver)):
            course = watch(root, driver, INTERVAL_S)
    oldest, flagged = course.oldest_intervals, course.flagged_intervals
    yield Figure("P6", "oldest sample of any HCA beside a hung NVML call", oldest, 2, "–", f"{oldest:.2f}", "intervals")
    yield Figure("P6", "until the hung NVML call is flagged", flagged, 2, "–", f"{flagged:.2f}", "intervals")
    yield Figure("P6", "NVML children at once", course.children, 1, "–", f"{course.started} in turn, each hung", "")


def watch(root: str, driver: FakeDriver, interval_s: float, patience: Patience = IMPATIENT) -> Course:
    """Hang the driver of a sampling node and watch board and processes. Raises RuntimeError if the GPUs are not read at all."""
    source, worker = gpus(SystemClock(), patience)
    node = Node(real_files(root), hw_counters=True, interval_s=interval_s, others=[source])
    node.sampler.start()
    try:
        last_s = _ready(node, interval_s)
        driver.change(HANG)
        oldest_s, flagged_s, most = 0.0, float("inf"), 0
        pids: set[int] = set()
        began_s = node.clock.monotonic_s()
        while (now_s := node.clock.monotonic_s()) < began_s + WATCH_INTERVALS * interval_s:
            scene = node.scene()
            oldest_s = max(oldest_s, now_s - min(fast_samples(scene, "infiniband")))
            last_s = max([last_s, *fast_samples(scene, SOURCE)])
            if flagged_s == float("inf") and any(status.hung for status in scene.sources if status.source == SOURCE):
                flagged_s = now_s - last_s - interval_s
            found = children()
            pids |= found
            most = max(most, len(found))
            time.sleep(LOOK_EVERY_S)
        return Course(oldest_s / interval_s, flagged_s / interval_s, most, len(pids))
    finally:
        driver.remove(*HANG)
        node.stop()
        worker.close()


def fast_samples(scene: Scene, source: str) -> list[float]:
    """When each device of the source was last read, in monotonic seconds."""
    return [s.monotonic_s for feed, s in scene.snapshots.items() if feed.source == source and feed.cadence is Cadence.FAST]


def children() -> set[int]:
    """Processes of ours that ask the driver; one that has ended and was not waited for is none."""
    found = set()
    for pid in family(int(Path("/proc/self").readlink().name))[1:]:
        try:
            if MODULE.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
        except OSError:
            continue  # it ended just now
    return found


def _ready(node: Node, interval_s: float) -> float:
    """Wait until GPUs are read, and then for the end of a pass. Returns when that pass was."""
    until_s = node.clock.monotonic_s() + READY_WITHIN_S
    while not fast_samples(node.scene(), SOURCE):
        if node.clock.monotonic_s() > until_s:
            raise RuntimeError("the GPUs are not read")
        time.sleep(LOOK_EVERY_S)
    time.sleep(2.5 * interval_s)
    return max(fast_samples(node.scene(), SOURCE))


def _until(scraper: Scraper, shown: re.Pattern[bytes], complaint: str) -> None:
    """Scrape until the page shows that. Raises RuntimeError with the complaint if it does not come."""
    until_s = time.monotonic() + READY_WITHIN_S
    while shown.search(scraper.scrape()) is None:
        if time.monotonic() > until_s:
            raise RuntimeError(complaint)
        time.sleep(0.2)


def _latency(root: str, rounds: int) -> Iterator[Figure]:
    """A server with a healthy and one with a hung driver, scraped in turns."""
    with ExitStack() as running:
        drivers = {name: running.enter_context(fake_driver()) for name in ("healthy", "hung")}
        peers = {name: running.enter_context(live_server_with_gpus(root, INTERVAL_S, without_log(driver)))
                 for name, driver in drivers.items()}  # fmt: skip
        scrapers = {name: running.enter_context(Scraper(peer.port, HCAS_ONLY, gzip=False)) for name, peer in peers.items()}
        whole = {name: running.enter_context(Scraper(peer.port, gzip=False)) for name, peer in peers.items()}
        for name in peers:
            _until(whole[name], re.compile(rb"\nfabric_nvlink_transmit_bytes_total\{"), f"the {name} node shows no NVLink")
        time.sleep(4 * INTERVAL_S)
        drivers["hung"].change(HANG)
        _until(whole["hung"], re.compile(rb'devices_hung\{source="nvlink"\} [1-9]'), "the hung driver is not flagged")
        walls: dict[str, list[tuple[float, float]]] = {name: [] for name in peers}
        for _ in range(rounds):
            for name, peer in peers.items():
                found = load(peer.pid, scrapers[name], SCRAPES).walls_s
                walls[name].append((percentile(found, 0.5), percentile(found, 0.99)))
        drivers["hung"].remove(*HANG)
    for position, what in enumerate(("p50", "p99")):
        healthy_s, hung_s = (statistics.median(pair[position] for pair in walls[name]) for name in ("healthy", "hung"))
        yield Figure("P6", f"scrape beside a hung NVML call, {what}", hung_s / healthy_s, NOISE[what], f"healthy {ms(healthy_s)}",
                     ms(hung_s))  # fmt: skip
