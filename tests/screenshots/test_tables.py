"""Tables and numbers of the drawn boards, as Grafana would show them."""

import pytest

from tests.screenshots.answers import Series
from tests.screenshots.numbers import COLORS, mapped, step_color, written
from tests.screenshots.tables import cells_of

MAPPINGS = [{"type": "value", "options": {"3": {"text": "failed", "color": "red"}}}]


def series(query: str, value: float, **labels: str) -> Series:
    """A series of one point."""
    return Series("", labels, [(0.0, value)], query)


def panel(*targets: str, transformations: list[dict[str, object]], overrides: list[dict[str, object]]) -> dict[str, object]:
    """A table with that many queries, sorted by its column `rate`."""
    return {"targets": list(targets), "transformations": transformations, "options": {"sortBy": [{"displayName": "rate", "desc": True}]},
            "fieldConfig": {"defaults": {}, "overrides": overrides}}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.123, "percentunit", "12.3 %"), (50e9, "Bps", "50 GB/s"), (90.0, "s", "1.5 min"), (0.0, "short", "0"), (1e-12, "sci", "1.00e-12"),
     (940_000.0, "dateTimeFromNow", "1 min ago"), (4.0, "none", "4")],
)  # fmt: skip
def test_numbers_are_written_in_their_unit(value: float, unit: str, text: str) -> None:
    """With a prefix and three digits; points in time by their age (now is 1000 s)."""
    assert written(value, unit, 1000.0) == text


def test_a_state_has_its_word_and_a_number_its_threshold() -> None:
    """By value mapping; by the highest step reached."""
    steps = {"steps": [{"value": None, "color": "green"}, {"value": 5, "color": "red"}]}

    assert mapped("3", MAPPINGS) == ("failed", COLORS["red"])
    assert mapped("2", MAPPINGS) is None
    assert [step_color(value, steps) for value in (4, 5)] == [COLORS["green"], COLORS["red"]]


def test_queries_with_the_same_labels_share_a_row() -> None:
    """Hidden labels go, columns are renamed and ordered, rows sorted by a column, states coloured."""
    organize = {
        "excludeByName": {"pool": True},
        "indexByName": {"Value #A": 1, "node": 0},
        "renameByName": {"Value #A": "rate", "Value #B": "health"},
    }
    words = {"matcher": {"options": "health"}, "properties": [{"id": "mappings", "value": MAPPINGS}]}
    shown = panel("A", "B", transformations=[{"id": "merge", "options": {}}, {"id": "organize", "options": organize}], overrides=[words])

    heads, rows = cells_of(
        shown, [series("A", 1.0, node="n1", pool="p"), series("B", 3.0, node="n1", pool="p"), series("A", 7.0, node="n2", pool="p")], 0.0
    )

    assert [head.text for head in heads] == ["node", "rate", "health"]
    assert [[text for text, _, _ in row] for row in rows] == [["n2", "7", ""], ["n1", "1", "failed"]]


def test_a_matrix_has_a_column_for_each_value_of_a_label() -> None:
    """As Grafana's grouping to matrix."""
    group = {"id": "groupingToMatrix", "options": {"columnField": "status", "rowField": "fabric", "valueField": "Value"}}

    heads, rows = cells_of(panel("A", transformations=[group], overrides=[]), [series("A", 2.0, fabric="roce", status="ok")], 0.0)

    assert [head.text for head in heads] == ["fabric\\status", "ok"]
    assert [[text for text, _, _ in row] for row in rows] == [["roce", "2"]]
