"""Panels of one kind each, drawn into their rectangle. Knows Grafana's panel JSON as dashboards/ writes it; knows no Prometheus."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from tests.screenshots.answers import Series, Span
from tests.screenshots.charts import FAINT, GRID, TEXT, heatmap, states, timeseries
from tests.screenshots.numbers import COLORS, mapped, step_color, written
from tests.screenshots.tables import cells_of

PANEL, ROW_PX = "#181b1f", 26
NO_DATA = "No data"
Draw = Callable[[Axes, Mapping[str, Any], Sequence[Series], Span], None]


def draw(axes: Axes, panel: Mapping[str, Any], series: Sequence[Series], span: Span) -> None:
    """The panel's content below its title. `axes` is the content's rectangle, in pixels of the picture."""
    axes.set_facecolor(PANEL)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(colors=FAINT, labelsize=7, length=0)
    if not series and panel["type"] != "text":
        _empty(axes, panel.get("fieldConfig", {}).get("defaults", {}).get("noValue") or NO_DATA)
        return
    KINDS[panel["type"]](axes, panel, series, span)


def _stat(axes: Axes, panel: Mapping[str, Any], series: Sequence[Series], span: Span) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    value = series[0].last
    word = mapped(f"{value:g}", defaults.get("mappings", ()))
    text, color = word or (written(value, defaults.get("unit", "none"), span.to_s), step_color(value, defaults["thresholds"]))
    is_filled = panel["options"]["colorMode"] == "background"
    _blank(axes)
    if is_filled:
        axes.add_patch(Rectangle((0, 0), 1, 1, color=color, alpha=0.85, transform=axes.transAxes))
    elif panel["options"].get("graphMode") == "area" and len(series[0].points) > 1:
        low, high = min(v for _, v in series[0].points), max(v for _, v in series[0].points)
        xs = [(at - span.from_s) / (span.to_s - span.from_s) for at, _ in series[0].points]
        ys = [0.05 + 0.3 * (v - low) / ((high - low) or 1) for _, v in series[0].points]
        axes.fill_between(xs, ys, color=color, alpha=0.25, lw=0)
    axes.text(0.5, 0.55, text, ha="center", va="center", fontsize=17, color="#0b0c0e" if is_filled else color, transform=axes.transAxes)


def _bars(axes: Axes, panel: Mapping[str, Any], series: Sequence[Series], span: Span) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    most = defaults.get("max") or max((one.last for one in series), default=1) or 1
    for place, one in enumerate(series):
        color = step_color(one.last, defaults["thresholds"])
        axes.barh(place, most, color="#22252b", height=0.7)
        axes.barh(place, one.last, color=color, height=0.7)
        axes.text(most * 1.02, place, written(one.last, defaults.get("unit", "none"), span.to_s), va="center", fontsize=8, color=color)
    axes.set_yticks(range(len(series)), [one.name for one in series])
    axes.set_xlim(0, most * 1.25)
    axes.set_ylim(len(series) - 0.5, -0.5)
    axes.set_xticks([])


def _table(axes: Axes, panel: Mapping[str, Any], series: Sequence[Series], span: Span) -> None:
    _blank(axes)
    box = axes.get_window_extent()
    heads, rows = cells_of(panel, series, span.to_s)
    fixed = [head.width for head in heads if head.width]
    spare = max(box.width - sum(fixed), 60 * len(heads)) / max(1, len(heads) - len(fixed))
    lefts, left = [], 0.0
    for head in heads:
        lefts.append(left)
        left += head.width or spare
    fit = max(1, int(box.height // ROW_PX) - 1)
    for place, row in enumerate([[(head.text, COLORS["blue"], None) for head in heads], *rows[:fit]]):
        y = 1 - (place + 0.5) * ROW_PX / box.height
        for x, head, (text, color, back) in zip(lefts, heads, row, strict=True):
            width = head.width or spare
            if back:
                axes.add_patch(
                    Rectangle(
                        (x / box.width, y - 0.45 * ROW_PX / box.height),
                        width / box.width,
                        0.9 * ROW_PX / box.height,
                        color=back,
                        alpha=0.85,
                        lw=0,
                        transform=axes.transAxes,
                    )
                )
            cut = int(width / 6.2)
            axes.text(
                (x + 6) / box.width,
                y,
                text if len(text) <= cut else text[: cut - 1] + "…",
                va="center",
                fontsize=8,
                color=color,
                transform=axes.transAxes,
            )
        axes.plot([0, 1], [y - ROW_PX / 2 / box.height] * 2, color=GRID, lw=0.5, transform=axes.transAxes)
    if len(rows) > fit:
        axes.text(0.995, 0.01, f"{len(rows) - fit} more below", ha="right", va="bottom", fontsize=7, color=FAINT, transform=axes.transAxes)


def _text(axes: Axes, panel: Mapping[str, Any], _series: Sequence[Series], _span: Span) -> None:
    _blank(axes)
    box = axes.get_window_extent()
    lines = [
        line
        for part in panel["options"]["content"].replace("**", "").split("\n")
        for line in (textwrap.wrap(part, int(box.width / 6.3)) or [""])
    ]
    axes.text(0.008, 0.98, "\n".join(lines), va="top", fontsize=8, color=TEXT, linespacing=1.35, transform=axes.transAxes)


def _empty(axes: Axes, text: str) -> None:
    _blank(axes)
    axes.text(0.5, 0.5, text, ha="center", va="center", fontsize=12 if len(text) < 30 else 8, color=FAINT, transform=axes.transAxes)


def _blank(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


KINDS: Mapping[str, Draw] = {
    "stat": _stat,
    "timeseries": timeseries,
    "state-timeline": states,
    "status-history": states,
    "bargauge": _bars,
    "heatmap": heatmap,
    "table": _table,
    "text": _text,
}
"""Kind of panel → what draws it."""
