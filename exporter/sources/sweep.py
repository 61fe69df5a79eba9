"""A Sweep is the quick way through all of a device that is due, while everything is as usual: one read a file, one look at all texts.

Whatever is unusual (a file that fails, a text that is no number, a rest that is over) is left to the FileSets themselves: then a Sweep
gives nothing and the reader goes file set by file set. Built anew whenever a FileSet says that it changed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exporter.catalog.limits import READ_SIZE_BYTES
from exporter.model.entity import Entity
from exporter.model.snapshot import Number, Reading, SeriesKey
from exporter.sources.counter_set import Columns, CounterSet
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


class Sweep:
    """Texts of all parts first, then numbers of all parts, each with its kept handle. Good until `until_s` (monotonic seconds)."""

    def __init__(self, files: Files, source: str, parts: Sequence[Part]) -> None:
        self._pread = files.pread
        self._faults = FaultList(source)
        self.until_s = float("inf")
        texts: list[int] = []
        numbers: list[int] = []
        self._pieces: list[tuple[Part, Understand, tuple[str, ...], slice, slice, Columns]] = []
        for part in parts:
            first_text, first_number = len(texts), len(numbers)
            names = self._cover(part.texts, texts) if part.texts is not None else ()
            counted = [(name, counters) for counters in part.counters for name in self._cover(counters.files, numbers)]
            columns = Columns([name for name, _ in counted], [counters.slots[name] for name, counters in counted])
            where = slice(first_text, len(texts)), slice(first_number, len(numbers))
            self._pieces.append((part, part.understand or _nothing, names, *where, columns))
        self._handles = texts + numbers
        self._texts = len(texts)

    def read(self) -> list[Reading] | None:
        """A Reading for each part, in order, perhaps without values; None if anything is unusual."""
        try:
            raws = read_all(self._pread, self._handles, READ_SIZE_BYTES)
        except OSError:
            return None
        numbers = numbers_of(raws[self._texts :]) if len(raws) > self._texts else []
        if numbers is None:
            return None
        found: list[Reading] = []
        for part, understand, names, texts_at, numbers_at, columns in self._pieces:
            values = understand(names, raws[texts_at], self._faults)
            columns.fill(values, numbers[numbers_at])
            found.append(Reading(part.entity, values))
        if self._faults.faults:
            self._faults.faults.clear()
            return None
        return found

    def _cover(self, files: FileSet, handles: list[int]) -> tuple[str, ...]:
        """Take a FileSet in; the names of its files."""
        names, more, until_s = files.quiet
        handles += more
        self.until_s = min(self.until_s, until_s)
        return names


def _nothing(_names: tuple[str, ...], _raws: Sequence[bytes], _faults: FaultList) -> dict[SeriesKey, Number]:
    return {}
