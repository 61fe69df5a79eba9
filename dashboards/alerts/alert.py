"""What an alert is: a value, a bound, guards that keep it silent, and the words for the person who is woken. No alert stands here."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

SUFFIX = ""
"""Place of a guard: behind the comparison."""


class Severity(StrEnum):
    """CRITICAL wakes somebody, WARNING is work of today, INFO is a ticket."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Component(StrEnum):
    """What is sick, for routing: a link, a GPU, the node as a whole, many nodes of a pool, or the exporter itself."""

    LINK = "link"
    GPU = "gpu"
    NODE = "node"
    POOL = "pool"
    EXPORTER = "exporter"


class NoData(StrEnum):
    """Of a query that answers nothing: all is well, or that is the fault. Grafana's words."""

    OK = "OK"
    FAULT = "Alerting"


class Guard(NamedTuple):
    """A clause without which the alert would cry wolf, and the public false alarm or reason behind it. `place` is the mark in the alert's
    value where the clause belongs; SUFFIX is behind the comparison. A test leaves out each and must fail."""

    name: str
    clause: str
    why: str
    place: str = SUFFIX


class Runbook(NamedTuple):
    """For the person who is woken: what it is, commands that confirm it on the node, what to do, what it may be instead."""

    cause: str
    confirm: tuple[str, ...]
    act: tuple[str, ...]
    not_this: str = ""


@dataclass(frozen=True, slots=True)
class Alert:
    """One row of the table.

    `value` is PromQL whose series are compared with `bound`; `wait` is how long it must hold (`0s`: at once), `keep` how long it goes on
    firing after it ended. `summary` and `description` hold marks in braces that dashboards/alerts/wording.py fills.
    """

    name: str
    severity: Severity
    component: Component
    value: str
    compare: Literal[">", "<"]
    bound: float
    guards: tuple[Guard, ...]
    summary: str
    description: str
    runbook: Runbook
    wait: str = "0s"
    keep: str = "0s"
    evidence: str = "fabric-exporter check --json"
    """Command on the node that prints the numbers behind it."""
    notable: str = ""
    """A comparison far on the healthy side of the bound (`> 0`), where the value has a series for each link of the fleet: a system that
    keeps a state for each series is asked only about those."""
    no_data: NoData = NoData.OK
    """What it means that nothing at all is measured; Prometheus' rules know only silence."""

    def expression(self, without: Collection[str] = ()) -> str:
        """The whole PromQL of a Prometheus rule; `without` names guards to leave out."""
        guards = [guard for guard in self.guards if guard.name not in without]
        return _guarded(f"{self.value} {self.compare} {self.bound:g}", guards)

    def measured(self) -> str:
        """The same without the comparison, for systems that compare by themselves: series that the guards let through, with their value."""
        return _guarded(f"{self.value} {self.notable}".rstrip(), self.guards)


PLACES = ("new", "nodes")
"""Marks within a value where guards may belong: what came into being, and the nodes that are counted."""


def _guarded(text: str, guards: Collection[Guard]) -> str:
    text = "\n".join((text, *(guard.clause for guard in guards if guard.place == SUFFIX)))
    for place in PLACES:
        clauses = "".join(f" {guard.clause}" for guard in guards if guard.place == place)
        text = text.replace(f"⟦{place}⟧", clauses)
    return text
