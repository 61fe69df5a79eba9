"""Pages: rendered once a generation, compressed once, bounded, the same in both formats."""

import gzip
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.exposition.client_library import OPENMETRICS_TYPE, ProcessNumbers
from exporter.exposition.page import SELECTIONS_KEPT, TEXT_TYPE, Page, PageMaker
from exporter.exposition.selection import EXPORTER, Selection, SelectionError
from exporter.model.entity import NODE, Device, Fabric, Link
from exporter.model.metric import Tier
from exporter.model.snapshot import Reading, Scene
from tests.exposition.scenes import PORT, ROWS, one_feed, ports, scenes
from tests.machine import machine, machine_names

FULL = Selection(Tier.FULL)
OPENMETRICS = "application/openmetrics-text"
DROPPED = "fabric_exporter_series_dropped_total"


def maker(series_cap: int = 10_000, process_numbers: ProcessNumbers | None = None) -> PageMaker:
    """A page maker over the tests' rows."""
    return PageMaker(tier=Tier.FULL, series_cap=series_cap, process_numbers=process_numbers, rows=ROWS)


def text_values(page: Page) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Series → value of a text page."""
    return {(s.name, frozenset(s.labels.items())): float(s.value) for f in parse_text(page.body.decode()) for s in f.samples}


def openmetrics_values(page: Page) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Series → value of an OpenMetrics page, by prometheus_client's strict parser."""
    families = parse_openmetrics(page.body.decode())  # type: ignore[no-untyped-call]  # untyped upstream
    return {(s.name, frozenset(s.labels.items())): float(s.value) for f in families for s in f.samples}


def dropped(values: dict[tuple[str, frozenset[tuple[str, str]]], float]) -> dict[str, float]:
    """Reason → series left off."""
    return {dict(labels)["reason"]: value for (name, labels), value in values.items() if name == DROPPED}


def test_page_of_one_generation_is_made_once() -> None:
    """The same object for whoever asks."""
    pages, scene = maker(), one_feed(*ports(3))

    assert pages.answer(scene, {}, "", "") is pages.answer(scene, {}, "*/*", "identity")


def test_page_is_compressed_once() -> None:
    """The same object for every scraper that takes gzip."""
    pages, scene = maker(), one_feed(*ports(3))

    assert pages.answer(scene, {}, "", "gzip") is pages.answer(scene, {}, "", "deflate, gzip")


def test_page_of_the_next_generation_is_made_anew() -> None:
    """With the new numbers."""
    pages = maker()
    before = pages.page(one_feed(*ports(2), generation=1), FULL)
    after = pages.page(one_feed(*ports(2, first=100), generation=2), FULL)

    assert before.body != after.body
    assert b'fabric_t_bytes_total{device="mlx5_1",port="1"} 101\n' in after.body


@pytest.mark.parametrize("first", ["", "gzip"])
@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_compressed_page_unpacks_to_the_plain_one(first: str, accept: str) -> None:
    """Also with the process's own numbers, which change by the second: whichever was asked for first, they are of one rendering."""
    pages, scene = maker(process_numbers=ProcessNumbers()), one_feed(*ports(5))
    pages.answer(scene, {}, accept, first)
    plain, packed = pages.answer(scene, {}, accept, ""), pages.answer(scene, {}, accept, "gzip")

    assert gzip.decompress(packed.body) == plain.body
    assert (plain.content_encoding, packed.content_encoding) == (None, "gzip")


def test_compressed_page_carries_no_time_stamp() -> None:
    """Equal pages are equal bytes."""
    scene = one_feed(*ports(5))

    assert maker().answer(scene, {}, "", "gzip") == maker().answer(scene, {}, "", "gzip")


def test_many_scrapers_at_once_share_one_rendering() -> None:
    """64 threads, one Page object."""
    pages, scene, gate = maker(), one_feed(*ports(200)), threading.Barrier(64)

    def ask(_: int) -> Page:
        gate.wait(30)
        return pages.answer(scene, {}, "", "gzip")

    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(ask, range(64)))

    assert len({id(page) for page in found}) == 1


def test_two_hundred_selections_keep_a_few_layouts() -> None:
    """A scraper that asks for ever new subsets fills no memory."""
    pages, scene = maker(), one_feed(*ports(3))
    for n in range(200):
        for accept in ("", OPENMETRICS):
            pages.answer(scene, {"name[]": [f"fabric_{n}"]}, accept, "gzip")

    assert len(pages._layouts) <= SELECTIONS_KEPT == 16
    assert len(pages._pages) <= 4 * SELECTIONS_KEPT


def test_pages_of_an_old_generation_are_let_go() -> None:
    """Only one generation is kept."""
    pages = maker()
    for generation in range(50):
        pages.answer(one_feed(*ports(3), generation=generation), {}, "", "gzip")

    assert len(pages._pages) == 2


def test_unknown_source_is_refused_and_nothing_is_kept() -> None:
    """A wrong query costs no memory."""
    pages = maker()
    with pytest.raises(SelectionError, match="unknown source 'x'"):
        pages.answer(one_feed(), {"collect[]": ["x"]}, "", "")

    assert not pages._pages


def test_content_type_tells_the_format() -> None:
    """Text 0.0.4 unless the client takes OpenMetrics alone."""
    pages, scene = maker(), one_feed(*ports(1))

    assert pages.answer(scene, {}, "", "").content_type == TEXT_TYPE
    assert pages.answer(scene, {}, OPENMETRICS, "").content_type == OPENMETRICS_TYPE


@pytest.mark.parametrize("name", machine_names())
def test_openmetrics_holds_the_values_of_the_text(name: str) -> None:
    """Every machine, read by prometheus_client's strict OpenMetrics parser."""
    pages, scene = PageMaker(tier=Tier.FULL, series_cap=30_000), machine(name).scene

    assert openmetrics_values(pages.answer(scene, {}, OPENMETRICS, "")) == text_values(pages.answer(scene, {}, "", ""))


def test_openmetrics_with_the_process_numbers_can_be_parsed() -> None:
    """Their families stand beside ours, once each, and the page ends in # EOF."""
    page = maker(process_numbers=ProcessNumbers()).answer(one_feed(*ports(2)), {}, OPENMETRICS, "")

    assert ("process_resident_memory_bytes", frozenset()) in openmetrics_values(page)
    assert page.body.endswith(b"# EOF\n")


@given(scenes)
def test_both_formats_count_the_same_losses(scene: Scene) -> None:
    """Whatever a source says, and also where the cap bites."""
    pages = maker(series_cap=5)

    def counts(accept: str) -> list[bytes]:
        body = pages.answer(scene, {"name[]": ["fabric_exporter_series", DROPPED]}, accept, "").body
        return [line.removesuffix(b".0") for line in body.splitlines() if line.startswith(b"fabric_exporter_series")]

    assert counts("") == counts(OPENMETRICS)


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_series_cap_shows_when_it_bites(accept: str) -> None:
    """In either format: so many series and no more, and the rest counted."""
    page = maker(series_cap=20).answer(one_feed(*ports(50)), {}, accept, "")
    values = openmetrics_values(page) if accept else text_values(page)

    assert sum(name == "fabric_t_bytes_total" for name, _ in values) == 20
    assert values["fabric_exporter_series", frozenset()] == 20
    assert dropped(values) == {"limit": 30, "duplicate": 0, "invalid": 0}


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_series_cap_is_one_for_all_rows_together(accept: str) -> None:
    """Not so many for each."""
    node = Reading(NODE, {("own", str(n)): n for n in range(15)})
    page = maker(series_cap=20).answer(one_feed(*ports(15), node), {}, accept, "")
    values = openmetrics_values(page) if accept else text_values(page)

    assert values["fabric_exporter_series", frozenset()] == sum(name.startswith("fabric_t_") for name, _ in values) == 20
    assert dropped(values)["limit"] == 10


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_duplicates_and_invalid_series_are_counted(accept: str) -> None:
    """In either format."""
    scene = one_feed(Reading(PORT, {"bytes": 1, ("bytes",): 2, "nonsense": 3}), Reading(Device("x"), {"bytes": 4}))
    page = maker().answer(scene, {}, accept, "")

    assert dropped(openmetrics_values(page) if accept else text_values(page)) == {"limit": 0, "duplicate": 1, "invalid": 2}


@pytest.mark.parametrize("tier", [tier.name.lower() for tier in Tier])
@pytest.mark.parametrize("accept", ["", OPENMETRICS])
def test_series_cap_shows_at_every_tier(tier: str, accept: str) -> None:
    """A cap that bites in silence would look like a healthy node."""
    readings = [Reading(NODE, {("own", str(n)): n for n in range(50)})]
    page = maker(series_cap=20).answer(one_feed(*readings), {"tier": [tier]}, accept, "")

    assert dropped(openmetrics_values(page) if accept else text_values(page))["limit"] == 30


def test_count_lines_themselves_are_not_capped() -> None:
    """They stand on top of the cap."""
    page = maker(series_cap=1).answer(one_feed(*ports(2)), {}, "", "")

    assert dropped(text_values(page)) == {"limit": 1, "duplicate": 0, "invalid": 0}


def test_selection_without_the_exporter_holds_no_count_lines() -> None:
    """Nor the process's numbers."""
    page = maker(process_numbers=ProcessNumbers()).answer(one_feed(*ports(2)), {"collect[]": ["infiniband"]}, "", "")

    assert {name for name, _ in text_values(page)} == {"fabric_t_bytes_total"}


def test_process_numbers_can_be_asked_for_by_name() -> None:
    """One of theirs, none of ours."""
    page = maker(process_numbers=ProcessNumbers()).answer(one_feed(*ports(2)), {"name[]": ["process_open_fds"]}, "", "")

    assert {name for name, _ in text_values(page)} == {"process_open_fds"}


def test_process_numbers_can_be_left_out() -> None:
    """--web.disable-exporter-metrics."""
    page = maker().answer(one_feed(*ports(2)), {"collect[]": [EXPORTER]}, "", "")

    assert {name for name, _ in text_values(page)} == {"fabric_exporter_series", DROPPED}


def test_series_that_come_and_go_are_shown_as_they_are() -> None:
    """A port that vanishes leaves the page with the next generation, and returns with the one after."""
    pages, port = maker(), Link(Fabric.INFINIBAND, "mlx5_0", "2")
    both = [Reading(PORT, {"bytes": 1}), Reading(port, {"bytes": 2})]
    counts = [
        pages.page(one_feed(*found, generation=generation), FULL).body.count(b"fabric_t_bytes_total{")
        for generation, found in enumerate([both, both[:1], both])
    ]

    assert counts == [2, 1, 2]
