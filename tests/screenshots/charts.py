"""Panels with a time axis: lines, states, heatmaps. Draws into axes; knows Grafana's panel JSON, no Prometheus."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from tests.screenshots.answers import Series, Span
from tests.screenshots.numbers import COLORS, PALETTE, color_of, mapped, step_color, written

TEXT, FAINT, GRID = COLORS["text"], "#8e8e8e", "#2c3235"
LEGEND_MAX = 6


def timeseries(axes: Axes, panel: Mapping[str, Any], series: Sequence[Series], span: Span) -> None:
    """Lines over time, filled and stacked as the panel says, with a legend below."""
    defaults = panel["fieldConfig"]["defaults"]
    custom, unit = defaults["custom"], defaults.get("unit", "none")
    is_stacked = custom.get("stacking", {}).get("mode") == "normal"
    base: dict[float, float] = {}
    colors = [_own_color(panel, one.name) or PALETTE[place % len(PALETTE)] for place, one in enumerate(series)]
    for one, color in zip(series, colors, strict=True):
        xs, own = _unbroken(one)
        floor = [base.get(at, 0.0) if is_stacked else 0.0 for at in xs]
        ys = [value + below for value, below in zip(own, floor, strict=True)]
        axes.fill_between(xs, ys, floor, color=color, alpha=custom.get("fillOpacity", 0) / 100, lw=0)
        axes.plot(
            xs,
            ys,
            color=color,
            lw=1,
            marker="." if len(xs) == 1 else "",
            drawstyle="steps-mid" if custom["drawStyle"] == "bars" else "default",
        )
        if is_stacked:
            base.update((at, value) for at, value in zip(xs, ys, strict=True) if not math.isnan(value))
    if custom.get("thresholdsStyle", {}).get("mode") == "dashed":
        for step in defaults["thresholds"]["steps"]:
            if step["value"] is not None:
                axes.axhline(step["value"], color=color_of(step["color"]), lw=1, ls="--")
    _value_axis(axes, defaults, [value for one in series for _, value in one.points], max(base.values(), default=0.0), span)
    _time_axis(axes, span)
    lines = [_line(one, unit, span) for one in series]
    _legend(axes, list(zip(lines, colors, strict=True)))


def _value_axis(axes: Axes, defaults: Mapping[str, Any], values: Sequence[float], stacked: float, span: Span) -> None:
    """From the least to the greatest value, from 0 on where the panel says so."""
    soft = defaults["custom"].get("axisSoftMin")
    least = defaults.get("min", min(*values, soft if soft is not None else math.inf))
    most = defaults.get("max", 1.08 * max(*values, stacked))
    axes.set_ylim(least, most if most > least else least + 1)
    ticks = [tick for tick in axes.get_yticks() if least <= tick <= max(most, least + 1)]
    axes.set_yticks(ticks, [written(tick, defaults.get("unit", "none"), span.to_s) for tick in ticks])


def _unbroken(one: Series) -> tuple[list[float], list[float]]:
    """Times and values, with a value that is no number where points are missing: Grafana draws no line over a gap."""
    step_s = min((after - before for (before, _), (after, _) in pairwise(one.points)), default=0.0)
    xs, ys = [one.points[0][0]], [one.points[0][1]]
    for (before, _), (at, value) in pairwise(one.points):
        if at - before > 1.5 * step_s:
            xs.append(before + step_s)
            ys.append(math.nan)
        xs.append(at)
        ys.append(value)
    return xs, ys


def _line(one: Series, unit: str, span: Span) -> str:
    """A series in the legend."""
    most = max(value for _, value in one.points)
    return f"{one.name or '(none)'}   max {written(most, unit, span.to_s)}   last {written(one.last, unit, span.to_s)}"


def states(axes: Axes, panel: Mapping[str, Any], series: Sequence[Series], span: Span) -> None:
    """A bar for each series, coloured by its state: joined in a timeline, apart in a history."""
    defaults = panel["fieldConfig"]["defaults"]
    is_history = panel["type"] == "status-history"
    step_s = (series[0].points[1][0] - series[0].points[0][0]) if len(series[0].points) > 1 else span.step_s
    for place, one in enumerate(series):
        for at, value in one.points:
            word = mapped(f"{value:g}", defaults.get("mappings", ()))
            color = word[1] if word else step_color(value, defaults.get("thresholds", {}))
            axes.add_patch(
                Rectangle((at - step_s / 2, place - 0.4), step_s * (0.85 if is_history else 1.02), 0.8, color=color, alpha=0.8, lw=0)
            )
    axes.set_ylim(len(series) - 0.5, -0.5)
    axes.set_yticks(range(len(series)), [one.name for one in series])
    axes.tick_params(axis="y", labelsize=7 if len(series) < 16 else 5)
    _time_axis(axes, span, grid=False)
    words = {word for one in series for _, value in one.points if (word := mapped(f"{value:g}", defaults.get("mappings", ())))}
    _legend(axes, sorted(words), columns=6)


def heatmap(axes: Axes, panel: Mapping[str, Any], series: Sequence[Series], span: Span) -> None:
    """How many values lie where over time."""
    unit = panel["options"]["yAxis"].get("unit", "none")
    if not panel["options"]["calculate"]:
        _buckets(axes, series, span, unit)
        return
    points = [point for one in series for point in one.points]
    cells = int(panel["options"]["calculation"]["yBuckets"]["value"])
    high = max(value for _, value in points) or 1.0
    axes.hist2d(
        [at for at, _ in points],
        [value for _, value in points],
        bins=(40, cells),
        range=((span.from_s, span.to_s), (0, high * 1.001)),
        cmap="Oranges",
        cmin=1,
    )
    axes.set_yticks(axes.get_yticks(), [written(tick, unit, span.to_s) for tick in axes.get_yticks()])
    axes.set_ylim(0, high * 1.001)
    _time_axis(axes, span, grid=False)


def _buckets(axes: Axes, series: Sequence[Series], span: Span, unit: str) -> None:
    ordered = sorted(series, key=lambda one: math.inf if one.labels.get("le") == "+Inf" else float(one.labels.get("le", 0)))
    before: Mapping[float, float] = {}
    most = max((value for one in ordered for _, value in one.points), default=1.0) or 1.0
    for place, one in enumerate(ordered):
        for at, value in one.points:
            share = max(value - before.get(at, 0.0), 0.0) / most
            axes.add_patch(
                Rectangle((at - span.step_s / 2, place), span.step_s, 1, color=COLORS["dark-orange"], alpha=min(1.0, share**0.5), lw=0)
            )
        before = dict(one.points)
    axes.set_ylim(0, len(ordered))
    axes.set_yticks(
        [place + 1 for place in range(len(ordered))],
        [
            one.labels.get("le", "") if one.labels.get("le") == "+Inf" else written(float(one.labels["le"]), unit, span.to_s)
            for one in ordered
        ],
    )
    _time_axis(axes, span, grid=False)


def _time_axis(axes: Axes, span: Span, *, grid: bool = True) -> None:
    axes.set_xlim(span.from_s, span.to_s)
    ticks = [span.from_s + (span.to_s - span.from_s) * part / 5 for part in range(1, 5)]
    axes.set_xticks(ticks, [datetime.fromtimestamp(tick, UTC).strftime("%H:%M:%S") for tick in ticks])
    if grid:
        axes.grid(visible=True, color=GRID, lw=0.5)


def _legend(axes: Axes, entries: Sequence[tuple[str, str]], columns: int = 1) -> None:
    """Below the axis, cut where it does not fit."""
    shown = entries[: LEGEND_MAX * columns]
    box = axes.get_window_extent()
    for place, (text, color) in enumerate(shown):
        x, y = (place % columns) / columns, -(30 + 13 * (place // columns)) / box.height
        axes.text(x, y, "■ ", fontsize=8, color=color, transform=axes.transAxes, va="center")
        axes.text(x + 12 / box.width, y, text, fontsize=7, color=TEXT, transform=axes.transAxes, va="center")
    if len(entries) > len(shown):
        axes.text(
            1,
            -30 / box.height,
            f"{len(entries) - len(shown)} more",
            ha="right",
            fontsize=7,
            color=FAINT,
            transform=axes.transAxes,
            va="center",
        )


def _own_color(panel: Mapping[str, Any], name: str) -> str | None:
    for override in panel["fieldConfig"].get("overrides", ()):
        if override["matcher"]["options"] == name:
            for one in override["properties"]:
                if one["id"] == "color":
                    return color_of(one["value"]["fixedColor"])
    return None
