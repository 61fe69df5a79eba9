"""Expected signals: seen once, in time, on the link that they are expected of."""

import pytest

from exporter.model.entity import Fabric, Link
from exporter.model.snapshot import Reading
from exporter.simulator.scenario import Expected, Never, Scenario
from exporter.simulator.scenario_outcome import Sighting, Unwanted, outcome_of, summary_of
from exporter.simulator.scenario_signals import SignalWatch

LINK, OTHER = Link(Fabric.INFINIBAND, "mlx5_0", "1"), Link(Fabric.INFINIBAND, "mlx5_1", "1")
SENDING = ("signal_utilization_ratio", "transmit")


def story(*expect: Expected) -> Scenario:
    """Ten minutes of a node with two ports."""
    return Scenario("no-gpu-ib", 600.0, expect=expect)


def busy(link: str = str(LINK), *, within_s: float = 60.0, at_s: float = 100.0) -> Expected:
    """That it sends at half of its rate at least."""
    return Expected(link, "", within_s, at_s=at_s, signal=SENDING, at_least=0.5)


def readings(value: float | None) -> tuple[Reading, ...]:
    """Both ports; the first one with that load."""
    return Reading(LINK, {} if value is None else {SENDING: value, "signal_flaps": 3}), Reading(OTHER, {SENDING: 0.1})


@pytest.mark.parametrize(("t_s", "value"), [(99.0, 0.9), (161.0, 0.9), (130.0, 0.49), (130.0, None)],
                         ids=["too early", "too late", "too little", "absent"])  # fmt: skip
def test_what_is_not_as_it_should_be_in_time_is_not_seen(t_s: float, value: float | None) -> None:
    """And stays expected."""
    watch = SignalWatch(story(busy()))

    assert (list(watch.look(t_s, readings(value))), watch.is_over) == ([], False)


def test_it_is_told_once_and_then_nothing_is_expected() -> None:
    """The first time counts."""
    watch = SignalWatch(story(busy()))

    assert list(watch.look(130.0, readings(0.5))) == [Sighting(130.0, 0, str(LINK), 0.5)]
    assert (list(watch.look(135.0, readings(0.9))), watch.is_over) == ([], True)


def test_a_signal_without_labels_is_one_too() -> None:
    """Its key is its row's."""
    flaps = Expected(str(LINK), "", 600.0, at_s=0.0, signal=("signal_flaps",), at_least=3)

    assert list(SignalWatch(story(flaps)).look(5.0, readings(0.0))) == [Sighting(5.0, 0, str(LINK), 3.0)]


def test_sightings_meet_expectations_of_the_same_number_and_link() -> None:
    """Time runs from the onset; the summary says what lacks."""
    scenario = story(busy("infiniband/*"))
    outcome = outcome_of(scenario, [Sighting(130.0, 0, str(LINK), 0.5)])

    assert [one.after_s for one in outcome.met] == [30.0, None]
    assert not outcome.holds
    assert summary_of(scenario, outcome, 0)["missed"] == [{"link": str(OTHER), "signal": "signal_utilization_ratio transmit"}]
    assert summary_of(scenario, outcome, 0)["after_s"] == {f"{LINK} signal_utilization_ratio transmit at least 0.5": 30.0}


def test_a_signal_that_is_forbidden_is_told_once_of_each_link() -> None:
    """Labels are patterns; the watch goes on to the end, and the scenario does not hold."""
    scenario = Scenario(
        "no-gpu-ib", 600.0, never=(Never("infiniband/*", ("signal_utilization_ratio", "t*")), Never(str(OTHER), ("signal_flaps",)))
    )
    watch = SignalWatch(scenario)
    unwanted = [Unwanted(5.0, str(link), "signal_utilization_ratio transmit") for link in (LINK, OTHER)]

    assert list(watch.look(5.0, readings(0.5))) == unwanted
    assert (list(watch.look(10.0, readings(0.5))), watch.is_over) == ([], False)

    outcome = outcome_of(scenario, unwanted)
    assert not outcome.holds
    assert summary_of(scenario, outcome, 0)["unwanted"] == [f"{link} signal_utilization_ratio transmit" for link in (LINK, OTHER)]


def test_other_labels_and_signals_may_be_seen() -> None:
    """A pattern for each label, no more and no less."""
    never = (Never(str(LINK), ("signal_utilization_ratio", "receive")), Never(str(LINK), ("signal_flaps", "*")))

    assert list(SignalWatch(Scenario("no-gpu-ib", 600.0, never=never)).look(5.0, readings(0.5))) == []
