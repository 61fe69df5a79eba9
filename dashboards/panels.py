"""The thin face over grafanalib: queries in, charts out. `timeseries("Sent", "…", rate(ib.TRANSMITTED))`. Tables: tables.py.

Units follow from the queries, legends from their labels; thresholds and state colours come from words.py, so that a colour means the same
on every board. Raises FaceError for a panel that could not be read: no description, or queries of two units on one axis.
"""

from grafanalib import core

from dashboards import units
from dashboards.board import Place, Tile
from dashboards.drawn import BAR_OPTIONS, STATUS_HISTORY_OPTIONS, Drawn, content, heatmap_options
from dashboards.frame import NO_WORDS, Steps, defaults_of, for_name, frame, given, led, one_unit, setting, thresholds, tile
from dashboards.promql import RANGE
from dashboards.query import Query
from dashboards.ways import Way
from dashboards.words import BLUE, GREEN, Words, mapping

WIDE = 24
"""Columns from which on a chart has room for a table of its series beside it."""
CELLS = 24
"""Buckets of a heatmap that Grafana sorts series into."""


def timeseries(title: str, text: str, *queries: Query, w: int = 12, h: int = 8, steps: Steps = (), way: Way | None = None,
               most: float | None = None, stacked: bool = False, words: Words = NO_WORDS, bars: bool = False) -> Tile:  # fmt: skip
    """Lines over time. `most` is the top of the axis where values have one; `steps` draw lines of warning, `words` colour series."""

    def draw(place: Place) -> core.Panel:
        return core.TimeSeries(
            **frame(title, text, queries, place),
            unit=one_unit(title, queries),
            drawStyle="bars" if bars else "line",
            fillOpacity=60 if stacked or bars else 8,
            showPoints="never",
            stacking={"mode": "normal" if stacked else "none", "group": "A"},
            tooltipMode="multi",
            tooltipSort="desc",
            legendDisplayMode="table" if w >= WIDE else "list",
            legendCalcs=["max", "lastNotNull"] if w >= WIDE else [],
            legendPlacement="right" if w >= WIDE else "bottom",
            thresholds=thresholds(steps),
            thresholdsStyleMode="dashed" if steps else "off",
            axisSoftMin=0,
            overrides=[for_name(name, setting("color", {"mode": "fixed", "fixedColor": word.color})) for name, word in words.items()],
            extraJson=defaults_of(max=most, min=0 if most is not None else None, links=_links(title, way, queries)),
        )

    return tile(title, text, w, h, queries, draw)


def stat(title: str, text: str, query: Query, *, w: int = 4, h: int = 4, steps: Steps = (), words: Words = NO_WORDS,
         color: str = GREEN, trend: bool = True, none: str = "–", shows: str = "auto") -> Tile:  # fmt: skip
    """One number, the newest: asked as of now where an older one would mislead, else with its trend. `none` is what stands there where
    nothing answers; `shows` may be `name` for series that say it by their label."""
    is_instant = bool(words) or not trend or bool(query.may_be_empty) or RANGE in query.text

    def draw(place: Place) -> core.Panel:
        return core.Stat(
            **frame(title, text, (query,), place, is_instant=is_instant),
            format=query.unit,
            decimals=0 if query.counts_events else None,
            color={"mode": "thresholds"},
            colorMode="background" if steps or words else "value",
            graphMode="none" if is_instant else "area",
            mappings=mapping(words),
            noValue=none,
            reduceCalc="lastNotNull",
            thresholds=thresholds(steps, color),
            alignment="auto",
            textMode=shows,
        )

    return tile(title, text, w, h, (query,), draw, is_instant=is_instant)


def state_timeline(title: str, text: str, *queries: Query, words: Words, w: int = 24, h: int = 8, way: Way | None = None) -> Tile:
    """When each series was in which state; states are merged while they last."""

    def draw(place: Place) -> core.Panel:
        return core.StateTimeline(
            **frame(title, text, queries, place),
            mappings=mapping(words),
            thresholds=thresholds(()),
            fillOpacity=80,
            showValue="never",
            extraJson=defaults_of(links=_links(title, way, queries)),
        )

    return tile(title, text, w, h, queries, draw)


def status_history(title: str, text: str, *queries: Query, words: Words, w: int = 24, h: int = 8, way: Way | None = None) -> Tile:
    """The state of each series at regular moments: shows gaps, which a timeline bridges."""

    def draw(place: Place) -> core.Panel:
        defaults = given({"mappings": mapping(words), "color": {"mode": "thresholds"}, "custom": {"fillOpacity": 80, "lineWidth": 0},
                           "links": _links(title, way, queries)})  # fmt: skip
        framed = frame(title, text, queries, place, most_points=60)
        return Drawn(**framed, extraJson=content("status-history", defaults, STATUS_HISTORY_OPTIONS), thresholds=thresholds(()))

    return tile(title, text, w, h, queries, draw)


def bars(title: str, text: str, query: Query, *, w: int = 12, h: int = 8, steps: Steps = (), most: float | None = None,
         color: str = BLUE) -> Tile:  # fmt: skip
    """One horizontal bar for each series, as of now."""

    def draw(place: Place) -> core.Panel:
        defaults = given({"unit": query.unit, "min": 0, "max": most, "color": {"mode": "thresholds"}})
        framed = frame(title, text, (query,), place, is_instant=True)
        return Drawn(**framed, extraJson=content("bargauge", defaults, BAR_OPTIONS), thresholds=thresholds(steps, color))

    return tile(title, text, w, h, (query,), draw, is_instant=True)


def heatmap(title: str, text: str, query: Query, *, w: int = 12, h: int = 8) -> Tile:
    """How many series lie in which range of values over time; a query of buckets (label `le`) is taken as it is."""
    ready = "le" in query.labels
    unit = units.RATIO if ready else query.unit

    def draw(place: Place) -> core.Panel:
        framed = frame(title, text, (query.called("{{le}}") if ready else query,), place, form="heatmap" if ready else "time_series")
        options = heatmap_options(unit, calculate=not ready, cells=CELLS)
        custom = {"custom": {"hideFrom": {"legend": False, "tooltip": False, "viz": False}, "scaleDistribution": {"type": "linear"}}}
        return Drawn(**framed, extraJson=content("heatmap", custom, options))

    return tile(title, text, w, h, (query,), draw)


def words(title: str, text: str, markdown: str, *, w: int = 24, h: int = 6) -> Tile:
    """Markdown."""

    def draw(place: Place) -> core.Panel:
        return core.Text(title=title, description=text, content=markdown, id=place.number, gridPos=place.grid)

    return tile(title, text, w, h, (), draw)


def _links(title: str, way: Way | None, queries: tuple[Query, ...]) -> list[dict[str, object]] | None:
    """Data links of a chart: labels are the series' own, so every query must have them."""
    shared = set.intersection(*(set(query.labels) for query in queries))
    return [way.from_series()] if way and led(title, way, shared) else None
