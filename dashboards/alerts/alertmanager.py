"""An Alertmanager configuration to start from: one incident, one notification. Receivers are names; a site fills them."""

from collections.abc import Iterable
from typing import Any

from dashboards.alerts.alert import Component, Severity
from dashboards.alerts.errors import NVLINK_XID, OFF_BUS
from dashboards.alerts.exporters import DOWN, MANY_DOWN, RELEASED, SOURCE_DOWN, STALE, STUCK
from dashboards.alerts.links import FAILED, NVLINK_MISSING
from dashboards.alerts.nodes import MANY_FAILED

PAGER, TODAY, TICKET = "fabric-pager", "fabric-today", "fabric-tickets"
RECEIVERS = {Severity.CRITICAL: PAGER, Severity.WARNING: TODAY, Severity.INFO: TICKET}
REPEAT = {Severity.CRITICAL: "4h", Severity.WARNING: "24h", Severity.INFO: "7d"}
NODE = ("instance", "node")
LINK = (*NODE, "fabric", "device", "port")
SITE_NODE_DOWN = "NodeDown|KubeNodeNotReady"
"""Alerts of the site itself that say that a node is down: a name of your own goes here."""


def _inhibit(source: Iterable[str], target: Iterable[str], equal: Iterable[str]) -> dict[str, Any]:
    """While a source fires, its targets with the same labels notify nobody. A label that both lack is equal."""
    return {"source_matchers": list(source), "target_matchers": list(target), "equal": list(equal)}


def _named(*names: str) -> str:
    return f'alertname=~"{"|".join(names)}"' if len(names) > 1 else f'alertname="{names[0]}"'


def inhibitions() -> list[dict[str, Any]]:
    """Which alert explains which."""
    link, gpu, ours = f'component="{Component.LINK}"', f'component="{Component.GPU}"', f'component="{Component.EXPORTER}"'
    return [
        # The node is down, by the site's own alert: its links and its exporter have nothing to add.
        _inhibit([f'alertname=~"{SITE_NODE_DOWN}"', 'node!=""'], [f'component=~"{"|".join(_of_a_node())}"'], ["node"]),
        # Many nodes at once: one page about the pool instead of one for each node.
        _inhibit([_named(MANY_FAILED.name)], [_named(FAILED.name, NVLINK_MISSING.name)], ["pool"]),
        _inhibit([_named(MANY_DOWN.name)], [_named(DOWN.name)], ["pool"]),
        # A failed link explains all else about it, and its GPU's missing link.
        _inhibit([_named(FAILED.name)], [link, f'alertname!="{FAILED.name}"'], LINK),
        _inhibit([_named(FAILED.name), 'fabric="nvlink"'], [_named(NVLINK_MISSING.name, NVLINK_XID.name)], [*NODE, "device"]),
        # A lost GPU takes its links along.
        _inhibit([_named(OFF_BUS.name)], [f'component=~"{Component.LINK}|{Component.GPU}"', f'alertname!="{OFF_BUS.name}"'],
                 [*NODE, "device"]),
        # An exporter that is silent, or told to let go, has no news of its sources.
        _inhibit([_named(DOWN.name)], [ours, f'alertname!="{DOWN.name}"'], NODE),
        _inhibit([_named(STUCK.name, RELEASED.name)], [_named(SOURCE_DOWN.name, STALE.name), 'source="nvlink"'], NODE),
        _inhibit([_named(SOURCE_DOWN.name)], [_named(STALE.name)], [*NODE, "source"]),
        # The graver of two that say the same of one link.
        _inhibit([f'severity="{Severity.CRITICAL}"', link], [f'severity="{Severity.INFO}"', link], LINK),
        _inhibit([f'severity="{Severity.CRITICAL}"', gpu], [f'severity="{Severity.WARNING}"', gpu], [*NODE, "device"]),
    ]  # fmt: skip


def example() -> dict[str, Any]:
    """The whole configuration."""
    routes = [
        {"receiver": RECEIVERS[severity], "matchers": [f'severity="{severity}"'], "repeat_interval": REPEAT[severity]}
        for severity in Severity
    ]
    return {
        "route": {
            "receiver": TODAY,
            "routes": [{
                "matchers": [f'component=~"{"|".join(Component)}"'],
                # One node, one notification, whatever it has: eighteen links of a lost GPU are one incident.
                "group_by": ["pool", "node", "instance"],
                "group_wait": "1m",
                "group_interval": "10m",
                "receiver": TODAY,
                "routes": routes,
            }],
        },
        "inhibit_rules": inhibitions(),
        "receivers": [{"name": name} for name in RECEIVERS.values()],
    }  # fmt: skip


def _of_a_node() -> tuple[str, ...]:
    return tuple(component.value for component in Component if component is not Component.POOL)
