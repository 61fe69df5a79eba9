"""What a ledger knows of one device, and which devices are read together. No threads, no clock: time is a parameter."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Snapshot
from exporter.runtime.collect import DeviceReader, Source
from exporter.runtime.reader_group import ReaderGroup
from exporter.runtime.schedule import Beat, is_due

NORMAL_ABSENCES = frozenset({Reason.ABSENT, Reason.UNSUPPORTED})
"""Reasons that some healthy hardware has for ever."""
GROUP_MIN = 2
"""Devices a group has, at least."""


@dataclass(slots=True)
class Device:
    """One device (or the scan, reader None) and its beats."""

    reader: DeviceReader | None
    beats: dict[Cadence, Beat]
    elapsed_s: float | None = None
    """Wall time of the last pass it made by itself; None before the first."""
    failing: set[Cadence] = field(default_factory=set)
    """Cadences whose last passes brought nothing but grave faults."""
    hung: bool = False
    plain: bool = False
    """The last pass was quick and had no fault."""
    grouped: bool = False


@dataclass(slots=True)
class Group:
    """Devices that are read as one errand, their common beats, and what the last pass took for each."""

    reader: ReaderGroup
    beats: dict[Cadence, Beat]
    elapsed_s: float = 0.0


def grouped(source: Source, devices: Collection[Device], group: Group | None) -> Group | None:
    """The group with every plain device of its rhythm taken in; a first one as soon as each device has made a pass by itself."""
    plain = [d for d in devices if d.plain and not d.grouped and not d.hung and d.reader is not None and is_unstretched(d.beats)]
    if not plain or (group is None and any(device.elapsed_s is None for device in devices)):
        return group
    beats = group.beats if group is not None else dict(plain[0].beats)
    rhythm = _rhythm(beats)
    joining = [device for device in plain if _rhythm(device.beats) == rhythm]
    members = [*(group.reader.members if group is not None else ()), *(d.reader for d in joining if d.reader is not None)]
    if not joining or len(members) < GROUP_MIN:
        return group
    for device in joining:
        device.grouped = True
    return Group(ReaderGroup(source, members), beats, group.elapsed_s if group is not None else 0.0)


def judge(device: Device, snapshot: Snapshot, *, brought: bool) -> None:
    """A device fails at a cadence while its passes bring nothing but faults, of reasons that are not normal on some hardware; files that
    rest bring no fault, so only numbers end it. The scan fails while it finds nobody and has such faults."""
    if brought:
        device.failing.discard(snapshot.feed.cadence)
    elif any(fault.reason not in NORMAL_ABSENCES for fault in snapshot.faults):
        device.failing.add(snapshot.feed.cadence)
    elif device.reader is None:
        device.failing.discard(snapshot.feed.cadence)


def is_timeout(snapshot: Snapshot) -> bool:
    """Nothing but that somebody did not answer in time."""
    return not snapshot.readings and bool(snapshot.faults) and all(fault.reason is Reason.TIMEOUT for fault in snapshot.faults)


def due_cadences(beats: Mapping[Cadence, Beat], now_s: float, also: Collection[Cadence]) -> tuple[Cadence, ...]:
    """Cadences that are due, and those asked for."""
    return tuple([cadence for cadence, beat in beats.items() if is_due(beat, now_s) or cadence in also])


def is_unstretched(beats: Mapping[Cadence, Beat]) -> bool:
    """Whether neither duty guard nor back-off holds any of these beats."""
    return all(beat.stretch == 1 for beat in beats.values())


def _rhythm(beats: Mapping[Cadence, Beat]) -> list[tuple[Cadence, float, float]]:
    return sorted((cadence, beat.interval_s, beat.due_s) for cadence, beat in beats.items())
