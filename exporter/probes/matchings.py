"""Which nodes are probed against which: random pairings of all nodes, half of them within a leaf switch, half across. Pure.

All pairs of N nodes would be N-1 rounds; a few pairings a day are O(N) and meet every partner in time. They follow from the date alone, so
every node works out the same ones without asking anybody. A node may be in no allocation then: a pair that cannot meet is left out by who
runs it. What the two kinds of pairs reach tells how oversubscribed the spine is.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from hashlib import blake2b
from itertools import chain
from statistics import median
from typing import NamedTuple

from exporter.catalog.limits import PROBE_MATCHINGS_PER_DAY

ATTEMPTS = 8
"""Shuffles tried for one pairing; the one with the fewest recent partners is taken [D]."""
NEIGHBOURS = 64
"""Pairs asked to change partners with a recent one; those of one leaf stand side by side, so a leaf's all are asked [D]."""

Pair = tuple[str, str]
"""Two nodes, in the order of their names."""


class Scope(Enum):
    """The `scope` label of `fabric_probe_peer_node_bandwidth_bytes_per_second`; ANY where nobody told which node hangs on which leaf."""

    __hash__ = object.__hash__

    SAME_LEAF = "same_leaf"
    CROSS_LEAF = "cross_leaf"
    ANY = "any"


class Matching(NamedTuple):
    """Pairs that may run at once, for no node is in two of them. `repeats` come after them: where the number of nodes is odd, one meets a
    node that was in a pair already. `left_out` has no partner of this scope, or is on no known leaf."""

    scope: Scope
    pairs: tuple[Pair, ...]
    repeats: tuple[Pair, ...] = ()
    left_out: tuple[str, ...] = ()


class Culprit(Enum):
    """What two more pairs say of two nodes that were slow together: one of them, both, or only the path between them."""

    __hash__ = object.__hash__

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"
    PATH = "path"


def matchings(nodes: Iterable[str], leaves: Mapping[str, str], date: str, recent: Collection[Pair] = (),
              count: int = PROBE_MATCHINGS_PER_DAY) -> tuple[Matching, ...]:  # fmt: skip
    """The pairings of a day, `date` like 2026-03-01; the same for the same arguments on every node. `leaves` tells the leaf of each node
    that is known; with no leaf for any node, or one leaf for all, there is but one kind. `recent` partners (pairs in the order of names,
    as here) are avoided where that is possible, those of the day's earlier pairings too. Matchings without any pair are left out."""
    members = sorted(set(nodes))
    known = {node: leaves[node] for node in members if node in leaves}
    scopes = [Scope.SAME_LEAF, Scope.CROSS_LEAF] if known else [Scope.ANY]
    met, found = set(recent), list[Matching]()
    for number in range(count):
        scope = scopes[number % len(scopes)]
        tries = [_matching(members, known, scope, f"{date}/{number}/{attempt}") for attempt in range(ATTEMPTS)]
        best = _without_recent(min(tries, key=lambda one: len(met.intersection(chain(one.pairs, one.repeats)))), known, met)
        met.update(best.pairs, best.repeats)
        found += [best] if best.pairs else []
    return tuple(found)


def extra_pairs(suspect: Pair, good: Sequence[str]) -> tuple[Pair, Pair] | None:
    """The two pairs that tell which of a slow pair is to blame: each with another node that was as usual, best one of the same scope. None
    for fewer than two such nodes."""
    others = [node for node in good if node not in suspect][:2]
    return (_pair(suspect[0], others[0]), _pair(suspect[1], others[1])) if len(others) == 2 else None


def culprit(*, first_is_low: bool, second_is_low: bool) -> Culprit:
    """By whether each of the two was slow with its other partner too."""
    if first_is_low and second_is_low:
        return Culprit.BOTH
    if first_is_low or second_is_low:
        return Culprit.FIRST if first_is_low else Culprit.SECOND
    return Culprit.PATH


def oversubscription(same_leaf: Sequence[float], cross_leaf: Sequence[float]) -> float | None:
    """How many times as fast the usual pair within a leaf is as the usual one across: 1 for a full spine, 2 for one with half the uplinks,
    or one that others use at that time. None without bandwidths of both kinds."""
    within, across = ([value for value in values if value > 0] for values in (same_leaf, cross_leaf))
    return median(within) / median(across) if within and across else None


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


def _shuffled(names: Iterable[str], seed: str) -> list[str]:
    """In the order of their digests: the same in every version of Python."""
    return sorted(names, key=lambda name: blake2b(f"{seed}/{name}".encode(), digest_size=16).digest())


def _matching(nodes: Sequence[str], leaves: Mapping[str, str], scope: Scope, seed: str) -> Matching:
    """One shuffle, whoever met recently."""
    if scope is Scope.ANY:
        return _paired(scope, [_shuffled(nodes, seed)], [])
    groups: dict[str, list[str]] = {}
    for node in _shuffled(leaves, seed):
        groups.setdefault(leaves[node], []).append(node)
    unknown = [node for node in nodes if node not in leaves]
    return _paired(scope, list(groups.values()), unknown) if scope is Scope.SAME_LEAF else _across(groups, unknown, seed)


def _paired(scope: Scope, groups: Iterable[Sequence[str]], left_out: Sequence[str]) -> Matching:
    """Neighbours within each group; an odd one out meets the first of its group again."""
    pairs, repeats, alone = list[Pair](), list[Pair](), [*left_out]
    for group in groups:
        pairs += [_pair(one, other) for one, other in zip(group[::2], group[1::2], strict=False)]
        if len(group) % 2 and len(group) > 1:
            repeats.append(_pair(group[-1], group[0]))
        alone += group if len(group) == 1 else []
    return Matching(scope, tuple(pairs), tuple(repeats), tuple(sorted(alone)))


def _across(groups: Mapping[str, Sequence[str]], left_out: Sequence[str], seed: str) -> Matching:
    """Leaf after leaf in one row, and each node with the one half a row further, which is in another leaf as long as no leaf holds more
    than half of all. What is too many there has no partner."""
    order = _shuffled(groups, seed)
    largest = max(order, key=lambda leaf: len(groups[leaf]))
    others = sum(len(group) for leaf, group in groups.items() if leaf != largest)
    row = [(node, leaf) for leaf in order for node in (groups[leaf][:others] if leaf == largest else groups[leaf])]
    odd = row.pop() if len(row) % 2 else None
    half = len(row) // 2
    pairs = [_pair(one, other) for (one, _), (other, _) in zip(row[:half], row[half:], strict=True)]
    repeats = [] if odd is None else [_pair(odd[0], node) for node, leaf in row if leaf != odd[1]][:1]
    return Matching(Scope.CROSS_LEAF, tuple(pairs), tuple(repeats), tuple(sorted([*left_out, *groups[largest][others:]])))


def _without_recent(matching: Matching, leaves: Mapping[str, str], met: Collection[Pair]) -> Matching:
    """Partners changed between two pairs wherever that turns a recent pair into new ones of the same scope."""
    pairs = list(matching.pairs)
    for at, pair in enumerate(pairs):
        if pair not in met:
            continue
        for step in range(1, min(len(pairs), NEIGHBOURS + 1)):
            other = (at + step) % len(pairs)
            better = _changed(pairs[at], pairs[other], leaves, matching.scope, met)
            if better is not None:
                pairs[at], pairs[other] = better
                break
    return matching._replace(pairs=tuple(pairs))


def _changed(one: Pair, other: Pair, leaves: Mapping[str, str], scope: Scope, met: Collection[Pair]) -> tuple[Pair, Pair] | None:
    for third, fourth in (other, other[::-1]):
        first, second = _pair(one[0], third), _pair(one[1], fourth)
        if first not in met and second not in met and _is_of(first, leaves, scope) and _is_of(second, leaves, scope):
            return first, second
    return None


def _is_of(pair: Pair, leaves: Mapping[str, str], scope: Scope) -> bool:
    is_same = leaves.get(pair[0]) == leaves.get(pair[1])
    return scope is Scope.ANY or is_same == (scope is Scope.SAME_LEAF)
