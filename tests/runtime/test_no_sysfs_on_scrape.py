"""A scrape reads memory: it never touches the hardware (targets.md P7)."""

import pytest

from exporter.exposition.page import PageMaker
from exporter.model.metric import Tier
from tests.machine import Machine, machine, machine_names


def calls(node: Machine) -> tuple[int, int, int, int]:
    """Calls on the tree so far: opens, reads, listings, closes."""
    return node.tree.opens, node.tree.preads, node.tree.listdirs, node.tree.closes


@pytest.mark.parametrize("name", machine_names())
def test_hundred_pages_touch_no_file(name: str) -> None:
    """Every format, every tier, also after the series have gone stale."""
    node = machine(name)
    pages = PageMaker(tier=Tier.FULL, series_cap=30_000)
    before = calls(node)
    for n in range(100):
        query = {"tier": [list(Tier)[n % 4].name.lower()]}
        pages.answer(node.scene, query, "application/openmetrics-text" if n % 5 == 0 else "", "gzip" if n % 2 else "")
        node.clock.advance(1.0)

    assert calls(node) == before
    assert before[1] > 0 or name == "no-hardware"
