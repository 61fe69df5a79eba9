"""Every values file of the matrix: it renders, Helm's lint is silent, Kubernetes and the operators would take it, the exporter too."""

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helm.chart import NOTES, Object, Release, lint, release
from tests.helm.operator_shapes import SPECS, shape_of
from tests.real.daemon import command, environment
from tests.requires import lacking, no_comparison

try:
    import jsonschema
    import kubernetes_validate
except ImportError:
    kubernetes_validate = None

FOLDER = Path(__file__).parent / "values"
EACH = pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yaml")))
OLDEST, NEWEST = "1.25", "1.37"
"""Kubernetes: what Chart.yaml allows, and the newest whose schemas are known."""
LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
DNS_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
CLUSTER_WIDE = {"ClusterRole", "ClusterRoleBinding"}


def values_of(name: str) -> dict[str, Any]:
    """The values file."""
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")) or {}


@cache
def rendered(name: str) -> Release:
    """The release of that values file."""
    return release(values_of(name))


@EACH
def test_helm_s_own_lint_finds_nothing(name: str) -> None:
    """Strictly: warnings count."""
    assert lint(values_of(name)) == []


@EACH
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_kubernetes_would_take_every_object(name: str, version: str) -> None:
    """By its own schemas with every unknown field refused; objects of operators by theirs."""
    if kubernetes_validate is None:
        lacking("kubernetes-validate is not installed: pip install 'fabric-exporter[dev-full]'")
    for one in rendered(name).objects:
        if one["kind"] in SPECS:
            jsonschema.validate(one, shape_of(one["kind"]))
        else:
            kubernetes_validate.validate(one, version, strict=True)


@EACH
def test_names_and_labels_are_legal_and_no_object_is_there_twice(name: str) -> None:
    """Names are DNS names, a Service's at most 63 characters; label values are short texts, annotations are texts."""
    objects = rendered(name).objects
    for one in objects:
        meta = one["metadata"]
        assert DNS_NAME.fullmatch(meta["name"]), meta["name"]
        assert len(meta["name"]) <= (63 if one["kind"] in {"Service", "DaemonSet"} else 253)
        assert [value for value in meta.get("labels", {}).values() if not isinstance(value, str) or not LABEL.fullmatch(value)] == []
        assert [value for value in meta.get("annotations", {}).values() if not isinstance(value, str)] == []
    keys = [identity(one) for one in objects]
    assert len(keys) == len(set(keys))


def identity(one: Object) -> tuple[str, str, str]:
    """What tells objects of a cluster apart."""
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


@EACH
def test_every_object_says_its_namespace_and_whose_it_is(name: str) -> None:
    """The release's namespace unless the values say another; extra manifests are the user's own."""
    values = values_of(name)
    for one in rendered(name).objects:
        if one["metadata"]["name"].startswith("site") or one["metadata"]["name"].endswith("-text"):
            continue
        assert ("namespace" in one["metadata"]) is (one["kind"] not in CLUSTER_WIDE)
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == "fabric-exporter"
        assert {key: str(value).lower() for key, value in values.get("commonLabels", {}).items()}.items() <= {
            key: value.lower() for key, value in one["metadata"]["labels"].items()
        }.items()


@EACH
def test_two_renders_are_the_same(name: str) -> None:
    """No salt, no date, no order of chance: tools that compare would roll out for ever."""
    assert release(values_of(name)).files == rendered(name).files


@EACH
def test_the_exporter_takes_its_configuration(name: str, tmp_path: Path) -> None:
    """By `config check`, with the variables of the container."""
    made = rendered(name)
    configs = [one["data"]["config.yaml"] for one in made.of("ConfigMap") if "config.yaml" in one.get("data", {})]
    assert len(configs) == (0 if values_of(name).get("existingConfigMap") else 1)
    for text in configs:
        (tmp_path / "config.yaml").write_text(re.sub(r"^ *config_file: .*\n", "", text, flags=re.MULTILINE))
        own = {one["name"]: one["value"] for one in made.container["env"] if one["name"].startswith("FABRIC_WEB")}
        own = {name: value.replace("$(POD_IP)", "::1" if "[" in value else "192.0.2.1") for name, value in own.items()}
        argv = command("config", "check", f"{tmp_path}/config.yaml")
        done = subprocess.run(argv, env={**environment(), **own}, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@EACH
def test_every_volume_is_mounted_and_every_mount_has_a_volume(name: str) -> None:
    """By name, in all containers together."""
    made = rendered(name)
    mounts = {mount["name"] for container in (*made.pod["containers"], *made.pod.get("initContainers", ())) for mount in
              container.get("volumeMounts", ())}  # fmt: skip

    assert mounts == {volume["name"] for volume in made.pod["volumes"]}


@EACH
def test_the_notes_are_whole(name: str) -> None:
    """No hole where a value was, and every line short enough for a terminal of 160 columns."""
    notes = rendered(name).files.get(NOTES)
    if notes is None:
        no_comparison("the helm program shows no notes without a cluster")
    assert "<no value>" not in notes
    assert "<nil>" not in notes
    assert max(len(line) for line in notes.splitlines()) <= 160
