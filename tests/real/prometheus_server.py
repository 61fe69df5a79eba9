"""A real Prometheus for tests: scrapes given targets each second into a throw-away store, answers queries over its API."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from tests.real.listener import FREE_PORT, fetch, listener, poll
from tests.requires import need

INSTALL = "apt-get install prometheus"
SCRAPE_BOUND_S = 30.0

Rows = list[tuple[dict[str, str], float]]
"""What a query gives: labels (with __name__ where the series keeps it) and value, one for each series."""


@dataclass(frozen=True, slots=True)
class Target:
    """One target as Prometheus sees it: `health` is up, down or unknown (not scraped yet); `error` is empty while all is well."""

    address: str
    health: str
    error: str


@dataclass(frozen=True, slots=True)
class PrometheusServer:
    """A running Prometheus at `url`."""

    url: str

    def query(self, expression: str) -> Rows:
        """The instant vector of an expression now; empty if no series matches. Raises HTTPError for a query that is wrong."""
        data = self._ask("query", query=expression)
        if data["resultType"] == "scalar":
            return [({}, float(data["result"][1]))]
        return [(row["metric"], float(row["value"][1])) for row in data["result"]]

    def query_until(self, expression: str) -> Rows:
        """As `query`, but waits until something matches. Raises TimeoutError if nothing ever does."""
        return poll(lambda: self.query(expression) or None, SCRAPE_BOUND_S, f"{expression} matches")

    def targets(self) -> list[Target]:
        """Its targets, in no particular order."""
        found = self._ask("targets", state="active")["activeTargets"]
        return [Target(t["discoveredLabels"]["__address__"], t["health"], t["lastError"]) for t in found]

    def scraped(self) -> list[Target]:
        """The targets once each was scraped, well or not. Raises TimeoutError."""

        def all_known() -> list[Target] | None:
            targets = self.targets()
            return targets if targets and all(target.health != "unknown" for target in targets) else None

        return poll(all_known, SCRAPE_BOUND_S, "every target is scraped")

    def document(self, what: str, **parameters: str) -> Any:
        """The whole JSON document of an endpoint, with its warnings. Raises HTTPError for a question that is wrong."""
        return json.loads(fetch(f"{self.url}/api/v1/{what}?{urlencode(parameters)}"))

    def _ask(self, what: str, **parameters: str) -> Any:  # JSON of that endpoint
        return self.document(what, **parameters)["data"]


@contextmanager
def prometheus(targets: Iterable[str], folder: Path) -> Iterator[PrometheusServer]:
    """A Prometheus that scrapes /metrics of the targets ("127.0.0.1:29100") and keeps all it has below `folder`.

    Skips the test where Prometheus is not installed. Raises RealServerError or TimeoutError if it does not start.
    """
    scrape = {"job_name": "test", "static_configs": [{"targets": list(targets)}]}
    settings = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [scrape]}
    with prometheus_with(settings, folder) as server:
        yield server


@contextmanager
def prometheus_with(settings: Mapping[str, Any], folder: Path) -> Iterator[PrometheusServer]:
    """A Prometheus with that configuration; all it has is kept below `folder`.

    Skips the test where Prometheus is not installed. Raises RealServerError or TimeoutError if it does not start.
    """
    config = folder / "prometheus.yml"
    config.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    argv = [
        need("prometheus", INSTALL),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        FREE_PORT,
    ]
    with listener(argv, folder / "prometheus.log") as address:
        url = f"http://{address}"
        poll(lambda: _ready(url), SCRAPE_BOUND_S, "Prometheus is ready")
        yield PrometheusServer(url)


def _ready(url: str) -> bool | None:
    try:
        fetch(f"{url}/-/ready")
    except HTTPError:  # 503 until its store is open
        return None
    return True
