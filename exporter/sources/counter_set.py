"""A CounterSet is a FileSet whose files are numbers: raw text → base units under series keys, with saturation told apart.

Knows scale and clamp of each file through its Slots; knows no directory layout.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from exporter.catalog.infiniband import SATURATED
from exporter.model.fault import Reason
from exporter.model.snapshot import Number, SeriesKey
from exporter.sources.fault_list import FaultList
from exporter.sources.file_set import FileSet
from exporter.sources.port_text import number_of, numbers_of
from exporter.sources.sysfs import Files


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one file's number goes. `clamp` is the raw value at which the counter stops, None if it does not."""

    key: SeriesKey
    scale: float = 1
    clamp: int | None = None


class Columns:
    """What a row of raw numbers means: the key of each, which to scale, and where each stops counting. Knows no file."""

    __slots__ = ("_clamped", "_clamps", "_keys", "_scaled")

    def __init__(self, names: Sequence[str], slots: Sequence[Slot]) -> None:
        self._keys = [slot.key for slot in slots]
        self._scaled = [(slot.key, slot.scale) for slot in slots if slot.scale != 1]
        self._clamped = [(i, slot.clamp, (SATURATED.key, names[i])) for i, slot in enumerate(slots) if slot.clamp is not None]
        self._clamps = frozenset(clamp for _, clamp, _ in self._clamped)

    def fill(self, values: dict[SeriesKey, Number], numbers: Sequence[int]) -> None:
        """Add the numbers in base units, and a SATURATED key for each that stands at its clamp."""
        values.update(zip(self._keys, numbers, strict=True))
        for key, scale in self._scaled:
            values[key] *= scale
        if not self._clamps.isdisjoint(numbers):
            values.update((key, 1) for position, clamp, key in self._clamped if numbers[position] == clamp)


class CounterSet:
    """Number files of one folder. `read_into` adds their values to a dict and what failed to a FaultList."""

    def __init__(self, files: Files, folder: str, slots: Mapping[str, Slot], changed: Callable[[], object] = lambda: None) -> None:
        self.slots = slots
        self.files = FileSet(files, folder, slots, changed=changed)
        self._folder = folder
        self._names: tuple[str, ...] = ()
        self._columns = Columns((), ())

    def read_into(self, values: dict[SeriesKey, Number], faults: FaultList, now_s: float) -> None:
        """One pass. A file that cannot be read or understood costs exactly its own key."""
        seen = self.files.read(now_s)
        faults.add_failures(self._folder, seen.failures)
        if not seen.raws:
            return
        if seen.names is not self._names:
            self._names, self._columns = seen.names, Columns(seen.names, [self.slots[name] for name in seen.names])
        numbers = numbers_of(seen.raws)
        if numbers is None:
            self._read_slowly(seen.names, seen.raws, values, faults, now_s)
        else:
            self._columns.fill(values, numbers)

    def close(self) -> None:
        """Give all handles back."""
        self.files.close()

    def _read_slowly(self, names: tuple[str, ...], raws: Sequence[bytes], values: dict[SeriesKey, Number], faults: FaultList,
                     now_s: float) -> None:  # fmt: skip
        for name, raw in zip(names, raws, strict=True):
            slot, number = self.slots[name], number_of(raw)
            if isinstance(number, Reason):
                faults.add_text(f"{self._folder}/{name}", number, raw)
                if number is Reason.UNSUPPORTED:
                    self.files.rest(name, now_s)
                continue
            values[slot.key] = number * slot.scale
            if number == slot.clamp:
                values[SATURATED.key, name] = 1
