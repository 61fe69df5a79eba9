"""The ledger of one source: which devices it has, when each is due, what it last brought, which hang, how many faults there were.

Knows one source; the sampler goes from ledger to ledger. No threads, no clock: time is a parameter.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from exporter.catalog import limits
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, Snapshot, SourceStatus
from exporter.runtime.collect import DeviceReader, Errand, Outcome, Source, close_reader, is_elsewhere
from exporter.runtime.devices import Device, Group, due_cadences, grouped, is_timeout, is_unstretched, judge
from exporter.runtime.log_once import FaultLog
from exporter.runtime.reader_group import GROUP, ReaderGroup
from exporter.runtime.schedule import Beat, Intervals, after_pass, deadline_s, due_at, stale_after_s

LOOKS = 2
"""Scans, one a tick, after one that missed a device which was there: one look may err (runtime/health.py wants three) [D]."""
WHOLE = ""
"""Subject of the source as a whole: its scan."""


@dataclass(slots=True)
class Ledger:
    """State of one source. Used by one thread. With `groups`, devices that are quick and as usual are read as one errand."""

    source: Source
    intervals: Intervals
    log: FaultLog
    groups: bool = False
    group: Group | None = None
    devices: dict[str, Device] = field(default_factory=dict)
    leaving: list[DeviceReader] = field(default_factory=list)
    newest: dict[Feed, tuple[Snapshot, float]] = field(default_factory=dict)
    faults: dict[Reason, int] = field(default_factory=dict)
    last_success_wall_s: float | None = None
    scanned: bool = False
    subjects: frozenset[str] = frozenset()
    looks_left: int = 0
    """Scans still to be made soon, one a tick, because one missed a device."""
    scan_faults: tuple[Fault, ...] = ()
    """Of the newest scan: what it says again and again counts once."""

    def open(self, now_s: float) -> None:
        """Make the first scan due."""
        self.devices[WHOLE] = Device(None, {Cadence.NORMAL: Beat(self.intervals.scan_s, now_s)})

    def due(self, now_s: float, busy: Mapping[tuple[str, str], float], forced: Collection[Cadence] = ()) -> list[Errand]:
        """Errands to start now: what is due, and all devices at the `forced` cadences (the scan too if SLOW is among them). Until the first
        scan is back, only the scan."""
        found: list[Errand] = []
        name = self.source.name
        self._regroup()
        if self.group is not None and (name, GROUP) not in busy:
            cadences = due_cadences(self.group.beats, now_s, forced)
            if cadences:
                found.append(Errand(self.source, self.group.reader, cadences))
        for subject, device in self.devices.items():
            if device.grouped or (busy and (name, subject) in busy):
                continue
            also = forced if device.reader is not None or Cadence.SLOW in forced else ()
            cadences = due_cadences(device.beats, now_s, also)
            if cadences:
                found.append(Errand(self.source, device.reader, cadences))
        return found

    def next_due_s(self, busy: Mapping[tuple[str, str], float]) -> float:
        """When the next errand of a free device is due; infinity if none."""
        beats = [
            beat
            for subject, device in self.devices.items()
            if not device.grouped and (self.source.name, subject) not in busy
            for beat in device.beats.values()
        ]
        if self.group is not None and (self.source.name, GROUP) not in busy:
            beats += self.group.beats.values()
        return min((beat.due_s for beat in beats), default=float("inf"))

    def absorb(self, outcome: Outcome, now_s: float) -> None:
        """Take in what one errand brought."""
        reader = outcome.errand.reader
        if isinstance(reader, ReaderGroup):
            self._absorb_group(reader, outcome, now_s)
            return
        subject = reader.subject if reader is not None else WHOLE
        device = self.devices.get(subject)
        if device is None or device.reader is not reader:
            return  # the device left while it was being read
        self._unflag([device], outcome, now_s)
        faulty = any(snapshot.faults for snapshot in outcome.snapshots)
        barren = faulty and reader is not None and not any(snapshot.readings for snapshot in outcome.snapshots)
        device.elapsed_s = outcome.elapsed_s
        found = outcome.scan is not None and bool(outcome.scan.readers)
        for snapshot in outcome.snapshots:
            judge(device, snapshot, brought=found if reader is None else bool(snapshot.readings))
        device.plain = not faulty and self._is_quick(outcome.waited_s) and all(snapshot.readings for snapshot in outcome.snapshots)
        self._turn_beats(device, outcome, now_s, barren=barren)
        for snapshot in outcome.snapshots:
            self._keep(device, snapshot)
        if device.reader is None:
            self.scanned = True
            self.scan_faults = tuple(fault for snapshot in outcome.snapshots for fault in snapshot.faults)
        if outcome.scan is not None:
            self._take_scan(outcome.scan.readers, now_s)

    def flag_hung(self, now_s: float, busy: Mapping[tuple[str, str], float]) -> None:
        """Flag each device whose errand has run longer than its deadline; count it once per hang. A group that another process reads hangs
        as a whole: nobody knows in which of them."""
        for (source, place), started_s in busy.items():
            subjects = [member.subject for member in self.group.reader.members] if place == GROUP and self.group is not None else [place]
            for subject in subjects if source == self.source.name else ():
                self._flag(subject, now_s, started_s)

    def _flag(self, subject: str, now_s: float, started_s: float) -> None:
        device = self.devices.get(subject)
        if device is not None and not device.hung and now_s - started_s >= deadline_s(device.beats):
            device.hung = True
            self._count((Fault(self.source.name, subject or "scan", Reason.TIMEOUT,
                               f"has not answered for {now_s - started_s:.1f} s; it is not waited for and its series leave"),))  # fmt: skip

    def _unflag(self, devices: Iterable[Device], outcome: Outcome, now_s: float) -> None:
        """Their errand came back, so they do not hang any more, unless another process was given up that has answered nothing. A scan that
        hangs as well is tried again soon."""
        if self._is_given_up(outcome):
            return
        for device in devices:
            if device.hung:
                device.hung = False
                subject = device.reader.subject if device.reader is not None else "scan"
                self.log.answers_again(self.source.name, subject, outcome.elapsed_s)
                if self.devices[WHOLE].hung:
                    self._scan_soon(now_s)

    def _is_given_up(self, outcome: Outcome) -> bool:
        """Whether another process was asked and did not answer in time: what that took, nobody worked."""
        return is_elsewhere(self.source) and all(is_timeout(snapshot) for snapshot in outcome.snapshots)

    def let_go(self, busy: Mapping[tuple[str, str], float]) -> None:
        """Close readers of devices that left, once no thread is inside them."""
        waiting = [reader for reader in self.leaving if (self.source.name, reader.subject) in busy]
        for reader in self.leaving:
            if reader not in waiting:
                close_reader(reader)
        self.leaving = waiting

    def status(self, now_s: float) -> SourceStatus:
        """How the source is doing; its oldest sample is the oldest that is still on the page."""
        hung: list[str] = []
        all_ok, longest_s, busiest = True, 0.0, 0.0
        for subject, device in self.devices.items():
            all_ok = all_ok and not device.failing
            longest_s = max(longest_s, device.elapsed_s or 0.0)
            if device.hung:
                hung.append(subject or "scan")
            if subject != WHOLE and not device.grouped:
                busiest = max(busiest, sum([beat.duty for beat in device.beats.values()]))
        if self.group is not None:
            busiest = max(busiest, sum([beat.duty for beat in self.group.beats.values()]))
            longest_s = max(longest_s, self.group.elapsed_s)
        live = [snapshot for snapshot, expires_s in self.newest.values() if expires_s > now_s]
        fast = [snapshot.monotonic_s for snapshot in live if snapshot.feed.cadence is Cadence.FAST]
        known = len(self.devices) > 1
        return SourceStatus(
            source=self.source.name,
            up=not hung and all_ok if self.scanned or hung else None,
            devices=len(self.devices) - 1 if self.scanned else None,
            hung=tuple(hung),
            subjects=self.subjects,
            last_success_wall_s=self.last_success_wall_s,
            oldest_sample_monotonic_s=min(fast, default=None),
            duration_s=longest_s if self.scanned else None,
            duty_ratio=busiest if known else None,
            faults=dict(self.faults),
            looked_for=self.source.looked_for,
        )

    def close(self, busy: Mapping[tuple[str, str], float]) -> None:
        """Close every reader that no thread is inside of."""
        self.leaving += [device.reader for device in self.devices.values() if device.reader is not None]
        self.devices.clear()
        self.let_go(busy)

    def _regroup(self) -> None:
        """Put plain devices of one rhythm together; take a group apart that was abandoned."""
        group = self.group
        if group is not None and group.reader.abandoned:
            self._leave_group([member.subject for member in group.reader.members])
        if self.groups:
            self.group = grouped(self.source, self.devices.values(), self.group)

    def _leave_group(self, subjects: Iterable[str]) -> None:
        """These devices go on by themselves, in the group's rhythm; the others stay together."""
        group = self.group
        if group is None:
            return
        gone = set(subjects)
        for subject in gone & self.devices.keys():
            device = self.devices[subject]
            device.grouped = device.plain = False
            device.beats = dict(group.beats)
        members = [member for member in group.reader.members if member.subject not in gone]
        self.group = Group(ReaderGroup(self.source, members), group.beats, group.elapsed_s) if members else None

    def _absorb_group(self, reader: ReaderGroup, outcome: Outcome, now_s: float) -> None:
        group = self.group
        if reader.abandoned or group is None or group.reader is not reader:
            self._unflag([held for held in (self.devices.get(reader.subject),) if held is not None], outcome, now_s)
            return  # what it brings is late, and the others have been read since
        self._unflag([self.devices[member.subject] for member in reader.members], outcome, now_s)
        group.elapsed_s = each_s = 0.0 if self._is_given_up(outcome) else outcome.elapsed_s / len(reader.members)
        stale_s: dict[Cadence, float] = {}
        for cadence in outcome.errand.cadences:
            beat = group.beats[cadence] = after_pass(group.beats[cadence], now_s, each_s, barren=False)
            stale_s[cadence] = stale_after_s(beat)
        odd = [snapshot for snapshot in outcome.snapshots if snapshot.faults or not snapshot.readings]
        for snapshot in outcome.snapshots:
            judge(self.devices[snapshot.feed.subject], snapshot, brought=bool(snapshot.readings))
        self.newest.update(
            [(snapshot.feed, (snapshot, snapshot.monotonic_s + stale_s[snapshot.feed.cadence])) for snapshot in outcome.snapshots]
        )
        if outcome.snapshots:
            self.last_success_wall_s = max(self.last_success_wall_s or 0.0, outcome.snapshots[0].wall_s)
        if not self._is_quick(each_s) or not is_unstretched(group.beats):
            self._leave_group([member.subject for member in reader.members])
        elif odd:
            self._leave_group({snapshot.feed.subject for snapshot in odd})
        for snapshot in odd:
            self._keep(self.devices[snapshot.feed.subject], snapshot)

    def _is_quick(self, waited_s: float) -> bool:
        return waited_s <= limits.PATIENT_WAIT_S or is_elsewhere(self.source)

    def _turn_beats(self, device: Device, outcome: Outcome, now_s: float, *, barren: bool) -> None:
        """Give each cadence's beat its next time. A pass of several is shared out so: the quicker beats cost what they last cost alone,
        the slowest the rest."""
        rest_s = 0.0 if self._is_given_up(outcome) else outcome.elapsed_s
        *quicker, slowest = outcome.errand.cadences
        for cadence in quicker:
            cost_s = min(device.beats[cadence].last_s or rest_s / 2, rest_s)
            rest_s -= cost_s
            self._turn(device, cadence, now_s, cost_s, barren)
        self._turn(device, slowest, now_s, rest_s, barren)

    def _turn(self, device: Device, cadence: Cadence, now_s: float, cost_s: float, barren: bool) -> None:  # noqa: FBT001  # private
        before = device.beats[cadence]
        after = device.beats[cadence] = after_pass(before, now_s, cost_s, barren=barren)
        if (after.guard == 1) != (before.guard == 1):
            subject = device.reader.subject if device.reader is not None else "scan"
            self.log.stretched(self.source.name, subject, cadence.value, after.actual_s)

    def _keep(self, device: Device, snapshot: Snapshot) -> None:
        feed, wall_s, monotonic_s, readings, faults = snapshot
        beat = device.beats.get(feed.cadence)
        if beat is not None and readings:
            self.newest[feed] = (snapshot, monotonic_s + stale_after_s(beat))
        else:
            self.newest.pop(feed, None)
        if readings or all(fault.reason is Reason.ABSENT for fault in faults):
            self.last_success_wall_s = max(self.last_success_wall_s or 0.0, wall_s)
        if faults:
            self._count(faults if device.reader is not None else [fault for fault in faults if fault not in self.scan_faults])
            if device.reader is not None and any(fault.reason is Reason.LOST for fault in faults):
                self._scan_soon(monotonic_s)

    def _scan_soon(self, now_s: float) -> None:
        """Something is gone: look again at what is there, with the next tick."""
        whole = self.devices[WHOLE]
        beat = whole.beats[Cadence.NORMAL]
        whole.beats[Cadence.NORMAL] = due_at(beat, min(beat.due_s, now_s + self.intervals.fast_s))

    def _take_scan(self, readers: Iterable[DeviceReader], now_s: float) -> None:
        found = {reader.subject: reader for reader in readers}
        for subject in [s for s, d in self.devices.items() if d.reader is not None and found.get(s) is not d.reader]:
            if self.devices[subject].grouped:
                self._leave_group([subject])
            gone = self.devices.pop(subject)
            if gone.reader is not None:
                self.leaving.append(gone.reader)
            self.newest = {feed: kept for feed, kept in self.newest.items() if feed.subject != subject}
        if self.subjects - found.keys():
            self.looks_left = LOOKS
        self.subjects = frozenset(found)
        if self.looks_left:
            self.looks_left -= 1
            self._scan_soon(now_s)
        for subject, reader in found.items():
            if subject not in self.devices:
                beats = {cadence: Beat(self.intervals.of(cadence), now_s) for cadence in reader.cadences}
                self.devices[subject] = Device(reader, beats)

    def _count(self, faults: Iterable[Fault]) -> None:
        listed = tuple(faults)
        for fault in listed:
            self.faults[fault.reason] = self.faults.get(fault.reason, 0) + 1
        self.log.write(listed)
