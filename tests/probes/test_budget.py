"""What probes may cost: interval, one run, an hour, and the pause after failures."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.limits import PROBE_DUTY_RATIO, PROBE_FAILURES_MAX, PROBE_INTERVAL_MIN_S, PROBE_PAUSE_MAX_S
from exporter.probes.budget import (
    RUNS_KEPT,
    Cost,
    Ending,
    Ledger,
    Limits,
    Refusal,
    begun,
    caught_up,
    ended,
    pause_s,
    refusal,
    refusal_for_person,
    stuck,
)
from exporter.probes.ledger_document import document_of, ledger_of

NOW_S = 1_800_000_000.0
USUAL = Cost(wall_s=22.0, gpu_s=0.5, bytes_per_gpu=21 * 2**30)
RAIL = Cost(wall_s=22.0, gpu_s=0.5, bytes_per_nic=3 * 2**30)


def run(ledger: Ledger, now_s: float, cost: Cost = USUAL, ending: Ending = Ending.WELL) -> Ledger:
    """A run that began and ended."""
    return ended(begun(ledger, now_s), cost, ending, now_s + cost.wall_s)


def failed(times: int) -> Ledger:
    """So many failed runs, the last of which ended at NOW_S."""
    ledger = Ledger()
    for _ in range(times):
        ledger = ended(ledger, USUAL, Ending.BADLY, NOW_S)
    return ledger


def test_the_first_run_of_the_usual_cost_may_begin() -> None:
    """Nothing was spent."""
    assert refusal(Ledger(), Limits(), USUAL, NOW_S) is None


def test_the_interval_is_from_beginning_to_beginning() -> None:
    """The refusal says when it is over; a person need not wait for it."""
    ledger = run(Ledger(), NOW_S)

    assert refusal(ledger, Limits(), USUAL, NOW_S + 899.0) == Refusal("the last probe began less than 900 s ago", NOW_S + 900.0)
    assert refusal(ledger, Limits(), USUAL, NOW_S + 900.0) is None
    assert refusal_for_person(ledger, Limits(), USUAL, NOW_S + 60.0) is None


def test_no_site_may_probe_more_often_than_the_least_interval() -> None:
    """Five minutes, whatever is configured."""
    ledger = run(Ledger(), NOW_S)

    assert refusal(ledger, Limits(interval_s=1.0), USUAL, NOW_S + PROBE_INTERVAL_MIN_S - 1) is not None
    assert refusal(ledger, Limits(interval_s=1.0), USUAL, NOW_S + PROBE_INTERVAL_MIN_S) is None


@pytest.mark.parametrize(("cost", "word"), [
    (USUAL._replace(wall_s=46.0), "wall time"), (USUAL._replace(gpu_s=2.1), "GPU time"),
    (USUAL._replace(bytes_per_gpu=2**36), "bytes a GPU"), (RAIL._replace(bytes_per_nic=2**33), "bytes a NIC"),
])  # fmt: skip
def test_one_run_has_limits_of_its_own(cost: Cost, word: str) -> None:
    """Not even a person may exceed them; waiting does not help, a smaller plan does."""
    for asked in (refusal, refusal_for_person):
        said = asked(Ledger(), Limits(), cost, NOW_S)
        assert said is not None
        assert word in said.problem
        assert said.until_wall_s is None


def test_an_hour_of_a_nic_is_bounded_and_comes_back() -> None:
    """16 GiB: five runs of 3 GiB; the sixth when the first is an hour old."""
    ledger = Ledger()
    for number in range(5):
        ledger = run(ledger, NOW_S + 300.0 * number, RAIL)

    said = refusal_for_person(ledger, Limits(), RAIL, NOW_S + 1500.0)

    assert said is not None
    assert said.until_wall_s == NOW_S + 22.0 + 3600.0
    assert refusal_for_person(ledger, Limits(), RAIL, said.until_wall_s) is None


def test_duty_is_of_the_last_hour() -> None:
    """0.5 % is 18 s: nine runs of 2 s, however they were asked for."""
    cost, ledger = Cost(wall_s=10.0, gpu_s=2.0), Ledger()
    for number in range(9):
        assert refusal_for_person(ledger, Limits(), cost, NOW_S + 60.0 * number) is None
        ledger = run(ledger, NOW_S + 60.0 * number, cost)

    said = refusal_for_person(ledger, Limits(), cost, NOW_S + 3600.0)

    assert said == Refusal("GPU time in s: the last hour has used 18 of 18", NOW_S + 10.0 + 3600.0)


def test_three_failures_open_the_circuit_with_ever_longer_pauses() -> None:
    """Half an hour, one hour, two, up to a day; one good run closes it."""
    assert not failed(2).is_circuit_open
    assert failed(3).is_circuit_open
    assert [pause_s(times) for times in (2, 3, 4, 5, 50)] == [0.0, 1800.0, 3600.0, 7200.0, PROBE_PAUSE_MAX_S]

    said = refusal(failed(4), Limits(), USUAL, NOW_S + 3599.0)

    assert said == Refusal("4 probes in a row failed: pause of 1 h", NOW_S + 3600.0)
    assert refusal(failed(4), Limits(), USUAL, NOW_S + 3600.0) is None
    assert not ended(failed(4), USUAL, Ending.WELL, NOW_S).is_circuit_open


def test_preempted_runs_neither_open_nor_close_the_circuit() -> None:
    """A job came: that says nothing of the probe."""
    assert ended(failed(3), USUAL, Ending.NEITHER, NOW_S).failures == 3
    assert ended(Ledger(), USUAL, Ending.NEITHER, NOW_S).failures == 0


def test_a_stuck_process_ends_all_probing() -> None:
    """For persons too, until somebody clears it."""
    for asked in (refusal, refusal_for_person):
        said = asked(stuck(Ledger()), Limits(), USUAL, NOW_S)
        assert said is not None
        assert said.until_wall_s is None
    assert stuck(Ledger()).is_circuit_open


def test_a_clock_that_goes_back_never_stops_probes_for_long() -> None:
    """What lies in the future counts as just now; an hour later it is gone."""
    spent = caught_up(run(Ledger(), NOW_S, Cost(gpu_s=18.0)), NOW_S - 1e6)
    assert refusal_for_person(spent, Limits(), USUAL, NOW_S - 1e6) is not None
    assert refusal_for_person(spent, Limits(), USUAL, NOW_S - 1e6 + 3600.0) is None

    ledger = caught_up(ended(run(failed(PROBE_FAILURES_MAX), NOW_S), USUAL, Ending.BADLY, NOW_S), NOW_S - 1e6)
    said = refusal(ledger, Limits(), USUAL, NOW_S - 1e6)

    assert said is not None
    assert said.until_wall_s is not None
    assert said.until_wall_s <= NOW_S - 1e6 + PROBE_PAUSE_MAX_S


TIMES = st.floats(0.0, 20_000.0)
COSTS = st.builds(Cost, st.floats(0, 45), st.floats(0, 2), st.integers(0, 2**35), st.integers(0, 2**32))


@given(st.lists(st.tuples(TIMES, COSTS, st.sampled_from(Ending)), max_size=40))
def test_whoever_asks_before_each_run_stays_within_the_budget(asked: list[tuple[float, Cost, Ending]]) -> None:
    """In every hour, whatever costs, pauses and failures: GPU time and bytes; and what is refused until then is allowed then."""
    ledger, spent, now_s, allowed = Ledger(), list[tuple[float, Cost]](), NOW_S, Limits()
    for wait_s, cost, ending in asked:
        now_s += wait_s
        ledger = caught_up(ledger, now_s)
        said = refusal(ledger, allowed, cost, now_s)
        if said is None:
            ledger = ended(begun(ledger, now_s), cost, ending, now_s)
            spent.append((now_s, cost))
        elif said.until_wall_s is not None:
            assert now_s < said.until_wall_s <= now_s + PROBE_PAUSE_MAX_S
        hour = [one for at_s, one in spent if now_s - at_s < 3600.0]
        assert sum(one.gpu_s for one in hour) <= PROBE_DUTY_RATIO * 3600.0 + 1e-9
        assert sum(one.bytes_per_nic for one in hour) <= allowed.bytes_per_nic_hour
        assert len(ledger.runs) <= RUNS_KEPT
        assert ledger_of(json.loads(json.dumps(document_of(ledger)))) == ledger


@pytest.mark.parametrize("document", [
    None, [], {}, {"version": 2, "failures": 3}, {"version": 1, "runs": 5, "failures": -3, "began_wall_s": "x", "is_stuck": 1},
    {"version": 1, "runs": [None, {}, {"wall_s": 1.0}, {"wall_s": 1.0, "cost": {"wall_s": 1}}, {"wall_s": 10**400, "cost": {}}]},
])  # fmt: skip
def test_a_corrupt_ledger_counts_as_nothing_spent(document: object) -> None:
    """A probe too many is cheap, a crash is not."""
    assert ledger_of(document) == Ledger()


def test_a_stuck_process_is_kept() -> None:
    """The daemon must not probe again because it was restarted."""
    assert ledger_of(document_of(stuck(failed(3)))) == stuck(failed(3))
