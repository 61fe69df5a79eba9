"""What stands in a table panel: labels and values of its series, merged, renamed, ordered and coloured as its JSON says."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.screenshots.answers import Series
from tests.screenshots.numbers import COLORS, mapped, step_color, written

Cell = tuple[str, str, str | None]
"""Text, its colour, and the colour behind it."""
EMPTY: Cell = ("", COLORS["text"], None)


class Head(NamedTuple):
    """A column: its name, and its width in pixels if it has one."""

    text: str
    width: float | None


def cells_of(panel: Mapping[str, Any], series: Sequence[Series], now_s: float) -> tuple[list[Head], list[list[Cell]]]:
    """Columns and rows, sorted."""
    steps = {step["id"]: step["options"] for step in panel.get("transformations", ())}
    organize = steps.get("organize", {})
    rows = _matrix(series, steps["groupingToMatrix"]) if "groupingToMatrix" in steps else _merged(series, is_one=len(panel["targets"]) == 1)
    index, hidden, names = organize.get("indexByName", {}), organize.get("excludeByName", {}), organize.get("renameByName", {})
    fields = sorted({field for row in rows for field in row if not hidden.get(field)}, key=lambda field: (index.get(field, 99), field))
    properties = {field: _properties(panel, names.get(field, field)) for field in fields}
    for sort in reversed(panel["options"].get("sortBy", ())):
        field = next((field for field in fields if names.get(field, field) == sort["displayName"]), None)
        if field is not None:
            rows.sort(key=lambda row: _order(row.get(field)), reverse=bool(sort.get("desc")))
    heads = [Head(names.get(field, field), properties[field].get("custom.width")) for field in fields]
    return heads, [[_cell(row.get(field), properties[field], panel, now_s) for field in fields] for row in rows]


def _merged(series: Sequence[Series], *, is_one: bool) -> list[dict[str, str | float]]:
    """A row for each set of labels."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, str | float]] = {}
    for one in series:
        labels = {name: value for name, value in one.labels.items() if name != "__name__"}
        row = rows.setdefault(tuple(sorted(labels.items())), dict(labels))
        row["Value" if is_one else f"Value #{one.query}"] = one.last
    return list(rows.values())


def _matrix(series: Sequence[Series], options: Mapping[str, str]) -> list[dict[str, str | float]]:
    """Two labels against each other."""
    head = f"{options['rowField']}\\{options['columnField']}"
    rows: dict[str, dict[str, str | float]] = {}
    for one in series:
        name = one.labels.get(options["rowField"], "")
        rows.setdefault(name, {head: name})[one.labels.get(options["columnField"], "")] = one.last
    return list(rows.values())


def _properties(panel: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = dict(panel["fieldConfig"]["defaults"])
    for override in panel["fieldConfig"].get("overrides", ()):
        if override["matcher"]["options"] == name:
            found |= {one["id"]: one["value"] for one in override["properties"]}
    return found


def _cell(value: str | float | None, properties: Mapping[str, Any], panel: Mapping[str, Any], now_s: float) -> Cell:
    if value is None:
        return EMPTY
    kind = properties.get("custom.cellOptions", {}).get("type", "auto")
    text = value if isinstance(value, str) else f"{value:g}"
    word = mapped(text, properties.get("mappings", ()))
    if word:
        return (word[0], "#0b0c0e", word[1]) if kind == "color-background" else (*word, None)
    if isinstance(value, str):
        return value, COLORS["text"], None
    color = step_color(value, properties.get("thresholds", {})) if kind == "color-text" else COLORS["text"]
    return written(value, properties.get("unit", "none"), now_s), color, None


def _order(value: str | float | None) -> tuple[int, float, str]:
    if value is None:
        return 0, 0.0, ""
    return (1, value, "") if isinstance(value, float) else (2, 0.0, value)
