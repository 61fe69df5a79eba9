"""node_exporter: what its infiniband collector shows for a tree of real files; the reference for series that both of us have."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.real.listener import FREE_PORT, RealServerError, fetch, listener
from tests.requires import need

INSTALL = "apt-get install prometheus-node-exporter"
PREFIX = "node_infiniband_"
SUCCESS = "node_scrape_collector_success"

Samples = Mapping[tuple[str, tuple[tuple[str, str], ...]], float]
"""(name, label pairs sorted) → value."""


@contextmanager
def node_exporter(sysfs: Path, log: Path) -> Iterator[str]:
    """A running node_exporter on a tree that stands for /sys, with its infiniband collector only; gives the URL of its page.

    Skips the test where node_exporter is not installed. Raises RealServerError or TimeoutError if it does not start.
    """
    argv = [
        need("prometheus-node-exporter", INSTALL),
        f"--path.sysfs={sysfs}",
        "--collector.disable-defaults",
        "--collector.infiniband",
        "--web.disable-exporter-metrics",
        FREE_PORT,
    ]
    with listener(argv, log) as address:
        yield f"http://{address}/metrics"


def node_exporter_samples(sysfs: Path, log: Path) -> Samples:
    """Its infiniband samples of one scrape. Raises RealServerError if its collector failed: one file it dislikes costs it all of them."""
    with node_exporter(sysfs, log) as url:
        page = fetch(url)
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): float(sample.value)
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }
    if samples.get((SUCCESS, (("collector", "infiniband"),))) != 1:
        raise RealServerError(f"node_exporter read nothing from {sysfs}:\n{log.read_text(errors='replace')[-2000:]}")
    return {series: value for series, value in samples.items() if series[0].startswith(PREFIX)}
