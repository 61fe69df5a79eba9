"""What an alert must do about some series, written as promtool's unit tests. One step of a series is a minute."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dashboards.alerts.prometheus import labels_of
from dashboards.alerts.table import ALERTS
from exporter.catalog.internals import BUILD_INFO
from exporter.catalog.signals import NODE_GRACE, NODE_MAINTENANCE
from exporter.model.metric import Metric

Steps = tuple[int | float | None, int]
"""A value and for how many minutes it stands; None: the series has ended."""
MINUTES = {"m": 1, "h": 60, "d": 1440}
NODE = "n1"


class Series(NamedTuple):
    """One series of one node. `key` tells whether a case brings its own in place of a healthy node's."""

    key: str
    labels: Mapping[str, str]
    values: str

    @property
    def text(self) -> str:
        """As Prometheus writes it."""
        inside = ",".join(f'{name}="{value}"' for name, value in self.labels.items())
        return f"{self.key}{{{inside}}}"


@dataclass(frozen=True, slots=True)
class Case:
    """One behaviour of one alert: `fires` and `silent` are moments (`12m`, `3h`). `expect` are the labels of the alert besides its own
    three; by default those of the first series. `says` is the behaviour, with the incident that it comes from."""

    alert: str
    says: str
    series: tuple[Series, ...]
    fires: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    expect: Mapping[str, str] | None = None
    nodes: tuple[str, ...] = (NODE,)


def fleet(node: str = NODE, pool: str = "a", *, named: bool = True, address: str | None = None) -> dict[str, str]:
    """Labels that the scrape sets; without `named` those of a site that sets neither `node` nor `pool`."""
    labels = {"job": "fabric-exporter", "instance": f"{address or node}:29100"}
    return {**labels, "node": node, "pool": pool} if named else labels


def series(row: Metric, values: str, at: Mapping[str, str] | None = None, **labels: str) -> Series:
    """A series as the catalogue has it. Raises ValueError if labels are missing or too many: a test on such would prove nothing."""
    if set(labels) != set(row.labels):
        raise ValueError(f"{row.name} has the labels {row.labels}, not {tuple(labels)}")
    return Series(row.name, {**(fleet() if at is None else at), **labels}, values)


def up(values: str, at: Mapping[str, str] | None = None) -> Series:
    """Prometheus' own series of a target."""
    return Series("up", fleet() if at is None else at, values)


def steps(*given: Steps) -> str:
    """Values in promtool's notation."""
    return " ".join(f"stale _x{count - 1}" if value is None else f"{value}x{count - 1}" for value, count in given)


def minutes(moment: str) -> int:
    """`3h` as 180."""
    return int(moment[:-1]) * MINUTES[moment[-1]]


def case_end(case: Case) -> int:
    """Minutes that its series must last."""
    return max(map(minutes, (*case.fires, *case.silent))) + 30


def healthy(case: Case) -> tuple[Series, ...]:
    """The case's series, and what its nodes show beside them unless it brings its own: no maintenance, no grace, an exporter."""
    end = case_end(case)
    has = {(s.key, s.labels.get("instance")) for s in case.series}
    added = []
    for node in case.nodes:
        at = fleet(node)
        for row, value in ((NODE_MAINTENANCE, 0), (NODE_GRACE, 0)):
            if (row.name, at["instance"]) not in has:
                added.append(series(row, f"{value}x{end}", at))
        if (BUILD_INFO.name, at["instance"]) not in has:
            added.append(series(BUILD_INFO, f"1x{end}", at, version="1", revision="", pythonversion="3.11"))
    return (*case.series, *added)


def muted(case: Case, row: Metric) -> Case:
    """The same fault on nodes that say maintenance or grace all the time: silent."""
    end = case_end(case)
    said = tuple(series(row, f"1x{end}", fleet(node)) for node in case.nodes)
    kept = tuple(s for s in case.series if s.key != row.name)
    return replace(case, says=f"{case.says}: silent under {row.name}", series=(*kept, *said), fires=(), silent=case.fires)


def unit_test(case: Case, names: Sequence[str]) -> dict[str, Any]:
    """The case as one group of a promtool test file, asked of the alert and of each rule with one of these names in its place."""
    alert = ALERTS[case.alert]
    own = case.series[0].labels if case.expect is None else case.expect
    set_ones = {name: value for name, value in {**labels_of(alert), **own}.items() if value}  # an empty label is none
    expected = [{"exp_labels": set_ones}]
    moments = [(moment, expected) for moment in case.fires] + [(moment, []) for moment in case.silent]
    return {
        "name": f"{case.alert}: {case.says}",
        "interval": "1m",
        "input_series": [{"series": s.text, "values": s.values} for s in healthy(case)],
        "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": alerts} for at, alerts in moments for name in names],
    }


def unit_tests(rule_files: Sequence[str], cases: Iterable[Case], names: Sequence[str]) -> dict[str, Any]:
    """A whole promtool test file, which asks the same of the rule of each of these names. Questions about days are evaluated less often."""
    cases = list(cases)
    often = "5m" if any(case_end(case) > MINUTES["d"] for case in cases) else "1m"
    return {"rule_files": list(rule_files), "evaluation_interval": often, "tests": [unit_test(case, names) for case in cases]}
