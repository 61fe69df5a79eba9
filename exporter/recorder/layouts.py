"""What stays the same from pass to pass is written once in a chapter and has a number: a feed with its entities and keys, a source with its
devices. Documents of JSON's types, never pickle: recordings of strangers are opened too. No file, no compression."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from exporter.model.entity import NODE, Device, Entity, Fabric, Link
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, FixedValues, Number, Reading, SeriesKey, Snapshot, SourceStatus

IDENTITIES_MAX = 2048
"""Snapshots that are known by the identity of their parts, at most; then they are looked up by their contents again."""


class Part(NamedTuple):
    """One Reading without its numbers. `is_fixed`: its values were FixedValues, whose keys stand in places that all passes share."""

    entity: Entity
    keys: tuple[SeriesKey, ...]
    is_fixed: bool


class Layout(NamedTuple):
    """A Snapshot without times, numbers and Faults."""

    feed: Feed
    parts: tuple[Part, ...]


class SourceLayout(NamedTuple):
    """What of a source's status seldom changes."""

    source: str
    devices: int | None
    subjects: tuple[str, ...]
    looked_for: str


class LayoutBook:
    """The layouts of one chapter, numbered as they come. `fresh` are those not yet written; the writer empties it."""

    def __init__(self) -> None:
        self._numbers: dict[Layout | SourceLayout, int] = {}
        self._by_identity: dict[tuple[object, ...], int] = {}
        self._alive: list[object] = []
        """Whatever an identity names: as long as it is kept, no other object can have it."""
        self._statuses: dict[str, tuple[SourceStatus, int]] = {}
        self.fresh: list[tuple[int, Layout | SourceLayout]] = []

    def number_of(self, snapshot: Snapshot) -> int:
        """The number of the Snapshot's layout."""
        feed, _, _, readings, _ = snapshot
        mark: tuple[object, ...] = (feed, *[(id(entity), id(values.places)) for entity, values in readings
                                            if isinstance(values, FixedValues)])  # fmt: skip
        is_known_by_identity = len(mark) == len(readings) + 1 > 1
        if is_known_by_identity and (number := self._by_identity.get(mark)) is not None:
            return number
        number = self._number(
            Layout(feed, tuple([Part(entity, tuple(values), isinstance(values, FixedValues)) for entity, values in readings]))
        )
        if is_known_by_identity:
            if len(self._by_identity) >= IDENTITIES_MAX:
                self._by_identity.clear()
                self._alive.clear()
            self._by_identity[mark] = number
            self._alive.append([(entity, values.places) for entity, values in readings])  # type: ignore[attr-defined]
        return number

    def number_of_source(self, status: SourceStatus) -> int:
        """The number of what seldom changes of a source's status."""
        before, number = self._statuses.get(status.source, (None, 0))
        if before is None or not (status.devices == before.devices and status.looked_for == before.looked_for
                                  and (status.subjects is before.subjects or status.subjects == before.subjects)):  # fmt: skip
            number = self._number(SourceLayout(status.source, status.devices, tuple(sorted(status.subjects)), status.looked_for))
            self._statuses[status.source] = status, number
        return number

    def again(self) -> None:
        """All layouts are to be written once more: the file that had them is gone, or another."""
        self.fresh = [(number, layout) for layout, number in self._numbers.items()]

    def _number(self, layout: Layout | SourceLayout) -> int:
        number = self._numbers.get(layout)
        if number is None:
            number = self._numbers[layout] = len(self._numbers)
            self.fresh.append((number, layout))
        return number


def numbers_of(readings: Sequence[Reading]) -> list[Number]:
    """All numbers of a Snapshot, in the order of its layout."""
    numbers: list[Number] = []
    for _, values in readings:
        numbers += values.values()
    return numbers


def document_of(layout: Layout | SourceLayout) -> dict[str, Any]:
    """The layout as JSON takes it."""
    if isinstance(layout, SourceLayout):
        return layout._asdict()
    return {"feed": [layout.feed.source, layout.feed.subject, layout.feed.cadence.value],
            "parts": [[_entity_words(entity), keys, is_fixed] for entity, keys, is_fixed in layout.parts]}  # fmt: skip


def layout_in(document: Any) -> Layout | SourceLayout:
    """What such a document says. Raises ValueError for any other."""
    try:
        return _source_layout(document) if "source" in document else _layout(document)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError("a layout makes no sense") from error


def _layout(document: Any) -> Layout:
    source, subject, cadence = (_text(word) for word in document["feed"])
    parts = [Part(_entity(words), tuple([_key(key) for key in keys]), bool(is_fixed)) for words, keys, is_fixed in document["parts"]]
    return Layout(Feed(source, subject, Cadence(cadence)), tuple(parts))


def _source_layout(document: Any) -> SourceLayout:
    devices = document["devices"]
    if devices is not None and type(devices) is not int:
        raise ValueError("devices are counted")
    subjects = tuple([_text(subject) for subject in document["subjects"]])
    return SourceLayout(_text(document["source"]), devices, subjects, _text(document["looked_for"]))


def _entity_words(entity: Entity) -> list[str]:
    if isinstance(entity, Link):
        return [entity.fabric.value, entity.device, entity.port]
    return [entity.name] if isinstance(entity, Device) else []


def _entity(words: Sequence[object]) -> Entity:
    texts = [_text(word) for word in words]
    if len(texts) == 3:
        return Link(Fabric(texts[0]), texts[1], texts[2])
    if len(texts) > 1:
        raise ValueError("nothing has two names")
    return Device(texts[0]) if texts else NODE


def _key(key: object) -> SeriesKey:
    return _text(key) if isinstance(key, str) else tuple([_text(word) for word in key])  # type: ignore[attr-defined]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected a text")
    return value


def places_of(keys: tuple[SeriesKey, ...], known: dict[tuple[SeriesKey, ...], Mapping[SeriesKey, int]]) -> Mapping[SeriesKey, int]:
    """Where each key stands; equal keys have one object, as passes of one source have."""
    places = known.get(keys)
    if places is None:
        places = known[keys] = {key: place for place, key in enumerate(keys)}
        if len(places) != len(keys):
            raise ValueError("a key stands twice")
    return places
