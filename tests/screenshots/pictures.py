"""A board as pictures: panels where Grafana puts them, a page for so many rows of the grid."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from tests.fleet.questions import Pick
from tests.real.prometheus_server import PrometheusServer
from tests.screenshots.answers import Span, answers_of
from tests.screenshots.drawing import KINDS, PANEL, TEXT, draw

COLUMNS, WIDTH_PX, UNIT_PX, GAP_PX, DPI = 24, 1440, 38, 8, 100
"""Grafana's grid: 24 columns; a unit of height is 30 pixels and a gap."""
PAGE_UNITS = 34
HEAD_PX, TITLE_PX, LEGEND_PX = 44, 24, 100
BACKGROUND = "#111217"

mpl.rcParams["font.family"] = "DejaVu Sans"


def pictures_of(server: PrometheusServer, board: Mapping[str, Any], pick: Pick, span: Span, folder: Path) -> Iterator[Path]:
    """The pages of a board, written to the folder one after the other."""
    for number, panels in enumerate(_pages(board), start=1):
        path = folder / f"{board['uid']}-{number}.png"
        _page(server, board["title"], panels, pick, span).savefig(path, dpi=DPI, facecolor=BACKGROUND)
        yield path


def _pages(board: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """Panels by page, rows of the board opened; a page begins where a line of panels does."""
    panels: list[Mapping[str, Any]] = []
    for panel in board["panels"]:
        panels += [panel, *panel.get("panels", ())]
    panels = _unfolded(panels)
    pages: list[list[Mapping[str, Any]]] = [[]]
    top = 0
    for panel in panels:
        place = panel["gridPos"]
        if place["y"] + place["h"] - top > PAGE_UNITS and place["x"] == 0 and pages[-1]:
            heads = [pages[-1].pop()] if pages[-1][-1]["type"] == "row" else []
            pages.append(heads)
            top = (heads[0] if heads else panel)["gridPos"]["y"]
        pages[-1].append(panel)
    return pages


def _unfolded(panels: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Places as Grafana gives them when every row is opened: what follows a folded row moves down."""
    moved: list[Mapping[str, Any]] = []
    shift, bottom = 0, 0
    for panel in panels:
        place = panel["gridPos"]
        if panel["type"] == "row" and place["y"] + shift < bottom:
            shift = bottom - place["y"]
        moved.append({**panel, "gridPos": {**place, "y": place["y"] + shift}})
        bottom = max(bottom, place["y"] + shift + place["h"])
    return moved


def _page(server: PrometheusServer, title: str, panels: list[Mapping[str, Any]], pick: Pick, span: Span) -> Figure:
    top = min(panel["gridPos"]["y"] for panel in panels)
    height_px = HEAD_PX + UNIT_PX * (max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) - top) + GAP_PX
    figure = Figure((WIDTH_PX / DPI, height_px / DPI))
    chosen = "   ".join(f"{name}: {value}" for name, value in pick.items() if value)
    figure.text(GAP_PX / WIDTH_PX, 1 - 22 / height_px, title, color=TEXT, fontsize=13, va="center")
    figure.text(1 - GAP_PX / WIDTH_PX, 1 - 22 / height_px, chosen, color="#8e8e8e", fontsize=8, va="center", ha="right")
    for panel in panels:
        place = panel["gridPos"]
        left, width = place["x"] * WIDTH_PX / COLUMNS + GAP_PX / 2, place["w"] * WIDTH_PX / COLUMNS - GAP_PX
        up, height = HEAD_PX + (place["y"] - top) * UNIT_PX, place["h"] * UNIT_PX - GAP_PX
        box = _Box(figure, left, height_px - up - height, width, height, height_px)
        if panel["type"] == "row":
            box.text(4, height / 2, "▾ " + panel["title"], 11)
            continue
        box.ground()
        box.text(8, height - 13, panel["title"], 9)
        _content(box, server, panel, pick, span)
    return figure


def _content(box: "_Box", server: PrometheusServer, panel: Mapping[str, Any], pick: Pick, span: Span) -> None:
    series = answers_of(server, panel, pick, span) if panel["type"] in KINDS else []
    below = {"timeseries": min(LEGEND_PX, 26 + 13 * max(1, len(series))) + 8, "state-timeline": 46, "status-history": 46, "heatmap": 20}
    aside = {"timeseries": 66, "heatmap": 66}
    under = below.get(panel["type"], 4) if series else 4
    left = aside.get(panel["type"], 4) if series else 4
    if panel["type"] in ("state-timeline", "status-history", "bargauge"):
        left = max(60, min(300, 6 * max((len(one.name) for one in series), default=0) + 12))
    axes = box.figure.add_axes(box.part(left, under, box.width - left - 8, box.height - TITLE_PX - under - 4))
    draw(axes, panel, series, span)


class _Box:
    """A rectangle of a figure in pixels from its lower left corner."""

    def __init__(self, figure: Figure, left: float, bottom: float, width: float, height: float, whole: float) -> None:
        self.figure, self.left, self.bottom, self.width, self.height, self._whole = figure, left, bottom, width, height, whole

    def part(self, left: float, bottom: float, width: float, height: float) -> tuple[float, float, float, float]:
        """A rectangle within it, as shares of the figure."""
        return ((self.left + left) / WIDTH_PX, (self.bottom + bottom) / self._whole, max(width, 1) / WIDTH_PX, max(height, 1) / self._whole)

    def ground(self) -> None:
        """Fill it as the ground of a panel."""
        axes = self.figure.add_axes(self.part(0, 0, self.width, self.height))
        axes.set_facecolor(PANEL)
        axes.set_xticks([])
        axes.set_yticks([])
        for side in axes.spines.values():
            side.set_color("#25282e")

    def text(self, left: float, bottom: float, text: str, size: float) -> None:
        """One line."""
        x, y, _, _ = self.part(left, bottom, 1, 1)
        self.figure.text(x, y, text, color=TEXT, fontsize=size, va="center")
