"""What an alert says is executed by Prometheus' own templates: no error, no empty place, the reasons with their times."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from dashboards.alerts.prometheus import alert_rule
from dashboards.alerts.table import ALERTS
from dashboards.alerts.wording import Place, for_grafana
from dashboards.yaml_text import yaml_text
from exporter.catalog.signals import CONDITION_SINCE, HEALTH
from tests.dashboards.alert_case import Case, fleet, series, unit_tests
from tests.dashboards.cases_links import IB
from tests.dashboards.promtool_rules import run_tests
from tests.dashboards.test_alert_rules import cases_of

_GOT = re.compile(r"got:\[\s*0:\s*Labels:\{.*\}\s*Annotations:\{(.*)\}")
_ONE = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SITE = Place("https://runbooks.example/", "https://grafana.example/d/")


def _said(folder: Path, cases: Mapping[str, Case]) -> dict[str, dict[str, str]]:
    """The annotations of each alert when it fires. promtool shows them when it is told to expect no alert."""
    files = []
    for name, case in cases.items():
        rules = {"groups": [{"name": "asked", "rules": [alert_rule(ALERTS[name], SITE)]}]}
        (folder / f"{name}.rules").write_text(yaml_text(rules, ()), encoding="utf-8")
        asked = unit_tests((f"{name}.rules",), [case], (name,))
        asked["tests"][0]["alert_rule_test"] = [{"eval_time": case.fires[0], "alertname": name, "exp_alerts": []}]
        files.append(folder / f"{name}.yaml")
        files[-1].write_text(yaml_text(asked, ()), encoding="utf-8")
    shown = {name.removesuffix(".yaml"): _GOT.search(words) for name, words in run_tests(files).items()}
    return {name: dict(_ONE.findall(got[1])) if got else {} for name, got in shown.items()}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Alert → its annotations at its first fault."""
    faults = {name: next(case for case in cases_of(name) if case.fires) for name in ALERTS}
    return _said(tmp_path_factory.mktemp("texts"), faults)


@pytest.mark.parametrize("name", ALERTS)
def test_every_text_of_an_alert_can_be_made(name: str, texts: dict[str, dict[str, str]]) -> None:
    """Summary, description, evidence, board and runbook stand there, without a template's error and without a hole."""
    said = texts[name]

    assert list(said) == ["dashboard", "description", "evidence", "runbook_url", "summary"]
    assert [text for text in said.values() if not text or "<" in text or "{{" in text or "  " in text or " ." in text] == []
    assert said["runbook_url"] == f"https://runbooks.example/{name}.md"
    assert any(place in said["summary"] for place in ("n1", "pool a"))


def test_a_failed_link_names_its_reasons_and_since_when(tmp_path: Path) -> None:
    """The reasons are asked for when the alert is made."""
    given = (
        series(HEALTH, "3x60", **IB),
        series(CONDITION_SINCE, "1800000000x60", **IB, reason="down"),
        series(CONDITION_SINCE, "1800000060x60", **IB, reason="xid"),
    )

    said = _said(tmp_path, {"FabricLinkFailed": Case("FabricLinkFailed", "reasons", given, fires=("5m",))})

    assert "down since 2027-01-15 08:00:00 +0000 UTC, xid since 2027-01-15 08:01:00" in said["FabricLinkFailed"]["description"]


def test_without_a_node_label_the_address_says_where(tmp_path: Path) -> None:
    """A site that sets neither node nor pool."""
    given = (series(HEALTH, "3x60", fleet(named=False), **IB),)

    said = _said(tmp_path, {"FabricLinkFailed": Case("FabricLinkFailed", "no node", given, fires=("5m",), nodes=())})

    assert said["FabricLinkFailed"]["summary"] == "infiniband mlx5_3 port 1 on n1:29100 has failed"


@pytest.mark.parametrize("name", ALERTS)
def test_grafana_s_texts_ask_no_query(name: str) -> None:
    """Its templates know values and labels only."""
    said = " ".join(for_grafana(ALERTS[name], SITE).values())

    assert "query" not in said
    assert "$value " not in said
