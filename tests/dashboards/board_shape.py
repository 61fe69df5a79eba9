"""Our own schema of a board's JSON: the part of Grafana's dashboard format, schema version 42, that we write. Closed.

Written from Grafana's documented panel options; a key that it does not name is wrong, and does not ship.
"""

from collections.abc import Iterator, Mapping
from typing import Any

SCHEMA_VERSION = 42
COLUMNS = 24
BOARD = {"annotations", "description", "editable", "fiscalYearStartMonth", "graphTooltip", "links", "liveNow", "panels", "refresh",
         "schemaVersion", "tags", "templating", "time", "timepicker", "timezone", "title", "uid", "version", "weekStart"}  # fmt: skip
PANEL = {"datasource", "description", "fieldConfig", "gridPos", "id", "options", "targets", "title", "type"}
MAY_HAVE = {"maxDataPoints", "transformations"}
TEXT = {"description", "gridPos", "id", "options", "title", "type"}
ROW = {"collapsed", "gridPos", "id", "panels", "title", "type"}
TARGET = {"datasource", "editorMode", "expr", "format", "instant", "legendFormat", "range", "refId"}
OPTIONS: Mapping[str, set[str]] = {
    "stat": {"colorMode", "graphMode", "justifyMode", "orientation", "percentChangeColorMode", "reduceOptions", "showPercentChange",
             "textMode", "wideLayout"},
    "timeseries": {"legend", "tooltip"},
    "state-timeline": {"alignValue", "legend", "mergeValues", "rowHeight", "showValue", "tooltip"},
    "status-history": {"colWidth", "legend", "rowHeight", "showValue", "tooltip"},
    "bargauge": {"displayMode", "legend", "maxVizHeight", "minVizHeight", "minVizWidth", "namePlacement", "orientation",
                 "reduceOptions", "showUnfilled", "sizing", "valueMode"},
    "heatmap": {"calculate", "cellGap", "color", "exemplars", "filterValues", "legend", "rowsFrame", "showValue", "tooltip",
                "yAxis"},
    "table": {"cellHeight", "footer", "frameIndex", "showHeader", "sortBy"},
}  # fmt: skip
DEFAULTS = {"color", "custom", "decimals", "links", "mappings", "max", "min", "noValue", "thresholds", "unit"}
OVERRIDES = {"color", "custom.cellOptions", "custom.width", "decimals", "links", "mappings", "thresholds", "unit"}
QUERY_VARIABLE = {"allValue", "current", "datasource", "definition", "hide", "includeAll", "label", "multi", "name", "options", "query",
                  "refresh", "regex", "sort", "type"}  # fmt: skip
DATASOURCE_VARIABLE = {"current", "hide", "includeAll", "label", "multi", "name", "options", "query", "refresh", "regex", "type"}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def panels(board: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every row and panel, those in folded rows included."""
    for panel in board["panels"]:
        yield panel
        yield from panel.get("panels", ())


def problems(board: Mapping[str, Any]) -> list[str]:
    """Every place where a board is not as it should be, in words; empty if none."""
    found = [*_keys("board", board, BOARD, set())]
    if board["schemaVersion"] != SCHEMA_VERSION:
        found.append(f"schema version {board['schemaVersion']}")
    for panel in panels(board):
        found += [f"{panel.get('title')}: {problem}" for problem in _panel(panel)]
    for variable in board["templating"]["list"]:
        wanted = DATASOURCE_VARIABLE if variable["type"] == "datasource" else QUERY_VARIABLE
        found += [f"variable {variable['name']}: {problem}" for problem in _keys("it", variable, wanted, {"allValue", "current"})]
    found += [f"null at {path}" for path in _nulls(board, ()) if not path.endswith("steps.0.value")]
    ids = [panel["id"] for panel in panels(board)]
    return found if len(ids) == len(set(ids)) else [*found, "two panels share an id"]


def _panel(panel: Mapping[str, Any]) -> Iterator[str]:
    grid = panel["gridPos"]
    if set(grid) != {"h", "w", "x", "y"} or not 0 <= grid["x"] < grid["x"] + grid["w"] <= COLUMNS or grid["h"] < 1:
        yield f"grid {grid}"
    if panel["type"] == "row":
        yield from _keys("row", panel, ROW, set())
        return
    if panel["type"] == "text":
        yield from _keys("text", panel, TEXT, set())
        return
    yield from _keys("panel", panel, PANEL, MAY_HAVE)
    yield from _keys("options", panel["options"], OPTIONS[panel["type"]], {"calculation"} if panel["type"] == "heatmap" else set())
    yield from _keys("defaults", panel["fieldConfig"]["defaults"], set(), DEFAULTS)
    if panel["datasource"] != DATASOURCE:
        yield f"data source {panel['datasource']}"
    for target in panel["targets"]:
        yield from _keys("target", target, TARGET, set())
        if target["datasource"] != DATASOURCE or target["range"] == target["instant"]:
            yield f"target {target['refId']}"
    for override in panel["fieldConfig"]["overrides"]:
        yield from (f"override {each['id']}" for each in override["properties"] if each["id"] not in OVERRIDES)
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    if steps[0]["value"] is not None or any(set(step) != {"color", "value"} for step in steps):
        yield f"thresholds {steps}"


def _keys(what: str, found: Mapping[str, Any], must: set[str], may: set[str]) -> Iterator[str]:
    if unknown := set(found) - must - may:
        yield f"{what} has unknown keys {sorted(unknown)}"
    if missing := must - set(found) - may:
        yield f"{what} lacks {sorted(missing)}"


def _nulls(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    if value is None:
        yield ".".join(path)
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from _nulls(below, (*path, str(key)))
