"""Scenes for tests of the page: a small catalogue of every kind of row, builders, and strategies for anything a source may say."""

import math
from collections.abc import Mapping

from hypothesis import strategies as st

from exporter.catalog import catalogue
from exporter.catalog.internals import ROWS as INTERNALS
from exporter.model.entity import NODE, Device, Entity, Fabric, Link
from exporter.model.metric import Cadence, Kind, Metric, Tier, Unit
from exporter.model.snapshot import Feed, Number, Reading, Scene, SeriesKey, Snapshot, SourceStatus

LINK = ("device", "port")
BYTES = Metric("bytes", "fabric_t_bytes_total", Kind.COUNTER, Unit.BYTES, LINK, "Bytes, 100 % of them.", Tier.BASIC)
STATE = Metric("state", "fabric_t_state_id", Kind.GAUGE, Unit.STATE, ("fabric", *LINK), 'A \\ state "quoted" %s %(x)d.', Tier.BASIC)
EVENTS = Metric("events", "fabric_t_events_total", Kind.COUNTER, Unit.COUNT, (*LINK, "event"), "Events.", Tier.STANDARD)
FACTS = Metric("facts", "fabric_t_info", Kind.INFO, Unit.COUNT, ("device", "board", "firmware"), "Facts.", Tier.STANDARD)
TEMPERATURE = Metric("ratio", "fabric_t_ratio", Kind.GAUGE, Unit.RATIO, ("device",), "A ratio.", Tier.FULL)
NODE_ROW = Metric("node", "fabric_t_links", Kind.GAUGE, Unit.COUNT, (), "Links of the node.", Tier.AGGREGATE)
OWN_ROW = Metric("own", "fabric_t_own", Kind.GAUGE, Unit.COUNT, ("kind",), "A number of the node by kind.", Tier.AGGREGATE)
ROWS = catalogue((BYTES, STATE, EVENTS, FACTS, TEMPERATURE, NODE_ROW, OWN_ROW, *INTERNALS))
"""The last rows are the exporter's own, as in the product."""

PORT = Link(Fabric.INFINIBAND, "mlx5_0", "1")


def scene_of(feeds: Mapping[Feed, tuple[Reading, ...]], generation: int = 1, own: tuple[Reading, ...] = ()) -> Scene:
    """A Scene of these feeds; each source is known and up."""
    snapshots = {feed: Snapshot(feed, 1e9, 0.0, readings) for feed, readings in feeds.items()}
    sources = tuple(SourceStatus(name, up=True, devices=1) for name in sorted({feed.source for feed in feeds}))
    return Scene(generation, 1e9, 0.0, snapshots, sources, own)


def one_feed(*readings: Reading, source: str = "infiniband", generation: int = 1) -> Scene:
    """A Scene of one feed."""
    return scene_of({Feed(source, "mlx5_0", Cadence.FAST): readings}, generation)


def ports(count: int, first: Number = 0) -> tuple[Reading, ...]:
    """Readings of that many ports, one byte counter each."""
    return tuple(Reading(Link(Fabric.INFINIBAND, f"mlx5_{n}", "1"), {"bytes": first + n}) for n in range(count))


ODD_TEXTS = ['"', "\\", "\n", "%s", "%", "\\n", '\\"', "{", "}", ",", "=", " # ", "", "é", "\udcff", "\ud800", "\x00", "\r",
             "\u2028"]  # fmt: skip
texts = st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=6), st.text(st.characters(categories=["Cs", "Cc", "Zl", "Po"]), max_size=4))
"""Label values: whatever a driver's text may hold, lone surrogates (Python's way to carry stray bytes) included."""

ODD_NUMBERS: list[Number] = [2**64 - 1, 2**64, 2**53 + 1, -0.0, 5e-324, 1e16, 1234567.5, math.inf, -math.inf, math.nan]
numbers = st.one_of(st.integers(-(2**64), 2**64), st.floats(), st.booleans(), st.sampled_from(ODD_NUMBERS))
entities: st.SearchStrategy[Entity] = st.one_of(
    st.just(NODE), st.builds(Device, texts), st.builds(Link, st.sampled_from(Fabric), texts, st.sampled_from(["1", "2", '"']))
)
good_keys: st.SearchStrategy[SeriesKey] = st.one_of(
    st.sampled_from(["bytes", "state", "ratio", "node"]),
    st.tuples(st.just("bytes")),
    st.tuples(st.just("events"), texts),
    st.tuples(st.just("own"), texts),
    st.tuples(st.just("facts"), texts, texts),
)
keys: st.SearchStrategy[SeriesKey] = st.one_of(
    good_keys, texts, st.lists(texts, max_size=4).map(tuple), st.tuples(st.sampled_from(["events", "own", "node"]), texts, texts)
)
readings = st.builds(Reading, entities, st.dictionaries(keys, numbers, max_size=8))
feeds = st.builds(Feed, st.sampled_from(["a", "b", "exporter2"]), texts, st.sampled_from(Cadence))
scenes = st.builds(
    lambda found, own: scene_of(found, own=tuple(own)),
    st.dictionaries(feeds, st.lists(readings, max_size=4).map(tuple), max_size=4),
    st.lists(readings, max_size=2),
)
