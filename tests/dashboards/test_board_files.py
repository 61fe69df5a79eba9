"""What ships as JSON: today's format, laid out without overlaps, linked, described, and written by the code that stands beside it."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from dashboards.shipped import BOARDS, FOLDER, PANELS_WITHOUT_DATA, files, queries
from dashboards.ways import PROBES
from tests.dashboards import board_shape
from tests.dashboards.board_shape import panels

SIZE_MAX = 200_000
"""Bytes of a board; a ConfigMap that kubectl applies holds 262,144 with its annotations."""
MADE: Mapping[str, dict[str, Any]] = {name: json.loads(text) for name, text in files().items()}
each_board = pytest.mark.parametrize("board", MADE.values(), ids=MADE.keys())


def _texts(board: Mapping[str, Any]) -> str:
    return json.dumps(board, ensure_ascii=False)


def _variables(board: Mapping[str, Any]) -> set[str]:
    return {variable["name"] for variable in board["templating"]["list"]}


def test_committed_boards_are_what_the_code_writes() -> None:
    """`make assets` was run: no file differs, is missing or left over."""
    committed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}

    assert sorted(committed) == sorted(files())
    assert [name for name, text in files().items() if committed[name] != text] == []


def test_the_same_code_writes_the_same_bytes() -> None:
    """Nothing of the machine, the time or a hash's order is in a board."""
    assert files() == files()


@each_board
def test_a_board_has_our_schema(board: dict[str, Any]) -> None:
    """No dead key, no null, no `__inputs`; data source variable, thresholds and targets as today's Grafana writes them."""
    assert board_shape.problems(board) == []


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda board: board.update(__inputs=[]), "unknown keys ['__inputs']"),
        (lambda board: board.update(schemaVersion=12), "schema version 12"),
        (lambda board: board["panels"][1].update(id=1), "share an id"),
        (lambda board: board["panels"][1]["gridPos"].update(x=22), "grid"),
        (lambda board: board["panels"][1].pop("description"), "lacks ['description']"),
        (lambda board: board["panels"][1]["targets"][0].update(datasource="Prometheus"), "target A"),
        (lambda board: board["panels"][1]["targets"][0].update(intervalFactor=2), "unknown keys ['intervalFactor']"),
        (lambda board: board["panels"][1]["fieldConfig"]["defaults"]["thresholds"]["steps"][0].update(value="null"), "thresholds"),
    ],
    ids=["inputs", "old schema", "twin ids", "off the page", "no description", "named data source", "dead key", "threshold as text"],
)
def test_the_schema_refuses_what_used_to_ship(spoil: Any, problem: str) -> None:
    """Each defect of grafanalib's raw output is one the schema finds."""
    board = json.loads(files()["fabric-fleet.json"])
    spoil(board)

    assert any(problem in found for found in board_shape.problems(board))


@each_board
def test_no_two_panels_overlap(board: dict[str, Any]) -> None:
    """Each cell of the page belongs to one panel; those of a folded row have a page of their own."""
    taken: dict[tuple[int, int], str] = {}
    for panel in panels(board):
        grid = panel["gridPos"]
        for cell in ((x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])):
            assert cell not in taken, f"{panel['title']} lies on {taken[cell]}"
            taken[cell] = panel["title"]


@each_board
def test_every_panel_says_what_it_shows(board: dict[str, Any]) -> None:
    """Title, and a description that is a sentence."""
    shown = [panel for panel in panels(board) if panel["type"] != "row"]

    assert [panel["title"] for panel in shown if not panel["title"] or not panel["description"].endswith(".")] == []


@each_board
def test_series_of_a_chart_have_names(board: dict[str, Any]) -> None:
    """Every query that is no table has a legend."""
    nameless = [panel["title"] for panel in panels(board) for target in panel.get("targets", ())
                if panel["type"] != "table" and not target["legendFormat"]]  # fmt: skip

    assert nameless == []


@each_board
def test_every_number_has_a_unit(board: dict[str, Any]) -> None:
    """Charts by their defaults, tables by each column; a state timeline has words and a heatmap its axis instead."""
    without = [panel["title"] for panel in panels(board)
               if panel["type"] in {"stat", "timeseries", "bargauge"} and not panel["fieldConfig"]["defaults"].get("unit")]  # fmt: skip

    assert without == []


@each_board
def test_a_board_is_small_enough_for_a_config_map(board: dict[str, Any]) -> None:
    """As it ships, with its line breaks."""
    assert len(json.dumps(board, indent=1, ensure_ascii=False).encode()) < SIZE_MAX


@each_board
def test_links_lead_to_boards_that_exist_and_take_their_variables(board: dict[str, Any]) -> None:
    """Each data link keeps time range, data source and pool, and sets only variables that its board has."""
    by_uid = {other["uid"]: _variables(other) for other in MADE.values()}
    for uid, query in re.findall(r'"url": "/d/([\w-]+)\?([^"]*)"', _texts(board)):
        assert query.startswith("${__url_time_range}&${datasource:queryparam}&${pool:queryparam}")
        assert set(re.findall(r"var-(\w+)=", query)) <= by_uid[uid]


@each_board
def test_every_variable_of_a_board_is_used(board: dict[str, Any]) -> None:
    """And each that a query uses is there; Grafana's own begin with two underscores."""
    asked = " ".join([*(target["expr"] for panel in panels(board) for target in panel.get("targets", ())),
                      *(mark["expr"] for mark in board["annotations"]["list"])])  # fmt: skip
    used = set(re.findall(r"\$([a-z]\w*)", asked))

    assert used | {"datasource"} == _variables(board)


def test_all_boards_stand_in_one_bar_of_links() -> None:
    """By their tag, keeping time range and variables."""
    links = [board["links"] for board in MADE.values()]

    assert all(link["keepTime"] and link["includeVars"] and link["tags"] == board["tags"] for board in MADE.values()
               for link in board["links"])  # fmt: skip
    assert all(len(of_one) == 1 for of_one in links)


def test_uids_never_change() -> None:
    """Bookmarks and links of users hold on to them."""
    assert {board["uid"] for board in MADE.values()} == {
        "fabric-fleet", "fabric-node", "fabric-link", "fabric-nvlink", "fabric-infiniband", "fabric-pcie", "fabric-probes", "fabric-job",
        "fabric-exporter",
    }  # fmt: skip


def test_the_first_row_of_the_fleet_board_says_which_links_are_sick_since_when_and_why() -> None:
    """A table of links with their status, reason and age stands above everything but five numbers."""
    fleet = MADE["fabric-fleet.json"]
    first = next(panel for panel in panels(fleet) if panel["type"] == "table")
    names = first["transformations"][-1]["options"]["renameByName"].values()

    assert first["title"] == "Sick links"
    assert set(names) == {"status", "since"}
    assert "reason" in first["targets"][0]["expr"]
    assert [panel["type"] for panel in panels(fleet)].index("table") <= 7


def test_boards_of_links_say_what_a_node_cannot_see() -> None:
    """A text names switch ports, NVSwitch counters, the receiver's side and the burst sampler."""
    for name in ("fleet", "node", "link", "nvlink", "infiniband", "job"):
        said = " ".join(panel["options"]["content"] for panel in panels(MADE[f"fabric-{name}.json"]) if panel["type"] == "text")
        assert all(word in said for word in ("Switch ports", "NVSwitch", "receiver's side", "burst sampler"))


def test_panels_without_data_are_those_of_the_probes() -> None:
    """Every panel of the board of probes and of no other; text needs no data."""
    probes = [tile.title for board in BOARDS if board.uid == PROBES for tile in board.tiles if tile.queries]

    assert list(PANELS_WITHOUT_DATA) == [(PROBES, title) for title in probes]


def test_every_query_of_the_files_is_among_the_questions() -> None:
    """What the tests of the fleet ask is what Grafana will ask."""
    asked = {(question.board, question.panel, question.expr) for question in queries()}
    shipped = {(board["uid"], panel["title"], target["expr"]) for board in MADE.values() for panel in panels(board)
               for target in panel.get("targets", ())}  # fmt: skip

    assert shipped <= asked


def test_the_page_of_the_boards_names_each_of_them() -> None:
    """docs/dashboards.md has a line for every board, by title and uid."""
    page = (FOLDER.parents[2] / "docs/dashboards.md").read_text(encoding="utf-8")

    assert [board.uid for board in BOARDS if f"| {board.title} | `{board.uid}` |" not in page] == []
