"""Releases beside and after each other: nothing that Kubernetes would refuse, nothing that one takes from the other."""

import re
from typing import Any

import pytest
import yaml

from exporter import __version__
from helm.schema import SHAPES
from helm.values_file import CHART, read, values
from tests.helm.chart import release
from tests.helm.test_matrix import EACH, identity, values_of

IMMUTABLE = {"DaemonSet": ("selector",), "Service": ("clusterIP",)}
"""Kubernetes refuses to change these."""


@EACH
def test_an_upgrade_changes_nothing_that_cannot_be_changed(name: str) -> None:
    """From the defaults to any values file that keeps the names."""
    given = {key: value for key, value in values_of(name).items() if key not in {"nameOverride", "namespaceOverride"}}
    before = {identity(one): one for one in release().objects}
    after = {
        identity(one): one for one in release({**given, "image": {"tag": "9.9.9"}, "service": {"enabled": True}}, is_upgrade=True).objects
    }

    for key in before.keys() & after.keys():
        for field in IMMUTABLE.get(key[0], ()):
            assert before[key]["spec"].get(field) == after[key]["spec"].get(field)


def test_two_releases_in_one_namespace_share_nothing() -> None:
    """No object, no pod, no folder on the node: the second would find the first one's state in use."""
    given = {"serviceMonitor": {"enabled": True}, "dashboards": {"enabled": True}, "prometheusRule": {"enabled": True},
             "maintenance": {"taints": True}}  # fmt: skip
    one, two = release(given, name="a"), release(given, name="b")
    folders = [{volume["hostPath"]["path"] for volume in made.pod["volumes"] if "hostPath" in volume} for made in (one, two)]

    assert {identity(found) for found in one.objects} & {identity(found) for found in two.objects} == set()
    assert one.one("DaemonSet")["spec"]["selector"] != two.one("DaemonSet")["spec"]["selector"]
    assert one.one("Service")["spec"]["selector"] == one.one("DaemonSet")["spec"]["selector"]["matchLabels"]
    assert folders[0] & folders[1] == {"/sys"}


def test_cluster_wide_objects_of_two_namespaces_do_not_collide() -> None:
    """The same release name in two namespaces is common."""
    given = {"maintenance": {"taints": True}}

    assert release(given).one("ClusterRole")["metadata"]["name"] != release(given, namespace="other").one("ClusterRole")["metadata"]["name"]


def test_the_chart_s_versions_are_the_package_s() -> None:
    """One release, one number."""
    chart: dict[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert chart["appVersion"] == chart["version"] == __version__


def own_leaves() -> list[tuple[str, ...]]:
    """Paths of values that are the chart's to read, not Kubernetes': no map of ours, no part of a map that has a shape of its own."""
    passed_on = tuple(f"{path}." for path in SHAPES)
    return [value.path for value in values(read())
            if not ".".join(value.path).startswith(passed_on) and (not isinstance(value.default, dict) or not value.default)]  # fmt: skip


@pytest.mark.parametrize("path", own_leaves(), ids=".".join)
def test_every_value_is_used_by_a_template(path: tuple[str, ...]) -> None:
    """A value that nothing reads is a promise that nobody keeps."""
    text = "".join(template.read_text(encoding="utf-8") for template in (CHART / "templates").iterdir())

    assert re.search(rf'\.{path[-1]}\b|"{path[-1]}"', text)
