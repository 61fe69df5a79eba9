"""Rules and boards of the chart are those of dashboards/generated, word for word, and small enough for Kubernetes."""

import gzip
import json
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest
import yaml

from dashboards.shipped import FOLDER
from helm.assets import RULES, files
from helm.values_file import CHART
from tests.helm.chart import release
from tests.requires import need

GROUPS = yaml.safe_load(RULES.read_text())["spec"]["groups"]


def alerts(groups: list[dict[str, object]]) -> dict[str, dict[str, object]]:
    """Name → alert."""
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}  # type: ignore[attr-defined]


def test_what_a_program_writes_in_the_chart_is_up_to_date() -> None:
    """`make assets` was run after the last change of values, options, boards or rules."""
    assert [name for name, text in files().items() if (CHART / name).read_text(encoding="utf-8") != text] == []
    assert {str(path.relative_to(CHART)) for path in CHART.glob("files/**/*.*")} == {name for name in files() if name.startswith("files/")}


def test_the_rules_are_those_that_ship() -> None:
    """Templates of alerts are not Helm's to fill (helm-charts#5028)."""
    assert release({"prometheusRule": {"enabled": True}}).one("PrometheusRule")["spec"]["groups"] == GROUPS


def test_promtool_takes_the_rules_as_they_are_and_changed(tmp_path: Path) -> None:
    """Every finding of its lint counts."""
    changed = {"disabled": ["FabricLinkDowngraded"], "overrides": {"FabricLinkFailed": {"for": "7m", "labels": {"team": "x"}}}}
    for rule in ({}, changed):
        groups = release({"prometheusRule": {"enabled": True, **rule}}).one("PrometheusRule")["spec"]["groups"]
        (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
        promtool = need("promtool", "apt-get install prometheus")
        done = subprocess.run([promtool, "check", "rules", "--lint=all", "--lint-fatal", str(tmp_path / "rules.yaml")],
                              capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_an_alert_is_left_out_or_changed_by_name_and_no_other_is() -> None:
    """Words of the user's are kept as they are, templates of alerts too."""
    own = {
        "for": "7m",
        "keep_firing_for": "2h",
        "severity": "warning",
        "labels": {"rank": 1},
        "annotations": {"note": "{{ $labels.node }}"},
    }
    made = release({"prometheusRule": {"enabled": True, "disabled": ["FabricLinkDegraded"], "overrides": {"FabricLinkFailed": own}}})
    before, after = alerts(GROUPS), alerts(made.one("PrometheusRule")["spec"]["groups"])
    failed = after.pop("FabricLinkFailed")

    assert before.keys() - after.keys() == {"FabricLinkDegraded", "FabricLinkFailed"}
    assert {name for name in after if after[name] != before[name]} == set()
    assert (failed["for"], failed["keep_firing_for"]) == ("7m", "2h")
    assert failed["labels"] == {"severity": "warning", "component": "link", "rank": "1"}
    assert failed["annotations"]["note"] == "{{ $labels.node }}"  # type: ignore[index]
    assert failed["expr"] == before["FabricLinkFailed"]["expr"]


def test_links_of_alerts_lead_to_the_site_s_own_pages() -> None:
    """As they ship they are relative."""
    made = release({"prometheusRule": {"enabled": True, "runbookBaseUrl": "https://docs.example/r/", "grafanaUrl": "https://g.example/"}})

    for name, alert in alerts(made.one("PrometheusRule")["spec"]["groups"]).items():
        annotations: dict[str, str] = alert["annotations"]  # type: ignore[assignment]
        assert annotations["runbook_url"] == f"https://docs.example/r/{name}.md"
        assert annotations["dashboard"].startswith("https://g.example/d/fabric-")


def test_each_board_is_a_config_map_of_its_own_word_for_word() -> None:
    """With the label that Grafana's sidecar looks for, in its namespace."""
    made = release({"dashboards": {"enabled": True, "namespace": "grafana"}})
    boards = [one for one in made.of("ConfigMap") if "config.yaml" not in one["data"]]

    assert len(boards) == len(list(FOLDER.glob("*.json"))) > 5
    for one in boards:
        ((name, text),) = one["data"].items()
        assert json.loads(text) == json.loads((FOLDER / name).read_text())
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert one["metadata"]["namespace"] == "grafana"
        assert "DS_PROMETHEUS" not in text


def test_boards_can_be_chosen_and_shown_by_the_grafana_operator() -> None:
    """Its objects name the ConfigMap and the key that are there."""
    made = release({"dashboards": {"enabled": True, "only": ["fabric-fleet"], "grafanaOperator": {"enabled": True}}})
    (board,) = [one for one in made.of("ConfigMap") if "config.yaml" not in one["data"]]
    reference = made.one("GrafanaDashboard")["spec"]["configMapRef"]

    assert reference == {"name": board["metadata"]["name"], "key": "fabric-fleet.json"}


def test_every_object_fits_kubernetes_and_the_release_fits_helm_s_secret() -> None:
    """A ConfigMap has at most 1 MiB (grafana/helm-charts#1811), and so has the Secret in which Helm keeps chart and manifest, packed."""
    everything = {"dashboards": {"enabled": True, "grafanaOperator": {"enabled": True}}, "prometheusRule": {"enabled": True}}
    made = release(everything)
    chart = "".join(path.read_text(encoding="utf-8") for path in sorted(CHART.rglob("*")) if path.is_file())
    packed = b64encode(gzip.compress(b64encode(chart.encode()) + "".join(made.files.values()).encode(), 9))

    assert max(len(json.dumps(one)) for one in made.objects) < 200_000
    assert len(packed) < 800_000


@pytest.mark.parametrize("label", ["", "other"])
def test_the_sidecar_s_label_can_be_another_or_none(label: str) -> None:
    """Some sites load boards otherwise."""
    made = release({"dashboards": {"enabled": True, "only": ["fabric-node"], "label": label}})
    (board,) = [one for one in made.of("ConfigMap") if "config.yaml" not in one["data"]]

    assert ("grafana_dashboard" in board["metadata"]["labels"]) is False
    assert ("other" in board["metadata"]["labels"]) is (label == "other")
