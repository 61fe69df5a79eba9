"""From what grafanalib writes to what today's Grafana writes: clean JSON of schema version 42. Pure.

Only keys that today's Grafana knows are carried over, each panel type by its own list: grafanalib still writes keys that have been dead for
years (`rows`, `style`, `gnetId`, `__inputs`, `intervalFactor`) and nulls. Every board's data source is the variable `${datasource}`.
"""

import json
from collections.abc import Mapping
from typing import Any

from grafanalib._gen import DashboardEncoder
from grafanalib.core import Dashboard

SCHEMA_VERSION = 42
BOARD_KEYS = ("annotations", "description", "editable", "graphTooltip", "links", "panels", "refresh", "tags", "templating", "time",
              "timezone", "title", "uid")  # fmt: skip
PANEL_KEYS = ("datasource", "description", "fieldConfig", "gridPos", "id", "maxDataPoints", "options", "targets", "title",
              "transformations", "type")  # fmt: skip
ROW_KEYS = ("collapsed", "gridPos", "id", "panels", "title", "type")
TEXT_KEYS = ("description", "gridPos", "id", "options", "title", "type")
TARGET_KEYS = ("datasource", "expr", "format", "instant", "legendFormat", "refId")
VARIABLE_KEYS = ("allValue", "current", "datasource", "hide", "includeAll", "label", "multi", "name", "options", "query", "refresh",
                 "regex", "sort", "type")  # fmt: skip
DATASOURCE_KEYS = ("current", "hide", "includeAll", "label", "multi", "name", "options", "query", "refresh", "regex", "type")
NEW_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "stat": {"percentChangeColorMode": "standard", "showPercentChange": False, "wideLayout": True},
}
"""Panel type → options that came after grafanalib."""
EMPTY_MEANS_NOTHING = ("description", "links", "transformations")
"""Keys that are left out where they hold nothing."""


def normal(dashboard: Dashboard) -> dict[str, Any]:
    """The dashboard as plain JSON values. Version and id are left out: they belong to the Grafana that imports it."""
    raw = json.loads(json.dumps(dashboard.to_json_data(), cls=DashboardEncoder))
    made = _kept(raw, BOARD_KEYS)
    made["annotations"] = {"list": made["annotations"]["list"]}
    made["panels"] = [_panel(panel) for panel in raw["panels"]]
    made["templating"] = {"list": [_variable(variable) for variable in raw["templating"]["list"]]}
    return {**made, "fiscalYearStartMonth": 0, "liveNow": False, "schemaVersion": SCHEMA_VERSION, "timepicker": {}, "version": 1,
            "weekStart": ""}  # fmt: skip


def text_of(board: Mapping[str, Any]) -> str:
    """The file's content: sorted keys, so that a change shows as few lines as it has, and a newline at the end."""
    return json.dumps(board, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _panel(raw: dict[str, Any]) -> dict[str, Any]:
    if raw["type"] == "row":
        return {**_kept(raw, ROW_KEYS), "panels": [_panel(panel) for panel in raw["panels"]]}
    if raw["type"] == "text":
        made = _kept(raw, TEXT_KEYS)
        return {**made, "options": {"code": {"language": "plaintext", "showLineNumbers": False, "showMiniMap": False}, **made["options"]}}
    made = _kept(raw, PANEL_KEYS)
    made["targets"] = [_target(target) for target in raw["targets"]]
    made["fieldConfig"] = _fields(made["fieldConfig"])
    made["options"] = _with_new(raw["type"], made["options"])
    return made


def _with_new(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Options with those that today's Grafana writes for the kind and grafanalib does not know."""
    made = {**NEW_OPTIONS.get(kind, {}), **options}
    if "displayMode" in made.get("legend", {}):
        made["legend"] = {"calcs": [], "showLegend": True, **made["legend"]}
    if "mode" in made.get("tooltip", {}) and kind == "state-timeline":
        made["tooltip"] = {"sort": "none", **made["tooltip"]}
    return made


def _target(raw: dict[str, Any]) -> dict[str, Any]:
    return {**_kept(raw, TARGET_KEYS), "editorMode": "code", "range": not raw["instant"]}


def _fields(raw: dict[str, Any]) -> dict[str, Any]:
    """Field configuration without nulls, but for the first threshold's value, which must be one; a linear scale has no logarithm."""
    defaults = _without_nulls(raw["defaults"])
    steps = raw["defaults"].get("thresholds", {}).get("steps") or [{"color": "green", "value": None}]
    defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    custom = defaults.get("custom", {})
    if custom.get("scaleDistribution", {}).get("type") == "linear":
        custom["scaleDistribution"] = {"type": "linear"}
    return {"defaults": defaults, "overrides": raw["overrides"]}


def _variable(raw: dict[str, Any]) -> dict[str, Any]:
    if raw["type"] == "datasource":
        made = _kept(raw, DATASOURCE_KEYS)
        return {**made, "current": {"selected": True, "text": "default", "value": "default"}, "options": [], "refresh": 1, "regex": ""}
    made = _kept(raw, VARIABLE_KEYS)
    made.pop("current")
    chosen = {"current": {"selected": True, "text": ["All"], "value": ["$__all"]}} if raw["includeAll"] else {}
    query = {"qryType": 1, "query": raw["query"], "refId": "PrometheusVariableQueryEditor-VariableQuery"}
    return {**made, **chosen, "definition": raw["query"], "options": [], "query": query,
            "regex": ""}  # fmt: skip


def _kept(raw: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: raw[key] for key in keys if raw.get(key) is not None and not (key in EMPTY_MEANS_NOTHING and not raw[key])}


def _without_nulls(raw: Any) -> Any:
    if isinstance(raw, dict):
        return {key: _without_nulls(value) for key, value in raw.items() if value is not None}
    return [_without_nulls(value) for value in raw] if isinstance(raw, list) else raw
