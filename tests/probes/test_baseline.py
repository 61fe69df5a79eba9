"""A node against its own past: when it is low, when it is well again, and that a fault is never learned."""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.limits import PROBE_BASELINE_RUNS, PROBE_LEARN_RUNS
from exporter.probes.baseline import Baseline, Grade, Judgement, Measure, State, low_share, step

USUAL = 400e9


def after(values: Iterable[float], baseline: Baseline | None = None, floor: float | None = None) -> tuple[Baseline, Judgement]:
    """Run after run; the last judgement."""
    known, said = baseline or Baseline(Measure.BANDWIDTH), Judgement(State.OK)
    for value in values:
        known, said = step(known, value, floor)
    return known, said


def commissioned(measure: Measure = Measure.BANDWIDTH, usual: float = USUAL, spread: float = 0.004, runs: int = 40) -> Baseline:
    """A node with many good runs."""
    random = Random(1)  # noqa: S311 - repeatable noise
    return after([usual * random.gauss(1.0, spread) for _ in range(runs)], Baseline(measure))[0]


def states(values: Iterable[float], baseline: Baseline) -> list[State]:
    """The state after each run."""
    found = []
    for value in values:
        baseline, said = step(baseline, value)
        found.append(said.state)
    return found


def test_a_new_baseline_learns_before_it_judges() -> None:
    """Twelve good runs; until then there is no ratio, and from then on there is."""
    known, said = after([USUAL] * (PROBE_LEARN_RUNS - 1))
    assert (known.is_learning, said) == (True, Judgement(State.OK))

    known, said = after([USUAL], known)
    assert (known.is_learning, known.commissioned, said.commissioned_ratio) == (False, USUAL, 1.0)

    assert after([USUAL / 2], known)[1].ratio == 0.5


def test_a_fault_goes_through_suspect_to_degraded_and_back() -> None:
    """Two of three make a suspect, three of four confirm, five of six clear ones end it; a single low run is noise."""
    low, well = 0.8 * USUAL, USUAL
    assert states([low, well, well, well], commissioned()) == [State.OK] * 4

    found = states([low, well, low, low, low, *[well] * 6], commissioned())

    assert found == [*[State.OK] * 2, State.SUSPECT, State.DEGRADED, State.DEGRADED, *[State.DEGRADED] * 4, State.OK, State.OK]


def test_between_low_and_clear_nothing_changes() -> None:
    """At 94.5 % a node is not accused, and one that is does not recover."""
    between = 0.945 * USUAL
    assert set(states([between] * 5, commissioned())) == {State.OK}

    degraded, _ = after([0.8 * USUAL] * 4, commissioned())

    assert set(states([between] * 20, degraded)) == {State.DEGRADED}


@pytest.mark.parametrize(("measure", "well", "low"), [
    (Measure.LATENCY, 1.25, 1.35), (Measure.JITTER, 1.9, 2.1), (Measure.BANDWIDTH, 0.94, 0.92),
])  # fmt: skip
def test_each_measure_has_its_own_limit(measure: Measure, well: float, low: float) -> None:
    """1.3 times the latency, twice the jitter, 93 % of the bandwidth; being faster is never a fault."""
    known = commissioned(measure, usual=1e-4)

    assert after([1e-4 * well] * 8, known)[1].state is State.OK
    assert after([1e-4 * low] * 4, known)[1].state is State.DEGRADED
    assert after([1e-4 * (10 if measure is Measure.BANDWIDTH else 0.1)] * 4, known)[1].state is State.OK


def test_a_noisy_node_gets_more_room_but_not_all() -> None:
    """At 4 % deviation a run is low below 80 %; however noisy, below half of the baseline it always is."""
    noisy = Baseline(Measure.BANDWIDTH, learned=(96.0, 100.0, 104.0) * 4, commissioned=100.0, decayed=0.8, drift=100.0)
    wild = Baseline(Measure.BANDWIDTH, learned=(50.0, 100.0, 150.0) * 4, commissioned=100.0, decayed=0.8, drift=100.0)

    assert low_share(noisy) == pytest.approx(0.8)
    assert low_share(wild) == 0.5
    assert low_share(Baseline(Measure.BANDWIDTH)) == 0.93


def test_a_fault_that_stays_is_never_learned() -> None:
    """A thousand degraded runs, and the baseline is what it was."""
    known = commissioned()

    later, said = after([0.8 * USUAL] * 1000, known)

    assert (later.learned, later.commissioned) == (known.learned, known.commissioned)
    assert said.state is State.DEGRADED
    assert said.ratio == pytest.approx(0.8, rel=0.01)
    assert later.grades == (Grade.LOW,) * 6


def test_slow_decay_is_caught_by_the_first_good_runs() -> None:
    """A twentieth of a percent a run fools the sliding median, and the slow mean shows it; below 90 % of the start a run is low all the
    same, two are enough for a suspect, and nothing is learned from there."""
    known, said, at_drift = commissioned(), Judgement(State.OK), None
    for run in range(400):
        known, said = step(known, USUAL * (1.0 - 0.0005 * run))
        if said.state is not State.OK:
            at_drift = said
            break

    assert at_drift is not None
    assert at_drift.commissioned_ratio == pytest.approx(0.9, abs=0.002)
    assert at_drift.ratio is not None
    assert at_drift.ratio > 0.93
    assert at_drift.drift_ratio is not None
    assert at_drift.drift_ratio < 0.97


def test_one_bad_run_hardly_moves_the_slow_mean() -> None:
    """It counts as three deviations off at most."""
    known = commissioned()

    assert known.drift is not None
    for value in (USUAL / 100, USUAL * 100):
        later, _ = after([value], known)
        assert later.drift != known.drift
        assert later.drift == pytest.approx(known.drift, rel=0.001)


def test_a_node_that_is_broken_from_its_first_run_falls_below_the_floor() -> None:
    """What others publish: nothing is learned, and three runs are enough to say so. Once repaired it is well, and learns."""
    broken, said = after([0.5 * USUAL] * 20, floor=0.9 * USUAL)
    assert (broken.learned, said.state, said.ratio) == ((), State.DEGRADED, None)

    repaired, said = after([USUAL] * 20, broken, floor=0.9 * USUAL)

    assert (said.state, repaired.is_learning) == (State.OK, False)


def test_a_floor_that_is_gone_leaves_nobody_degraded_for_ever() -> None:
    """Another version may drop a published figure; then runs clear the state, and learning goes on."""
    broken, _ = after([0.5 * USUAL] * 4, floor=0.9 * USUAL)

    assert after([0.5 * USUAL] * 6, broken)[1].state is State.OK


def test_a_fault_that_begins_while_learning_is_not_learned() -> None:
    """After five good runs the median of those is enough to see that these are others; then learning waits."""
    known, said = after([*[USUAL] * 6, *[0.75 * USUAL] * 50])

    assert known.learned == (USUAL,) * 6
    assert (known.is_learning, said.state) == (True, State.OK)


def test_only_the_last_good_runs_count() -> None:
    """200, two days at the usual interval."""
    known, _ = after([USUAL] * (PROBE_BASELINE_RUNS + 50) + [1.02 * USUAL], commissioned())

    assert len(known.learned) == PROBE_BASELINE_RUNS
    assert known.learned[-1] == 1.02 * USUAL


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1e300, 1e-300])
def test_an_impossible_value_changes_nothing(value: float) -> None:
    """Neither a value nor, as a floor, a verdict."""
    known = commissioned()

    assert step(known, value) == (known, Judgement(State.OK))
    assert step(known, USUAL, value) == step(known, USUAL)


@given(st.sampled_from(Measure), st.lists(st.tuples(st.floats(allow_nan=True), st.none() | st.floats(allow_nan=True)), max_size=40))
def test_no_runs_make_it_raise(measure: Measure, runs: list[tuple[float, float | None]]) -> None:
    """Any numbers, any floors: a state, and shares that are numbers above 0 or missing."""
    known = Baseline(measure)
    for value, floor in runs:
        known, said = step(known, value, floor)
        assert isinstance(said.state, State)
        assert all(share is None or share > 0 for share in (said.ratio, said.commissioned_ratio, said.drift_ratio))


@given(st.lists(st.floats(0.2, 1.3), min_size=1, max_size=80))
def test_a_low_run_never_moves_the_median(shares: list[float]) -> None:
    """Whatever the order of good and bad runs: a run that was graded low, or came while the node was accused, is not learned."""
    known = commissioned()
    for share in shares:
        later, said = step(known, share * USUAL)
        if said.grade is Grade.LOW or said.state is not State.OK:
            assert later.learned == known.learned
        known = later


@given(st.floats(0.0, 0.9), st.integers(0, 300))
def test_the_node_stays_degraded_as_long_as_the_fault(share: float, more: int) -> None:
    """Any loss of 10 % or more, for any time after it was confirmed."""
    assert after([max(share, 0.001) * USUAL] * (4 + more), commissioned())[1].state is State.DEGRADED
