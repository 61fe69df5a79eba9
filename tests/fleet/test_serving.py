"""Paths of a fleet and the list for Prometheus, over a leader that runs the whole pipeline."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter.cli.fleet.leader import NAMED, Leader
from exporter.cli.fleet.plan import FleetNode, fleet_of
from exporter.cli.fleet.serving import FleetRoutes, named_targets_of, targets_of
from exporter.cli.fleet.stories import STORIES
from exporter.cli.scenario_file import scenario_of
from exporter.config.schema import Config
from exporter.web.routes import Request, Response

NODES = {node.name: node for node in fleet_of(3)}
WALL_S = 1.7e9
REBOOTS = "node: no-gpu-ib\nduration: 1h\nfaults: [{at: 2m, until: 4m, kind: reboot, links_after: 30s}]\n"


def answer(method: str, path: str, page: bytes | None = b"fabric_t 1\n") -> Response:
    """What is answered where every node shows that page."""
    made = FleetRoutes(NODES, lambda _node, _labels: page).answer(Request(method, path))
    assert isinstance(made, Response)
    return made


def leader_at(tmp_path: Path, story: str, to_s: float) -> Leader:
    """A leader that has lived that far."""
    leader = Leader(story, "test", Config(), str(tmp_path), ahead_s=to_s, wall_s=WALL_S, job="4711")
    leader.advance(to_s)
    return leader


def samples(page: bytes) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Labels and values by name."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_each_node_has_its_page_and_head_has_its_length() -> None:
    """HEAD is answered as GET is, without the body."""
    assert answer("GET", "/node/node-0002/metrics").body == b"fabric_t 1\n"
    assert answer("HEAD", "/node/node-0002/metrics").body == b""
    assert ("content-length", "11") in answer("HEAD", "/node/node-0002/metrics").headers


@pytest.mark.parametrize("path", ["/", "/metrics", "/node/node-0004/metrics", "/node/node-0001", "/node/node-0001/metrics/", "node-0001"])
def test_anything_else_is_not_found(path: str) -> None:
    """Unknown nodes and paths alike, with a line that says where nodes are."""
    assert answer("GET", path).status == 404
    assert b"/node/node-0001/metrics" in answer("GET", path).body


def test_nothing_can_be_changed() -> None:
    """POST is refused."""
    assert answer("POST", "/node/node-0001/metrics").status == 405


def test_a_node_without_exporter_cannot_be_scraped() -> None:
    """Prometheus sees it down."""
    assert answer("GET", "/node/node-0001/metrics", None).status == 503


def test_the_list_sets_node_pool_and_instance() -> None:
    """One target a node, as file_sd reads it; `node` is left out where the pages carry it."""
    [first, *others] = targets_of(NODES.values(), "127.0.0.1:29200")

    assert first == {
        "targets": ["127.0.0.1:29200"],
        "labels": {"__metrics_path__": "/node/node-0001/metrics", "instance": "node-0001:29100", "pool": "h100", "node": "node-0001"},
    }
    assert len(others) == 2
    assert all("node" not in str(target["labels"]).split("'") for target in named_targets_of(NODES.values(), "a:1"))


def test_every_story_can_be_read_and_its_pool_is_one_kind_of_node() -> None:
    """Mistakes in a story would show only when a fleet starts."""
    kinds = {(story.pool, scenario_of(story.text, story.pool).node) for story in STORIES}

    assert len(kinds) == len({pool for pool, _ in kinds})


def test_a_leader_shows_links_that_are_well_at_the_time_that_it_is_now(tmp_path: Path) -> None:
    """Real time is the story's time: a timestamp on the page is not of another year; a job runs; the exporter says what it is."""
    mould = leader_at(tmp_path, REBOOTS, 60.0).mould(0)
    assert mould is not None

    shown = samples(mould.page(0, "node-0001"))

    assert all(value == 0 for _, value in shown["fabric_link_health_status"])
    assert all(abs(value - WALL_S) < 30 for _, value in shown["fabric_exporter_source_last_success_timestamp_seconds"])
    assert shown["fabric_exporter_simulated"] == [({}, 1.0)]
    assert shown["process_resident_memory_bytes"]


def test_a_node_that_is_off_has_no_page_and_has_one_again(tmp_path: Path) -> None:
    """The exporter is gone while the node boots, and starts with it."""
    leader = leader_at(tmp_path, REBOOTS, 60.0)

    leader.advance(180.0)
    away = leader.mould(0)
    leader.advance(330.0)

    assert away is None
    assert leader.mould(0) is not None


def test_every_series_of_a_labelled_page_carries_the_name_of_the_node(tmp_path: Path) -> None:
    """Those of the process too."""
    mould = leader_at(tmp_path, REBOOTS, 20.0).mould(0, NAMED)
    assert mould is not None

    shown = samples(mould.page(1, "node-0002"))

    assert {labels.get("node") for found in shown.values() for labels, _ in found} == {"node-0002"}


def test_a_copy_lags_behind_its_leader(tmp_path: Path) -> None:
    """A delay of one beat is the page before; more beats than are kept are the oldest."""
    leader = leader_at(tmp_path, REBOOTS, 12.0)
    node = FleetNode("n", 9, 0)

    pages = [mould.page(node.number, node.name) for delay in range(9) if (mould := leader.mould(delay)) is not None]

    assert len(pages) == 9
    assert pages[0] != pages[1]
    assert pages[7] == pages[8]
