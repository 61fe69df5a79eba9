"""What a rule is: a pure function from its state and one pass over a link to its next state, signals and findings.

Knows the shapes; which rules there are is rules.py's, what a finding means for the verdict verdict.py's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from exporter.model.entity import Link
from exporter.model.health import Finding, Unknown, Why
from exporter.model.metric import Cadence, Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.model.thresholds import Thresholds
from exporter.signals.observation import Observation

State: TypeAlias = Any
"""Whatever a rule keeps between passes: None at first, then what it returned; an immutable value that `repr` shows whole."""


@dataclass(frozen=True, slots=True)
class LinkPlace:
    """What is known of a link beside its own numbers, until the topology changes.

    `role` of the port (compute, storage, management, ""), `rail`, `group`: links that should carry the same ("" for none), `gpu` the GPU it
    serves or belongs to, `identity` of the hardware it is on (a card's PCI address, a GPU's UUID; "" while unknown).
    `is_virtual`: a virtual function, which leaves and returns as pods come and go.
    """

    role: str = ""
    rail: str = ""
    group: str = ""
    gpu: str = ""
    identity: str = ""
    is_virtual: bool = False


NOWHERE = LinkPlace()


class Pass(NamedTuple):
    """One pass over one link by one feed. `before` is the pass before it (None at first sight). `latest` holds the newest value of each
    role of this link from all its feeds (of several keys the first), none from before the link last fell silent. `expected` are the
    expectations by role (CAPACITY, WIDTH, LANE_RATE, SIGNALLING_RATE, STATE: 1 if the link should be up, 0 if not, missing if nobody
    knows; LINK_LAYER: a LinkLayer, missing if nobody named one). `tick_bytes` is the configured length of a stall tick. `busy_s`: for how
    long its GPU has carried traffic by now, None if nobody knows."""

    link: Link
    cadence: Cadence
    before: Observation | None
    now: Observation
    latest: Mapping[Role, Number]
    expected: Mapping[Role, Number]
    place: LinkPlace
    thresholds: Thresholds
    tick_bytes: int | None = None
    busy_s: float | None = None

    @property
    def elapsed_s(self) -> float:
        """Measured seconds since the pass before; 0 without one."""
        return self.now.monotonic_s - self.before.monotonic_s if self.before is not None else 0.0


class Outcome(NamedTuple):
    """What a rule says of one pass: signals by the keys of catalog/signals.py (missing where they cannot be known), findings, and why it
    cannot judge, if so."""

    signals: Mapping[SeriesKey, Number] = {}
    findings: tuple[Finding, ...] = ()
    unknown: Unknown | None = None


NOTHING = Outcome()

Step: TypeAlias = Callable[[State, Pass], tuple[State, Outcome]]
"""Never raises, for any state it returned itself and any pass; the same input gives the same output.

A state of None remembers nothing: without findings such a step says the same of the next pass if its numbers, the facts of `latest`,
`expected` and `place` are the same, whatever time it is (rest.py builds on that)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name (for `make detection WITHOUT=`), the roles of which a pass must bring all (`needs`) to concern it, the reasons it
    speaks of: a reason without a finding in a pass is clear in that pass. A finding that holds carries its evidence; one that could not be
    told has `holds` None."""

    name: str
    needs: frozenset[Role]
    step: Step
    reasons: tuple[Why, ...] = ()
    fabrics: frozenset[str] = field(default_factory=frozenset)
    """Fabrics it is about (`nvlink`, `pcie`, …); all if empty."""
    hears: frozenset[Role] | None = None
    """The only roles of a pass's numbers that it looks at; None: any. Where they are all facts it is not asked again before one of them
    changes (rest.py)."""
