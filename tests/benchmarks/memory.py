"""P5: resident memory of the real daemon and of its NVML child, beside node_exporter on the same tree. A node of 8 GPUs and 10 HCAs."""

import statistics
import time
from collections.abc import Iterator

from exporter.simulator.profiles import profile_named
from tests.benchmarks.driver import fake_driver, seat, without_log
from tests.benchmarks.figure import Figure
from tests.benchmarks.meter import Scraper, family, resident_bytes
from tests.benchmarks.peers import Peer, daemon, node_exporter
from tests.benchmarks.trees import tree_after

NODE = "hgx-h100"
INTERVALS = ("1s", "1s", "5m")
SCRAPES = 100
SETTLE_S = 4.0
LINKS = 144
LIMITS = {"daemon": 1.8, "NVML child": 1.0}


def measure(rounds: int) -> Iterator[Figure]:
    """RSS against its limits, PSS for information: daemon and child share the interpreter's pages with each other, node_exporter's are its
    own."""
    profile = profile_named(NODE)
    with tree_after(profile) as (root, _), fake_driver() as driver:
        seat(driver, profile)
        with node_exporter(root) as base, daemon(root, INTERVALS, without_log(driver)) as ours:
            found = [_look(base, ours) for _ in range(rounds)]
    for position, kind in enumerate(("RSS", "PSS")):
        base_bytes, *ours_bytes = (statistics.median(look[who][position] for look in found) for who in range(3))
        for (who, limit), size in zip(LIMITS.items(), ours_bytes, strict=True):
            judged = limit if kind == "RSS" else None
            yield Figure("P5", f"{kind} of the {who}", size / base_bytes, judged, f"node_exporter {_mb(base_bytes)}", _mb(size))


def _look(base: Peer, ours: Peer) -> tuple[tuple[int, int], ...]:
    """(RSS, PSS) of node_exporter, daemon and child after so many scrapes of each. Raises RuntimeError if there is not one child, or it
    does not read."""
    for peer in (base, ours):
        with Scraper(peer.port) as scraper:
            for _ in range(SCRAPES):
                scraper.scrape()
    time.sleep(SETTLE_S)
    with Scraper(ours.port, gzip=False) as scraper:
        seen = scraper.scrape().count(b"\nfabric_nvlink_transmit_bytes_total{")
    daemon_pid, *children = family(ours.pid)
    if len(children) != 1 or seen != LINKS:
        raise RuntimeError(f"the daemon has {len(children)} children and shows {seen} links, expected 1 and {LINKS}")
    return tuple(resident_bytes(pid) for pid in (base.pid, daemon_pid, *children))


def _mb(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:.1f} MB"
