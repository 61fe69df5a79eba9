"""A Window is two Snapshots of one feed: what changed, by measured time. Resets give no rate, never a negative or a giant one.

(Azure/Moneo adds 2^64 when a counter falls and reports 7e20 B/s after a driver reload.)
"""

from dataclasses import dataclass

from exporter.model.entity import Entity
from exporter.model.snapshot import Number, SeriesKey, Snapshot


@dataclass(frozen=True, slots=True)
class Window:
    """Two snapshots of the same feed, the older first. Raises ValueError if they are of different feeds or out of order."""

    older: Snapshot
    newer: Snapshot

    def __post_init__(self) -> None:
        if self.older.feed != self.newer.feed:
            raise ValueError(f"a window needs two snapshots of one feed, not {self.older.feed} and {self.newer.feed}")
        if self.newer.monotonic_s < self.older.monotonic_s:
            raise ValueError("a window needs its older snapshot first")

    @property
    def elapsed_s(self) -> float:
        """Measured monotonic seconds between the two passes; 0 for a window of one snapshot with itself."""
        return self.newer.monotonic_s - self.older.monotonic_s

    def value(self, entity: Entity, key: SeriesKey) -> Number | None:
        """The newer value, None if it could not be known."""
        return _value(self.newer, entity, key)

    def delta(self, entity: Entity, key: SeriesKey) -> Number | None:
        """Growth of a counter; None if either end is missing or the counter fell (reset: what happened between is unknown)."""
        before, after = _value(self.older, entity, key), _value(self.newer, entity, key)
        if before is None or after is None or after < before:
            return None
        return after - before

    def is_reset(self, entity: Entity, key: SeriesKey) -> bool:
        """True if both ends are known and the counter fell."""
        before, after = _value(self.older, entity, key), _value(self.newer, entity, key)
        return before is not None and after is not None and after < before

    def rate(self, entity: Entity, key: SeriesKey) -> float | None:
        """Growth per second of measured time; None where delta is None or no time passed."""
        delta = self.delta(entity, key)
        return None if delta is None or self.elapsed_s <= 0 else delta / self.elapsed_s


def _value(snapshot: Snapshot, entity: Entity, key: SeriesKey) -> Number | None:
    for reading in snapshot.readings:
        if reading.entity == entity:
            return reading.values.get(key)
    return None
