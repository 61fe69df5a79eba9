"""The newest events in memory: what `/api/v1/events` answers from, whatever the disk does. Safe for several threads."""

import threading
from collections import deque
from collections.abc import Iterable

from exporter.recorder.tick import Event

KEPT_MAX = 500
"""Some 0.5 MB."""


class NewestEvents:
    """The last KEPT_MAX events, of earlier lives of the daemon too once the file has been read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: deque[Event] = deque(maxlen=KEPT_MAX)

    def add(self, events: Iterable[Event]) -> None:
        """These happened."""
        with self._lock:
            self._events.extend(events)

    def remember(self, earlier: Iterable[Event]) -> None:
        """These happened before all that were added."""
        with self._lock:
            self._events = deque([*earlier, *self._events], KEPT_MAX)

    def since(self, from_wall_s: float, kinds: Iterable[str], most: int) -> tuple[list[Event], bool]:
        """Those not older than that and of these kinds (all if none is named), the newest first; whether there are more."""
        wanted = frozenset(kinds)
        with self._lock:
            events = list(self._events)
        found = [event for event in reversed(events) if event.wall_s >= from_wall_s and (not wanted or event.kind in wanted)]
        return found[:most], len(found) > most
