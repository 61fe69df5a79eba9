"""The alerts do what they must: each fires on its fault and is silent on the false alarms of others, and each guard is needed for that.

One run of promtool asks everything: beside each alert stand its mutants, the same rule with one thing left out, and all get the same
questions. The alert must answer every one of them, each mutant must fail one.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dashboards.alerts.alert import Alert
from dashboards.alerts.prometheus import NO_TIME, alert_rule
from dashboards.alerts.table import ALERTS
from dashboards.alerts.wording import Place
from dashboards.rules.recording import recording_groups
from dashboards.yaml_text import yaml_text
from exporter.catalog.signals import NODE_GRACE, NODE_MAINTENANCE
from tests.dashboards import cases_errors, cases_exporters, cases_links, cases_load, cases_nodes
from tests.dashboards.alert_case import Case, muted, unit_tests
from tests.dashboards.promtool_rules import run_tests

GIVEN: tuple[Case, ...] = (*cases_links.CASES, *cases_errors.CASES, *cases_load.CASES, *cases_nodes.CASES, *cases_exporters.CASES)
MUTES = {"maintenance": NODE_MAINTENANCE, "grace": NODE_GRACE}
_FAILED = re.compile(r"^ +alertname: (\w+), time:", re.MULTILINE)
Rule = dict[str, Any]


def _first_fault(alert: str) -> Case:
    return next(case for case in GIVEN if case.alert == alert and case.fires)


def cases_of(alert: str) -> list[Case]:
    """The given cases of an alert, and if it has such guards its first fault under maintenance and under grace."""
    guards = {guard.name for guard in ALERTS[alert].guards}
    under = [muted(_first_fault(alert), row) for name, row in MUTES.items() if name in guards]
    return [*(case for case in GIVEN if case.alert == alert), *under]


def plain(alert: Alert, without: Collection[str] = ()) -> Rule:
    """The alert's rule without annotations, which another test reads."""
    return {key: value for key, value in alert_rule(alert, Place(), without).items() if key != "annotations"}


def mutants(alert: Alert) -> dict[str, Rule]:
    """The alert with one thing left out, by a name that says what: a guard, the time it waits, the time it is kept."""
    made = {f"{alert.name}_without_{guard.name}": plain(alert, {guard.name}) for guard in alert.guards}
    for key, time in (("for", alert.wait), ("keep_firing_for", alert.keep)):
        if time != NO_TIME:
            made[f"{alert.name}_without_{key}"] = {name: value for name, value in plain(alert).items() if name != key}
    return {name: {**rule, "alert": name} for name, rule in made.items()}


def write(folder: Path, alert: Alert, others: Mapping[str, Rule], records: Iterable[Rule]) -> Path:
    """A rule file of an alert and its mutants, and their questions; the path of the latter."""
    groups = [{"name": "recorded", "rules": list(records)}, {"name": "asked", "rules": [plain(alert), *others.values()]}]
    (folder / f"{alert.name}.rules").write_text(yaml_text({"groups": groups}, ()), encoding="utf-8")
    tests = folder / f"{alert.name}.yaml"
    asked = unit_tests((f"{alert.name}.rules",), cases_of(alert.name), (alert.name, *others))
    tests.write_text(yaml_text(asked, ()), encoding="utf-8")
    return tests


def last_known_rule() -> list[Rule]:
    """The recording rule that alerts read."""
    return next(group["rules"] for group in recording_groups()["groups"] if group["name"] == "fabric-last-known")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Alert → what promtool found wrong with it or any of its mutants."""
    folder = tmp_path_factory.mktemp("rules")
    said = run_tests([write(folder, alert, mutants(alert), last_known_rule()) for alert in ALERTS.values()])
    return {name.removesuffix(".yaml"): words for name, words in said.items()}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_fires_on_its_fault_and_is_silent_on_false_alarms(name: str, answers: Mapping[str, str]) -> None:
    """Every question about it is answered as its cases say, in Prometheus' own engine."""
    assert name not in _FAILED.findall(answers[name]), answers[name]


@pytest.mark.parametrize("name", ALERTS)
def test_each_guard_is_needed(name: str, answers: Mapping[str, str]) -> None:
    """Without any one of its guards, its waiting time or the time it is kept, the alert fails a case."""
    survived = set(mutants(ALERTS[name])) - set(_FAILED.findall(answers[name]))

    assert survived == set()


@pytest.mark.parametrize("name", ALERTS)
def test_each_alert_has_a_fault_and_a_false_alarm(name: str) -> None:
    """At least one case in which it fires, and a given one in which it never does."""
    given = [case for case in GIVEN if case.alert == name]

    assert any(case.fires for case in given)
    assert any(case.silent and not case.fires for case in given)


def test_what_was_last_known_is_needed(tmp_path: Path) -> None:
    """Without the recording rule the death of an exporter would resolve a failed link (microsoft/pai#4942)."""
    tests = write(tmp_path, ALERTS["FabricLinkFailed"], {}, ())

    assert "killed" in run_tests([tests])["FabricLinkFailed.yaml"]
