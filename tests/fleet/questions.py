"""What boards and rules ask a Prometheus, how it is sent as Grafana sends it, and what is wrong with an answer.

Knows Grafana's variables and units; where questions come from is board_questions.py's.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.error import HTTPError

from exporter.catalog import probes, signals
from tests.real.prometheus_server import PrometheusServer

RANGE_S, STEP_S = 40.0, 5.0
"""How much of the past a time axis shows here, and how far apart its points are."""
FIXED = {"__rate_interval": "30s", "__interval": "5s", "__range": "30s", "__range_s": "30", "__interval_ms": "5000"}
"""Grafana's own variables. The rate interval holds at least two beats of every counter: the slowest come every 15 s."""
ALL = ".*"
TRIES_MAX = 60
CONDITIONS = "fabric_link_condition"
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)(?::\w+)?\}?")
_ONE_OF = re.compile(r'="\$\{?(\w+)(?::\w+)?\}?"')

Pick = Mapping[str, str]
"""Variable → value: what a reader has picked at the head of a board."""

LEAST_AND_MOST: Mapping[str, tuple[float, float]] = {
    "percentunit": (0.0, 1.05),
    "short": (0.0, 1e15),
    "none": (0.0, 1e6),
    "sci": (0.0, 1.0),
    "cps": (0.0, 1e9),
    "Bps": (0.0, 1e13),
    "decbytes": (0.0, 1e18),
    "s": (0.0, 1e9),
    "si:T/s": (0.0, 1e12),
    "dateTimeFromNow": (1.6e12, 4e12),
}
"""Unit as Grafana calls it → the values that can be meant. A ratio may stand 5 % above 1: rates are extrapolated."""
COMPARISONS = (*(row.name for row in (signals.SIBLING, signals.RAIL_BURST, signals.RAIL_SHARE, probes.BASELINE)), " offset ")
"""What is in a query whose ratio is of a number to what is usual or was before, not a share of a whole: it may be anything from 0 on."""


class Question(NamedTuple):
    """`place` says where it is asked (board and panel, or group and rule); `unit` is Grafana's name, "" for none."""

    place: str
    expr: str
    unit: str = ""
    is_instant: bool = True


class Finding(NamedTuple):
    """What is wrong with the answer to a question as it was sent."""

    place: str
    sent: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}\n    {self.sent}"


class Asking(NamedTuple):
    """What came of a question: what is wrong, and whether anything was answered at all."""

    findings: tuple[Finding, ...]
    has_data: bool


def ask(server: PrometheusServer, question: Question, picks: Sequence[Pick], at_s: float) -> Asking:
    """Send it for one pick of variables after the other until it is answered with data, at most TRIES_MAX times; every answer must be
    right."""
    for sent in islice(sent_as(question.expr, picks), TRIES_MAX):
        document = _answer(server, question, sent, at_s)
        findings = tuple(Finding(question.place, sent, problem) for problem in problems(document, _unit_of(question)))
        has_data = document.get("status") == "success" and bool(_values(document))
        if findings or has_data:
            return Asking(findings, has_data)
    return Asking((), has_data=False)


def sent_as(expr: str, picks: Sequence[Pick]) -> Iterator[str]:
    """The expression as Grafana sends it, once for each pick that makes it another one. Variables in a matcher with `=` stand for one
    value, all others take all (`.*`). Raises KeyError for a variable that no pick has."""
    seen: set[str] = set()
    for pick in picks:
        sent = filled(expr, pick, FIXED)
        if sent not in seen:
            seen.add(sent)
            yield sent


def problems(document: Mapping[str, Any], unit: str) -> list[str]:
    """What is wrong with an answer: an error, a warning, a number that the unit cannot mean."""
    if document.get("status") != "success":
        return [f"{document.get('errorType')}: {document.get('error')}"]
    found = [f"warning: {text}" for text in document.get("warnings") or ()]
    least, most = LEAST_AND_MOST.get(unit, (-math.inf, math.inf))
    odd = [(labels, value) for labels, value in _values(document) if not (math.isfinite(value) and least <= value <= most)]
    if odd:
        labels, value = odd[0]
        found.append(f"{len(odd)} values cannot be of unit {unit or '(none)'}, such as {value:g} of {json.dumps(labels)}")
    return found


def picks_of(server: PrometheusServer) -> tuple[Pick, ...]:
    """What a reader may pick: links with something wrong first, then the first link of each fabric of each node; each with a job of the
    node."""
    jobs = {labels["node"]: labels["job_id"] for labels, _ in server.query("group by (node, job_id) (fabric_gpu_job_info)")}
    sick = server.query(f"group by (pool, node, fabric, device, port) ({CONDITIONS})")
    every = server.query("group by (pool, node, fabric, device, port) (fabric_link_flaps_total)")
    first = {(labels["node"], labels["fabric"]): labels for labels, _ in reversed(every)}
    return tuple({**labels, "job_id": jobs.get(labels["node"], "")} for labels in (*(labels for labels, _ in sick), *first.values()))


def _unit_of(question: Question) -> str:
    return "short" if question.unit == "percentunit" and any(part in question.expr for part in COMPARISONS) else question.unit


def _answer(server: PrometheusServer, question: Question, sent: str, at_s: float) -> Mapping[str, Any]:
    times = {"time": f"{at_s}"} if question.is_instant else {"start": f"{at_s - RANGE_S}", "end": f"{at_s}", "step": f"{STEP_S:g}"}
    try:
        made: Mapping[str, Any] = server.document("query" if question.is_instant else "query_range", query=sent, **times)
    except HTTPError as error:
        with error:
            made = json.loads(error.read())
    return made


def _values(document: Mapping[str, Any]) -> list[tuple[Mapping[str, str], float]]:
    """Labels and value of every sample of an answer."""
    data = document["data"]
    if data["resultType"] in ("scalar", "string"):
        return [({}, float(data["result"][1]))]
    return [(row["metric"], float(value)) for row in data["result"] for _, value in row.get("values", [row.get("value")])]


def filled(expr: str, pick: Pick, fixed: Mapping[str, str]) -> str:
    """The expression with the values of a pick where a matcher takes one (`=`), with all where it takes many, and with Grafana's own
    variables. Raises KeyError for a variable that is none of them."""
    single = frozenset(_ONE_OF.findall(expr))
    values = {**{name: value if name in single else ALL for name, value in pick.items()}, **fixed}
    return _VARIABLE.sub(lambda found: values[found[1]], expr)
