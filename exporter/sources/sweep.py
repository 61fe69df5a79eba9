"""A Sweep is the quick way through all of a device that is due, while everything is as usual: one read a file, one look at all texts.

Whatever is unusual (a file that fails, a text that is no number, a rest that is over) is left to the FileSets themselves: then a Sweep
gives nothing and the reader goes file set by file set. Built anew whenever a FileSet says that it changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from exporter.catalog.infiniband import SATURATED
from exporter.catalog.limits import READ_SIZE_BYTES
from exporter.model.entity import Entity
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.sources.counter_set import CounterSet, Slot
from exporter.sources.fault_list import FaultList
from exporter.sources.file_set import FileSet
from exporter.sources.port_text import numbers_of
from exporter.sources.sysfs import Files

Understand = Callable[[tuple[str, ...], Sequence[bytes], FaultList], dict[SeriesKey, Number]]
"""Names and raw texts of a FileSet → values."""

_SIZES, _OFFSETS = repeat(READ_SIZE_BYTES), repeat(0)


@dataclass(frozen=True, slots=True)
class Part:
    """What becomes one Reading: perhaps a set of texts with what understands them, and sets of numbers."""

    entity: Entity
    texts: FileSet | None
    understand: Understand | None
    counters: Sequence[CounterSet]


class _Piece:
    """A Part, where its raws stand in the sweep, the keys of its numbers, and what its texts said last."""

    __slots__ = ("clamped", "entity", "keys", "last_raws", "last_values", "names", "numbers", "texts", "understand")

    def __init__(self, part: Part, names: tuple[str, ...], texts: slice, numbers: slice, slots: Sequence[tuple[str, Slot]]) -> None:
        self.entity = part.entity
        self.understand = part.understand
        self.names = names
        self.texts = texts
        self.numbers = numbers
        self.keys = [slot.key for _, slot in slots]
        self.clamped = [(numbers.start + i, slot.clamp, (SATURATED.key, name)) for i, (name, slot) in enumerate(slots)]
        self.last_raws: list[bytes] | None = None
        self.last_values: dict[SeriesKey, Number] = {}


class Sweep:
    """Texts of all parts first, then numbers of all parts, each with its kept handle. `parts` stand by the feed they belong to.

    Good until `until_s` (monotonic seconds). This is the innermost loop of the daemon: what it does not do for each device, it need not
    do ten times a pass.
    """

    def __init__(self, files: Files, source: str, parts: Mapping[Feed, Sequence[Part]]) -> None:
        self._pread = files.pread
        self._faults = FaultList(source)
        self.until_s = float("inf")
        texts: list[int] = []
        numbers: list[int] = []
        all_slots: list[Slot] = []
        self._plan: list[tuple[Feed, list[_Piece]]] = [(feed, []) for feed in parts]
        for (_, pieces), some in zip(self._plan, parts.values(), strict=True):
            for part in some:
                first_text, first_number = len(texts), len(numbers)
                names = self._cover(part.texts, texts) if part.texts is not None else ()
                covered = [(name, counters) for counters in part.counters for name in self._cover(counters.files, numbers)]
                slots = [(name, counters.slots[name]) for name, counters in covered]
                pieces.append(_Piece(part, names, slice(first_text, len(texts)), slice(first_number, len(numbers)), slots))
                all_slots += [slot for _, slot in slots]
        self._handles = texts + numbers
        self._texts = len(texts)
        self._scaled = [(position, slot.scale) for position, slot in enumerate(all_slots) if slot.scale != 1]
        self._clamps = frozenset(slot.clamp for slot in all_slots if slot.clamp is not None)

    def read(self, wall_s: float, monotonic_s: float) -> tuple[Snapshot, ...] | None:
        """A Snapshot for each feed; None if anything is unusual."""
        try:
            raws = list(map(self._pread, self._handles, _SIZES, _OFFSETS))
        except OSError:
            return None
        numbers: list[int | float] | None = numbers_of(raws[self._texts :]) if len(raws) > self._texts else []  # type: ignore[assignment]
        if numbers is None:
            return None
        saturated = {} if self._clamps.isdisjoint(numbers) else self._saturated(numbers)
        for position, scale in self._scaled:
            numbers[position] *= scale
        snapshots = []
        for feed, pieces in self._plan:
            readings = []
            for piece in pieces:
                values = dict(zip(piece.keys, numbers[piece.numbers], strict=False))
                if piece.understand is not None:
                    values |= self._said(piece, raws[piece.texts])
                if saturated:
                    values |= saturated.get(id(piece), {})
                if values:
                    readings.append(Reading(piece.entity, values))
            snapshots.append(Snapshot(feed, wall_s, monotonic_s, tuple(readings)))
        if self._faults.faults:
            self._faults.faults.clear()
            return None
        return tuple(snapshots)

    def _said(self, piece: _Piece, raws: list[bytes]) -> dict[SeriesKey, Number]:
        """What the texts of a piece say. They seldom change: the last answer is kept, unless it had faults."""
        if piece.last_raws == raws or piece.understand is None:
            return piece.last_values
        values = piece.understand(piece.names, raws, self._faults)
        if not self._faults.faults:
            piece.last_raws, piece.last_values = raws, values
        return values

    def _saturated(self, numbers: Sequence[int | float]) -> dict[int, dict[SeriesKey, Number]]:
        """SATURATED keys by piece, for each raw number that stands at its clamp."""
        found: dict[int, dict[SeriesKey, Number]] = {}
        for _, pieces in self._plan:
            for piece in pieces:
                hit: dict[SeriesKey, Number] = {key: 1 for position, clamp, key in piece.clamped if numbers[position] == clamp}
                if hit:
                    found[id(piece)] = hit
        return found

    def _cover(self, files: FileSet, handles: list[int]) -> tuple[str, ...]:
        """Take a FileSet in; the names of its files."""
        names, more, until_s = files.quiet
        handles += more
        self.until_s = min(self.until_s, until_s)
        return names
