"""Recording rules: the fleet by node, by rail and by pool, for boards over long times and for a long-term store.

Names are LEVEL:METRIC:OPERATION. A level's labels are all that is left of a series, so `node` must be set by the scrape for the node
level to tell nodes apart; without it, node values are those of the pool. Sibling statistics are not here: at a thousand nodes they cost
Prometheus seconds each round, so the exporter computes them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dashboards.alerts.expression import rate, select
from dashboards.rules.last_known import LAST_KNOWN, last_known
from exporter.catalog.infiniband import PORT_INFO, RECEIVED, TRANSMITTED
from exporter.catalog.internals import BUILD_INFO
from exporter.catalog.nvlink import RECEIVED as NVLINK_RECEIVED
from exporter.catalog.nvlink import TRANSMITTED as NVLINK_TRANSMITTED
from exporter.catalog.signals import CAPACITY, CONGESTION, NODE_HEALTH, NODE_LINKS, RETRANSMISSIONS, UTILIZATION
from exporter.model.metric import Metric
from exporter.model.rails import COMPUTE

INTERVAL = "1m"
TRAFFIC = (TRANSMITTED, RECEIVED, NVLINK_TRANSMITTED, NVLINK_RECEIVED)
RATE = "rate5m"
PORT = "instance, node, device, port"
_RAIL = f"on ({PORT}) group_left (rail)\n  max by ({PORT}, rail) ({select(PORT_INFO, rail='!', role=COMPUTE)})"
"""The rail of a port. By max, since a port that was renamed has two info series for a moment."""


class Record(NamedTuple):
    """One recording rule."""

    name: str
    expression: str


def _name(level: str, row: Metric, operation: str) -> str:
    return f"{level}:{row.name.removesuffix('_total')}:{operation}"


def _of_node(row: Metric, operation: str, *more: str) -> Record:
    by = ", ".join(("pool", "node", *more))
    return Record(_name("node", row, operation), f"{operation} by ({by}) ({select(row)})")


def _of_rail(row: Metric, operation: str, *more: str) -> Record:
    by = ", ".join(("pool", "rail", *more))
    return Record(_name("rail", row, operation), f"{operation} by ({by}) (\n  {select(row)}\n  * {_RAIL}\n)")


def _sums(level: str, rows: tuple[Metric, ...]) -> tuple[Record, ...]:
    """A counter's rate summed over each node."""
    return tuple(Record(_name(level, row, RATE), f"sum by (pool, node) ({rate(row, '5m')})") for row in rows)


def _pool_sum(row: Metric) -> Record:
    return Record(_name("pool", row, RATE), f"sum by (pool) ({_name('node', row, RATE)})")


LINKS = (Record(LAST_KNOWN, last_known()),)
NODES = (
    *_sums("node", (*TRAFFIC, RETRANSMISSIONS)),
    Record(_name("node", UTILIZATION, "avg"), f"avg by (pool, node, fabric, direction) ({select(UTILIZATION)})"),
    _of_node(UTILIZATION, "max", "fabric", "direction"),
    _of_node(CONGESTION, "max", "fabric"),
    _of_node(CAPACITY, "min", "fabric"),
    _of_node(NODE_HEALTH, "max"),
)
RAILS = (
    *(Record(_name("rail", row, RATE), f"sum by (pool, rail) (\n  {rate(row, '5m')}\n  * {_RAIL}\n)") for row in (TRANSMITTED, RECEIVED)),
    _of_rail(UTILIZATION, "avg", "direction"),
    _of_rail(CONGESTION, "avg"),
    _of_rail(CONGESTION, "max"),
    _of_rail(CAPACITY, "min"),
)
POOLS = (
    *(_pool_sum(row) for row in (*TRAFFIC, RETRANSMISSIONS)),
    Record(_name("pool", NODE_LINKS, "sum"), f"sum by (pool, fabric, status) ({select(NODE_LINKS)})"),
    Record(_name("pool", NODE_HEALTH, "count"), f'count_values by (pool) ("status", {select(NODE_HEALTH)})'),
    Record(_name("pool", BUILD_INFO, "count"), f"count by (pool) ({select(BUILD_INFO)})"),
)
GROUPS: Mapping[str, tuple[Record, ...]] = {
    "fabric-last-known": LINKS,
    "fabric-node-level": NODES,
    "fabric-rail-level": RAILS,
    "fabric-pool-level": POOLS,
}
"""Rule group → its rules, in the order in which Prometheus evaluates them within a group."""
INTERVALS: Mapping[str, str] = {"fabric-last-known": "30s"}
"""Groups that are evaluated at another interval than INTERVAL: what a link was last, as often as alerts look."""


def recording_groups() -> dict[str, list[dict[str, Any]]]:
    """The whole rule file as a document."""
    return {
        "groups": [
            {"name": name, "interval": INTERVALS.get(name, INTERVAL), "rules": [{"record": r.name, "expr": r.expression} for r in records]}
            for name, records in GROUPS.items()
        ]
    }
