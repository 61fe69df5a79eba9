"""A real Prometheus that scrapes a simulated fleet by its file_sd list, with rules if there are any."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.real.listener import poll
from tests.real.prometheus_server import PrometheusServer, prometheus_with

SCRAPED_BOUND_S = 120.0


def settings_of(targets: Path, interval_s: float, rules: Sequence[Path] = ()) -> dict[str, Any]:
    """The configuration of a Prometheus that finds the fleet as docs/dashboards.md tells to: `node` and `pool` come with the target."""
    interval = f"{interval_s:g}s"
    return {
        "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
        "scrape_configs": [{"job_name": "fabric-exporter", "file_sd_configs": [{"files": [str(targets)]}]}],
        "rule_files": [str(path) for path in rules],
    }


@contextmanager
def fleet_prometheus(targets: Path, folder: Path, *, interval_s: float, rules: Sequence[Path] = ()) -> Iterator[PrometheusServer]:
    """It runs and has scraped each target once. Skips where Prometheus is not installed. Raises RealServerError or TimeoutError."""
    with prometheus_with(settings_of(targets, interval_s, rules), folder) as server:
        poll(lambda: _all_scraped(server), SCRAPED_BOUND_S, "every node of the fleet is scraped")
        yield server


def _all_scraped(server: PrometheusServer) -> bool | None:
    targets = server.targets()
    return True if targets and all(target.health != "unknown" for target in targets) else None
