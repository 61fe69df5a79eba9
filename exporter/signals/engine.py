"""Follows every link through its passes: asks the rules, judges, and makes the Readings of what they say.

Deterministic: what comes out follows from the Snapshots and times given to it in order. No clock, no I/O, no log. One link's trouble never
touches another's: each has its own states.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from exporter.model.entity import NODE, Fabric, Link
from exporter.model.health import Finding, Unknown, Verdict, Why
from exporter.model.metric import Cadence, Role
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.model.thresholds import Thresholds
from exporter.signals.busy import Busy
from exporter.signals.comparisons import Comparisons
from exporter.signals.devices import DOMAIN, Devices
from exporter.signals.facts import default_place, place_in
from exporter.signals.observation import Observation, Plans
from exporter.signals.rest import fact_rest_after, rest_after
from exporter.signals.roster import Roster, Seat, Seats
from exporter.signals.rule import LinkPlace, Pass, Rule
from exporter.signals.shown import node_values
from exporter.signals.shown_links import ShownLinks
from exporter.signals.tracked import FIRST_INTERVAL_S, STALE_PASSES, Reads, Tracked
from exporter.signals.verdict import LinkState, Moment, judge, merged, settle, silent, verdict_of

SIGNALS = "signals"
FEED = Feed(SIGNALS, "", Cadence.FAST)
DOMAIN_RULE = "nvlink_domain"
"""What the engine judges itself, by the name by which it can be left out like a rule."""


class Change(NamedTuple):
    """One change of a link's verdict: what it was and is."""

    before: Verdict
    after: Verdict


_Seen = tuple[Seat, Mapping[SeriesKey, Number], Cadence, Observation | None, Observation, Reads, float]


class Engine:
    """One node's links. `expect` sets what is expected of a link beside what its own Readings say (learned, configured)."""

    def __init__(self, rules: Sequence[Rule], thresholds: Thresholds, *, tick_bytes: int | None = None,
                 left_out: Collection[str] = ()) -> None:  # fmt: skip
        self.links: dict[Link, Tracked] = {}
        self._rules = tuple(rules)
        self._left_out = left_out
        self._thresholds = thresholds
        self._tick_bytes = tick_bytes
        self._plans = Plans()
        self._rosters: dict[Feed, Roster] = {}
        self._busy = Busy()
        self.devices = Devices()
        self._shown = ShownLinks()
        self._node: Reading | None = None
        self.comparisons = Comparisons(thresholds, left_out)
        self._found: list[tuple[Link, Finding, float]] = []
        self._by_fabric: dict[Fabric, tuple[Rule, ...]] = {}

    def take(self, snapshots: Iterable[Snapshot], moment: Moment) -> list[Change]:
        """Take in what was seen since the last time; the verdicts that changed by it."""
        changes: list[Change] = []
        seated = [(snapshot, *self._seat(snapshot)) for snapshot in snapshots]
        for snapshot, seats, _ in seated:  # whose hardware it is comes first
            self._know(snapshot, seats, changes)
            self.comparisons.take(snapshot)
        for snapshot, seats, interval_s in seated:
            for seen in self._look(snapshot, seats.links, interval_s):
                self._ask(seen, moment, changes)
        for link, finding, now_s in self._found:
            tracked = self.tracked(link)
            if now_s > tracked.last_s:
                tracked.stale_after_s = max(STALE_PASSES * (now_s - (tracked.last_s or now_s)), FIRST_INTERVAL_S)
                tracked.last_s = now_s
            changes += self.find(link, finding, moment)
        self._found.clear()
        return changes

    def compare(self, moment: Moment) -> list[Change]:
        """Compare links with others, now and then; verdicts that changed by it."""
        changes: list[Change] = []
        for link, outcome, why in self.comparisons.compare(self.links, moment.monotonic_s):
            self._judge(self.links[link], outcome.findings, (why,), moment, changes)
        return changes

    def settle(self, moment: Moment) -> list[Change]:
        """What time alone changes: links fall silent. Once a tick, after `take`."""
        changes: list[Change] = []
        now_s = moment.monotonic_s
        for tracked in self.links.values():
            before, unknown = tracked.verdict, tracked.unknown
            if now_s - tracked.last_s > tracked.stale_after_s:
                unknown = Unknown.STALE
                tracked.lose_sight()
                after = silent(before)
            else:
                if unknown is None and moment.in_grace and tracked.is_missed:
                    unknown = Unknown.GRACE
                after = before if before.is_calm else settle(before, moment, self._thresholds)
            if unknown is not after.unknown:
                after = after._replace(unknown=unknown)
            if after is not before:
                self._note(tracked, after, changes)
        return changes

    def find(self, link: Link, finding: Finding, moment: Moment) -> list[Change]:
        """A finding about a link that no pass over it brings: its device is gone, the kernel log speaks of it."""
        changes: list[Change] = []
        self._judge(self.tracked(link), (finding,), (finding.why,), moment, changes)
        return changes

    def tracked(self, link: Link) -> Tracked:
        """The link's record; a new one at first sight."""
        known = self.links.get(link)
        if known is None:
            place = replace(default_place(link), identity=self.devices.identity(link))
            known = self.links[link] = Tracked(link, self._rules_of(link.fabric), place)
            self._node = None
        return known

    def expect(self, link: Link, expected: Mapping[Role, Number]) -> None:
        """From now on this is expected of the link."""
        self.tracked(link).expect(expected)

    def are_all_up(self) -> bool | None:
        """Whether every link that should be up is; None while no link is known that should."""
        wanted = [tracked for tracked in self.links.values() if tracked.expected.get(Role.STATE) == 1]
        return all(tracked.is_up for tracked in wanted) if wanted else None

    def restore(self, link: Link, verdict: LinkState, identity: str = "") -> None:
        """A verdict of an earlier process about this link; silence will not clear it, other hardware than `identity` will ("" if that is
        known already)."""
        tracked = self.tracked(link)
        tracked.verdict = merged(verdict, tracked.verdict)
        if identity:
            tracked.move(replace(tracked.place, identity=identity))
        tracked.shown = self._node = None

    def readings(self, moment: Moment) -> tuple[Reading, ...]:
        """Signals and health of every link, and the node's."""
        now_s = moment.monotonic_s
        found = [self._shown.of(tracked, now_s) for tracked in self.links.values()]
        if self._node is None:
            self._node = Reading(NODE, node_values((tracked.link.fabric, tracked.verdict) for tracked in self.links.values()))
        return (*found, *self.comparisons.readings(), self._node)

    def snapshot(self, moment: Moment) -> Snapshot:
        """The same as a Snapshot of a source of its own."""
        return Snapshot(FEED, moment.wall_s, moment.monotonic_s, self.readings(moment))

    def _seat(self, snapshot: Snapshot) -> tuple[Seats, float]:
        """Which links the Snapshot speaks of, each known from now on, and how far apart the passes of its feed are."""
        roster = self._rosters.get(snapshot.feed)
        if roster is None:
            roster = self._rosters[snapshot.feed] = Roster()
        return roster.seat(snapshot.readings, len(self.links), self._seated), roster.time(snapshot.monotonic_s)

    def _know(self, snapshot: Snapshot, seats: Seats, changes: list[Change]) -> None:
        """Which hardware it speaks of, and what devices say about all of their links."""
        readings = snapshot.readings
        for at, device in seats.devices:
            values = readings[at].values
            if not device.is_known(values):
                self._look_at_device(device.name, values, snapshot.monotonic_s, changes)
        if snapshot.feed.cadence is Cadence.SLOW:
            for at, seat in seats.links:
                self._place(seat.tracked, place_in(seat.tracked.link, readings[at].values), changes)

    def _look(self, snapshot: Snapshot, links: Iterable[tuple[int, Seat]], interval_s: float) -> list[_Seen]:
        """Everything the Snapshot says of each link, before any rule is asked: what stands in a later Reading may decide about an earlier
        one."""
        feed, wall_s, now_s, readings, _ = snapshot
        observe, cadence = self._plans.observe, feed.cadence
        seen: list[_Seen] = []
        for at, seat in links:
            tracked, values, rest = seat.tracked, readings[at].values, seat.rest
            if rest is not None and seat.rests(values, now_s, wall_s):
                tracked.rest(now_s, interval_s, rest.telling)
                continue
            now = observe(values, wall_s, now_s)
            before = seat.next(now)
            reads = tracked.see(now, before, interval_s)
            seen.append((seat, values, cadence, before, now, reads, now_s + tracked.stays_s(interval_s)))
        return seen

    def _seated(self, reading: Reading) -> Tracked | None:
        """The record of a Reading's link; None if no rule is about such a link (an NVSwitch's port of which the log speaks), or the Reading
        is of events that name no link: their port has no name."""
        link, values = reading
        if not isinstance(link, Link) or not link.port:
            return None
        if link not in self.links:
            roles = self._plans.observe(values, 0.0, 0.0).plan.keys()
            is_concerned = any(rule.needs and rule.needs <= roles for rule in self._rules_of(link.fabric))
            if not is_concerned and place_in(link, values) is None:
                return None
        return self.tracked(link)

    def _look_at_device(self, name: str, values: Mapping[SeriesKey, Number], now_s: float, changes: list[Change]) -> None:
        rates_news = self.devices.rates_news
        news, finding = self.devices.look(name, values, now_s)
        if self.devices.rates_news != rates_news:
            for link, tracked in self.links.items():
                tracked.news += link.device == name
        for fabric, identity in news.items():
            for link, tracked in self.links.items():
                if link.device == name and link.fabric is fabric:
                    self._place(tracked, replace(tracked.place, identity=identity), changes)
        if finding is not None and DOMAIN_RULE not in self._left_out:
            self._found.append((Link(Fabric.NVLINK, name, DOMAIN), finding, now_s))

    def _place(self, tracked: Tracked, place: LinkPlace | None, changes: list[Change]) -> None:
        """The link sits there. On other hardware than before it begins anew: what was said was not of this one (NVIDIA/NVSentinel#1529)."""
        if place is None:
            return
        before = tracked.place
        tracked.move(place if place.identity else replace(place, identity=before.identity))
        if before.identity and tracked.place.identity != before.identity:
            was = tracked.verdict
            tracked.forget()
            after, tracked.verdict = tracked.verdict, was
            self._note(tracked, after, changes)

    def _rules_of(self, fabric: Fabric) -> tuple[Rule, ...]:
        if fabric not in self._by_fabric:
            self._by_fabric[fabric] = tuple(rule for rule in self._rules if not rule.fabrics or fabric.value in rule.fabrics)
        return self._by_fabric[fabric]

    def _ask(self, seen: _Seen, moment: Moment, changes: list[Change]) -> None:
        """The rules that one pass concerns, and the verdict by what they find."""
        seat, values, cadence, before, now, reads, until_s = seen
        if not reads.rules:
            return
        tracked = seat.tracked
        self._expect(tracked)
        now_s, gpu = now.monotonic_s, tracked.place.gpu
        self._busy.note(gpu, before, now)
        asked = Pass(tracked.link, cadence, before, now, tracked.latest, tracked.expected, tracked.place, self._thresholds,
                     self._tick_bytes, self._busy.for_s(gpu, now_s))  # fmt: skip
        findings: list[Finding] = []
        if seat.fact_rest is not None and seat.fact_rest.news == tracked.news:
            tracked.tell_again(seat.fact_rest.telling, until_s)
            self._step(tracked, reads.moving, asked, until_s, findings)
        else:
            self._step(tracked, reads.rules, asked, until_s, findings)
            seat.fact_rest = fact_rest_after(tracked, reads.factual)
        seat.rest = rest_after(tracked, before, now, values, reads.rules) if not findings else None
        self._judge(tracked, findings, (why for at in reads.rules for why in tracked.rules[at].reasons), moment, changes)

    def _step(self, tracked: Tracked, asked_rules: Sequence[int], asked: Pass, until_s: float, findings: list[Finding]) -> None:
        """Ask these rules, and gather what they find; their signals count until then."""
        states, rules = tracked.states, tracked.rules
        for at in asked_rules:
            before = states[at]
            after, outcome = rules[at].step(before, asked)
            if after is not before:
                states[at] = after
                if before is None:
                    tracked.news += 1  # it has begun to remember: whoever rested by its word must ask
            tracked.tell(at, outcome, until_s)
            if outcome.findings:
                findings += outcome.findings

    def _judge(self, tracked: Tracked, findings: Sequence[Finding], reasons: Iterable[Why], moment: Moment, changes: list[Change]) -> None:
        """The verdict by what was found about these reasons; a link that was well and about which nothing holds stays as it is."""
        if not tracked.verdict.is_calm or any(finding.holds for finding in findings):
            self._note(tracked, judge(tracked.verdict, findings, reasons, moment, self._thresholds), changes)

    def _expect(self, tracked: Tracked) -> None:
        """Enter what its Readings and its device's say should be, where that may have changed."""
        if tracked.expected_by != tracked.news:
            tracked.expect(self.devices.expected(tracked.link, tracked.latest))
            tracked.expected_by = tracked.news

    def _note(self, tracked: Tracked, after: LinkState, changes: list[Change]) -> None:
        before = tracked.verdict
        if before is after:
            return
        tracked.verdict, tracked.shown = after, None
        if before.level is not after.level or before.unknown is not after.unknown:
            self._node = None
        elif before.reasons is after.reasons:
            return
        was, now = verdict_of(tracked.link, before), verdict_of(tracked.link, after)
        if was.level != now.level or was.unknown != now.unknown or [a.why for a in was.active] != [a.why for a in now.active]:
            changes.append(Change(was, now))
