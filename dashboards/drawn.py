"""Panels that grafanalib draws for a Grafana of years ago or not at all, in today's form: table, heatmap, bar gauge, status history."""

from collections.abc import Sequence
from typing import Any

from grafanalib import core


class Drawn(core.Panel):  # type: ignore[misc]  # grafanalib has no types
    """A panel of any kind: what makes it one stands in `extraJson` (see `content`)."""

    def to_json_data(self) -> dict[str, Any]:
        """Grafanalib's frame of a panel with this one's content."""
        made: dict[str, Any] = self.panel_json({})
        return made


def content(kind: str, defaults: dict[str, Any], options: dict[str, Any], overrides: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """`extraJson` of a panel of that kind: field defaults and overrides, and the options of the kind."""
    return {"type": kind, "fieldConfig": {"defaults": defaults, "overrides": list(overrides)}, "options": options}


def table_options(sort_by: str, *, descending: bool) -> dict[str, Any]:
    """A table that is sorted by a column when it opens."""
    return {"cellHeight": "sm", "footer": {"show": False, "reducer": ["sum"], "fields": []}, "frameIndex": 0, "showHeader": True,
            "sortBy": [{"displayName": sort_by, "desc": descending}]}  # fmt: skip


def heatmap_options(unit: str, *, calculate: bool, cells: int) -> dict[str, Any]:
    """A heatmap of ready buckets, or of series that Grafana sorts into `cells` buckets."""
    made: dict[str, Any] = {
        "calculate": calculate,
        "cellGap": 1,
        "color": {"exponent": 0.5, "fill": "dark-orange", "mode": "scheme", "reverse": False, "scale": "exponential", "scheme": "Oranges",
                  "steps": 64},
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "showValue": "never",
        "tooltip": {"mode": "single", "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": unit},
    }  # fmt: skip
    if calculate:
        made["calculation"] = {"yBuckets": {"mode": "count", "value": str(cells)}}
    return made


STATUS_HISTORY_OPTIONS: dict[str, Any] = {
    "colWidth": 0.9,
    "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
    "rowHeight": 0.9,
    "showValue": "never",
    "tooltip": {"mode": "single", "sort": "none"},
}
BAR_OPTIONS: dict[str, Any] = {
    "displayMode": "basic",
    "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False},
    "maxVizHeight": 300,
    "minVizHeight": 16,
    "minVizWidth": 8,
    "namePlacement": "auto",
    "orientation": "horizontal",
    "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    "showUnfilled": True,
    "sizing": "auto",
    "valueMode": "color",
}
