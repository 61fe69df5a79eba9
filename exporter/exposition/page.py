"""Pages: a Scene rendered and compressed at most once per generation, and only when somebody asks.

Knows caching and content negotiation; the text is layout.py's. Memory is bounded: a few selections, one generation.
"""

import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from exporter.catalog import CATALOGUE
from exporter.catalog.internals import SERIES, SERIES_DROPPED
from exporter.catalog.limits import SERIES_CAP
from exporter.exposition.accept import accepts_gzip, wants_openmetrics
from exporter.exposition.choice import DROP_REASONS, Labels, choose
from exporter.exposition.client_library import OPENMETRICS_TYPE, ProcessNumbers, encode_openmetrics, families_in, families_of
from exporter.exposition.layout import Layout, lay_out, selected_readings, signature_of
from exporter.exposition.selection import EXPORTER, Selection, selection_of
from exporter.model.entity import NODE
from exporter.model.metric import Metric, Tier
from exporter.model.snapshot import Number, Reading, Scene, SeriesKey

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
GZIP_LEVEL = 1
"""Level 1 costs a quarter more bytes and a sixth of the CPU of level 9 (research/performance.md section 2.3 [M])."""

SELECTIONS_KEPT = 16


@dataclass(frozen=True, slots=True)
class Page:
    """One answer to a scrape, ready to send."""

    body: bytes
    content_type: str
    content_encoding: str | None


class PageMaker:
    """Renders Scenes. Thread-safe: concurrent scrapers of one generation share one rendering.

    `sources` are names that `?collect[]=` may ask for before the first Scene is there. `process_numbers` adds prometheus_client's process
    collectors; None leaves them out (--web.disable-exporter-metrics). `labels` stand on every series.
    """

    def __init__(self, *, tier: Tier, series_cap: int, process_numbers: ProcessNumbers | None = None, sources: Sequence[str] = (),
                 labels: Labels = (), rows: Mapping[str, Metric] = CATALOGUE) -> None:  # fmt: skip
        self.tier = tier
        self._series_cap = series_cap
        self._process_numbers = process_numbers
        self._rows = rows
        self._sources = sources
        self._labels = labels
        self._lock = threading.Lock()
        self._generation = -1
        self._pages: dict[tuple[Selection, str, bool], Page] = {}
        self._layouts: dict[Selection, tuple[Layout, bytes]] = {}
        """Each with the lines that count its series: they are the same for every page of a layout."""

    def answer(self, scene: Scene, query: Mapping[str, Sequence[str]], accept: str, accept_encoding: str) -> Page:
        """The page for one HTTP request. Raises SelectionError (a ValueError) for a query that cannot be answered."""
        selection = selection_of(query, {*self._sources, *(status.source for status in scene.sources)}, self.tier)
        kind = OPENMETRICS_TYPE if wants_openmetrics(accept) else TEXT_TYPE
        return self.page(scene, selection, kind, compressed=accepts_gzip(accept_encoding))

    def page(self, scene: Scene, selection: Selection, content_type: str = TEXT_TYPE, *, compressed: bool = False) -> Page:
        """The page of a selection; the same object while the generation lasts."""
        with self._lock:
            if scene.generation != self._generation:
                self._generation = scene.generation
                self._pages.clear()
            plain = self._kept((selection, content_type, False), lambda: self._make(scene, selection, content_type))
            if not compressed:
                return plain
            return self._kept((selection, content_type, True), lambda: Page(gzip(plain.body), content_type, "gzip"))

    def _kept(self, key: tuple[Selection, str, bool], make: Callable[[], Page]) -> Page:
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = make()
            _forget_oldest(self._pages, SELECTIONS_KEPT * 4)
        return page

    def _make(self, scene: Scene, selection: Selection, content_type: str) -> Page:
        body = self._openmetrics(scene, selection) if content_type == OPENMETRICS_TYPE else self._text(scene, selection)
        return Page(body, content_type, None)

    def _text(self, scene: Scene, selection: Selection) -> bytes:
        readings = selected_readings(scene, selection)
        layout, count_text = self._layouts.get(selection, (None, b""))
        if layout is None or layout.signature != signature_of(readings):
            layout = lay_out(readings, self._rows, selection, self._series_cap, self._labels)
            count = [count_reading(layout.series, layout.dropped)]
            above = lay_out(count, self._rows, selection, SERIES_CAP, self._labels)  # on top of the cap: it must show
            count_text = above.fill(count).encode()
            self._layouts[selection] = layout, count_text
            _forget_oldest(self._layouts, SELECTIONS_KEPT)
        parts = layout.encode(readings)
        if selection.wants_source(EXPORTER):
            parts += [count_text, self._process_numbers.text(selection, self._labels) if self._process_numbers is not None else b""]
        return b"".join(parts)

    def _openmetrics(self, scene: Scene, selection: Selection) -> bytes:
        readings = selected_readings(scene, selection)
        choice = choose(readings, self._rows, selection, self._series_cap, self._labels)
        families = families_in(choice)
        if selection.wants_source(EXPORTER):
            families += families_of([count_reading(choice.count, choice.dropped)], self._rows, selection, labels=self._labels)
            families += self._process_numbers.families(selection, self._labels) if self._process_numbers is not None else []
        return encode_openmetrics(families)


def count_reading(series: int, dropped: Mapping[str, int]) -> Reading:
    """How many series the page holds (these lines and the process's apart) and how many were left out."""
    values: dict[SeriesKey, Number] = {SERIES.key: series}
    values |= {(SERIES_DROPPED.key, reason): dropped.get(reason, 0) for reason in DROP_REASONS}
    return Reading(NODE, values)


def gzip(body: bytes) -> bytes:
    """Gzip at GZIP_LEVEL, without a time stamp so that equal pages are equal bytes."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()


def render(scene: Scene, selection: Selection, series_cap: int, rows: Mapping[str, Metric] = CATALOGUE, labels: Labels = ()) -> str:
    """One page's text without caching or the exporter's count lines: for tests, golden files and one-shot commands."""
    readings = selected_readings(scene, selection)
    return lay_out(readings, rows, selection, series_cap, labels).fill(readings)


def _forget_oldest(cache: dict[Selection, tuple[Layout, bytes]] | dict[tuple[Selection, str, bool], Page], keep: int) -> None:
    remove: Callable[[object], object] = cache.pop  # type: ignore[assignment]
    while len(cache) > keep:
        remove(next(iter(cache)))
