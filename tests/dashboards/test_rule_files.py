"""The rule files and runbook pages that ship: current, without a complaint of promtool, complete, and true to catalogue and commands."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from dashboards.alerts import grafana, kubernetes
from dashboards.alerts.alert import Alert
from dashboards.alerts.prometheus import alert_groups
from dashboards.alerts.runbooks import pages
from dashboards.alerts.table import ALERTS, GROUPS
from dashboards.alerts.wording import Place, for_prometheus
from dashboards.rules.files import GENERATED, files
from dashboards.rules.keep import PROMETHEUS_OWN, kept_names
from dashboards.rules.recording import GROUPS as RECORDED
from dashboards.shipped import BOARDS
from exporter.catalog import CATALOGUE
from exporter.cli.verbs import VERBS
from exporter.model.metric import Kind
from tests.dashboards.promql_reading import NAMES, _selectors
from tests.dashboards.promtool_rules import check_rules

ROOT = Path(__file__).parents[2]
RECORDS = [record for records in RECORDED.values() for record in records]
EXPRESSIONS = {**{name: alert.expression() for name, alert in ALERTS.items()}, **{record.name: record.expression for record in RECORDS}}
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
each_alert = pytest.mark.parametrize("alert", ALERTS.values(), ids=ALERTS.keys())


def _seconds(time: str) -> int:
    return int(time[:-1]) * SECONDS[time[-1]]


def _grafana_rules() -> list[dict[str, Any]]:
    return [rule for group in grafana.provisioning(Place())["groups"] for rule in group["rules"]]


def test_committed_rules_and_runbooks_are_what_the_code_writes() -> None:
    """`make assets` was run: no file differs, is missing or left over."""
    written = files()
    differs = [name for name, text in written.items() if not (ROOT / name).is_file() or (ROOT / name).read_text(encoding="utf-8") != text]
    left = [path.name for path in (ROOT / "docs/runbooks").glob("*") if f"docs/runbooks/{path.name}" not in written]

    assert differs == []
    assert left == []


def test_promtool_has_nothing_to_say_about_the_rules() -> None:
    """All lints on, none of them forgiven."""
    status, said = check_rules(sorted((ROOT / GENERATED / "prometheus").glob("*.rules.yaml")))

    assert status == 0, said
    assert re.findall(r"SUCCESS: (\d+) rules", said) == [str(len(ALERTS)), str(len(RECORDS))]


def test_the_manifest_holds_the_same_rules(tmp_path: Path) -> None:
    """Promtool reads its spec as it reads a rule file."""
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(kubernetes.manifest(Place())["spec"]), encoding="utf-8")

    status, said = check_rules([tmp_path / "spec.yaml"])

    assert (status, re.findall(r"SUCCESS: (\d+) rules", said)) == (0, [str(len(ALERTS) + len(RECORDS))]), said


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_asks_only_for_what_the_catalogue_or_a_recording_rule_gives(name: str) -> None:
    """Counters only below a rate, an increase or a comparison of their coming into being; no histogram."""
    tree = promql_parser.parse(EXPRESSIONS[name])
    asked = {selector.name for selector in _selectors(tree)}

    assert asked - set(NAMES) - {record.name for record in RECORDS} - set(PROMETHEUS_OWN) == set()


def test_every_recorded_name_says_level_metric_and_operation() -> None:
    """LEVEL:METRIC:OPERATION, where the metric is a row's name without `_total`, and no name is recorded twice."""
    stems = {row.name.removesuffix("_total") for row in CATALOGUE.values()}
    parts = [record.name.split(":") for record in RECORDS]

    assert [part for part in parts if len(part) != 3 or part[0] not in {"link", "node", "rail", "pool"} or part[1] not in stems] == []
    assert len({record.name for record in RECORDS}) == len(RECORDS)


@each_alert
def test_every_link_alert_knows_maintenance_and_grace(alert: Alert) -> None:
    """Whoever works on a node is not paged, nor for a reboot: on every alert about a link or a GPU."""
    if alert.component.value in {"link", "gpu"}:
        assert {guard.name for guard in alert.guards} >= {"maintenance", "grace"}


@each_alert
def test_the_board_of_an_alert_exists_with_its_variables(alert: Alert) -> None:
    """The link in the annotation opens a board that ships, and sets only variables that it has."""
    link = for_prometheus(alert, Place())["dashboard"]
    uid, asked = link.removeprefix("/d/").split("?")
    board = next(board for board in BOARDS if board.uid == uid)

    assert set(re.findall(r"var-(\w+)=", asked)) <= {variable.name for variable in board.variables}


@pytest.mark.parametrize("name", pages())
def test_a_page_names_only_commands_that_exist(name: str) -> None:
    """A person at night cannot run what this version does not have."""
    commands = re.findall(r"(?:`|    |; |ssh NODE )fabric-exporter ([a-z]+)", pages()[name])

    assert [command for command in commands if command not in VERBS] == []


@pytest.mark.parametrize("name", pages())
def test_a_page_points_only_to_pages_and_alerts_that_exist(name: str) -> None:
    """Links to files, and names of other alerts."""
    text = pages()[name]
    broken = [to for to in re.findall(r"\]\(([^)#]+)\)", text) if not (ROOT / "docs/runbooks" / to).is_file()]
    strangers = set(re.findall(r"\bFabric[A-Z]\w+", text)) - set(ALERTS)

    assert (broken, strangers) == ([], set())


def test_grafana_gets_every_alert_with_an_own_short_uid() -> None:
    """Title, a uid of at most forty characters, and a query that the condition compares."""
    rules = _grafana_rules()

    assert [rule["title"] for rule in rules] == list(ALERTS)
    assert len({rule["uid"] for rule in rules}) == len(rules)
    assert max(len(rule["uid"]) for rule in rules) <= grafana.UID_LONGEST
    assert {tuple(part["refId"] for part in rule["data"]) for rule in rules} == {("A", "B")}
    assert {rule["condition"] for rule in rules} == {"B"}


@each_alert
def test_grafana_compares_what_is_measured(alert: Alert) -> None:
    """Its query is PromQL, holds every guard, and leaves the comparison with the bound to the expression behind it."""
    measured = alert.measured()

    promql_parser.parse(measured)
    assert f"{alert.value} {alert.compare} {alert.bound:g}" not in measured or alert.notable
    assert [guard.name for guard in alert.guards if guard.clause.split("⟦")[0] not in measured] == []


@each_alert
def test_grafana_s_times_are_whole_intervals(alert: Alert) -> None:
    """It refuses a rule whose waiting time is no multiple of its group's interval."""
    assert _seconds(alert.wait) % _seconds(grafana.INTERVAL) == 0


def test_the_long_term_store_keeps_names_that_exist() -> None:
    """Recorded levels, the aggregate tier, and nothing that no rule or row makes; health and its reasons are among them."""
    known = {row.name for row in CATALOGUE.values() if row.kind is not Kind.HISTOGRAM} | {record.name for record in RECORDS}

    assert set(kept_names()) - known - set(PROMETHEUS_OWN) == set()
    assert {"link:fabric_link_health_status:last_known", "fabric_link_condition", "fabric_node_maintenance"} <= set(kept_names())


def test_what_ships_names_no_host() -> None:
    """Runbooks and boards are relative: a site puts its own prefix there (docs/alerts.md)."""
    text = yaml.safe_dump(alert_groups(Place()))

    assert re.findall(r"https?://\S+", text) == []
    assert [group for group in GROUPS if not group.startswith("fabric-")] == []


def test_a_renamed_row_breaks_the_rules_that_read_it(tmp_path: Path) -> None:
    """In a copy of the house with one row renamed, the table cannot be imported any more, and the error names the row."""
    for package in ("dashboards", "exporter"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "generated"))
    rows = tmp_path / "exporter/catalog/signals.py"
    rows.write_text(re.sub(r"\bRETRIES_EXCEEDED\b", "RETRIES_ENDED", rows.read_text(encoding="utf-8")), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-c", "import dashboards.alerts.table"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert "cannot import name 'RETRIES_EXCEEDED'" in done.stderr
