"""Rendered pods on two simulated GPU nodes, scraped by a Prometheus that is configured from the rendered monitors and rules.

One node plain through a ServiceMonitor, with the values of the page on Kubernetes; the other behind TLS and a password through a
PodMonitor. Every board asks about both.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.deploy.test_pages import blocks
from tests.fleet.board_questions import BoardQuestion, Due, of_boards
from tests.fleet.questions import Asking, Pick, ask, picks_of
from tests.helm.chart import release
from tests.helm.kubelet import Node, started
from tests.helm.prometheus_config import rule_file, scrape_config
from tests.helm.secured_values import Certificates, secrets, secured_values
from tests.helm.simulated_node import GpuNode
from tests.real.listener import poll
from tests.real.prometheus_server import INSTALL, PrometheusServer, prometheus_with
from tests.requires import need

PLAIN, SECURED = "gpu-node-1", "gpu-node-22"
POOL, POOL_LABEL = "training", "example.com/gpu-pool"
MONITORS = ("serviceMonitor", "podMonitor")
EVALUATION_INTERVAL = "2s"
SETTLED_S = 6.0
"""A rate needs two samples that differ; counters move once a second here."""


class Site(NamedTuple):
    """A Prometheus that has seen both nodes for a while, and what it was asked so far."""

    server: PrometheusServer
    picks: tuple[Pick, ...]
    at_s: float
    known: dict[BoardQuestion, Asking]


def monitored(kind: str, **more: Any) -> dict[str, Any]:
    """Values with that monitor, and with rules."""
    return {kind: {"enabled": True, "interval": "1s", "poolNodeLabel": POOL_LABEL}, "prometheusRule": {"enabled": True}, **more}


def by_the_page(**more: Any) -> dict[str, Any]:
    """The values of docs/deploy-kubernetes.md, with these added to them."""
    values = yaml.safe_load(blocks("kubernetes", "yaml")[0])
    return values | {key: {**values.get(key, {}), **value} if isinstance(value, dict) else value for key, value in more.items()}


def settings_of(scrapes: list[dict[str, Any]], rules: Path | None = None) -> dict[str, Any]:
    """The whole prometheus.yml."""
    often = {"evaluation_interval": EVALUATION_INTERVAL}
    return {"global": often, "scrape_configs": scrapes, "rule_files": [] if rules is None else [str(rules)]}


def quicker(rules: Path) -> Path:
    """The same groups, evaluated every few seconds instead of their own interval."""
    groups = yaml.safe_load(rules.read_text())["groups"]
    rules.write_text(json.dumps({"groups": [{**group, "interval": EVALUATION_INTERVAL} for group in groups]}))
    return rules


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Both nodes, both pods, one Prometheus."""
    need("prometheus", INSTALL)
    folder = tmp_path_factory.mktemp("site")
    with ExitStack() as stack:
        plain = GpuNode(folder, PLAIN)
        closed = GpuNode(folder, SECURED, secrets(Certificates(folder / "certificates")))
        with_jobs(plain)
        releases = {
            plain: plain.rendered(**by_the_page(**monitored("serviceMonitor", jobDirectory={"enabled": True}))),
            closed: closed.rendered(**monitored("podMonitor", **secured_values())),
        }
        scrapes = []
        for node, made in releases.items():
            stack.enter_context(node.moving())
            pod = stack.enter_context(started(made, node.node, folder / f"pod-{node.node.name}"))
            scrapes.append(scrape_config(made, node.node, folder, address=pod.address(), node_labels={POOL_LABEL: POOL}))
        rules = quicker(rule_file(releases[plain], folder / "rules.yaml"))
        server = stack.enter_context(prometheus_with(settings_of(scrapes, rules), folder))
        poll(lambda: _is_settled(server), 60.0, "both nodes have been scraped for a while")
        yield Site(server, picks_of(server), time.time(), {})


def with_jobs(node: GpuNode) -> None:
    """A scheduler's prolog has said which job has the GPUs."""
    folder = node.node.root / "run/gpu-jobs"
    folder.mkdir(parents=True)
    for gpu in range(8):
        (folder / str(gpu)).write_text("4711\n")


def _is_settled(server: PrometheusServer) -> bool | None:
    rows = server.query("min(time() - min_over_time(timestamp(up)[10m:1s])) and count(up) == 2")
    return True if rows and rows[0][1] >= SETTLED_S else None


def answers(site: Site) -> dict[BoardQuestion, Asking]:
    """What comes of every question of the boards; asked once."""
    if not site.known:
        site.known.update({due: ask(site.server, due.question, site.picks, site.at_s) for due in of_boards()})
    return site.known


def test_both_pods_are_scraped_under_the_labels_that_boards_need(site: Site) -> None:
    """`node` is the node's name, `job` the exporter's, `pool` the node's label; over TLS and with a password as plain."""
    up = {labels["node"]: (labels["job"], labels["pool"], labels["pod"], value) for labels, value in site.server.query("up")}

    assert up == {name: ("fabric-exporter", POOL, f"fabric-exporter-{name}", 1.0) for name in (PLAIN, SECURED)}
    assert [target for target in site.server.targets() if target.error] == []


def test_every_question_of_every_board_is_answered(site: Site) -> None:
    """No error, no warning, no number that its unit cannot mean."""
    findings = [finding for asking in answers(site).values() for finding in asking.findings]

    assert not findings, "\n" + "\n".join(map(str, findings))


def test_what_a_node_always_has_is_on_the_boards(site: Site) -> None:
    """Ports, NVLinks, PCIe, health and the exporter itself."""
    empty = [due.question.place for due, asking in answers(site).items() if due.due is Due.DATA and not asking.has_data]

    assert empty == []


def test_no_rule_fails_and_no_alert_fires_on_nodes_that_are_well(site: Site) -> None:
    """As Prometheus itself tells of the rendered rules."""
    groups = site.server.document("rules")["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]

    assert rules
    assert [(rule["name"], rule["lastError"]) for rule in rules if rule["health"] == "err"] == []
    assert [rule["name"] for rule in rules if rule.get("state") == "firing"] == []


@pytest.mark.parametrize("kind", MONITORS)
@pytest.mark.parametrize("is_secured", [False, True], ids=["plain", "secured"])
def test_promtool_agrees_with_what_the_monitor_says(kind: str, is_secured: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """Either monitor, plain or not; the rule file as it is rendered."""
    node = Node(PLAIN, tmp_path, secrets(Certificates(tmp_path / "certificates")) if is_secured else {})
    made = release(monitored(kind, **(secured_values() if is_secured else {})))
    scrape = scrape_config(made, node, tmp_path, address="127.0.0.1:29100", node_labels={POOL_LABEL: POOL})
    config = tmp_path / "prometheus.yml"
    config.write_text(yaml.safe_dump(settings_of([scrape], rule_file(made, tmp_path / "rules.yaml"))))
    done = subprocess.run(
        [need("promtool", INSTALL), "check", "config", str(config)], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert (scrape["scheme"], "tls_config" in scrape, "basic_auth" in scrape) == (
        ("https", True, True) if is_secured else ("http", False, False)
    )
