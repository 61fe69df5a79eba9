"""Snapshots across a pipe come out as they went in, and what stays the same crosses once."""

import pickle
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from exporter.model.entity import NODE, Device, Entity, Fabric, Link
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, FixedValues, Number, Reading, SeriesKey, Snapshot
from exporter.runtime.snapshot_codec import LAYOUTS_MAX, Decoder, Encoder

texts = st.text(max_size=6)
numbers = st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False))
keys: st.SearchStrategy[SeriesKey] = st.one_of(texts, st.lists(texts, min_size=1, max_size=3).map(tuple))
values: st.SearchStrategy[dict[SeriesKey, Number]] = st.dictionaries(keys, numbers, max_size=6)
entities: st.SearchStrategy[Entity] = st.one_of(
    st.just(NODE), texts.map(Device), st.builds(Link, st.sampled_from(Fabric), texts, texts)
)  # fmt: skip
faults = st.builds(Fault, texts, texts, st.sampled_from(Reason), texts)
feeds = st.builds(Feed, texts, texts, st.sampled_from(Cadence))


def fixed(content: Mapping[SeriesKey, Number]) -> FixedValues:
    """The same numbers at places of their own."""
    return FixedValues({key: place for place, key in enumerate(content)}, list(content.values()))


readings = st.builds(Reading, entities, st.one_of(values, values.map(fixed)))
snapshots = st.builds(
    Snapshot, feeds, st.floats(allow_nan=False), st.floats(allow_nan=False), st.lists(readings, max_size=4).map(tuple),
    st.lists(faults, max_size=3).map(tuple),
)  # fmt: skip


def plain(snapshot: Snapshot) -> object:
    """A Snapshot as values that compare: order of keys, and whether a number is whole, included."""
    content = [(reading.entity, [(key, value, type(value)) for key, value in reading.values.items()]) for reading in snapshot.readings]
    return snapshot.feed, snapshot.wall_s, snapshot.monotonic_s, content, snapshot.faults


def laid_out(message: bytes) -> Mapping[int, object]:
    """The layouts that a message carries."""
    fresh: Mapping[int, object] = pickle.loads(message)[1]  # noqa: S301  # made above
    return fresh


def a_pass(value: Number, *keys: SeriesKey, subject: str = "gpu0") -> Snapshot:
    """A device's pass with that value at each of these keys."""
    return Snapshot(Feed("s", subject, Cadence.FAST), 1.0, 2.0, (Reading(Device(subject), dict.fromkeys(keys, value)),))


@given(st.lists(st.lists(snapshots, max_size=4), max_size=4))
def test_what_comes_out_is_what_went_in(passes: list[list[Snapshot]]) -> None:
    """Feed, times, entities, keys in their order, 64-bit integers and floats, faults: message by message through one pair of ends."""
    encoder, decoder = Encoder(), Decoder()

    for sent in passes:
        received, extra = decoder.decode(encoder.encode(sent, "extra"))
        assert ([plain(one) for one in received], extra) == ([plain(one) for one in sent], "extra")


@given(snapshots)
def test_what_was_sent_is_sent_again_as_numbers_only(snapshot: Snapshot) -> None:
    """The same layout crosses once, whatever has been sent between."""
    encoder = Encoder()
    first = laid_out(encoder.encode([snapshot]))
    encoder.encode([a_pass(1, "other", subject="another")])

    assert len(first) == 1
    assert laid_out(encoder.encode([snapshot._replace(wall_s=5.0, faults=())])) == {}


def test_fixed_values_are_known_by_their_places() -> None:
    """Their readings are new objects in each pass; entity and places are the reader's own."""
    link, places = Link(Fabric.NVLINK, "gpu0", "3"), {"tx": 0, "rx": 1}
    encoder, decoder = Encoder(), Decoder()
    found = []
    for turn in range(3):
        sent = Snapshot(Feed("s", "gpu0", Cadence.FAST), 1.0, 2.0, (Reading(link, FixedValues(places, [turn, 2**63 + turn])),))
        message = encoder.encode([sent])
        found.append((len(laid_out(message)), dict(decoder.decode(message)[0][0].readings[0].values)))

    assert found == [
        (1, {"tx": 0, "rx": 2**63}), (0, {"tx": 1, "rx": 2**63 + 1}), (0, {"tx": 2, "rx": 2**63 + 2})
    ]  # fmt: skip


def test_equal_keys_come_out_as_one_object() -> None:
    """Of all entities, feeds and messages: pages know a layout by it at a glance."""
    encoder, decoder = Encoder(), Decoder()
    received = [decoder.decode(encoder.encode([a_pass(1, "tx", "rx", subject=name)]))[0][0] for name in ("gpu0", "gpu1", "gpu0")]
    found = [snapshot.readings[0].values for snapshot in received]

    assert all(isinstance(one, FixedValues) for one in found)
    assert len({id(one.places) for one in found if isinstance(one, FixedValues)}) == 1


def test_a_reading_whose_keys_change_gets_the_layout_it_has_now() -> None:
    """A number that is missing in one pass, another order, one more key, back to the first."""
    encoder, decoder = Encoder(), Decoder()
    shapes: list[tuple[SeriesKey, ...]] = [("a", "b"), ("a",), ("b", "a"), ("a", "b", ("c", "x")), ("a", "b")]
    received = [decoder.decode(encoder.encode([a_pass(turn, *shape)]))[0][0] for turn, shape in enumerate(shapes)]

    assert [dict(one.readings[0].values) for one in received] == [dict.fromkeys(shape, turn) for turn, shape in enumerate(shapes)]


def test_a_device_whose_list_of_readings_changes_gets_the_layout_it_has_now() -> None:
    """A link fewer, one more, none."""
    encoder, decoder = Encoder(), Decoder()
    links = [Reading(Link(Fabric.NVLINK, "gpu0", str(port)), {"n": port}) for port in range(3)]
    lists = [tuple(links), tuple(links[:2]), (), tuple(reversed(links))]
    sent = [Snapshot(Feed("s", "gpu0", Cadence.FAST), 1.0, 2.0, one) for one in lists]

    assert [plain(decoder.decode(encoder.encode([one]))[0][0]) for one in sent] == [plain(one) for one in sent]


def test_the_same_readings_for_another_feed_are_another_layout() -> None:
    """One cadence's numbers must not come out as another's."""
    encoder, decoder = Encoder(), Decoder()
    sent = [a_pass(1, "n")._replace(feed=Feed("s", "gpu0", cadence)) for cadence in Cadence]

    assert [one.feed for one in decoder.decode(encoder.encode(sent))[0]] == [one.feed for one in sent]


def test_layouts_are_bounded_and_both_ends_start_anew() -> None:
    """A driver that shows another key in each pass does not make two processes grow; and nothing comes out wrong on the way."""
    encoder, decoder = Encoder(), Decoder()
    steady = a_pass(7, "steady", subject="steady")
    wrong, most = 0, 0
    for turn in range(3 * LAYOUTS_MAX):
        sent = [a_pass(turn, f"key{turn}"), steady]
        received, _ = decoder.decode(encoder.encode(sent))
        wrong += [plain(one) for one in received] != [plain(one) for one in sent]
        most = max(most, len(encoder._known), len(encoder._alive), len(decoder._layouts), len(decoder._places))

    assert wrong == 0
    assert LAYOUTS_MAX < most <= LAYOUTS_MAX + 2


def test_places_that_were_thrown_away_are_not_taken_for_new_ones() -> None:
    """A mark is an identity: as long as it is known, nobody else may get it. Each pass here has places of its own."""
    link = Link(Fabric.NVLINK, "gpu0", "3")
    encoder, decoder = Encoder(), Decoder()
    found = []
    for turn in range(200):
        places = {f"key{turn}": 0}
        sent = Snapshot(Feed("s", "gpu0", Cadence.FAST), 1.0, 2.0, (Reading(link, FixedValues(places, [turn])),))
        found.append(dict(decoder.decode(encoder.encode([sent]))[0][0].readings[0].values))
        del places, sent

    assert found == [{f"key{turn}": turn} for turn in range(200)]


def test_a_message_without_snapshots_carries_its_extra() -> None:
    """Whatever can be pickled."""
    assert Decoder().decode(Encoder().encode((), {"why": Reason.LOST})) == ((), {"why": Reason.LOST})
