"""Who follows only docs/deploy-kubernetes.md: its values are the chart's, its files render, its commands are right."""

import re
from typing import Any

import pytest
import yaml

from helm.values_file import read, values
from tests.deploy.test_pages import PAGES, blocks
from tests.helm.chart import release

PAGE = PAGES["kubernetes"]
VALUES = {".".join(value.path) for value in values(read())}


@pytest.mark.parametrize("number", range(len(blocks("kubernetes", "yaml"))))
def test_each_values_file_of_the_page_renders(number: int) -> None:
    """As it stands there; the password's hash too."""
    given: dict[str, Any] = yaml.safe_load(blocks("kubernetes", "yaml")[number])

    assert release(given, namespace="fabric").container["name"] == "fabric-exporter"


def test_each_value_that_the_page_names_is_the_chart_s() -> None:
    """In tables and in running text; below `config` they are the exporter's, and the schema knows them."""
    named = set(re.findall(r"`([a-zA-Z]+(?:\.[a-zA-Z_]+)+)(?:: [^`]*)?`", PAGE))
    named -= {"tls.crt", "tls.key"}  # keys of a secret
    own = {name for name in named if name.partition(".")[0] in {path.partition(".")[0] for path in VALUES}}
    schema = re.compile(r"config\.[a-z_.]+")

    assert len(own) > 20
    assert [name for name in own - VALUES if not schema.fullmatch(name)] == []


def test_the_page_s_values_give_what_the_page_promises() -> None:
    """A monitor and rules with the label that they are selected by, boards, and the node's network."""
    made = release(yaml.safe_load(blocks("kubernetes", "yaml")[0]), namespace="fabric")

    assert {made.one(kind)["metadata"]["labels"]["release"] for kind in ("ServiceMonitor", "PrometheusRule")} == {"kube-prometheus-stack"}
    assert len(made.of("ConfigMap")) == 10
    assert made.pod["hostNetwork"] is True
    assert "fabric-exporter.fabric.svc" in PAGE
    assert made.one("DaemonSet")["metadata"]["name"] == "fabric-exporter"


def test_the_folders_and_the_port_that_the_page_names_are_those_of_the_release() -> None:
    """`/var/lib/fabric-exporter`, `/run/fabric-exporter` and 29100, by the page's own release name."""
    made = release(namespace="fabric")
    folders = {volume["hostPath"]["path"] for volume in made.pod["volumes"] if "hostPath" in volume}

    assert {"/var/lib/fabric-exporter", "/run/fabric-exporter"} <= folders
    assert set(re.findall(r"`(/(?:var/lib|run)/fabric-exporter)`", PAGE)) <= folders
    assert f"daemonset/fabric-exporter {made.container['ports'][0]['containerPort']}" in PAGE


def test_each_row_of_permissions_is_off_as_shipped_where_the_page_says_so() -> None:
    """What stands in bold."""
    pod = release().pod

    for line in PAGE.splitlines():
        if match := re.match(r"\| `([a-zA-Z.]+)` \|.*\*\*", line):
            path = match[1].split(".")
            assert next(value.default for value in values(read()) if list(value.path) == path) is False
    assert (pod["hostPID"], pod["hostNetwork"]) == (False, False)
