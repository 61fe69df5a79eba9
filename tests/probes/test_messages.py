"""Orders and answers as lines: what one side writes the other reads back, and nothing else is taken for one."""

import json
from typing import get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.probes.collectives import Collective
from exporter.probes.messages import (
    LINE_MAX_BYTES,
    LIST_MAX,
    Abort,
    Answer,
    Checked,
    Failed,
    Join,
    Measure,
    Measured,
    Order,
    answer_of,
    line_of,
    order_of,
)
from exporter.probes.reasons import Failure

INTEGERS = st.integers(-(2**53), 2**53)
FLOATS = st.floats(-1e15, 1e15, allow_nan=False)
VALUES = {
    str: st.text(max_size=50), bool: st.booleans(), int: INTEGERS, float: FLOATS, Collective: st.sampled_from(Collective),
    Failure: st.sampled_from(Failure), tuple[int, ...]: st.lists(INTEGERS, max_size=5).map(tuple),
    tuple[float, ...]: st.lists(FLOATS, max_size=5).map(tuple), tuple[str, ...]: st.lists(st.text(max_size=9), max_size=5).map(tuple),
}  # fmt: skip
MEASURE = Measure(3, Collective.ALL_TO_ALL, 4096, 20, held=True, deadline_s=5.0)


def _any_of(kinds: object) -> "st.SearchStrategy[object]":
    return st.one_of([st.builds(kind, **{name: VALUES[hint] for name, hint in get_type_hints(kind).items()}) for kind in get_args(kinds)])


@settings(max_examples=60, deadline=None)
@given(order=_any_of(Order), answer=_any_of(Answer))
def test_what_is_written_is_read_back(order: Order, answer: Answer) -> None:
    """Every order and every answer, whatever its fields hold; each is one line, and neither side takes the other's."""
    assert order_of(line_of(order)) == order
    assert answer_of(line_of(answer)) == answer
    assert line_of(order).count(b"\n") == line_of(answer).count(b"\n") == 1
    with pytest.raises(ValueError, match="no known message"):
        order_of(line_of(answer))


@settings(max_examples=60, deadline=None)
@given(line=st.binary(max_size=60) | st.recursive(st.none() | st.booleans() | FLOATS | st.text(max_size=9), st.lists, max_leaves=9).map(
    lambda words: json.dumps(words).encode()))  # fmt: skip
def test_nonsense_is_a_value_error(line: bytes) -> None:
    """Never another exception, never a message."""
    with pytest.raises(ValueError, match=r"no JSON|no known message"):
        order_of(line)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number", True), ("number", 1.5), ("number", "1"), ("number", 2**60), ("collective", "all_to_none"), ("collective", None),
        ("held", 1), ("deadline_s", "5"), ("deadline_s", float("nan")), ("deadline_s", float("inf")), ("deadline_s", None),
    ],
)  # fmt: skip
def test_a_field_of_another_type_or_beyond_its_bounds_is_refused(field: str, value: object) -> None:
    """It is named, with what it held."""
    words = {**json.loads(line_of(MEASURE)), field: value}

    with pytest.raises(ValueError, match=rf"Measure\.{field}: "):
        order_of(json.dumps(words).encode())


def test_a_missing_and_an_unknown_field_are_refused() -> None:
    """Exactly its fields: worker and supervisor are of one version."""
    words = json.loads(line_of(MEASURE))
    words["held_up"] = words.pop("held")

    with pytest.raises(ValueError, match="Measure with the fields collective, deadline_s, held_up, iterations"):
        order_of(json.dumps(words).encode())


def test_messages_are_bounded() -> None:
    """A line, a text and a list that are too long are refused, whatever they hold."""
    with pytest.raises(ValueError, match="a message of 262146 bytes"):
        order_of(b" " * (LINE_MAX_BYTES + 1) + b"\n")
    with pytest.raises(ValueError, match=r"Join\.unique_id: "):
        order_of(line_of(Join("0" * 5000, 1.0)))
    with pytest.raises(ValueError, match=r"Measured\.times_s: no list of float"):
        answer_of(line_of(Measured(1, (0.5,) * (LIST_MAX + 1), ())))


def test_whole_numbers_are_numbers() -> None:
    """JSON does not tell 5 from 5.0; a failure's reason is its label."""
    assert order_of(b'{"message":"Join","unique_id":"ab","deadline_s":5}') == Join("ab", 5.0)
    assert answer_of(b'{"message":"Failed","reason":"oom","words":""}') == Failed(Failure.OOM, "")
    assert answer_of(line_of(Checked(1, 0, -1, -1, spilt=False))) == Checked(1, 0, -1, -1, spilt=False)
    assert order_of(b'{"message":"Abort"}') == Abort()
