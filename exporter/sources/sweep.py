"""A Sweep is the quick way through all of a device that is due, while everything is as usual: one read a file, one look at all texts.

Whatever is unusual (a file that fails, a text that is no number, a rest that is over) is left to the FileSets themselves: then a Sweep
gives nothing and the reader goes file set by file set. Built anew whenever a FileSet says that it changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from exporter.catalog.infiniband import SATURATED
from exporter.catalog.limits import READ_SIZE_BYTES
from exporter.model.entity import Entity
from exporter.model.snapshot import Feed, FixedValues, Number, Reading, SeriesKey, Snapshot
from exporter.sources.counter_set import CounterSet, Slot
from exporter.sources.fault_list import FaultList
from exporter.sources.file_set import FileSet, read_all
from exporter.sources.port_text import numbers_of
from exporter.sources.sysfs import Files

Understand = Callable[[tuple[str, ...], Sequence[bytes], FaultList], dict[SeriesKey, Number]]
"""Names and raw texts of a FileSet → values."""


@dataclass(frozen=True, slots=True)
class Part:
    """What becomes one Reading: perhaps a set of texts with what understands them, and sets of numbers."""

    entity: Entity
    texts: FileSet | None
    understand: Understand | None
    counters: Sequence[CounterSet]


class _Piece:
    """A Part, where its raws stand in the sweep, the keys of its numbers, and what its texts said last."""

    __slots__ = ("clamped", "entity", "keys", "last_raws", "names", "numbers", "places", "said", "texts", "understand")

    def __init__(self, part: Part, names: tuple[str, ...], texts: slice, numbers: slice, slots: Sequence[tuple[str, Slot]]) -> None:
        self.entity = part.entity
        self.understand = part.understand
        self.names = names
        self.texts = texts
        self.numbers = numbers
        self.keys = [slot.key for _, slot in slots]
        self.clamped = [(numbers.start + i, slot.clamp, (SATURATED.key, name)) for i, (name, slot) in enumerate(slots)]
        self.last_raws: list[bytes] | None = None
        self.said: list[Number] = []
        self.places: dict[SeriesKey, int] = {key: i for i, key in enumerate(self.keys)}

    def hear(self, raws: list[bytes], faults: FaultList) -> None:
        """Understand the texts, which seldom change; what they say stands before the numbers."""
        if self.understand is None or raws == self.last_raws:
            return
        values = self.understand(self.names, raws, faults)
        self.last_raws = None if faults.faults else raws
        self.said = list(values.values())
        self.places = {key: i for i, key in enumerate((*values, *self.keys))}


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
        self.texts = len(texts)
        self._scaled = [(position, slot.scale) for position, slot in enumerate(all_slots) if slot.scale != 1]
        self._clamps = frozenset(slot.clamp for slot in all_slots if slot.clamp is not None)

    def grab(self) -> list[bytes] | None:
        """All raw texts, one read each; None if a read fails."""
        try:
            return read_all(self._pread, self._handles, READ_SIZE_BYTES)
        except OSError:
            return None

    def digest(self, texts: list[bytes], numbers: list[Number], wall_s: float, monotonic_s: float) -> tuple[Snapshot, ...] | None:
        """A Snapshot for each feed; None if a text is unusual. Takes `numbers` over."""
        saturated = None if self._clamps.isdisjoint(numbers) else self._saturated(numbers)
        for position, scale in self._scaled:
            numbers[position] *= scale
        faults = self._faults
        snapshots = []
        for feed, pieces in self._plan:
            readings = []
            for piece in pieces:
                if piece.understand is not None:
                    piece.hear(texts[piece.texts], faults)
                row = piece.said + numbers[piece.numbers]
                if not row:
                    continue
                values: Mapping[SeriesKey, Number] = FixedValues(piece.places, row)
                if saturated is not None and id(piece) in saturated:
                    values = {**values, **saturated[id(piece)]}
                readings.append(Reading(piece.entity, values))
            snapshots.append(Snapshot(feed, wall_s, monotonic_s, tuple(readings)))
        if faults.faults:
            faults.faults.clear()
            return None
        return tuple(snapshots)

    def _saturated(self, numbers: Sequence[Number]) -> dict[int, dict[SeriesKey, Number]]:
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


def read_sweeps(sweeps: Sequence[Sweep | None], enter: Callable[[int], bool], wall_s: float,
                monotonic_s: float) -> list[tuple[Snapshot, ...] | None]:  # fmt: skip
    """Snapshots of each sweep, None for one that is missing or unusual. Reads device by device, and only while `enter` (called with the
    device's position before its reads) says so; then looks at all texts of all devices at once."""
    raws: list[list[bytes] | None] = []
    for position, sweep in enumerate(sweeps):
        if not enter(position):
            break
        raws.append(sweep.grab() if sweep is not None else None)
    found: list[tuple[Snapshot, ...] | None] = [None] * len(raws)
    flat: list[bytes] = []
    for sweep, raw in zip(sweeps, raws, strict=False):
        if sweep is not None and raw is not None:
            flat += raw[sweep.texts :]
    together = numbers_of(flat)
    first = 0
    for position, (sweep, raw) in enumerate(zip(sweeps, raws, strict=False)):
        if sweep is None or raw is None:
            continue
        count = len(raw) - sweep.texts
        numbers = together[first : first + count] if together is not None else numbers_of(raw[sweep.texts :]) if count else []
        first += count
        if numbers is not None:
            found[position] = sweep.digest(raw[: sweep.texts], numbers, wall_s, monotonic_s)  # type: ignore[arg-type]
    return found
