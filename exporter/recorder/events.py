"""What happened from one look of health to the next: verdicts that changed, links that went down, Xids, sources in trouble, grace and more.

Runs in the thread that samples: from memory, no disk, no log. What is true at the first look is no event, but for what is wrong then.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from exporter.catalog.signals import FLAPS
from exporter.catalog.xid import OFF_BUS, SXID, XID
from exporter.model.entity import Entity, Link
from exporter.model.fault import Fault, Reason
from exporter.model.health import Verdict
from exporter.model.maintenance import Maintenance
from exporter.model.node_health import status_of
from exporter.model.snapshot import FixedValues, Number, Reading, SeriesKey, Snapshot, SourceStatus, metric_key
from exporter.recorder.counters import CounterWatch, Moved
from exporter.recorder.tick import Event, EventKind, Json

XID_ROWS: Mapping[str, str] = {XID.key: "Xid", SXID.key: "SXid", OFF_BUS.key: "GPU fell off the bus"}
QUIET_S = 600.0
"""A fault that comes again and again is told once until it has not come for so long [D]."""
LINKS_MAX = 8192
NO_NEWS = frozenset({Reason.ABSENT, Reason.UNSUPPORTED})
"""What some hardware never has is no event."""
DETAILS_MAX = 3
"""Of a source's faults that one event quotes."""


class Look(NamedTuple):
    """What health took in and says: times, what was new to it, how sources are, which verdicts changed, what is shown of links, what is
    starting ("" if nothing) and whether somebody works on the node."""

    wall_s: float
    monotonic_s: float
    fresh: Sequence[Snapshot]
    statuses: Sequence[SourceStatus]
    changes: Sequence[tuple[Verdict, Verdict]] = ()
    shown: Sequence[Reading] = ()
    grace: str = ""
    maintenance: Maintenance = Maintenance()


class EventWatch:
    """Of one daemon: outlives reloads."""

    def __init__(self) -> None:
        self._counters = CounterWatch()
        self._flaps: dict[int, tuple[Entity, Mapping[SeriesKey, Number], Number]] = {}
        """By the identity of the link: one object in all that is shown of it, and quicker to find than by its names."""
        self._statuses: dict[str, SourceStatus] = {}
        self._faulty_s: dict[tuple[str, str], float] = {}
        self._grace = ""
        self._maintenance = Maintenance()

    def look(self, seen: Look) -> list[Event]:
        """The events since the look before, in the order of their causes."""
        found = [_xid(seen, moved) for moved in self._counters.look(seen.fresh)
                 if metric_key(moved.key) in XID_ROWS and moved.after > moved.before]  # fmt: skip
        found += self._faults(seen)
        found += self._gone_down(seen)
        found += [self._changed(seen, before, after) for before, after in seen.changes]
        found += self._node(seen)
        return found

    def _changed(self, seen: Look, before: Verdict, after: Verdict) -> Event:
        reasons: list[Json] = [
            {"reason": one.why.value, "level": one.level.word, "since": one.since_wall_s, "evidence": one.evidence} for one in after.active
        ]
        was, now = status_of(before), status_of(after)
        why = "; ".join(f"{one.why.value}: {one.evidence}" for one in after.active) or (after.unknown.value if after.unknown else "")
        text = f"{after.link}: {was} → {now}" + (f" ({why})" if why else "")
        facts: dict[str, Json] = {"from": was, "to": now, "reasons": reasons}
        return self._event(EventKind.HEALTH, seen, after.link, text, facts)

    def _gone_down(self, seen: Look) -> Iterator[Event]:
        """Links whose count of flaps grew. A count that begins, or begins anew after a reload, is no flap."""
        for entity, values in seen.shown:
            known = self._flaps.get(id(entity))
            if known is not None and known[1] is values:
                continue
            total = _flaps_in(values)
            if total is None:
                continue
            self._flaps[id(entity)] = entity, values, total
            if known is not None and known[0] is entity and total > known[2]:
                times = total - known[2]
                text = f"{entity}: went down" + (f" {times} times" if times > 1 else "")
                yield self._event(EventKind.FLAP, seen, entity, text, {"before": known[2], "after": total})
        if len(self._flaps) > LINKS_MAX:
            self._flaps.clear()

    def _faults(self, seen: Look) -> Iterator[Event]:
        for status in seen.statuses:
            before = self._statuses.get(status.source) or SourceStatus(status.source, None, None)
            self._statuses[status.source] = status
            if status.hung != before.hung:
                yield from self._hung(seen, status, before.hung)
            if status.up is not before.up and (status.up is False or before.up is False) and status.up is not None:
                text = f"{status.source}: {'can be read again' if status.up else 'not everything can be read'}"
                yield self._event(EventKind.FAULT, seen, status.source, text, {"source": status.source, "up": status.up})
            if status.faults != before.faults:
                yield from self._counted(seen, status, before)

    def _hung(self, seen: Look, status: SourceStatus, before: Sequence[str]) -> Iterator[Event]:
        for subject in status.hung:
            if subject not in before:
                text = f"{status.source}: {subject} does not answer"
                yield self._event(EventKind.FAULT, seen, subject, text, {"source": status.source, "hung": True})
        for subject in before:
            if subject not in status.hung:
                text = f"{status.source}: {subject} answers again, or is gone"
                yield self._event(EventKind.FAULT, seen, subject, text, {"source": status.source, "hung": False})

    def _counted(self, seen: Look, status: SourceStatus, before: SourceStatus) -> Iterator[Event]:
        """Faults of a reason that had been quiet."""
        for reason, count in status.faults.items():
            was = before.faults.get(reason, 0)
            if count <= was:
                continue
            mark = status.source, reason.value
            last_s, self._faulty_s[mark] = self._faulty_s.get(mark), seen.monotonic_s
            if reason in NO_NEWS or (last_s is not None and 0.0 <= seen.monotonic_s - last_s < QUIET_S):
                continue
            details = _details(seen.fresh, status.source, reason.value)
            text = f"{status.source}: faults, reason {reason.value}" + (f" ({details[0]})" if details else "")
            facts: dict[str, Json] = {"source": status.source, "reason": reason.value, "before": was, "after": count, "details": details}
            yield self._event(EventKind.FAULT, seen, status.source, text, facts)

    def _node(self, seen: Look) -> Iterator[Event]:
        if bool(seen.grace) != bool(self._grace):
            text = f"grace began: {seen.grace}" if seen.grace else "grace ended"
            yield self._event(EventKind.GRACE, seen, "", text, {"active": bool(seen.grace), "why": seen.grace})
        self._grace = seen.grace
        before, now = self._maintenance, seen.maintenance
        if now.is_active != before.is_active or (now.is_active and now != before):
            text = f"maintenance: {now.reason}" if now.is_active else "maintenance ended"
            yield self._event(EventKind.MAINTENANCE, seen, "", text,
                              {"active": now.is_active, "reason": now.reason, "until": now.until_wall_s})  # fmt: skip
        self._maintenance = now

    def _event(self, kind: EventKind, seen: Look, about: Entity | str, text: str, facts: dict[str, Json]) -> Event:
        """With the numbers that changed lately, where it is about a link."""
        if isinstance(about, Link) and (moved := self._counters.of(about, seen.monotonic_s)):
            facts["numbers"] = moved
        return Event(kind, seen.wall_s, seen.monotonic_s, str(about), text, facts)


def _xid(seen: Look, moved: Moved) -> Event:
    entity, key, before, after, _, _ = moved
    what, code = XID_ROWS[metric_key(key)], key[1] if isinstance(key, tuple) and len(key) > 1 else ""
    device, port = entity.label("device") or "", entity.label("port") or ""
    link = str(entity) if port else device
    facts: dict[str, Json] = {"device": device, "port": port, "code": code, "what": what, "before": before, "after": after}
    return Event(EventKind.XID, seen.wall_s, seen.monotonic_s, link, f"{link}: {what} {code}".rstrip(), facts)


def _flaps_in(values: Mapping[SeriesKey, Number]) -> Number | None:
    if not isinstance(values, FixedValues):
        return values.get(FLAPS.key)
    at = values.places.get(FLAPS.key)
    return values.numbers[at] if at is not None else None


def _details(fresh: Iterable[Snapshot], source: str, reason: str) -> list[Json]:
    found: list[Fault] = [fault for snapshot in fresh if snapshot.feed.source == source for fault in snapshot.faults]
    details: list[Json] = [f"{fault.subject}: {fault.detail}" for fault in found if fault.reason.value == reason]
    return details[:DETAILS_MAX]
