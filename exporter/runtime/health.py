"""Health of the node's links in the daemon: hands the engine what was seen, and keeps, logs and shows what it says.

Knows when, and what outlives this process; which link is how is signals/'s.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from exporter.catalog import signals as rows
from exporter.model.entity import NODE, Fabric, Link
from exporter.model.expected_ports import ExpectedPort
from exporter.model.health import Finding, Level, Verdict, Why
from exporter.model.maintenance import Maintenance
from exporter.model.metric import Role
from exporter.model.node_health import NodeHealth, SourceLook
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot, SourceStatus
from exporter.model.thresholds import Thresholds
from exporter.runtime.kept_verdicts import KeptState, KeptVerdicts
from exporter.runtime.learned_ports import LearnedPorts
from exporter.runtime.port_expectations import PortExpectations
from exporter.signals.devices import DOMAIN
from exporter.signals.engine import Change, Engine
from exporter.signals.gpudirect_watch import GpuDirectWatch
from exporter.signals.rails import BLIND
from exporter.signals.rule import Rule
from exporter.signals.starting import Facts, Starting
from exporter.signals.starting import step as starting_step
from exporter.signals.verdict import Moment, verdict_of

log = logging.getLogger("fabric_exporter.health")
MISSES = 3
"""Ticks in a row in which the newest scan must not show a device before it is gone (NVIDIA/NVSentinel#1488) [D]."""
SOURCES: Mapping[Fabric, str] = {
    Fabric.NVLINK: "nvlink", Fabric.INFINIBAND: "infiniband", Fabric.ROCE: "infiniband", Fabric.EFA: "infiniband",
    Fabric.ETHERNET: "ethernet",
}  # fmt: skip
"""Which source's scan tells whether a link's device is there."""
DRIVERS = frozenset({"nvlink", "infiniband"})
"""Sources whose devices a driver brings all at once."""
SEVERAL = 2
"""One device that does not answer has a fault of its own; all of several are their driver's doing [D]."""
MISSING_RULE, GPUDIRECT_RULE = "missing", "gpudirect"
RDMA = frozenset({Fabric.INFINIBAND, Fabric.ROCE})
NO_HARDWARE_OF_ITS_OWN = frozenset({"kernel_log", "jobs"})
"""Sources that are there on every machine: what they find is no fabric, and without them every link is judged."""


class Boot(NamedTuple):
    """Which start of the machine this is ("" if unknown), and how long ago by its clock (None if unknown)."""

    boot_id: str = ""
    uptime_s: float | None = None
    at_s: float = 0.0
    """Monotonic time at which `uptime_s` was read."""

    def uptime_at(self, now_s: float) -> float | None:
        """Seconds since the start of the machine."""
        return None if self.uptime_s is None else self.uptime_s + now_s - self.at_s


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """What the configuration says about health. `left_out` are rules that are not asked (`simulate --without`)."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    ports: Mapping[str, ExpectedPort] = field(default_factory=dict)
    tick_bytes: int | None = None
    left_out: Collection[str] = ()


class Health:
    """One node's. Used by the thread that publishes. `maintenance` tells whether somebody works on the node (Unix time as argument)."""

    def __init__(self, rules: Sequence[Rule], settings: HealthSettings, ports: LearnedPorts, verdicts: KeptVerdicts, boot: Boot,
                 maintenance: Callable[[float], Maintenance]) -> None:  # fmt: skip
        self._settings = settings
        self._boot = boot
        self._verdicts = verdicts
        self._maintenance = maintenance
        asked = [rule for rule in rules if rule.name not in settings.left_out]
        self.engine = Engine(asked, settings.thresholds, tick_bytes=settings.tick_bytes, left_out=settings.left_out)
        self._expectations = PortExpectations(ports, settings.ports)
        self._taken: dict[Feed, float] = {}
        self._gpudirect = GpuDirectWatch()
        self._starting: Starting | None = None
        self._answered: set[str] = set()
        """Sources of which a device has answered in this process."""
        self._grace = ""
        self._looked: tuple[float, Sequence[SourceStatus]] = 0.0, ()
        self.maintenance = Maintenance()
        """As the newest `observe` found it, or whoever has just changed it."""
        self._misses: dict[Link, int] = {}
        self.restored = verdicts.load(boot.boot_id)
        self.changes: tuple[Change, ...] = ()
        """What the newest call of `observe` changed."""
        self.fresh: Sequence[Snapshot] = ()
        """What was new to it, in the order in which it was taken in."""
        self.notes: tuple[str, ...] = ()
        """What cannot be told now, and why; each is logged when it begins."""

    def observe(self, newest: Mapping[Feed, tuple[Snapshot, float]], statuses: Sequence[SourceStatus], wall_s: float,
                now_s: float) -> Snapshot:  # fmt: skip
        """Take in what is new, and return what is to be shown of health now."""
        moment = Moment(now_s, wall_s, self._is_in_grace(statuses, now_s))
        fresh = [snapshot for feed, (snapshot, _) in newest.items() if self._taken.get(feed) != snapshot.monotonic_s]
        for snapshot in fresh:
            self._taken[snapshot.feed] = snapshot.monotonic_s
        fresh.sort(key=lambda snapshot: (snapshot.monotonic_s, snapshot.feed))
        self._expectations.update(self.engine)
        changes = self.engine.take(fresh, moment)
        self._restore(statuses)
        changes += self._find_missing(statuses, moment)
        changes += self._find_detours(fresh, moment)
        changes += self.engine.compare(moment)
        changes += self.engine.settle(moment)
        self._note((BLIND,) if self.engine.comparisons.is_blind else ())
        for change in changes:
            _tell(change)
        self.changes = tuple(changes)
        if changes:
            self._keep()
        self._looked = wall_s, tuple(statuses)
        self.fresh = fresh
        return self._shown(moment)

    @property
    def settings(self) -> HealthSettings:
        """What the configuration says about it."""
        return self._settings

    @property
    def boot(self) -> Boot:
        """The start of the machine that it is about."""
        return self._boot

    @property
    def grace(self) -> str:
        """What is starting, in words; "" if nothing is."""
        return self._grace

    def now(self) -> NodeHealth:
        """Everything that is known as of the newest `observe`. From memory; any thread may ask."""
        wall_s, statuses = self._looked
        seen = list(self.engine.links.items())
        links = [verdict_of(link, tracked.verdict) for link, tracked in seen]
        links += _unseen(self.restored.copy(), {link for link, _ in seen})
        looks = [SourceLook(status.source, status.up, status.devices, status.hung, status.looked_for)
                 for status in statuses if status.source not in NO_HARDWARE_OF_ITS_OWN]  # fmt: skip
        return NodeHealth(wall_s, tuple(links), tuple(looks), self._grace, self.maintenance)

    def _is_in_grace(self, statuses: Sequence[SourceStatus], now_s: float) -> bool:
        devices = {status.source: self._devices_of(status) for status in statuses
                   if status.source in DRIVERS and status.devices is not None}  # fmt: skip
        facts = Facts(now_s, self._boot.uptime_at(now_s), devices, tuple(self.engine.devices.fabric_states.values()),
                      self.engine.are_all_up())  # fmt: skip
        self._starting, in_grace, why = starting_step(self._starting, facts, self._settings.thresholds.grace_s)
        if bool(why) != bool(self._grace):
            log.info("grace began: %s", why) if why else log.info("grace ended: links that are not up count from now on")
        self._grace = why
        return in_grace

    def _devices_of(self, status: SourceStatus) -> int:
        """How many devices of that driver there are by its newest scan; 0 while none of several answers that did: a driver that is loaded
        anew within seconds is back before anybody looks which devices there are."""
        count = status.devices or 0
        if status.oldest_sample_monotonic_s is not None:
            self._answered.add(status.source)
        elif status.source in self._answered and count >= SEVERAL:
            return 0
        return count

    def _restore(self, statuses: Sequence[SourceStatus]) -> None:
        """Verdicts of an earlier process, as soon as their link is seen and proves to be of the same hardware (if that is known), or is
        missing: then it is as it was until somebody sees it."""
        known = {status.source: status.subjects for status in statuses if status.devices is not None} if self.restored else {}
        for link, (identity, state) in list(self.restored.items()):
            tracked, subjects = self.engine.links.get(link), known.get(SOURCES.get(link.fabric, ""))
            if tracked is None and subjects is not None and link.device not in subjects:
                if self._is_missed(link):
                    self.engine.restore(link, self.restored.pop(link)[1], identity)
            elif tracked is not None and (tracked.place.identity or not identity or link.port == DOMAIN):
                del self.restored[link]
                if not identity or tracked.place.identity in ("", identity):
                    self.engine.restore(link, state)

    def _is_missed(self, link: Link) -> bool:
        """Count another tick without its device; whether these are enough."""
        self._misses[link] = self._misses.get(link, 0) + 1
        return self._misses[link] >= MISSES

    def _find_missing(self, statuses: Sequence[SourceStatus], moment: Moment) -> list[Change]:
        """Links whose device the last scans did not show. All devices of a driver gone at once is no loss: then grace runs."""
        if MISSING_RULE in self._settings.left_out:
            return []
        changes: list[Change] = []
        known = {status.source: status for status in statuses if status.devices is not None}
        for link, tracked in self.engine.links.items():
            status = known.get(SOURCES.get(link.fabric, ""))
            if status is None or tracked.last_s <= 0:
                continue  # nobody but a log has spoken of it
            if link.device in status.subjects:
                if self._misses:
                    self._misses.pop(link, None)
                if Why.MISSING in tracked.verdict.reasons:
                    changes += self.engine.find(link, Finding(Why.MISSING, holds=False), moment)
            elif tracked.place.is_virtual or tracked.expected.get(Role.STATE) == 0:
                continue  # a virtual function moves into its pod's network namespace; a port that is configured off may go
            elif self._is_missed(link):
                finding = Finding(Why.MISSING, holds=True, evidence=f"{link.device} was there and is not any more")
                changes += self.engine.find(link, finding, moment)
        return changes

    def _find_detours(self, fresh: Sequence[Snapshot], moment: Moment) -> list[Change]:
        """What is to be said of NICs' ways to GPUs, for each of their links."""
        if GPUDIRECT_RULE in self._settings.left_out:
            return []
        changes: list[Change] = []
        for nic, finding in self._gpudirect.take(fresh):
            for link, tracked in list(self.engine.links.items()):
                if link.device == nic and link.fabric in RDMA and not (tracked.verdict.is_calm and not finding.holds):
                    changes += self.engine.find(link, finding, moment)
        return changes

    def _note(self, notes: tuple[str, ...]) -> None:
        for note in notes:
            if note not in self.notes:
                log.warning("%s", note)
        self.notes = notes

    def states(self) -> dict[Link, KeptState]:
        """What is remembered of each link that is not well, and of those of an earlier process that have not been seen."""
        states: dict[Link, KeptState] = {
            link: (tracked.place.identity, tracked.verdict) for link, tracked in self.engine.links.items() if not tracked.verdict.is_calm
        }
        return states | {link: kept for link, kept in self.restored.items() if link not in states}

    def _keep(self) -> None:
        self._verdicts.keep(self._boot.boot_id, self.states())

    def _shown(self, moment: Moment) -> Snapshot:
        snapshot = self.engine.snapshot(moment)
        self.maintenance = self._maintenance(moment.wall_s)
        node: dict[SeriesKey, Number] = {
            rows.NODE_GRACE.key: int(moment.in_grace),
            rows.NODE_MAINTENANCE.key: int(self.maintenance.is_active),
        }
        return snapshot._replace(readings=(*snapshot.readings, *self._gpudirect.readings(), Reading(NODE, node)))


def _unseen(restored: Mapping[Link, KeptState], seen: Collection[Link]) -> list[Verdict]:
    """Bad verdicts of an earlier process whose links have not been seen since: silence clears nothing."""
    return [verdict_of(link, state) for link, (_, state) in restored.items() if link not in seen and state.level is not Level.OK]


def _tell(change: Change) -> None:
    """One line for each change of a verdict's level."""
    before, after = change
    if (before.level or 0) == (after.level or 0):
        return  # what nobody knew and is well is no news, nor is the reverse
    was, now = (verdict.level.word if verdict.level is not None else "unknown" for verdict in (before, after))
    reasons = "; ".join(f"{active.why.value}: {active.evidence}" for active in after.active)
    level = logging.WARNING if after.level is not None and after.level > (before.level or 0) else logging.INFO
    log.log(level, "health changed link=%s from=%s to=%s reasons=%s", after.link, was, now, reasons or "none")
