"""One link as the engine follows it: its last Observations, the state of each rule about it, what the rules said last, and its verdict.

A bag of what belongs together, changed by engine.py alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from exporter.model.entity import Fabric, Link
from exporter.model.health import Unknown
from exporter.model.metric import Role
from exporter.model.snapshot import Number, Reading, SeriesKey
from exporter.signals.observation import Observation, Plan
from exporter.signals.rule import NOTHING, NOWHERE, LinkPlace, Outcome, Rule, State
from exporter.signals.verdict import LinkState

KEPT_ROLES = frozenset({
    Role.CAPACITY, Role.STATE, Role.PHYSICAL_STATE, Role.SIGNALLING_RATE, Role.POWER_STATE, Role.SPEED, Role.LANE_RATE, Role.WIDTH,
    Role.PRESENCE, Role.CARRIER, Role.SATURATED, Role.RX_BYTES, Role.TX_BYTES, Role.RX_PACKETS, Role.TX_PACKETS, Role.EXPECTED_LANE_RATE,
    Role.EXPECTED_WIDTH, Role.HOST_STALL, Role.OVERRUNS,
})  # fmt: skip
"""Roles whose newest value rules may ask for whatever feed they are called for."""
ONLY_XIDS = frozenset({Role.XIDS})
STALE_PASSES = 3
STALE_MIN_S = 5.0
"""A link of which nothing was seen for so many of its passes, at least so long, is stale (as its series: interface.md)."""
FIRST_INTERVAL_S = 60.0
"""Nobody knows yet how often a link is looked at that was looked at once: it is stale after this long."""
NVLINK_UP, PORT_UP = frozenset({1, 2}), 4
COMPARED_STALE_S = 60.0
READS_MAX = 64


class Reads(NamedTuple):
    """What a pass of one plan is to a link: `rules` are the numbers of those it concerns, `kept` where roles of `latest` stand. A pass that
    brings nothing but Xids is no look at the link: the kernel log speaks of links that hang."""

    plan: Plan
    rules: tuple[int, ...]
    kept: tuple[tuple[Role, int], ...]
    is_sight: bool


@dataclass(slots=True)
class Tracked:
    """See the module. `rules` are those about its fabric."""

    link: Link
    rules: Sequence[Rule]
    place: LinkPlace = NOWHERE
    expected: dict[Role, Number] = field(default_factory=dict)
    latest: dict[Role, Number] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    told_s: list[float] = field(default_factory=list)
    """When each rule last had a signal (monotonic)."""
    until_s: list[float] = field(default_factory=list)
    """Until when each rule's signals count: three times its own interval, at least the link's own bound."""
    unknown: Unknown | None = None
    """Why the rules cannot judge it, if one of them says so."""
    compared: Outcome = NOTHING
    """What the comparison with its siblings said last."""
    compared_s: float = float("-inf")
    verdict: LinkState = field(default_factory=LinkState)
    last_s: float = 0.0
    """When it was last seen; 0 before that."""
    stale_after_s: float = FIRST_INTERVAL_S
    quickest_s: float = 0.0
    """Time between passes of the quickest feed that sees it; 0 while nobody knows."""
    shown: Reading | None = None
    """What readings() showed of it last; None if that is not true any more."""
    shown_until_s: float = 0.0
    reads: dict[int, Reads] = field(default_factory=dict)
    life: int = 0
    """How often other hardware took the link's name."""

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        count = len(self.rules)
        self.states = [None] * count
        self.outcomes = [NOTHING] * count
        self.told_s = [float("-inf")] * count
        self.until_s = [float("-inf")] * count

    def forget(self) -> None:
        """Other hardware goes by this name now: nothing that was said of the link counts, but that it was seen."""
        self._begin()
        self.life += 1
        self.expected.clear()
        self.latest.clear()
        self.unknown, self.compared, self.verdict, self.shown = None, NOTHING, LinkState(), None

    @property
    def is_up(self) -> bool:
        """By the newest word on its state: whatever its fabric calls up."""
        state, fabric = self.latest.get(Role.STATE), self.link.fabric
        if fabric is Fabric.NVLINK:
            return state in NVLINK_UP
        return self.latest.get(Role.CARRIER) == 1 if fabric is Fabric.ETHERNET else state == PORT_UP

    @property
    def is_missed(self) -> bool:
        """Not up, by what was seen, and nobody says that it need not be."""
        is_told = (Role.CARRIER if self.link.fabric is Fabric.ETHERNET else Role.STATE) in self.latest
        return is_told and not self.is_up and self.expected.get(Role.STATE) != 0

    def see(self, now: Observation, before: Observation | None, interval_s: float) -> Reads:
        """Keep the newest values, and forget those that this feed brought before and does not bring any more. `interval_s` is the time
        between passes of this feed, 0 while nobody knows."""
        reads = self._reads(now.plan)
        if before is not None and before.plan is not now.plan:
            for role in before.plan.keys() - now.plan.keys():
                self.latest.pop(role, None)
        if reads.is_sight:
            self._look(now.monotonic_s, interval_s)
        latest, numbers = self.latest, now.numbers
        for role, at in reads.kept:
            latest[role] = numbers[at]
        if Role.PRESENCE in latest and latest.get(Role.STATE) == 1:
            del latest[Role.PRESENCE]
        return reads

    def _look(self, now_s: float, interval_s: float) -> None:
        """It was seen: by its quickest feed, or by another, which counts if it is quicker or that one fell silent."""
        if now_s > self.last_s:
            if interval_s and (not self.quickest_s or interval_s < self.quickest_s or now_s - self.last_s > self.quickest_s):
                self.quickest_s = interval_s
                self.stale_after_s = max(STALE_PASSES * interval_s, STALE_MIN_S)
            self.last_s = now_s

    def _reads(self, plan: Plan) -> Reads:
        known = self.reads.get(id(plan))
        if known is None or known.plan is not plan:
            roles = plan.keys()
            rules = tuple([at for at, rule in enumerate(self.rules) if rule.needs <= roles])
            kept = tuple([(role, places[0][1]) for role, places in plan.items() if role in KEPT_ROLES])
            if len(self.reads) >= READS_MAX:
                self.reads.clear()
            known = self.reads[id(plan)] = Reads(plan, rules if plan else (), kept, is_sight=roles != ONLY_XIDS)
        return known

    def tell(self, at: int, outcome: Outcome, now_s: float) -> None:
        """What the rule of that number says now."""
        before, self.outcomes[at] = self.outcomes[at], outcome
        if outcome.unknown is not before.unknown:
            self.unknown = next((one.unknown for one in self.outcomes if one.unknown is not None), None)
        if outcome.signals:
            told_s, self.told_s[at] = self.told_s[at], now_s
            fresh_s = STALE_PASSES * (now_s - told_s)
            self.until_s[at] = now_s + (fresh_s if self.stale_after_s < fresh_s < inf else self.stale_after_s)

    def signals(self, now_s: float) -> tuple[dict[SeriesKey, Number], float]:
        """What the rules said last, less what is too old to be said still; and until when all of that holds."""
        found: dict[SeriesKey, Number] = {}
        ends_s = inf
        for (signals, _, _), until_s in zip(self.outcomes, self.until_s, strict=True):
            if signals and now_s <= until_s:
                found.update(signals)
                ends_s = min(ends_s, until_s)
        until_s = self.compared_s + max(self.stale_after_s, COMPARED_STALE_S)
        if self.compared.signals and now_s <= until_s:
            found.update(self.compared.signals)
            ends_s = min(ends_s, until_s)
        return found, ends_s
