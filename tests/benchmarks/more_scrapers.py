"""P8: CPU of one more scrape of a page that is there already, gzip, against prometheus_client's server sending the same bytes."""

import gzip
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack

from tests.benchmarks.figure import Figure
from tests.benchmarks.meter import Scraper, alternate, load
from tests.benchmarks.peers import library_server, still_server
from tests.benchmarks.trees import tree_of

HCAS = 56
"""All hw_counters of that many make a page of about 300 KB."""
SCRAPES = 500
LIMIT = 0.35


def measure(rounds: int) -> Iterator[Figure]:
    """One figure."""
    with tree_of(HCAS) as root, ExitStack() as running:
        ours = running.enter_context(still_server(root))
        our_scraper = running.enter_context(Scraper(ours.port))
        body = our_scraper.scrape()
        file = running.enter_context(tempfile.NamedTemporaryFile(prefix="fabric-bench-"))
        file.write(body)
        file.flush()
        base = running.enter_context(library_server(file.name))
        base_scraper = running.enter_context(Scraper(base.port))
        if base_scraper.scrape() != body:
            raise ValueError("the two servers do not send the same bytes")
        medians = alternate({"base": lambda: load(base.pid, base_scraper, SCRAPES).cpu_each_s,
                             "ours": lambda: load(ours.pid, our_scraper, SCRAPES).cpu_each_s}, rounds)  # fmt: skip
    what = f"one more scraper of a page of {len(gzip.decompress(body)) / 1e3:.0f} KB ({len(body) / 1e3:.0f} KB gzip)"
    yield Figure("P8", what, medians["ours"] / medians["base"],
                 LIMIT, f"prometheus_client {medians['base'] * 1e6:.0f} µs", f"{medians['ours'] * 1e6:.0f} µs")  # fmt: skip
