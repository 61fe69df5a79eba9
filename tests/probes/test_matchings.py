"""Pairings of nodes: everyone once, half within a leaf, half across, no recent partner; and who of two is slow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probes.matchings import Culprit, Matching, Pair, Scope, culprit, extra_pairs, matchings, oversubscription

DATE = "2026-03-01"


def fleet(*sizes: int) -> dict[str, str]:
    """Leaves of so many nodes each: node → leaf."""
    return {f"node-{leaf}-{number:03}": f"leaf-{leaf}" for leaf, size in enumerate(sizes) for number in range(size)}


def met(found: tuple[Matching, ...]) -> list[Pair]:
    """All pairs of a day."""
    return [pair for one in found for pair in (*one.pairs, *one.repeats)]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.dates())
def test_every_node_is_in_one_pair_at_most_and_none_is_lost(sizes: list[int], date: object) -> None:
    """In each pairing: disjoint pairs of the scope it names, the odd one in a repeat, the rest left out."""
    leaves = fleet(*sizes)
    for one in matchings(leaves, leaves, str(date)):
        paired = [node for pair in one.pairs for node in pair]
        repeated = {node for pair in one.repeats for node in pair}
        assert len(set(paired)) == len(paired)
        assert set(paired) | repeated | set(one.left_out) == set(leaves)
        assert not (set(paired) | repeated) & set(one.left_out)
        assert all((leaves[first] == leaves[second]) is (one.scope is Scope.SAME_LEAF) for first, second in (*one.pairs, *one.repeats))


def test_half_of_the_pairings_are_within_a_leaf_and_half_across() -> None:
    """Four a day, all of them perfect where leaves are even."""
    leaves = fleet(8, 8, 8, 8)
    found = matchings(leaves, leaves, DATE)

    assert [one.scope for one in found] == [Scope.SAME_LEAF, Scope.CROSS_LEAF] * 2
    assert all(len(one.pairs) == 16 and not one.repeats and not one.left_out for one in found)


def test_the_date_alone_decides_whoever_asks() -> None:
    """Every node works out the same, in whatever order it was told of the others; another day has others."""
    leaves = fleet(6, 6, 7)
    shuffled = dict(sorted(leaves.items(), reverse=True))

    assert matchings(shuffled, shuffled, DATE) == matchings(leaves, leaves, DATE)
    assert matchings(leaves, leaves, "2026-03-02") != matchings(leaves, leaves, DATE)


def test_nobody_meets_a_recent_partner_while_there_are_others() -> None:
    """128 nodes on 16 leaves, four days: no pair twice across, and within a leaf of eight none before all seven could have been met."""
    leaves, recent = fleet(*[8] * 16), set[Pair]()
    for day in range(1, 3):
        pairs = met(matchings(leaves, leaves, f"2026-03-0{day}", recent))
        assert len(pairs) == len(set(pairs)) == 4 * 64
        again = [pair for pair in pairs if pair in recent]
        assert not [pair for pair in again if leaves[pair[0]] != leaves[pair[1]]]
        assert len(again) <= 0.05 * len(pairs)
        recent |= set(pairs)


def test_a_leaf_with_more_than_half_of_all_nodes_has_some_without_partner() -> None:
    """Across, only as many as there are elsewhere can be met."""
    leaves = fleet(7, 2, 1)
    across = matchings(leaves, leaves, DATE)[1]

    assert len(across.pairs) == 3
    assert len(across.left_out) == 4


def test_an_odd_node_meets_somebody_again() -> None:
    """As gcm's pairwise check does; alone on its leaf it is left out there."""
    leaves = fleet(5, 1)
    within, across = matchings(leaves, leaves, DATE)[:2]

    assert (len(within.pairs), len(within.repeats), within.left_out) == (2, 1, ("node-1-000",))
    assert (len(across.pairs), len(across.left_out)) == (1, 4)


def test_without_leaves_there_is_one_kind() -> None:
    """Nobody knows which are near; with leaves for some, the others cannot be told apart and are left out."""
    nodes = list(fleet(6))
    assert [(one.scope, len(one.pairs)) for one in matchings(nodes, {}, DATE)] == [(Scope.ANY, 3)] * 4

    partly = matchings(nodes, fleet(4), DATE)

    assert all(one.scope is Scope.SAME_LEAF and set(one.left_out) == set(nodes[4:]) for one in partly)


@pytest.mark.parametrize("nodes", [[], ["alone"]])
def test_of_fewer_than_two_nodes_there_is_no_pair(nodes: list[str]) -> None:
    """Nothing to do is no error; nor are leaves of nodes that are not asked about."""
    assert matchings(nodes, {}, DATE) == ()
    assert matchings(nodes, fleet(3), DATE) == ()


def test_two_more_pairs_tell_the_culprit() -> None:
    """Each of the two with a node that was as usual, never with each other or one node twice."""
    assert extra_pairs(("a", "b"), ["b", "d", "c"]) == (("a", "d"), ("b", "c"))
    assert extra_pairs(("a", "b"), ["a", "c"]) is None
    assert culprit(first_is_low=True, second_is_low=False) is Culprit.FIRST
    assert culprit(first_is_low=False, second_is_low=True) is Culprit.SECOND
    assert culprit(first_is_low=True, second_is_low=True) is Culprit.BOTH
    assert culprit(first_is_low=False, second_is_low=False) is Culprit.PATH


def test_oversubscription_is_the_gap_of_the_medians() -> None:
    """Half the uplinks give 2; without both kinds, or with zeros alone, it cannot be told."""
    assert oversubscription([48e9, 47e9, 1e9], [24e9, 23.5e9, 23.5e9]) == 2.0
    assert oversubscription([48e9], []) is None
    assert oversubscription([48e9], [0.0, float("nan")]) is None


def test_a_large_fleet_is_paired_in_time() -> None:
    """2,000 nodes with a fortnight of partners behind them: well under the test's limit, for repairs look at neighbours alone."""
    leaves = fleet(*[8] * 250)
    recent = set(met(matchings(leaves, leaves, "2026-02-01", count=14)))

    assert len(matchings(leaves, leaves, DATE, recent)) == 4
