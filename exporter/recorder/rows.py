"""A row: all ticks of some seconds as one compressed text of JSON lines, a tick a line. Whole in itself but for the layouts it names by
number. Knows no file; what may be wrong with a stranger's row is one ValueError."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from exporter.model.fault import Fault, Reason
from exporter.model.snapshot import FixedValues, Number, Reading, SeriesKey, Snapshot, SourceStatus
from exporter.recorder.deltas import applied, checked, deltas
from exporter.recorder.layouts import Layout, LayoutBook, SourceLayout, numbers_of, places_of
from exporter.recorder.tick import Tick

LEVEL = 4
"""Of zlib: 9 saves a twentieth of the bytes for half as much CPU again [M]."""
TEXT_MAX_BYTES = 256 << 20
"""A row's text when it is unpacked: a hundred times a whole node's each second. What is longer is no row of ours."""
LINE_MAX_BYTES = 16 << 20
CHUNK_BYTES = 1 << 20
TIME_MAX_S = 1e12
_DUMP = json.JSONEncoder(separators=(",", ":")).encode


class Row(NamedTuple):
    """One row: the times of its first and last tick, how many it has, how many were lost just before it, and its text, compressed."""

    first_wall_s: float
    last_wall_s: float
    first_monotonic_s: float
    last_monotonic_s: float
    ticks: int
    lost: int
    text: bytes


class RowWriter:
    """Makes one row tick by tick, so that what waits is compressed already. `lost` ticks came before it."""

    def __init__(self, book: LayoutBook, lost: int = 0) -> None:
        self._book = book
        self.lost = lost
        self._before: dict[int, list[Number]] = {}
        self._statuses: dict[str, list[object]] = {}
        self._packer = zlib.compressobj(LEVEL)
        self._packed: list[bytes] = []
        self._times: list[tuple[float, float]] = []

    @property
    def ticks(self) -> int:
        """How many it has by now."""
        return len(self._times)

    @property
    def first(self) -> tuple[float, float] | None:
        """Unix and monotonic time of its first tick; None before there is one."""
        return self._times[0] if self._times else None

    def elapsed_s(self, monotonic_s: float) -> float:
        """How old its first tick is at that time; 0 before there is one."""
        return monotonic_s - self._times[0][1] if self._times else 0.0

    def add(self, tick: Tick) -> None:
        """One more tick."""
        wall_s, monotonic_s, fresh, statuses = tick
        self._times.append((wall_s, monotonic_s))
        line = [wall_s, monotonic_s, [self._sheet(snapshot) for snapshot in fresh], self._news(statuses)]
        self._packed.append(self._packer.compress(_DUMP(line).encode() + b"\n"))

    def end(self) -> Row:
        """The row. It takes no more ticks. Raises IndexError if it has none."""
        (first_wall_s, first_s), (last_wall_s, last_s) = self._times[0], self._times[-1]
        text = b"".join([*self._packed, self._packer.flush()])
        return Row(first_wall_s, last_wall_s, first_s, last_s, len(self._times), self.lost, text)

    def _sheet(self, snapshot: Snapshot) -> list[object]:
        number = self._book.number_of(snapshot)
        numbers, before = numbers_of(snapshot.readings), self._before.get(number)
        self._before[number] = numbers
        sheet = [number, snapshot.wall_s, snapshot.monotonic_s, numbers if before is None else deltas(before, numbers)]
        if snapshot.faults:
            sheet.append([[fault.source, fault.subject, fault.reason.value, fault.detail] for fault in snapshot.faults])
        return sheet

    def _news(self, statuses: Sequence[SourceStatus]) -> list[list[object]]:
        """Of the sources whose status changed since the tick before: all of them in the first tick of a row."""
        news: list[list[object]] = []
        for status in statuses:
            faults = {reason.value: count for reason, count in status.faults.items()}
            words: list[object] = [self._book.number_of_source(status), status.up, status.hung, faults]
            if words != self._statuses.get(status.source):
                self._statuses[status.source] = words
                news.append(words)
        return news


class Layouts:
    """The layouts of one chapter by number, as a reader needs them. Readings of equal keys share their places."""

    def __init__(self, layouts: Mapping[int, Layout | SourceLayout]) -> None:
        places: dict[tuple[SeriesKey, ...], Mapping[SeriesKey, int]] = {}
        self.sources = {number: one for number, one in layouts.items() if isinstance(one, SourceLayout)}
        self.feeds = {number: one for number, one in layouts.items() if isinstance(one, Layout)}
        self.places = {number: [places_of(part.keys, places) for part in one.parts] for number, one in self.feeds.items()}
        self.subjects = {number: frozenset(one.subjects) for number, one in self.sources.items()}


def ticks_in(text: bytes, layouts: Layouts) -> Iterator[Tick]:
    """The ticks of a row's text. Statuses have what health looks at; times and durations of sources are not recorded. Raises ValueError."""
    before: dict[int, list[Number]] = {}
    statuses: dict[str, SourceStatus] = {}
    for line in _lines(text):
        try:
            wall_s, monotonic_s, sheets, news = json.loads(line)
            for words in news:
                status = _status(words, layouts)
                statuses[status.source] = status
            fresh = tuple([_snapshot(sheet, layouts, before) for sheet in sheets])
            yield Tick(_time(wall_s), _time(monotonic_s), fresh, tuple(statuses.values()))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ValueError("a row makes no sense") from error


def unpacked(packed: bytes, most_bytes: int = TEXT_MAX_BYTES) -> bytes:
    """What was compressed by zlib. Raises ValueError for anything else, and for what is longer than that."""
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, most_bytes)
    except zlib.error as error:
        raise ValueError("it is torn") from error
    if not unpacker.eof:
        raise ValueError("it is torn, or longer than any of ours")
    return text


def _lines(packed: bytes) -> Iterator[bytes]:
    """The lines of a packed text, unpacked piece by piece."""
    unpacker, rest, size_bytes = zlib.decompressobj(), b"", 0
    while not unpacker.eof:
        try:
            piece = unpacker.decompress(packed, CHUNK_BYTES)
        except zlib.error as error:
            raise ValueError("a row is torn") from error
        packed, size_bytes = unpacker.unconsumed_tail, size_bytes + len(piece)
        *lines, rest = (rest + piece).split(b"\n")
        if size_bytes > TEXT_MAX_BYTES or len(rest) > LINE_MAX_BYTES or not (piece or unpacker.eof):
            raise ValueError("a row is torn, or longer than any of ours")
        yield from lines
    if rest:
        raise ValueError("a row ends within a tick")


def _snapshot(sheet: Sequence[Any], layouts: Layouts, before: dict[int, list[Number]]) -> Snapshot:
    number, wall_s, monotonic_s, told, *more = sheet
    layout = layouts.feeds[number]
    known = before.get(number)
    numbers = before[number] = [checked(value) for value in told] if known is None else applied(known, told)
    readings: list[Reading] = []
    start = 0
    for part, places in zip(layout.parts, layouts.places[number], strict=True):
        own = numbers[start : start + len(part.keys)]
        start += len(part.keys)
        readings.append(Reading(part.entity, FixedValues(places, own) if part.is_fixed else dict(zip(part.keys, own, strict=True))))
    if start != len(numbers):
        raise ValueError("a pass has another length than its layout")
    faults = tuple(
        [Fault(str(source), str(subject), Reason(reason), str(detail)) for source, subject, reason, detail in (more[0] if more else ())]
    )
    return Snapshot(layout.feed, _time(wall_s), _time(monotonic_s), tuple(readings), faults)


def _time(value: Any) -> float:
    """Seconds. Raises ValueError for what no clock says."""
    time_s = float(value)
    if not abs(time_s) < TIME_MAX_S:
        raise ValueError("no clock says that")
    return time_s


def _status(words: Sequence[Any], layouts: Layouts) -> SourceStatus:
    number, up, hung, faults = words
    source = layouts.sources[number]
    return SourceStatus(
        source.source, None if up is None else bool(up), source.devices, tuple([str(name) for name in hung]),
        layouts.subjects[number], faults={Reason(reason): int(count) for reason, count in faults.items()}, looked_for=source.looked_for,
    )  # fmt: skip
