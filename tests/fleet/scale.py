"""A thousand nodes in front of one Prometheus: `make fleet-scale`. Fails if a scrape failed or a rule group took longer than its interval.

No test: it runs as long as it is told to. Prints what docs/cardinality.md quotes.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from exporter.cli.fleet.plan import fleet_of
from exporter.cli.fleet.stories import STORIES
from tests.fleet.board_questions import rule_files
from tests.fleet.fleet_process import fleet
from tests.fleet.fleet_prometheus import settings_of
from tests.real.prometheus_server import PrometheusServer, prometheus_with

SELF = "prometheus"
SELF_LIST = "self.json"
SETTLE_S = 5.0
"""After the last interval, so that its scrapes are in."""


class Figure(NamedTuple):
    """A line of the report; `is_met` is None for a figure without a bound."""

    what: str
    value: str
    is_met: bool | None = None


def main() -> int:
    """Run, report; 0 if every bound was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.fleet.scale", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--tier", default="basic")
    parser.add_argument("--interval", type=float, default=30.0, help="seconds between scrapes and between evaluations of rules")
    parser.add_argument("--minutes", type=float, default=30.0)
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="fabric-exporter-scale-") as name,
        fleet(folder := Path(name), nodes=args.nodes, tier=args.tier) as nodes,
        prometheus_with(_settings(nodes.targets, args.interval, folder), folder) as server,
    ):
        (folder / SELF_LIST).write_text(f'[{{"targets": ["{server.url.removeprefix("http://")}"]}}]', encoding="ascii")
        cpu_s, started_s = _cpu_s_of(nodes.process), time.monotonic()
        time.sleep(args.minutes * 60 + SETTLE_S)
        share = (_cpu_s_of(nodes.process) - cpu_s) / (time.monotonic() - started_s)
        figures = [*_figures(server, args.nodes, args.minutes, args.interval), Figure("CPU of the fleet", f"{share:.1%} of a core")]
    for figure in figures:
        print(f"{'' if figure.is_met is None else 'ok   ' if figure.is_met else 'MISS '}{figure.what}: {figure.value}")
    return 0 if all(figure.is_met is not False for figure in figures) else 1


def _settings(targets: Path, interval_s: float, folder: Path) -> dict[str, Any]:
    """Of a Prometheus that looks at itself as well, at an address that it knows only when it listens."""
    settings = settings_of(targets, interval_s, rule_files())
    settings["scrape_configs"].append({"job_name": SELF, "file_sd_configs": [{"files": [str(folder / SELF_LIST)]}]})
    return settings


def _figures(server: PrometheusServer, nodes: int, minutes: float, interval_s: float) -> list[Figure]:
    span = f"[{int(minutes * 60)}s]"
    steady = f'up{{job!="{SELF}",node!~"{"|".join(_rebooting(nodes)) or "none"}"}}'
    scrapes = _number(server, f"sum(count_over_time({steady}{span}))")
    failed = _number(server, f"sum(count_over_time({steady}{span}) - sum_over_time({steady}{span}))")
    least = _number(server, f"min(count_over_time({steady}{span}))")
    groups = server.document("rules")["data"]["groups"]
    took = f"prometheus_rule_group_last_duration_seconds{span}"
    most, usual = (
        _by_group(server, f"{of} / prometheus_rule_group_interval_seconds")
        for of in (f"max_over_time({took})", f"quantile_over_time(0.5, {took})")
    )
    missed = _number(server, "sum(prometheus_rule_group_iterations_missed_total)")
    own = f'{{job="{SELF}"}}{span}'
    memory, cpu = (
        _number(server, f"max_over_time(process_resident_memory_bytes{own})"),
        _number(server, f"rate(process_cpu_seconds_total{own})"),
    )
    longest_s = _number(server, f"max(max_over_time(scrape_duration_seconds{span}))")
    usual_s = _number(server, f"quantile(0.5, quantile_over_time(0.5, scrape_duration_seconds{span}))")
    series = _number(server, "max(prometheus_tsdb_head_series)")
    unwell = [rule["name"] for group in groups for rule in group["rules"] if rule["health"] == "err"]
    return [
        Figure("scrapes", f"{scrapes:.0f}, at least {least:.0f} of each node", is_met=least >= minutes * 60 // interval_s - 1),
        Figure("failed scrapes", f"{failed:.0f}", is_met=failed == 0),
        Figure("a scrape", f"{longest_s:.2f} s at most, usually {usual_s:.3f} s"),
        Figure("rule groups", f"{len(groups)} with {sum(len(group['rules']) for group in groups)} rules", is_met=not unwell),
        *(Figure(f"rule group {name.rpartition(';')[2]}", f"{share:.1%} of its interval at most, usually {usual[name]:.1%}", share < 1)
          for name, share in sorted(most.items(), key=lambda one: -one[1])),
        Figure("evaluations that were left out", f"{missed:.0f}", is_met=missed == 0),
        Figure("series in Prometheus", f"{series:.0f}"),
        Figure("memory of Prometheus", f"{memory / 1e9:.2f} GB"),
        Figure("CPU of Prometheus", f"{100 * cpu:.0f} % of a core"),
    ]  # fmt: skip


def _rebooting(nodes: int) -> list[str]:
    """Nodes that are off now and then: of those a scrape may fail."""
    return [node.name for node in fleet_of(nodes) if "kind: reboot" in STORIES[node.story].text]


def _by_group(server: PrometheusServer, expression: str) -> dict[str, float]:
    return {labels["rule_group"]: value for labels, value in server.query(expression)}


def _number(server: PrometheusServer, expression: str) -> float:
    rows = server.query(expression)
    return rows[0][1] if rows else 0.0


def _cpu_s_of(process: "subprocess.Popen[bytes]") -> float:
    times = psutil.Process(process.pid).cpu_times()
    return times.user + times.system


if __name__ == "__main__":
    sys.exit(main())
