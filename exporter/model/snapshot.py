"""Reading, Snapshot, Scene: what was seen, by whom, when. Frozen values; they cross threads and pipes unchanged."""

from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from exporter.model.entity import Entity
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence

SeriesKey: TypeAlias = str | tuple[str, ...]
"""A metric key, or (metric key, *values of the row's own labels)."""

Number: TypeAlias = int | float


def metric_key(series: SeriesKey) -> str:
    """The catalogue key within a SeriesKey; "", which no row has, for an empty tuple."""
    return series if isinstance(series, str) else next(iter(series), "")


class FixedValues(Mapping[SeriesKey, Number]):
    """Values whose keys were laid out once: `places` (key → position) is shared by all passes, only `numbers` is new. A third of a dict's
    cost, and two with the same `places` object are known to have the same keys in the same order [M]."""

    __slots__ = ("numbers", "places")

    def __init__(self, places: Mapping[SeriesKey, int], numbers: Sequence[Number]) -> None:
        self.places = places
        self.numbers = numbers

    def __getitem__(self, key: SeriesKey) -> Number:
        return self.numbers[self.places[key]]

    def __iter__(self) -> Iterator[SeriesKey]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return repr(dict(self))

    def values(self) -> ValuesView[Number]:
        """The numbers, in the order of their keys."""
        return self.numbers  # type: ignore[return-value]  # a sequence: iterable and sized, as callers need


class Reading(NamedTuple):
    """One entity and its numbers in base units. A number that could not be known is a missing key: never 0, NaN or the last value."""

    entity: Entity
    values: Mapping[SeriesKey, Number]


class Feed(NamedTuple):
    """Where a Snapshot comes from: one source, one subject (a device; "" for the source as a whole), one cadence."""

    source: str
    subject: str
    cadence: Cadence


class Snapshot(NamedTuple):
    """What one feed saw in one pass. `wall_s` (Unix time) and `monotonic_s` are taken when the pass began.

    Readings and Snapshots are made by the dozen in each pass: as named tuples they cost a third of frozen dataclasses [M].
    """

    feed: Feed
    wall_s: float
    monotonic_s: float
    readings: tuple[Reading, ...]
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """How one source is doing. None means not known yet: no scan has come back, no pass has succeeded.

    `duty_ratio` is the share of wall time that the busiest device of the source spends answering our reads.
    """

    source: str
    up: bool | None
    devices: int | None
    hung: tuple[str, ...] = ()
    subjects: frozenset[str] = frozenset()
    """Names of the devices that the newest scan found."""
    last_success_wall_s: float | None = None
    oldest_sample_monotonic_s: float | None = None
    duration_s: float | None = None
    duty_ratio: float | None = None
    faults: Mapping[Reason, int] = field(default_factory=dict)
    looked_for: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """The newest live Snapshot of each feed and how each source is doing: the only thing the edges see.

    `generation` grows by one with each publication. `readings` are numbers about this program itself (catalog/internals.py).
    """

    generation: int
    wall_s: float
    monotonic_s: float
    snapshots: Mapping[Feed, Snapshot]
    sources: tuple[SourceStatus, ...] = ()
    readings: tuple[Reading, ...] = ()


EMPTY_SCENE = Scene(0, 0.0, 0.0, {})
