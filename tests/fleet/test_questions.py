"""The harness itself: variables are filled in as Grafana does, and an answer that is wrong is said to be."""

import pytest

from tests.fleet.questions import problems, sent_as

PICKS = [{"node": "n1", "pool": "h100"}, {"node": "n1", "pool": "a100"}, {"node": "n2", "pool": "h100"}]


def test_variables_of_one_value_are_tried_in_turn_and_others_take_all() -> None:
    """A matcher with `=` holds one value; with `=~` it holds whatever is chosen: all."""
    sent = list(sent_as('rate(a{node="$node",pool=~"$pool"}[$__rate_interval])', PICKS))

    assert sent == ['rate(a{node="n1",pool=~".*"}[30s])', 'rate(a{node="n2",pool=~".*"}[30s])']


def test_a_question_without_variables_is_sent_once() -> None:
    """As it stands."""
    assert list(sent_as("sum(a)", PICKS)) == ["sum(a)"]


def test_a_variable_that_no_board_has_is_an_error() -> None:
    """Grafana would send it as it stands and Prometheus would find nothing."""
    with pytest.raises(KeyError, match="nodes"):
        list(sent_as('a{node=~"$nodes"}', PICKS))


@pytest.mark.parametrize(
    ("value", "unit", "is_wrong"),
    [("0.5", "percentunit", False), ("1.2", "percentunit", True), ("-1", "short", True), ("NaN", "", True), ("+Inf", "s", True),
     ("1.2", "any other", False)],
)  # fmt: skip
def test_values_outside_their_unit_are_found(value: str, unit: str, *, is_wrong: bool) -> None:
    """A ratio above 1, a negative count, what is no number."""
    document = {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [1.0, value]}]}}

    assert bool(problems(document, unit)) is is_wrong


def test_errors_and_warnings_are_problems() -> None:
    """What Prometheus says, in its own words."""
    failed = {"status": "error", "errorType": "execution", "error": "many-to-many matching not allowed"}
    warned = {"status": "success", "warnings": ["partial"], "data": {"resultType": "vector", "result": []}}

    assert problems(failed, "") == ["execution: many-to-many matching not allowed"]
    assert problems(warned, "") == ["warning: partial"]
