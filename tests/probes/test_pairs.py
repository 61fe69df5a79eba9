"""Pairs of GPUs: each in one pair at a time, and who is slow."""

from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.probes.pairs import Kind, Losses, Suspect, confirmed, rounds, suspects

TRIALS = 100


def sweep(gpus: int, spread: float, random: Random, slow: Suspect | None = None, loss: float = 0.0) -> dict[tuple[int, int], float]:
    """Bandwidths around 390 GB/s with log-normal noise; whoever is slow lacks that share."""
    found = {}
    for pair in permutations(range(gpus), 2):
        is_slow = (
            slow is not None
            and {
                Kind.GPU: slow.gpus[0] in pair,
                Kind.SOURCE: slow.gpus[0] == pair[0],
                Kind.DESTINATION: slow.gpus[0] == pair[1],
                Kind.PAIR: slow.gpus == pair,
            }[slow.kind]
        )
        found[pair] = 390e9 * random.lognormvariate(0.0, spread) * (1 - loss if is_slow else 1.0)
    return found


def three_sweeps(gpus: int, spread: float, random: Random, slow: Suspect | None = None, loss: float = 0.0) -> list[Losses]:
    """What three sweeps say."""
    return [suspects(sweep(gpus, spread, random, slow, loss)) for _ in range(3)]


@given(st.integers(2, 17))
def test_rounds_hold_each_ordered_pair_once_and_no_gpu_twice_at_a_time(gpus: int) -> None:
    """A 1-factorisation: in no more rounds than there must be."""
    found = rounds(list(range(gpus)))

    assert sorted(pair for one in found for pair in one) == sorted(permutations(range(gpus), 2))
    assert all(len({gpu for pair in one for gpu in pair}) == 2 * len(one) for one in found)
    assert len(found) == 2 * (gpus - 1 + gpus % 2)
    assert rounds([]) == rounds([0]) == ()


@pytest.mark.parametrize("spread", [0.01, 0.03])
@pytest.mark.parametrize("gpus", [4, 8])
@pytest.mark.parametrize("slow", [
    Suspect(Kind.GPU, (1,)), Suspect(Kind.SOURCE, (2,)), Suspect(Kind.DESTINATION, (0,)), Suspect(Kind.PAIR, (3, 1)),
])  # fmt: skip
def test_who_is_slow_by_a_quarter_is_named(slow: Suspect, gpus: int, spread: float) -> None:
    """In at least 99 of 100 trials, with what is lacking about right; the noise is that of the simulation in the research."""
    random = Random(f"{slow} {gpus} {spread}")  # noqa: S311 - repeatable noise
    found = [confirmed(three_sweeps(gpus, spread, random, slow, loss=0.25)) for _ in range(TRIALS)]

    named = [one[slow] for one in found if slow in one]

    assert len(named) >= 0.99 * TRIALS
    assert sum(named) / len(named) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("gpus", [4, 8])
def test_a_healthy_node_is_hardly_ever_accused(gpus: int) -> None:
    """At 3 % noise, which is much: in at most one of 100 nodes after confirmation, though single sweeps accuse far more often."""
    random = Random(gpus)  # noqa: S311 - repeatable noise
    sweeps = [three_sweeps(gpus, 0.03, random) for _ in range(TRIALS)]

    assert sum(bool(confirmed(one)) for one in sweeps) <= 1
    assert sum(bool(one[0]) for one in sweeps) > 5


@pytest.mark.parametrize("gpus", [4, 5, 8, 16])
def test_even_bandwidths_accuse_nobody(gpus: int) -> None:
    """No noise at all: the floor of 5 % keeps rounding from being a fault, and a node slow as a whole looks even."""
    assert suspects(dict.fromkeys(permutations(range(gpus), 2), 1e9)) == {}


def test_a_small_loss_without_noise_is_no_suspect() -> None:
    """4 % is less than one NVLink of eighteen."""
    random = Random(0)  # noqa: S311 - unused: no noise

    assert suspects(sweep(8, 0.0, random, Suspect(Kind.GPU, (1,)), 0.04)) == {}
    assert list(suspects(sweep(8, 0.0, random, Suspect(Kind.GPU, (1,)), 0.06))) == [Suspect(Kind.GPU, (1,))]


@pytest.mark.parametrize("gpus", [0, 1, 2, 3])
def test_of_few_gpus_nobody_is_accused(gpus: int) -> None:
    """With three, a slow GPU and a fast path between the two others look the same."""
    random = Random(1)  # noqa: S311 - repeatable noise

    assert suspects(sweep(gpus, 0.01, random, Suspect(Kind.GPU, (0,)), 0.5)) == {}


def test_missing_and_impossible_pairs_are_left_out() -> None:
    """A few may be; with too many nothing can be told."""
    random = Random(2)  # noqa: S311 - repeatable noise
    slow = Suspect(Kind.GPU, (5,))
    found = sweep(8, 0.01, random, slow, 0.25)
    del found[0, 1]
    found[2, 3], found[4, 4] = 0.0, 1.0

    assert list(suspects(found)) == [slow]
    assert suspects({pair: value for pair, value in found.items() if pair[0] < 5}) == {}


def test_two_of_the_last_three_sweeps_confirm() -> None:
    """What was said before those counts no more; the loss is the median of what was seen."""
    one, other = Suspect(Kind.GPU, (1,)), Suspect(Kind.PAIR, (2, 3))
    sweeps: list[Losses] = [{other: 0.5}, {one: 0.2, other: 0.5}, {}, {one: 0.3}]

    assert confirmed(sweeps) == {one: 0.25}
    assert confirmed(sweeps[:2]) == {other: 0.5}
    assert confirmed([]) == {}


@given(st.dictionaries(st.tuples(st.integers(0, 6), st.integers(0, 6)), st.floats(allow_nan=True)))
def test_no_matrix_makes_it_raise(bandwidths: dict[tuple[int, int], float]) -> None:
    """Losses are shares, whatever was measured."""
    assert all(0.0 < loss <= 1.0 for loss in suspects(bandwidths).values())


def test_kinds_have_the_scopes_of_the_metric() -> None:
    """A side of a GPU is the GPU's."""
    assert [kind.scope for kind in Kind] == ["gpu", "gpu", "gpu", "pair"]
