"""Which nodes a fleet has: the first live the stories themselves, the others copy them, most of them well."""

import pytest

from exporter.cli.fleet.plan import DELAYS, fleet_of
from exporter.cli.fleet.stories import STORIES


def test_the_first_nodes_live_one_story_each_and_the_others_copy_them() -> None:
    """Sixteen nodes: every story once, then copies of nodes that are well."""
    nodes = fleet_of(16)

    leaders = [node for node in nodes if node.is_leader]

    assert [node.story for node in leaders] == list(range(len(STORIES)))
    assert all(STORIES[node.story].is_well for node in nodes[len(STORIES) :])


def test_nodes_have_names_of_their_own_and_no_copy_lags_more_than_is_kept() -> None:
    """A thousand names; delays are below the number of pages that a leader keeps."""
    nodes = fleet_of(1000)

    assert len({node.name for node in nodes}) == 1000
    assert {node.delay for node in nodes} == set(range(DELAYS))


def test_a_large_fleet_is_mostly_well_and_uses_every_story() -> None:
    """Some thirty of a thousand have a fault; no story that is well is left out, none has all copies."""
    nodes = fleet_of(1000)

    sick = sum(not STORIES[node.story].is_well for node in nodes)
    copied = {node.story for node in nodes if not node.is_leader and STORIES[node.story].is_well}

    assert 20 <= sick <= 40
    assert copied == {number for number, story in enumerate(STORIES) if story.is_well}


def test_a_fleet_smaller_than_the_stories_has_leaders_only() -> None:
    """Nobody needs a copy yet."""
    assert [node.is_leader for node in fleet_of(3)] == [True] * 3


def test_a_fleet_of_none_is_refused() -> None:
    """Rather than a list without targets, which looks like a Prometheus that finds nothing."""
    with pytest.raises(ValueError, match="at least one node, not 0"):
        fleet_of(0)
