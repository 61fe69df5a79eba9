"""Links that should carry the same, compared."""

from collections.abc import Mapping
from math import isfinite
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.catalog.signals import SIBLING
from exporter.model.entity import Fabric, Link
from exporter.model.health import Why
from exporter.signals.rule import Outcome
from exporter.signals.siblings import LOW_FOR_S, WINDOW_S, Mean, Rates, States, compare
from tests.signals.passes import DEFAULTS

GB = 1e9
INTERVAL_S = 15.0
FOUND_S = WINDOW_S + LOW_FOR_S
NVLINKS = [Link(Fabric.NVLINK, "gpu0", str(port)) for port in range(18)]
RAILS = [Link(Fabric.INFINIBAND, f"mlx5_{number}", "1") for number in range(8)]
GROUPS = {"gpu0/switch": NVLINKS, "rails": RAILS}


def _even(links: list[Link], rate: float = 20 * GB, **other: float) -> dict[Link, Rates]:
    """The same for all, but for some ports or devices."""
    rates = {link: other.get(f"p{link.port}" if link.fabric is Fabric.NVLINK else link.device, rate) for link in links}
    return {link: (each, each) for link, each in rates.items()}


class Watch:
    """Compares every INTERVAL_S."""

    def __init__(self) -> None:
        self.states: States = {}
        self.outcomes: Mapping[Link, Outcome] = {}

    def see(self, rates: Mapping[Link, Rates], for_s: float, groups: Mapping[str, list[Link]] = GROUPS) -> "Watch":
        """The same rates for so long."""
        for _ in range(round(for_s / INTERVAL_S)):
            self.states, self.outcomes = compare(self.states, rates, groups, DEFAULTS, INTERVAL_S)
        return self

    @property
    def slow(self) -> set[Link]:
        """Links that are found slow now."""
        return {link for link, outcome in self.outcomes.items() if any(f.why is Why.SLOW_SIBLING and f.holds for f in outcome.findings)}


def test_even_links_have_a_ratio_of_one_after_a_window() -> None:
    """Not before: two minutes hold several steps of a training."""
    watch = Watch().see(_even(NVLINKS), WINDOW_S - INTERVAL_S)
    early = watch.outcomes
    watch.see(_even(NVLINKS), INTERVAL_S)

    assert early == {}
    assert [outcome.signals[SIBLING.key] for outcome in watch.outcomes.values()] == pytest.approx([1.0] * 18)
    assert watch.slow == set()


@pytest.mark.parametrize("links", [NVLINKS, RAILS], ids=["nvlinks", "rails"])
def test_a_link_far_below_for_minutes_is_slow(links: list[Link]) -> None:
    """Half of what the others carry, in both directions; named with the figures, and not a pass too early."""
    rates = _even(links, p3=10 * GB, mlx5_3=10 * GB)
    watch = Watch().see(rates, FOUND_S - INTERVAL_S - INTERVAL_S)
    early = watch.slow
    watch.see(rates, INTERVAL_S)

    assert (early, watch.slow) == (set(), {links[3]})
    evidence = watch.outcomes[links[3]].findings[0].evidence
    assert evidence == f"transmits 10 GB/s while the median of it and {len(links) - 1} siblings is 20 GB/s"


def test_one_direction_is_enough() -> None:
    """Received alone."""
    rates = {**_even(NVLINKS), NVLINKS[5]: (20 * GB, 4 * GB)}

    assert Watch().see(rates, FOUND_S).slow == {NVLINKS[5]}


def test_more_sent_than_received_is_no_difference_between_siblings() -> None:
    """Reductions in the switch (SHARP): each direction is compared with itself."""
    assert Watch().see(dict.fromkeys(NVLINKS, (20 * GB, 5 * GB)), FOUND_S).slow == set()


def test_a_nvlink_that_carries_nothing_is_the_slowest() -> None:
    """No job chooses its NVLinks."""
    assert Watch().see(_even(NVLINKS, p0=0.0), FOUND_S).slow == {NVLINKS[0]}


def test_links_that_carry_little_are_not_compared() -> None:
    """Idle links differ by chance."""
    watch = Watch().see(_even(NVLINKS, 0.5 * GB, p0=0.01 * GB), FOUND_S)

    assert watch.outcomes == {}


def test_a_rail_that_the_job_does_not_use_is_not_slow() -> None:
    """Five GPUs of eight, or NCCL_IB_HCA without one: the idle rails take no part."""
    idle = {"mlx5_0": 0.0, "mlx5_1": 1e6, "mlx5_2": 0.0}
    watch = Watch().see(_even(RAILS, **idle), FOUND_S)

    assert (watch.slow, set(watch.outcomes)) == (set(), set(RAILS[3:]))


def test_one_rail_alone_has_no_siblings() -> None:
    """A job of one rail, and one of two."""
    alone = Watch().see({**_even(RAILS, 0.0), RAILS[0]: (20 * GB, 20 * GB)}, FOUND_S)
    two = Watch().see({**_even(RAILS, 0.0), RAILS[0]: (20 * GB, 20 * GB), RAILS[1]: (9 * GB, 9 * GB)}, FOUND_S)

    assert alone.outcomes == two.outcomes == {}


def test_half_of_a_group_is_no_outlier() -> None:
    """A node of two jobs: four rails carry half of what four others do."""
    slower = dict.fromkeys(("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"), 10 * GB)
    three = dict.fromkeys(("mlx5_0", "mlx5_1", "mlx5_2"), 10 * GB)

    assert Watch().see(_even(RAILS, **slower), FOUND_S).slow == set()
    assert Watch().see(_even(RAILS, **three), FOUND_S).slow == set()


def test_a_spread_group_has_no_outlier() -> None:
    """By ratio alone the least of these would be one; by its z it is not."""
    spread = {f"mlx5_{n}": rate * GB for n, rate in enumerate((6, 7.5, 8, 9, 11, 12, 12.5, 13))}

    assert Watch().see(_even(RAILS, **spread), FOUND_S).slow == set()


def test_a_checkpoint_pause_of_all_is_no_finding() -> None:
    """60 s of silence every few minutes: all means fade alike."""
    watch = Watch()
    for _ in range(6):
        watch.see(_even(NVLINKS), 240.0).see(_even(NVLINKS, 0.0), 60.0)

        assert watch.slow == set()


def test_healthy_noise_never_raises() -> None:
    """Sixteen hours of 5 % noise (by z alone it would raise in 14 % of the looks)."""
    random = Random(7)  # noqa: S311  # noise that repeats, no secret
    watch = Watch()
    for _ in range(4_000):
        watch.see({link: (random.gauss(20, 1) * GB, random.gauss(20, 1) * GB) for link in RAILS}, INTERVAL_S, {"rails": RAILS})

        assert watch.slow == set()


def test_it_clears_halfway_up_and_not_at_the_edge() -> None:
    """Hysteresis: raised below 0.7, kept at 0.8, clear at 0.9."""
    watch = Watch().see(_even(NVLINKS, p3=10 * GB), FOUND_S)
    at_edge = watch.see(_even(NVLINKS, p3=16 * GB), 10 * WINDOW_S).slow
    clear = watch.see(_even(NVLINKS, p3=18 * GB), 10 * WINDOW_S).slow

    assert (at_edge, clear) == ({NVLINKS[3]}, set())


def test_silence_neither_raises_nor_clears() -> None:
    """No traffic, no rate (a reset, a link that is down): nothing is said of it, and then it is as it was."""
    slow = _even(NVLINKS, p3=10 * GB)
    watch = Watch().see(slow, FOUND_S)
    idle = watch.see(_even(NVLINKS, 0.0), 20 * WINDOW_S).outcomes
    without = {link: rates for link, rates in slow.items() if link != NVLINKS[3]}
    missing = watch.see(without, 4 * WINDOW_S).outcomes
    again = watch.see(slow, 2 * INTERVAL_S).slow

    assert idle == {}
    assert (NVLINKS[3] in missing, again) == (False, {NVLINKS[3]})


def test_a_group_of_two_tells_nothing() -> None:
    """Either may be the odd one."""
    pair = NVLINKS[:2]

    assert Watch().see(_even(pair, p0=1 * GB), FOUND_S, {"pair": pair}).outcomes == {}


def test_no_time_changes_nothing_and_a_gap_starts_the_mean_anew() -> None:
    """A clock that went back, and a night asleep."""
    states = Watch().see(_even(NVLINKS), WINDOW_S).states

    assert compare(states, _even(NVLINKS), GROUPS, DEFAULTS, -1.0) == (states, {})
    assert compare(states, _even(NVLINKS, 1 * GB), GROUPS, DEFAULTS, 3600.0)[0][NVLINKS[0]] == Mean(1 * GB, 1 * GB, WINDOW_S, 0.0)


def test_a_link_in_no_group_is_forgotten() -> None:
    """Devices come and go."""
    watch = Watch().see(_even(NVLINKS), WINDOW_S).see(_even(RAILS), INTERVAL_S, {"rails": RAILS})

    assert set(watch.states) == set(RAILS)


rates_of = st.dictionaries(st.sampled_from(RAILS + NVLINKS), st.tuples(st.floats(), st.floats()))


@settings(max_examples=60)
@given(st.lists(st.tuples(rates_of, st.floats()), max_size=5))
def test_nothing_raises_and_ratios_are_finite(passes: list[tuple[dict[Link, Rates], float]]) -> None:
    """Whatever rates and times; twice the same is the same."""
    states: States = {}
    for rates, elapsed_s in passes:
        told = compare(states, rates, GROUPS, DEFAULTS, elapsed_s)

        assert told == compare(states, rates, GROUPS, DEFAULTS, elapsed_s)
        states, outcomes = told
        assert all(isfinite(ratio) and ratio >= 0 for outcome in outcomes.values() for ratio in outcome.signals.values())
