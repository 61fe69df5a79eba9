"""What the NVIDIA driver reports in the kernel log, as values: Xids of GPUs, SXids of NVSwitches, GPUs that fell off the bus; and how often
each was reported. Pure. Knows no text of a log and no metric.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

OTHER = "other"
"""Stands for every device or code that there was no room for."""


class Severity(StrEnum):
    """The driver's own word for how bad an event is."""

    FATAL = "fatal"
    NONFATAL = "nonfatal"
    CORRECTABLE = "correctable"


@dataclass(frozen=True, slots=True)
class XidEvent:
    """One Xid of the GPU at `pci` (as sysfs writes it). `port` is the NVLink it names, "" if none. `unit` (NETIR_LINK_EVT) and `severity`
    stand on NVLink 5 lines only."""

    pci: str
    xid: int
    port: str = ""
    unit: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class SxidEvent:
    """One SXid of the NVSwitch at `pci`. `port` is the switch's own link number, "" if the line names none."""

    pci: str
    sxid: int
    port: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class FellOff:
    """The driver's plain words that a GPU fell off the bus, without an Xid on that line; `pci` is "" where it does not say which. No
    Xid 79: the driver may write both for one loss, or only one of them."""

    pci: str


Event: TypeAlias = XidEvent | SxidEvent | FellOff


class EventKind(StrEnum):
    """What is counted apart."""

    XID = "xid"
    SXID = "sxid"
    OFF_BUS = "off_bus"


class EventKey(NamedTuple):
    """What one count is about. `code` is the number as text, "" for OFF_BUS."""

    kind: EventKind
    pci: str
    code: str
    port: str


class Tally(NamedTuple):
    """How many times, and when last (Unix time)."""

    times: int
    last_wall_s: float


Tallies: TypeAlias = Mapping[EventKey, Tally]


@dataclass(frozen=True, slots=True)
class KernelLogState:
    """How far the log of one boot has been read, and what was counted so far: one value, so that no record counts twice or never.
    `sequence` is that of the newest record read, None before the first."""

    boot_id: str
    sequence: int | None = None
    tallies: Tallies = field(default_factory=dict)


def key_of(event: Event) -> EventKey:
    """What an event counts under."""
    if isinstance(event, XidEvent):
        return EventKey(EventKind.XID, event.pci, str(event.xid), event.port)
    if isinstance(event, SxidEvent):
        return EventKey(EventKind.SXID, event.pci, str(event.sxid), event.port)
    return EventKey(EventKind.OFF_BUS, event.pci, "", "")


def counted(before: Tallies, events: Iterable[tuple[EventKey, float]], limit: int) -> tuple[Tallies, int]:
    """The tallies after these events (key and Unix time), and how many of them could not be told apart as they should: beyond `limit`
    keys an event counts without its port, beyond a quarter more under OTHER. No event is dropped."""
    after = dict(before)
    crowded = 0
    for key, wall_s in events:
        place = _place_for(key, after, limit)
        crowded += place != key
        times, last_s = after.get(place, Tally(0, wall_s))
        after[place] = Tally(times + 1, max(last_s, wall_s))
    return after, crowded


def _place_for(key: EventKey, known: Tallies, limit: int) -> EventKey:
    if key in known or len(known) < limit:
        return key
    portless = key._replace(port="")
    if portless in known or len(known) < limit + limit // 4:
        return portless
    return EventKey(key.kind, OTHER, OTHER if key.code else "", "")
