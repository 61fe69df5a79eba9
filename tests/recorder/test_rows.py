"""A row holds its ticks exactly, and a row of a stranger is a ValueError at worst."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.entity import NODE, Device, Fabric, Link
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.model.snapshot import Feed, FixedValues, Reading, Snapshot, SourceStatus
from exporter.recorder.layouts import LayoutBook, document_of, layout_in
from exporter.recorder.rows import LINE_MAX_BYTES, Layouts, Row, RowWriter, ticks_in, unpacked
from exporter.recorder.tick import Tick
from tests.recorder.ticks import FAULT, STATUS, tick

TEXTS = st.text(max_size=8)
ENTITIES = st.one_of(st.just(NODE), st.builds(Device, TEXTS), st.builds(Link, st.sampled_from(Fabric), TEXTS, TEXTS))
NUMBERS = st.one_of(st.integers(0, 1 << 64), st.floats(allow_nan=False))
TIMES = st.floats(-1e11, 1e11)
KEYS = st.one_of(TEXTS, st.lists(TEXTS, min_size=1, max_size=3).map(tuple))
READINGS = st.builds(lambda entity, values, fixed: Reading(entity, fixed_of(values) if fixed else values),
                     ENTITIES, st.dictionaries(KEYS, NUMBERS, max_size=4), st.booleans())  # fmt: skip
FEEDS = st.builds(Feed, TEXTS, TEXTS, st.sampled_from(Cadence))
FAULTS = st.builds(Fault, TEXTS, TEXTS, st.sampled_from(Reason), TEXTS)
SNAPSHOTS = st.builds(Snapshot, FEEDS, TIMES, TIMES, st.lists(READINGS, max_size=4).map(tuple),
                      st.lists(FAULTS, max_size=2).map(tuple))  # fmt: skip
STATUSES = st.builds(SourceStatus, source=st.sampled_from("ab"), up=st.sampled_from([True, False, None]),
                     devices=st.one_of(st.none(), st.integers(0, 9)), hung=st.lists(TEXTS, max_size=2).map(tuple),
                     subjects=st.frozensets(TEXTS, max_size=3), looked_for=TEXTS,
                     faults=st.dictionaries(st.sampled_from(Reason), st.integers(0, 9), max_size=2))  # fmt: skip
TICKS = st.builds(Tick, TIMES, TIMES, st.lists(SNAPSHOTS, max_size=3).map(tuple),
                  st.lists(STATUSES, max_size=2, unique_by=lambda status: status.source).map(tuple))  # fmt: skip


def fixed_of(values: dict[object, int | float]) -> FixedValues:
    """The same with fixed places."""
    return FixedValues({key: place for place, key in enumerate(values)}, list(values.values()))  # type: ignore[arg-type]


def packed(ticks: Sequence[Tick]) -> tuple[Row, Layouts]:
    """A row of these, and its layouts as they come out of a file."""
    book = LayoutBook()
    writer = RowWriter(book)
    for one in ticks:
        writer.add(one)
    return writer.end(), Layouts({number: layout_in(json.loads(json.dumps(document_of(layout)))) for number, layout in book.fresh})


def shown(one: Tick) -> object:
    """All of a tick that is recorded, FixedValues told from dicts."""
    readings = [(entity, type(values), dict(values)) for snapshot in one.fresh for entity, values in snapshot.readings]
    return one.wall_s, one.monotonic_s, [snapshot._replace(readings=()) for snapshot in one.fresh], readings


@given(st.lists(TICKS, min_size=1, max_size=4))
def test_ticks_come_out_as_they_went_in(ticks: list[Tick]) -> None:
    """Every number to the last bit, times, Faults, order; statuses as the last one said."""
    row, layouts = packed(ticks)

    again = list(ticks_in(row.text, layouts))

    assert [repr(shown(one)) for one in again] == [repr(shown(one)) for one in ticks]
    for one, other in zip(again, ticks, strict=True):
        known = {status.source: status for status in one.statuses}
        assert [known[status.source] for status in other.statuses] == list(other.statuses)


def test_a_row_knows_its_times() -> None:
    """First and last tick by both clocks, and how many there are."""
    row, _ = packed([tick(100.0), tick(105.0, wall_s=50.0)])

    assert row[:6] == (1_800_000_100.0, 50.0, 100.0, 105.0, 2, 0)


def test_passes_that_say_the_same_share_a_layout() -> None:
    """Objects made anew each pass are no reason for another one; nor are Faults."""
    book = LayoutBook()
    writer = RowWriter(book)
    for now_s in (1.0, 2.0, 3.0):
        writer.add(tick(now_s, faults=(FAULT,)))

    assert len(book.fresh) == 2  # the port's feed, the source


def test_what_seldom_changes_of_a_source_is_written_once() -> None:
    """Its devices; a count of faults that grows is a few bytes."""
    book = LayoutBook()
    writer = RowWriter(book)
    for count in range(5):
        writer.add(tick(float(count), statuses=[replace(STATUS, faults={Reason.IO: count})]))

    assert len(book.fresh) == 2


@pytest.mark.parametrize("line", [
    b"[]", b"{}", b"[1,2,[[0,1,2,[1]]],[]]", b'[1,2,[[9,1,2,[4,1,2,1.5]]],[]]', b"nothing", b"[1,2,3,4]",
    b'[1,2,[],[[0,true,[],{}]]]',
    b'[1,2,[[0,1,2,["4",1,2,1.5]]],[]]', b"[" * 100_000, b'[1,2,[[0,1,2,[4,1,2,1.5],[["a"]]]],[]]',
    b"[1,2,[[0,1,2,[" + b"9" * 5000 + b"]]],[]]",
])  # fmt: skip
def test_a_tick_that_makes_no_sense_is_a_value_error(line: bytes) -> None:
    """Another length, another type, an unknown layout, endless nesting, endless numbers."""
    _, layouts = packed([tick(1.0)])

    with pytest.raises(ValueError, match="makes no sense"):
        list(ticks_in(zlib.compress(line + b"\n"), layouts))


@pytest.mark.parametrize("cut", [0, 1, 10, -1])
def test_a_torn_row_is_a_value_error(cut: int) -> None:
    """After the ticks that are whole, perhaps."""
    row, layouts = packed([tick(float(number)) for number in range(50)])

    with pytest.raises(ValueError, match="torn"):
        list(ticks_in(row.text[:cut], layouts))


def test_a_bomb_is_not_unpacked() -> None:
    """A text far longer than any of ours ends after its bound; memory stays small."""
    bomb = zlib.compressobj(9)
    text = bomb.compress(bytes(2 * LINE_MAX_BYTES)) + bomb.flush()
    _, layouts = packed([tick(1.0)])

    with pytest.raises(ValueError, match="longer than any of ours"):
        list(ticks_in(text, layouts))
    with pytest.raises(ValueError, match="longer than any of ours"):
        unpacked(text, 1 << 20)


@pytest.mark.parametrize("document", [
    None, [], 7, {}, {"feed": ["a", "b"], "parts": []}, {"feed": ["a", "b", "often"], "parts": []},
    {"feed": ["a", "b", "fast"], "parts": [[["x", "y"], [], True]]},
    {"feed": ["a", "b", "fast"], "parts": [[["warp", "a", "1"], [], True]]},
    {"feed": ["a", "b", "fast"], "parts": [[[], [7], True]]}, {"source": "a", "devices": "1", "subjects": [], "looked_for": ""},
])  # fmt: skip
def test_a_layout_that_makes_no_sense_is_a_value_error(document: object) -> None:
    """A recording may come from anybody."""
    with pytest.raises(ValueError, match="layout makes no sense"):
        layout_in(document)
