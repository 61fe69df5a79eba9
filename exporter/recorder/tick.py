"""What the recorder is given: the lives of health, its ticks, and events. Values only; knows no file."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from exporter.model.snapshot import Snapshot, SourceStatus

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


class Life(NamedTuple):
    """One health from its beginning on, which a start or a reload makes. `boot_id` and `uptime_s` (read at the monotonic time
    `uptime_at_s`) as health knew them; "" and None where it did not. `settings` and `memory` are whatever makes the same health again:
    the recorder keeps them and does not look at them."""

    boot_id: str
    uptime_s: float | None
    uptime_at_s: float
    settings: Mapping[str, Json]
    memory: Mapping[str, Json]
    version: str = ""
    began_wall_s: float = 0.0
    """Tells lives of one boot apart."""


class Tick(NamedTuple):
    """One look of health: its times, the Snapshots that were new to it in the order in which it took them, and how the sources were."""

    wall_s: float
    monotonic_s: float
    fresh: Sequence[Snapshot]
    statuses: Sequence[SourceStatus]


class EventKind(StrEnum):
    """What an event is about."""

    HEALTH = "health"
    """A link's verdict changed."""
    FLAP = "flap"
    """A link went down, by whichever evidence."""
    FAULT = "fault"
    """A source cannot be read, a device hangs, or it is over."""
    XID = "xid"
    """The driver reported an Xid, an SXid or a lost GPU."""
    GRACE = "grace"
    MAINTENANCE = "maintenance"
    DAEMON = "daemon"
    """Started, stopped, reloaded."""
    PROBE = "probe"


class Event(NamedTuple):
    """Something that happened. `link` is its name, or that of a device or source; "" for the node. `text` says it in one line; `facts` are
    the same for programs, JSON's types only."""

    kind: EventKind
    wall_s: float
    monotonic_s: float
    link: str
    text: str
    facts: Mapping[str, Json] = {}


def document_of(event: Event, boot_id: str | None = None) -> dict[str, Json]:
    """As JSON shows it; times are seconds, `time` Unix time. `boot_id` is told where it is known."""
    shown: dict[str, Json] = {"kind": event.kind.value, "time": event.wall_s, "monotonic": event.monotonic_s, "link": event.link,
                              "text": event.text}  # fmt: skip
    if boot_id is not None:
        shown["boot_id"] = boot_id
    return {**shown, **{name: value for name, value in event.facts.items() if name not in shown}}
