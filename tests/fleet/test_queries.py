"""A real Prometheus scrapes a fleet whose nodes have every fault that we know, and answers every question of every board and rule.

Once with `node` set by the list of targets, once with pages that carry it themselves (`--label.node`).
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from tests.fleet.board_questions import BoardQuestion, Due, of_boards, of_rules, rule_files
from tests.fleet.fleet_process import fleet
from tests.fleet.fleet_prometheus import fleet_prometheus
from tests.fleet.questions import Asking, Finding, Pick, Question, ask, picks_of
from tests.real.listener import poll
from tests.real.prometheus_server import PrometheusServer
from tests.requires import need

NODES = 16
INTERVAL_S = 3.0
SETTLED_S = 42.0
"""Scraped for so long before anything is asked: a rate needs two samples that differ, and the slowest counters move every 15 s."""
MODES = ("relabelling", "--label.node")
QUIET = {
    "fabric-nvlink / What the driver wants done": "no story has a GPU that must be reset",
    "fabric-nvlink / SXids of NVSwitches": "no story has one",
    "fabric-infiniband / Busiest ports of EFA and bnxt_re": "no node of a fleet has such ports",
    "fabric-infiniband / Marked by the own NIC": "no NIC of a fleet counts that",
    "fabric-infiniband / Ports without counters": "every port of a fleet has some",
    "fabric-infiniband / Devices left alone": "no device of a fleet is left alone",
    "fabric-exporter / Exporters whose state cannot be written": "every node of a fleet can write",
    "fabric-exporter / Reloads that failed": "nobody changes a configuration",
    "fabric-exporter / GPUs let go": "nobody asks for it",
    "fabric-exporter / NVML child stuck": "NVML is read in the fleet's own process",
    "fabric-exporter / Rows recorded": "nodes of a fleet record nothing",
    "fabric-exporter / Ticks lost to the recording": "nodes of a fleet record nothing",
    "fabric-exporter / Size of recordings": "nodes of a fleet record nothing",
}
"""Board and panel → why nothing is shown there although every story is lived. All else that may be empty is not."""


class Asked(NamedTuple):
    """A Prometheus that has seen enough, what a reader may pick on a board, and when."""

    server: PrometheusServer
    picks: tuple[Pick, ...]
    at_s: float
    known: dict[BoardQuestion, Asking]


def answers(asked: Asked) -> dict[BoardQuestion, Asking]:
    """What comes of every question of the boards; asked once."""
    if not asked.known:
        asked.known.update({due: ask(asked.server, due.question, asked.picks, asked.at_s) for due in of_boards()})
    return asked.known


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Asked]]:
    """A Prometheus for each way to set `node`, both on one fleet and at the same time, as waiting costs nothing."""
    need("prometheus", "apt-get install prometheus")
    with ExitStack() as stack:
        nodes = stack.enter_context(fleet(tmp_path_factory.mktemp("fleet"), nodes=NODES, tier="full"))
        running = {
            mode: stack.enter_context(
                fleet_prometheus(targets, tmp_path_factory.mktemp("prometheus"), interval_s=INTERVAL_S, rules=rule_files())
            )
            for mode, targets in zip(MODES, (nodes.targets, nodes.named_targets), strict=True)
        }
        for server in running.values():
            poll(lambda server=server: _is_settled(server), 3 * SETTLED_S, "enough is scraped")  # type: ignore[misc]  # mypy sees a parameter
        yield {mode: Asked(server, picks_of(server), time.time(), {}) for mode, server in running.items()}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("mode", MODES)
def test_every_scrape_of_the_fleet_works(servers: dict[str, Asked], mode: str) -> None:
    """Sixteen nodes, all up, each with its name on every series."""
    server = servers[mode].server

    assert server.query("count(up == 1)")[0][1] == NODES
    assert server.query("count(count by (node) ({__name__=~'fabric_.*', node=~'.+'}))")[0][1] == NODES
    assert server.query("{__name__=~'fabric_.*', node=''}") == []
    assert server.query("max_over_time(prometheus_target_scrapes_exceeded_sample_limit_total[5m]) > 0") == []


@pytest.mark.timeout(400)
@pytest.mark.parametrize("mode", MODES)
def test_every_question_of_every_board_is_answered_right(servers: dict[str, Asked], mode: str) -> None:
    """No error, no warning, no many-to-many match, no number that its unit cannot mean."""
    asked = servers[mode]

    findings = [finding for asking in answers(asked).values() for finding in asking.findings]

    assert not findings, _listed(findings)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("mode", MODES)
def test_panels_without_data_are_exactly_the_listed_ones(servers: dict[str, Asked], mode: str) -> None:
    """What the exporter measures has data in a fleet where nearly everything happens; what nobody measures yet has none."""
    answered = answers(servers[mode])

    empty = [due for due, asking in answered.items() if not asking.has_data and due.due is not Due.NOTHING and not _is_quiet(due)]
    unexpected = [due for due, asking in answered.items() if due.due is Due.NOTHING and asking.has_data]

    assert not empty, _named(empty)
    assert not unexpected, _named(unexpected)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("mode", MODES)
def test_every_expression_of_every_rule_is_answered_right(servers: dict[str, Asked], mode: str) -> None:
    """As Prometheus evaluates it, and by its own account of the rules that it has loaded."""
    asked = servers[mode]

    findings = [finding for question in of_rules() for finding in ask(asked.server, question, asked.picks, asked.at_s).findings]
    groups = asked.server.document("rules")["data"]["groups"]
    unwell = [(rule["name"], rule["lastError"]) for group in groups for rule in group["rules"] if rule["health"] == "err"]

    assert not findings, _listed(findings)
    assert not unwell


@pytest.mark.timeout(400)
def test_the_harness_finds_a_query_that_is_wrong(servers: dict[str, Asked]) -> None:
    """A match of many to many, a ratio above 1, and a question that nobody answers."""
    server, picks, at_s, _ = servers[MODES[0]]

    many = ask(server, Question("x", "fabric_link_health_status * on (node) fabric_link_flaps_total"), picks, at_s)
    large = ask(server, Question("x", "fabric_node_links", "percentunit", is_instant=False), picks, at_s)
    silent = ask(server, Question("x", 'fabric_node_links{node="$node",fabric="none"}'), picks, at_s)

    assert "many-to-many" in many.findings[0].problem
    assert "cannot be of unit percentunit" in large.findings[0].problem
    assert silent == ((), False)


def _is_quiet(due: BoardQuestion) -> bool:
    return due.due is Due.EITHER and due.question.place in QUIET


def _is_settled(server: PrometheusServer) -> bool | None:
    rows = server.query("min(time() - min_over_time(timestamp(up)[10m:1s]))")
    return True if rows and rows[0][1] >= SETTLED_S else None


def _listed(findings: list[Finding]) -> str:
    return "\n" + "\n".join(map(str, findings))


def _named(questions: list[BoardQuestion]) -> str:
    return "\n" + "\n".join(f"{due.question.place}\n    {due.question.expr}" for due in questions)
