"""Numbers as differences: exact for whatever a source may bring."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.recorder.deltas import UNCHANGED, applied, deltas

NUMBERS = st.one_of(st.integers(0, 1 << 64), st.integers(-5, 5), st.floats(), st.booleans())


def same(one: object, other: object) -> bool:
    """Equal to the last bit and of one type; NaN is as NaN."""
    return repr(one) == repr(other) and type(one) is type(other)


@given(st.lists(st.tuples(NUMBERS, NUMBERS)))
def test_what_comes_back_is_what_was_given(pairs: list[tuple[int | float, int | float]]) -> None:
    """Through JSON, as a recording is: large counters, fractions, NaN, a type that changed."""
    before, now = [a for a, _ in pairs], [b for _, b in pairs]

    again = applied(before, json.loads(json.dumps(deltas(before, now))))

    assert [same(a, b) for a, b in zip(again, now, strict=True)] == [True] * len(now)


def test_a_pass_without_news_is_one_number() -> None:
    """Most passes over error counters bring none."""
    assert deltas([1, 2.5, 3], [1, 2.5, 3]) == UNCHANGED


@pytest.mark.parametrize("told", [[1], [1, 2, 3], ["1", 2], [None, 2], [{}, 1], [[], 1]])
def test_what_was_never_written_is_refused(told: list[object]) -> None:
    """Another length, no numbers."""
    with pytest.raises((TypeError, ValueError, IndexError)):
        applied([1.5, 2], told)
