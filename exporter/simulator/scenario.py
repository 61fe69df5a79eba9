"""A scenario: which node, what its traffic is, what befalls it and when, and what a monitor must and must not say. Values only.

Times are seconds since the scenario began; the node was running before (see flows_of). How a file spells them is the reader's business,
what a kind of fault does faults/'s.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from exporter.simulator.traffic import Flow


@dataclass(frozen=True, slots=True)
class Traffic:
    """What ports carry from one time to another."""

    from_s: float
    to_s: float
    flows: tuple[Flow, ...]


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """One fault. `number` is its place in the file and tells it from all others; `until_s` is when it ends by itself (None: it does not, or
    happens at once); `target` the link (a pattern), device, source or driver it is about, "" for the node; `values` what its kind takes."""

    number: int
    kind: str
    at_s: float
    until_s: float | None = None
    target: str = ""
    values: Mapping[str, float | int | str] = field(default_factory=dict)

    def number_of(self, key: str, default: float = 0.0) -> float:
        """A value that is a number."""
        return float(self.values.get(key, default))

    def text_of(self, key: str, default: str = "") -> str:
        """A value that is a text."""
        return str(self.values.get(key, default))


@dataclass(frozen=True, slots=True)
class Expected:
    """Every link that the pattern names must have that status (`ok`, `suspect`, `degraded`, `failed`, `unknown`), with that reason among
    those active if one is given, at some time within `within_s` from `at_s` on (None: from the fault on that concerns the link). With a
    `signal` (a row of signals and its own labels) it must be `at_least` so much instead, and there is no status ("")."""

    link: str
    status: str
    within_s: float
    reason: str = ""
    at_s: float | None = None
    signal: tuple[str, ...] = ()
    at_least: float = 0.0


@dataclass(frozen=True, slots=True)
class Never:
    """Of no link that the pattern names this signal may be seen at any time: a row of signals and its own labels, which may be patterns."""

    link: str
    signal: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """`node` names a profile. `burst_hz` is the burst sampler's rate, None if it is off. `silent`: links (patterns) that must raise
    nothing, `never` signals that must not be seen. `ports` is what the node's configuration says under `expect.ports`. `reference` says
    what it was made after, `rules` which rules it is a test of."""

    node: str
    duration_s: float
    seed: int = 1
    burst_hz: float | None = None
    traffic: tuple[Traffic, ...] = ()
    faults: tuple[PlannedFault, ...] = ()
    expect: tuple[Expected, ...] = ()
    silent: tuple[str, ...] = ()
    title: str = ""
    reference: str = ""
    rules: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    never: tuple[Never, ...] = ()
    says: tuple[str, ...] = ()
    """Words that must be in one of the remarks by which the monitor says that it cannot tell something."""


def flows_of(scenario: Scenario, head_start_s: float) -> tuple[Flow, ...]:
    """The flows of a node that was `head_start_s` old when the scenario began; what it carries at first it carried before as well, and what
    it carries in the end goes on."""
    return tuple(
        Flow(f"{flow.name} {number}" if number else flow.name, flow.use, flow.bursts, flow.transmits,
             part.from_s + head_start_s if part.from_s > 0 else 0.0,
             part.to_s + head_start_s if part.to_s < scenario.duration_s else inf)
        for number, part in enumerate(scenario.traffic)
        for flow in part.flows
    )  # fmt: skip
