"""How far the kernel log was read and what was counted, kept in the state directory. The `memory` argument of KernelLogSource.

Knows where it is kept and that it holds for one boot; what is in it is exporter.model.xid's.
"""

from collections.abc import Mapping
from math import isfinite

from exporter.catalog.xid import EVENT_KEYS_MAX
from exporter.model.xid import EventKey, EventKind, KernelLogState, Tally
from exporter.runtime.kept import Kept
from exporter.runtime.state_file import StateFile

FILE, VERSION = "kernel-log.json", 1
TEXT_MAX = 32
"""Characters of a device, code or port."""


class KeptKernelLogState(Kept):
    """The reader of the log saves; without a file too, which is what a reload needs."""

    def __init__(self, file: StateFile | None) -> None:
        super().__init__(file)
        self._state = _state_of(self._load())

    def load(self) -> KernelLogState | None:
        """What was saved last, by this process or one before; None if nothing was."""
        with self._lock:
            return self._state

    def save(self, state: KernelLogState) -> None:
        """Remember this instead, at first in memory."""
        with self._lock:
            self._is_changed = self._is_changed or state != self._state
            self._state = state

    def _document(self) -> Mapping[str, object] | None:
        """Nothing of a boot that has no name: nobody could tell later whose it was."""
        return _document_of(self._state) if self._state is not None and self._state.boot_id else None


def _document_of(state: KernelLogState) -> dict[str, object]:
    counts = [[*key, tally.times, tally.last_wall_s] for key, tally in sorted(state.tallies.items())]
    return {"boot_id": state.boot_id, "sequence": state.sequence, "counts": counts}


def _state_of(document: Mapping[str, object]) -> KernelLogState | None:
    """The state a document holds; an entry that is not what `save` writes is left out alone. None if it is of no boot, or does not say how
    far the log was read: its counts would count again."""
    boot_id, sequence, counts = (document.get(key) for key in ("boot_id", "sequence", "counts"))
    if not isinstance(boot_id, str) or not boot_id or not _is_whole(sequence) or not isinstance(counts, list):
        return None
    entries = [entry for row in counts if (entry := _entry_of(row)) is not None]
    return KernelLogState(boot_id, sequence, dict(entries[: 2 * EVENT_KEYS_MAX]))  # type: ignore[arg-type]  # _is_whole


def _entry_of(row: object) -> tuple[EventKey, Tally] | None:
    if not isinstance(row, list) or len(row) != len(EventKey._fields) + len(Tally._fields):
        return None
    *texts, times, last_s = row
    if not all(isinstance(text, str) and len(text) <= TEXT_MAX for text in texts) or texts[0] not in set(EventKind):
        return None
    if not _is_whole(times) or not isinstance(last_s, int | float) or isinstance(last_s, bool) or not isfinite(last_s):
        return None
    return EventKey(EventKind(texts[0]), *texts[1:]), Tally(times, last_s)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
