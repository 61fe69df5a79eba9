"""A board as its author writes it: sections of tiles, a scope, variables. Lays tiles out and hands the whole to grafanalib."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from grafanalib import core

from dashboards.query import FaceError, Query
from dashboards.ways import TAG
from exporter.catalog import probes
from exporter.model.metric import Metric

COLUMNS = 24
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
NO_PROBES = "no simulated node is probed"
_MARK = re.compile(r"⟦([^⟧]*)⟧")


class Expect(Enum):
    """Whether a query answers something on a healthy, fully equipped fleet."""

    DATA = "data"
    MAYBE = "maybe"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a board is about: label → matcher added to every selector whose row has the label. `fixed` labels have one value on the whole
    board, so no legend names them."""

    matchers: Mapping[str, str]
    fixed: frozenset[str] = frozenset({"pool"})

    def fill(self, text: str) -> str:
        """The query with its marks replaced by the scope's matchers."""
        filled = _MARK.sub(lambda mark: ",".join(self.matchers[label] for label in mark[1].split(",") if label in self.matchers), text)
        return filled.replace("{,", "{").replace("{}", "")

    def legend(self, query: Query) -> str:
        """Grafana's legend of a query: its own, else its labels, `device/port` together."""
        if query.legend is not None:
            return query.legend
        shown = [label for label in query.labels if label not in self.fixed]
        words = ["{{device}}/{{port}}" if label == "device" and "port" in shown else f"{{{{{label}}}}}" for label in shown
                 if not (label == "port" and "device" in shown)]  # fmt: skip
        return " ".join(words) or "all"


FLEET = Scope({"pool": 'pool=~"$pool"', "node": 'node=~"$node"'})
ONE_NODE = Scope({"pool": 'pool=~"$pool"', "node": 'node="$node"'}, frozenset({"pool", "node"}))
DEVICES = Scope({**FLEET.matchers, "device": 'device=~"$device"'})
ONE_LINK = Scope({**ONE_NODE.matchers, "fabric": 'fabric="$fabric"', "device": 'device="$device"', "port": 'port="$port"'},
                 frozenset({"pool", "node", "fabric", "device", "port"}))  # fmt: skip


class Place(NamedTuple):
    """Where a panel goes, and what it needs of its board."""

    number: int
    grid: core.GridPos
    scope: Scope


Drawing = Callable[[Place], core.Panel]
"""Makes grafanalib's panel once it has a place."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One panel before it has a place. `text` is its description; `draw` makes grafanalib's panel."""

    title: str
    text: str
    width: int
    height: int
    queries: tuple[Query, ...]
    draw: Drawing
    is_instant: bool = False
    """Asked as of now only, not over time."""


@dataclass(frozen=True, slots=True)
class Section:
    """A row of the board with what stands below it. Folded sections are queried when a reader opens them."""

    title: str
    tiles: tuple[Tile, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A template variable: the values of `label` on the series that `selector` (a bare selector, scope filled in) finds."""

    name: str
    title: str
    selector: str
    label: str
    text: str
    many: bool = True
    every: str | None = ".*"
    """What `All` stands for; None for all values that were found."""
    row: Metric | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """Marks on every time axis at the points in time that a query holds (milliseconds)."""

    name: str
    query: Query
    title: str
    text: str
    color: str


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard. `uid` never changes."""

    uid: str
    title: str
    text: str
    scope: Scope
    variables: tuple[Variable, ...]
    sections: tuple[Section, ...]
    annotations: tuple[Annotation, ...] = ()
    span: str = "now-6h"

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """All panels in the order of the page."""
        return tuple(tile for section in self.sections for tile in section.tiles)


class Asked(NamedTuple):
    """One question to Prometheus: of a panel, a variable or an annotation of a board, as Grafana sends it but for its `$` variables.

    `unit` is Grafana's; `expect` and `why` say whether it may stay without answer.
    """

    board: str
    panel: str
    expr: str
    unit: str
    expect: Expect
    why: str
    is_instant: bool = False


def expectation(query: Query) -> tuple[Expect, str]:
    """Whether the query should find something, and why not."""
    if any(row in probes.ROWS for row in query.rows):
        return Expect.NEVER, NO_PROBES
    return (Expect.MAYBE, query.may_be_empty) if query.may_be_empty else (Expect.DATA, "")


def grafana(board: Board) -> core.Dashboard:
    """The board as grafanalib has it. Raises FaceError if two panels of the board share a title or a tile is wider than the page."""
    titles = [tile.title for tile in board.tiles]
    if twice := {title for title in titles if titles.count(title) > 1}:
        raise FaceError(f"board {board.uid} has two panels of the title {sorted(twice)}")
    return core.Dashboard(
        title=board.title,
        uid=board.uid,
        description=board.text,
        tags=[TAG],
        panels=_Layout(board.scope).panels(board.sections),
        templating=core.Templating(list=[_datasource(), *(_template(variable, board) for variable in board.variables)]),
        annotations=core.Annotations(list=[_annotation(annotation, board.scope) for annotation in board.annotations]),
        links=[core.DashboardLink(title="Boards", tags=[TAG], asDropdown=True, includeVars=True, keepTime=True)],
        time=core.Time(board.span, "now"),
        refresh="1m",
        timezone="browser",
        graphTooltip=core.GRAPH_TOOLTIP_MODE_SHARED_CROSSHAIR,
    )


@dataclass(slots=True)
class _Layout:
    """Tiles from left to right, a new line where the next does not fit; numbers panels in order."""

    scope: Scope
    top: int = 0
    number: int = 0
    _line: list[int] = field(default_factory=lambda: [0, 0])

    def panels(self, sections: tuple[Section, ...]) -> list[core.Panel]:
        """Every row and panel with its place."""
        return [panel for section in sections for panel in self._section(section)]

    def _section(self, section: Section) -> list[core.Panel]:
        grid = core.GridPos(h=1, w=COLUMNS, x=0, y=self.top)
        row = core.RowPanel(title=section.title, gridPos=grid, id=self._next(), collapsed=section.folded)
        self.top, self._line = self.top + 1, [0, 0]
        drawn = [tile.draw(Place(self._next(), self._grid(tile), self.scope)) for tile in section.tiles]
        self.top += self._line[1]
        if section.folded:
            row.panels = drawn
            return [row]
        return [row, *drawn]

    def _grid(self, tile: Tile) -> core.GridPos:
        left, height = self._line
        if tile.width > COLUMNS:
            raise FaceError(f"panel {tile.title} is {tile.width} wide; a page has {COLUMNS} columns")
        if left + tile.width > COLUMNS:
            self.top, left, height = self.top + height, 0, 0
        self._line = [left + tile.width, max(height, tile.height)]
        return core.GridPos(h=tile.height, w=tile.width, x=left, y=self.top)

    def _next(self) -> int:
        self.number += 1
        return self.number


def _datasource() -> core.Template:
    return core.Template(name="datasource", label="Data source", type="datasource", query="prometheus", default="default")


def _template(variable: Variable, board: Board) -> core.Template:
    query = f"label_values({selector_of(variable, board)}, {variable.label})"
    return core.Template(
        name=variable.name,
        label=variable.title,
        query=query,
        dataSource=DATASOURCE,
        refresh=core.REFRESH_ON_TIME_RANGE_CHANGE,
        includeAll=variable.many,
        multi=variable.many,
        allValue=variable.every if variable.many else None,
        default="All" if variable.many else None,
        sort=core.SORT_NUMERIC_ASC if variable.name == "port" else core.SORT_ALPHA_ASC,
    )


def selector_of(variable: Variable, board: Board) -> str:
    """The selector of a variable, with the matchers of the variables that stand before it: the others depend on it."""
    before = {other.name for other in board.variables[: board.variables.index(variable)]}
    return Scope({label: matcher for label, matcher in board.scope.matchers.items() if label in before}).fill(variable.selector)


def _annotation(annotation: Annotation, scope: Scope) -> dict[str, Any]:
    return {
        "name": annotation.name,
        "datasource": DATASOURCE,
        "enable": True,
        "hide": False,
        "iconColor": annotation.color,
        "expr": scope.fill(annotation.query.text),
        "titleFormat": annotation.title,
        "textFormat": annotation.text,
        "useValueForTime": True,
        "step": "60s",
    }
