"""One link as the engine follows it: its last Observations, the state of each rule about it, what the rules said last, and its verdict.

A bag of what belongs together, changed by engine.py alone.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
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
COUNTED_ROLES = frozenset({Role.RX_BYTES, Role.TX_BYTES, Role.RX_PACKETS, Role.TX_PACKETS, Role.OVERRUNS, Role.HOST_STALL})
"""Those of them that grow all the time on a link that works: another value is no news to rules that remember nothing."""
FACT_ROLES = KEPT_ROLES - COUNTED_ROLES
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
    """What a pass of one plan is to a link.

    `rules` are the numbers of those it concerns, `factual` of those of them that hear nothing but facts in it, `moving` of the others;
    `counts` and `facts` where roles of `latest` stand (COUNTED_ROLES, FACT_ROLES). A pass that brings nothing but Xids is no look at the
    link: the kernel log speaks of links that hang.
    """

    plan: Plan
    rules: tuple[int, ...]
    factual: tuple[int, ...]
    moving: tuple[int, ...]
    counts: tuple[tuple[Role, int], ...]
    facts: tuple[tuple[Role, int], ...]
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
    until_s: list[float] = field(default_factory=list)
    """Until when each rule's signals count (monotonic)."""
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
    """What was last shown of it; None if that is not true any more."""
    shown_until_s: float = 0.0
    shown_rules: tuple[int, ...] = ()
    """Rules whose signals `shown` has."""
    shows_compared: bool = False
    """Whether it has those of the comparison."""
    retold: list[int] = field(default_factory=list)
    """Rules that have given the same signals other numbers since."""
    reads: dict[int, Reads] = field(default_factory=dict)
    life: int = 0
    """How often other hardware took the link's name."""
    news: int = 0
    """Grows whenever something that rules hear beside a pass's numbers changes: `expected`, `place`, a fact of `latest`, or what its device
    says of its links."""
    expected_by: int = -1
    """By which `news` `expected` was last worked out."""

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        count = len(self.rules)
        self.states = [None] * count
        self.outcomes = [NOTHING] * count
        self.until_s = [float("-inf")] * count

    def forget(self) -> None:
        """Other hardware goes by this name now: nothing that was said of the link counts, but that it was seen."""
        self._begin()
        self.life += 1
        self.news += 1
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
            self.news += 1
            for role in before.plan.keys() - now.plan.keys():
                self.latest.pop(role, None)
        if reads.is_sight:
            self._look(now.monotonic_s, interval_s)
        latest, numbers = self.latest, now.numbers
        for role, at in reads.counts:
            latest[role] = numbers[at]
        for role, at in reads.facts:
            if latest.get(role) != numbers[at]:
                latest[role] = numbers[at]
                self.news += 1
        if Role.PRESENCE in latest and latest.get(Role.STATE) == 1:
            del latest[Role.PRESENCE]
        return reads

    def rest(self, now_s: float, interval_s: float, telling: Sequence[int]) -> None:
        """It was seen, and nothing is new: what these rules said last, they say still."""
        self._look(now_s, interval_s)
        if telling:
            self.tell_again(telling, now_s + self.stays_s(interval_s))

    def stays_s(self, interval_s: float) -> float:
        """How long counts what is said by a feed of that interval (0 while nobody knows): three of its passes, at least the link's own
        bound."""
        return max(STALE_PASSES * interval_s, self.stale_after_s)

    def expect(self, expected: Mapping[Role, Number | None]) -> None:
        """From now on this is expected of the link; None: nobody knows any more."""
        for role, value in expected.items():
            if self.expected.get(role) == value:
                continue
            self.news += 1
            if value is None:
                del self.expected[role]
            else:
                self.expected[role] = value

    def lose_sight(self) -> None:
        """Nothing was seen of it for too long: the newest values are no news of now."""
        self.latest.clear()
        self.news += 1

    def move(self, place: LinkPlace) -> None:
        """It sits there."""
        if place != self.place:
            self.place = place
            self.news += 1

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
            rules = tuple([at for at, rule in enumerate(self.rules) if rule.needs <= roles]) if plan else ()
            factual = tuple([at for at in rules if _hears_facts(self.rules[at], roles)])
            moving = tuple([at for at in rules if at not in factual])
            kept = [(role, places[0][1]) for role, places in plan.items() if role in KEPT_ROLES]
            counts = tuple([one for one in kept if one[0] in COUNTED_ROLES])
            facts = tuple([one for one in kept if one[0] not in COUNTED_ROLES])
            if len(self.reads) >= READS_MAX:
                self.reads.clear()
            known = self.reads[id(plan)] = Reads(plan, rules, factual, moving, counts, facts, is_sight=roles != ONLY_XIDS)
        return known

    def tell(self, at: int, outcome: Outcome, until_s: float) -> None:
        """What the rule of that number says now, and until when that counts."""
        before = self.outcomes[at]
        self.until_s[at] = until_s
        if outcome is not before:
            self.outcomes[at] = outcome
            if outcome.unknown is not before.unknown:
                self.unknown = next((one.unknown for one in self.outcomes if one.unknown is not None), None)
            if outcome.signals.keys() != before.signals.keys():
                self.shown = None
            elif outcome.signals and self.shown is not None:
                self.retold.append(at)

    def tell_again(self, telling: Sequence[int], until_s: float) -> None:
        """These rules would say now what they said last."""
        for at in telling:
            self.until_s[at] = until_s

    def signals(self, now_s: float) -> dict[SeriesKey, Number]:
        """What the rules said last, less what is too old to be said still; that is shown from now on, for as long as all of it holds."""
        found: dict[SeriesKey, Number] = {}
        rules: list[int] = []
        for at, (signals, _, _) in enumerate(self.outcomes):
            if signals and now_s <= self.until_s[at]:
                found.update(signals)
                rules.append(at)
        self.shown_rules = tuple(rules)
        self.shows_compared = bool(self.compared.signals) and now_s <= self._compared_until_s
        if self.shows_compared:
            found.update(self.compared.signals)
        self.keep_shown()
        return found

    def keep_shown(self) -> None:
        """What is shown is up to date; it holds until the first rule of it has been silent for too long."""
        until_s = self.until_s
        ends_s = min([until_s[at] for at in self.shown_rules], default=inf)
        self.shown_until_s = min(ends_s, self._compared_until_s) if self.shows_compared else ends_s
        self.retold.clear()

    @property
    def _compared_until_s(self) -> float:
        return self.compared_s + max(self.stale_after_s, COMPARED_STALE_S)


def _hears_facts(rule: Rule, roles: AbstractSet[Role]) -> bool:
    """Whether all that the rule looks at among these roles are facts."""
    return rule.hears is not None and rule.hears & roles <= FACT_ROLES
