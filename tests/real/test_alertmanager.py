"""The Alertmanager example in a real Alertmanager: one incident, one notification."""

import time
from pathlib import Path

from dashboards.alerts.alertmanager import PAGER, TICKET, TODAY, example
from dashboards.alerts.prometheus import labels_of
from dashboards.alerts.table import ALERTS
from tests.dashboards.alert_case import fleet
from tests.real.alertmanager import Alertmanager, alertmanager
from tests.real.listener import poll

QUIET_S = 4.0
"""Four times the waiting time of the quick configuration: what has not come by then does not come."""


def _alert(name: str, at: dict[str, str], **labels: str) -> dict[str, str]:
    return {"alertname": name, **labels_of(ALERTS[name]), **at, **labels}


def _told(running: Alertmanager) -> list[tuple[str, list[str]]]:
    """Receiver and names of the alerts of each notification, after all have come."""
    poll(lambda: running.caught or None, 20, "a notification comes")
    time.sleep(QUIET_S)
    return sorted((note["receiver"], sorted({alert["labels"]["alertname"] for alert in note["alerts"]})) for note in running.caught)


def test_a_lost_gpu_is_one_notification(tmp_path: Path) -> None:
    """Eighteen failed links, the missing count, an Xid and what else speaks of that GPU: only the cause is told."""
    gpu = {"device": "gpu5"}
    links = [{"fabric": "nvlink", "device": "gpu5", "port": str(port)} for port in range(18)]
    with alertmanager(example(), tmp_path) as running:
        running.fire([
            _alert("FabricGPUFallenOffBus", fleet(), **gpu, xid="79"), _alert("FabricNVLinkMissing", fleet(), **gpu),
            _alert("FabricNVLinkXid", fleet(), **gpu, xid="74"), *(_alert("FabricLinkFailed", fleet(), **link) for link in links),
        ])  # fmt: skip

        assert _told(running) == [(PAGER, ["FabricGPUFallenOffBus"])]


def test_a_failed_link_explains_what_else_is_wrong_with_it(tmp_path: Path) -> None:
    """Flapping, errors, congestion, unknown of the same link; a sick link beside it is told of all the same."""
    link, other = {"fabric": "infiniband", "device": "mlx5_3", "port": "1"}, {"fabric": "infiniband", "device": "mlx5_4", "port": "1"}
    names = ("FabricLinkFailed", "FabricLinkFlapping", "FabricErrorBudget", "FabricLinkCongested", "FabricHealthUnknown")
    with alertmanager(example(), tmp_path) as running:
        running.fire([*(_alert(name, fleet(), **link) for name in names), _alert("FabricErrorBudget", fleet(), **other)])

        assert _told(running) == [(PAGER, ["FabricLinkFailed"]), (TODAY, ["FabricErrorBudget"])]


def test_a_dead_leaf_switch_is_one_notification(tmp_path: Path) -> None:
    """Sixteen nodes with a failed link each, and the pool's own alert."""
    link = {"fabric": "infiniband", "device": "mlx5_3", "port": "1"}
    with alertmanager(example(), tmp_path) as running:
        running.fire([_alert("FabricManyNodesFailed", {"pool": "a"})])
        running.fire([_alert("FabricLinkFailed", fleet(f"n{number}"), **link) for number in range(16)])

        assert _told(running) == [(PAGER, ["FabricManyNodesFailed"])]


def test_a_node_that_is_down_is_the_site_s_own_alert(tmp_path: Path) -> None:
    """It explains links and exporter of that node, and of no other; one without a node label explains nothing."""
    link = {"fabric": "infiniband", "device": "mlx5_3", "port": "1"}
    with alertmanager(example(), tmp_path) as running:
        running.fire([{"alertname": "NodeDown", "node": "n1"}, {"alertname": "NodeDown", "instance": "n9:9100"}])
        running.fire([
            _alert("FabricLinkFailed", fleet("n1"), **link), _alert("FabricExporterDown", fleet("n1")),
            _alert("FabricLinkFailed", fleet("n2"), **link), _alert("FabricLinkFailed", fleet("n3", named=False), **link),
            _alert("FabricMaintenanceForgotten", fleet("n4")),
        ])  # fmt: skip

        ours = [told for told in _told(running) if told[1] != ["NodeDown"]]

        assert ours == [(PAGER, ["FabricLinkFailed"]), (PAGER, ["FabricLinkFailed"]), (TICKET, ["FabricMaintenanceForgotten"])]
