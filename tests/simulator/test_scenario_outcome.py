"""What a monitor said against what a scenario expects: in time, with the reason, and nothing of what should be silent."""

import json

import pytest

from exporter.simulator.scenario import Expected, Scenario
from exporter.simulator.scenario_outcome import Transition, outcome_of, summary_of
from tests.simulator.faulty import planned

LINK, OTHER = "infiniband/mlx5_3/1", "nvlink/gpu0/4"
FAULTS = (planned("rate", LINK, at_s=1800, until_s=3000, to="200 Gb/sec (4X HDR)"),)
RISE = Transition(1805.0, LINK, "ok", "degraded", ("speed_downgrade",), ("lanes run at half",))
FALL = Transition(3700.0, LINK, "degraded", "ok")


def story(*expect: Expected, silent: tuple[str, ...] = ()) -> Scenario:
    """One downgrade from 30 min to 50 min, and what is expected of it."""
    return Scenario("hgx-h100", 7200.0, faults=FAULTS, expect=expect, silent=silent)


def after(expected: Expected, *transitions: Transition) -> float | None:
    """How long the only link of one expectation took."""
    return outcome_of(story(expected), transitions).met[0].after_s


def test_an_expectation_runs_from_its_fault_on() -> None:
    """And is met when status and reason are there."""
    assert after(Expected(LINK, "degraded", 60.0, "speed_downgrade"), RISE, FALL) == 5.0


@pytest.mark.parametrize(
    "expected",
    [
        Expected(LINK, "degraded", 4.0),
        Expected(LINK, "failed", 60.0),
        Expected(LINK, "degraded", 60.0, "width_downgrade"),
        Expected(OTHER, "degraded", 60.0),
        Expected(LINK, "degraded", 60.0, at_s=3700.0),
    ],
    ids=["too late", "another status", "another reason", "another link", "over by then"],
)
def test_what_comes_too_late_or_otherwise_is_missed(expected: Expected) -> None:
    """Each of these alone."""
    outcome = outcome_of(story(expected), (RISE, FALL))

    assert outcome.met[0].after_s is None
    assert not outcome.holds


def test_a_return_is_expected_from_a_time_on() -> None:
    """As the status at that time, or as one that comes within the time given."""
    assert after(Expected(LINK, "ok", 900.0, at_s=3000.0), RISE, FALL) == 700.0
    assert after(Expected(LINK, "degraded", 0.0, at_s=3000.0), RISE, FALL) == 0.0
    assert after(Expected(LINK, "ok", 10.0, at_s=0.0)) == 0.0


def test_what_was_raised_before_the_fault_is_no_detection() -> None:
    """A false alarm that went before it is over does not count; one that stands does, at once."""
    early = Transition(10.0, LINK, "ok", "degraded", ("speed_downgrade",))

    assert after(Expected(LINK, "degraded", 60.0), early, Transition(20.0, LINK, "degraded", "ok")) is None
    assert after(Expected(LINK, "degraded", 60.0), early) == 0.0


def test_a_pattern_expects_it_of_every_link() -> None:
    """One that is missing breaks it."""
    expected = Expected("infiniband/mlx5_[34]/1", "degraded", 60.0)
    outcome = outcome_of(story(expected), (RISE,))

    assert [(one.link, one.after_s) for one in outcome.met] == [(LINK, 5.0), ("infiniband/mlx5_4/1", None)]


@pytest.mark.parametrize("silent", [OTHER, "nvlink/gpu0/*", "nvlink/*/*"])
def test_silence_is_broken_by_anything_worse_than_ok(silent: str) -> None:
    """And by a reason alone; unknown is no alarm."""
    loud = Transition(50.0, OTHER, "ok", "suspect", ("nvlink_errors",))
    unknown = Transition(50.0, OTHER, "ok", "unknown")

    assert outcome_of(story(silent=(silent,)), (loud,)).broken == (OTHER,)
    assert not outcome_of(story(silent=(silent,)), (loud,)).holds
    assert outcome_of(story(silent=(silent,)), (unknown, RISE)).holds


def test_what_no_fault_explains_is_named() -> None:
    """A false alarm need not have been declared silent to be seen."""
    outcome = outcome_of(story(), (RISE, Transition(50.0, OTHER, "ok", "suspect", ("nvlink_errors",))))

    assert outcome.raised == (LINK, OTHER)
    assert outcome.unexplained == (OTHER,)
    assert outcome.holds


def test_a_fault_of_the_node_or_a_device_explains_its_links() -> None:
    """A reboot all of them, a card its own."""
    gone = Transition(1900.0, LINK, "ok", "failed", ("missing",))
    unplugged = Scenario("hgx-h100", 7200.0, faults=(planned("unplug", "mlx5_3"),))
    rebooted = Scenario("hgx-h100", 7200.0, faults=(planned("reboot"),))

    assert outcome_of(unplugged, (gone, gone._replace(link=OTHER))).unexplained == (OTHER,)
    assert outcome_of(rebooted, (gone, gone._replace(link=OTHER))).unexplained == ()


def test_the_summary_is_one_json_object() -> None:
    """With what was missed and how long the rest took."""
    expected = (Expected(LINK, "degraded", 60.0, "speed_downgrade"), Expected(OTHER, "failed", 60.0, "down"))
    scenario = story(*expected, silent=("nvlink/gpu1/*",))
    told = json.loads(json.dumps(summary_of(scenario, outcome_of(scenario, (RISE, FALL)), 2)))

    assert told == {
        "node": "hgx-h100", "seed": 1, "duration_s": 7200.0, "holds": False, "expected": 2, "met": 1,
        "missed": [{"link": OTHER, "status": "failed", "reason": "down"}], "after_s": {f"{LINK} degraded": 5.0}, "slowest_s": 5.0,
        "broken_silence": [], "unwanted": [], "raised": [LINK], "unexplained": [], "notes": [], "unsaid": [],
        "transitions": 2,
    }  # fmt: skip
