"""Which links are sick, since when, why: the questions that several boards ask, and the tiles that answer them.

Whatever level a link is at, its reasons are listed; a link that is kept at its level for a while after its last reason went has none.
"""

from dashboards.board import Annotation, Tile
from dashboards.panels import state_timeline
from dashboards.promql import highest_ever, since, value
from dashboards.query import Query
from dashboards.tables import Column, Label, table
from dashboards.ways import TO_LINK, TO_LINK_OF_NODE, TO_NODE
from dashboards.words import HEALTH, REASONS, RED
from exporter.catalog import signals

LINK = ("node", "fabric", "device", "port")
REASON = (*LINK, "reason")
NO_FAULT = "nothing is wrong"
SHOWN_MOST = 40
"""Rows of a timeline, at most: more cannot be read on one screen."""


def conditions() -> Query:
    """Active reasons, each series with the health of its link; and sick links that have no reason any more."""
    active = value(signals.CONDITION).max_by(*REASON)
    health = value(signals.HEALTH).max_by(*LINK)
    return active.valued(health, *LINK).or_else(health.only("> 0", NO_FAULT), *LINK).sometimes(NO_FAULT)


def sick_links(title: str, text: str, *, with_node: bool, h: int = 10, only: Query | None = None) -> Tile:
    """The table of links that are not ok: where, how bad, why, since when; the worst first. `only` keeps links of its nodes."""
    status, began = conditions(), since(signals.CONDITION_SINCE).max_by(*REASON).sometimes(NO_FAULT)
    if only is not None:
        status, began = status.where_also(only, *only.labels), began.where_also(only, *only.labels)
    places = {"node": Label(width=190, way=TO_NODE)} if with_node else {}
    return table(
        title,
        text,
        Column("since", began, width=160),
        Column("status", status, words=HEALTH, width=100, first=True),
        labels={**places, "fabric": Label(width=110), "device": Label(width=110), "port": Label(width=120), "reason": Label(words=REASONS)},
        sort="status",
        way=TO_LINK if with_node else TO_LINK_OF_NODE,
        h=h,
    )


def sick_over_time(title: str, text: str, *, h: int = 9, only: Query | None = None) -> Tile:
    """When each link that was not ok at any moment of the time range was how ill."""
    ever = highest_ever(signals.HEALTH).max_by(*LINK).only("> 0", NO_FAULT)
    if only is not None:
        ever = ever.where_also(only, *only.labels)
    shown = value(signals.HEALTH).max_by(*LINK).where_also(ever.top(SHOWN_MOST), *LINK)
    return state_timeline(title, text, shown, words=HEALTH, h=h, way=TO_LINK)


ONSETS = Annotation("What fell sick", since(signals.CONDITION_SINCE).sometimes(NO_FAULT), "{{reason}}",
                    "{{node}} {{fabric}}/{{device}}/{{port}}", RED)  # fmt: skip
"""A mark where each active reason was raised."""
