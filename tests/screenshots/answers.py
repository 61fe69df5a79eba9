"""What a panel shows: its queries sent to Prometheus as Grafana sends them, series by series."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.fleet.questions import Pick, filled
from tests.real.prometheus_server import PrometheusServer

_LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")
POINTS = 120


class Series(NamedTuple):
    """One series: what the legend calls it, its labels, its points (Unix time, value); `query` is the letter of its query."""

    name: str
    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]
    query: str

    @property
    def last(self) -> float:
        """Its newest value."""
        return self.points[-1][1]


class Span(NamedTuple):
    """The time that a board shows."""

    from_s: float
    to_s: float

    @property
    def step_s(self) -> float:
        """Between two points."""
        return max(5.0, (self.to_s - self.from_s) / POINTS)


def answers_of(server: PrometheusServer, panel: Mapping[str, Any], pick: Pick, span: Span) -> list[Series]:
    """All series of a panel, in the order of its queries. Raises HTTPError for a query that is wrong."""
    length_s = f"{span.to_s - span.from_s:.0f}"
    fixed = {"__rate_interval": "60s", "__interval": f"{span.step_s:.0f}s", "__range": f"{length_s}s", "__range_s": length_s,
             "__interval_ms": f"{1000 * span.step_s:.0f}"}  # fmt: skip
    found: list[Series] = []
    for target in panel.get("targets", ()):
        sent = filled(target["expr"], pick, fixed)
        if target.get("instant"):
            document = server.document("query", query=sent, time=f"{span.to_s}")
        else:
            step = max(span.step_s, (span.to_s - span.from_s) / (panel.get("maxDataPoints") or POINTS))
            document = server.document("query_range", query=sent, start=f"{span.from_s}", end=f"{span.to_s}", step=f"{step:.0f}")
        found += [_series(row, target) for row in document["data"]["result"]]
    return found


def _series(row: Mapping[str, Any], target: Mapping[str, Any]) -> Series:
    labels: Mapping[str, str] = row["metric"]
    form = target.get("legendFormat") or ""
    name = _LABEL.sub(lambda found: labels.get(found[1], ""), form) if form not in ("", "__auto") else ", ".join(labels.values())
    points = row.get("values") or [row["value"]]
    return Series(name, labels, [(float(at), float(value)) for at, value in points], target.get("refId", "A"))
