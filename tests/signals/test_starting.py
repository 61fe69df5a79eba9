"""When a node, a driver or an NVLink domain is starting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.signals.starting import BEGINS_MAX, SETTLED_S, Facts, Starting, step

GRACE_S = 600.0
UP_S = 1e6
"""A node that has been up for days, by its monotonic clock."""
EVERYTHING = {"infiniband": 8, "nvlink": 8}


class Watch:
    """Steps from pass to pass; `looks` at a time give whether it was in grace."""

    def __init__(self) -> None:
        self.state: Starting | None = None
        self.why = ""

    def look(self, now_s: float, **facts: object) -> bool:
        """One step. The machine started at 0 of its clock unless said otherwise."""
        known = {"uptime_s": now_s, "devices": EVERYTHING, **facts}
        self.state, in_grace, self.why = step(self.state, Facts(now_s, **known), GRACE_S)  # type: ignore[arg-type]
        assert in_grace == bool(self.why)
        return in_grace


def test_a_node_is_in_grace_for_ten_minutes_after_its_start() -> None:
    """By the kernel's uptime, whoever started this program when."""
    watch = Watch()

    assert [watch.look(at_s) for at_s in (45.0, 599.0, 600.0, 700.0)] == [True, True, False, False]
    assert Watch().look(45.0)


def test_the_reason_is_said_in_words() -> None:
    """For the log and the page."""
    watch = Watch()
    watch.look(45.0)

    assert watch.why == "the machine started 45 s ago"


def test_a_restart_of_the_exporter_is_no_start_of_the_node() -> None:
    """Devices that were there at first sight, and a domain that forms at first sight, did not start just now."""
    assert not Watch().look(UP_S)
    assert not Watch().look(UP_S, fabric_states=(1, 1))
    assert not Watch().look(UP_S, uptime_s=None)


def test_a_driver_that_is_loaded_is_a_start() -> None:
    """Its devices appear where there were none."""
    watch = Watch()
    watch.look(UP_S, devices={"infiniband": 8, "nvlink": 0})

    assert watch.look(UP_S + 15, devices=EVERYTHING)
    assert watch.why == "devices of nvlink appeared 0 s ago"
    assert [watch.look(UP_S + 15 + after_s) for after_s in (599.0, 600.0)] == [True, False]


def test_a_driver_that_has_not_answered_yet_is_no_driver_without_devices() -> None:
    """The NVML child needs seconds for its first answer."""
    watch = Watch()
    watch.look(UP_S, devices={"infiniband": 8})

    assert not watch.look(UP_S + 15)


def test_a_reload_is_a_start_from_the_moment_the_devices_vanish() -> None:
    """All at once: nothing is raised for what is missing meanwhile; the count starts anew when they return."""
    watch = Watch()
    watch.look(UP_S)

    assert watch.look(UP_S + 15, devices={"infiniband": 0, "nvlink": 8})
    assert watch.why == "devices of infiniband vanished 0 s ago"
    assert watch.look(UP_S + 60)
    assert [watch.look(UP_S + 60 + after_s) for after_s in (599.0, 600.0)] == [True, False]


def test_devices_that_do_not_return_are_missed_when_grace_ends() -> None:
    """An unloaded driver is forgiven for ten minutes."""
    watch = Watch()
    watch.look(UP_S)
    watch.look(UP_S + 15, devices={"infiniband": 0})

    assert not watch.look(UP_S + 15 + GRACE_S, devices={"infiniband": 0})


def test_a_lost_device_among_several_is_no_start() -> None:
    """One of eight fell off the bus, and came back."""
    watch = Watch()
    watch.look(UP_S)

    assert not watch.look(UP_S + 15, devices={"infiniband": 7, "nvlink": 8})
    assert not watch.look(UP_S + 30)


def test_a_driver_that_crashes_again_and_again_is_no_start() -> None:
    """The fourth time within an hour is a fault."""
    watch = Watch()
    watch.look(UP_S)
    seen = []
    for number in range(BEGINS_MAX + 1):
        at_s = UP_S + 700.0 * (number + 1)
        seen.append(watch.look(at_s, devices={"nvlink": 0}))
        watch.look(at_s + 5, devices={"nvlink": 8})

    assert seen == [*[True] * BEGINS_MAX, False]
    assert watch.look(UP_S + 90_000, devices={"nvlink": 0})


def test_gpus_that_join_their_domain_are_a_start_that_ends_in_any_case() -> None:
    """Joined before, now not started or in progress; a domain that never forms is no excuse for ever (NVIDIA/NVSentinel#891)."""
    watch = Watch()
    watch.look(UP_S, fabric_states=(3, 3))

    assert watch.look(UP_S + 15, fabric_states=(3, 2))
    assert watch.why == "GPUs began to join their NVLink domain 0 s ago"
    assert watch.look(UP_S + 300, fabric_states=(3, 2))
    assert not watch.look(UP_S + 15 + GRACE_S, fabric_states=(3, 2))


def test_all_links_up_for_two_minutes_end_grace_early() -> None:
    """Not the first moment in which all are up."""
    watch = Watch()
    early = [watch.look(at_s, all_up=True) for at_s in (60.0, 100.0, 60.0 + SETTLED_S - 1)]

    assert (early, watch.look(60.0 + SETTLED_S, all_up=True), watch.look(60.0 + SETTLED_S + 15, all_up=False)) == ([True] * 3, False, False)


def test_a_link_that_goes_down_again_starts_the_two_minutes_anew() -> None:
    """Links that form go up, down and up again."""
    watch = Watch()
    watch.look(60.0, all_up=True)
    watch.look(100.0, all_up=False)
    watch.look(105.0, all_up=True)

    assert watch.look(105.0 + SETTLED_S - 1, all_up=True)
    assert not watch.look(105.0 + SETTLED_S, all_up=True)


def test_grace_goes_on_while_nobody_can_say_or_the_domain_forms() -> None:
    """No expectation, no early end; nor while GPUs have not joined."""
    watch, forming = Watch(), Watch()

    assert all(watch.look(at_s, all_up=None) for at_s in (60.0, 300.0, 599.0))
    assert all(forming.look(at_s, all_up=True, fabric_states=(2,)) for at_s in (60.0, 300.0, 599.0))


def test_an_early_end_of_one_start_does_not_end_the_next() -> None:
    """The GPU driver is loaded while all InfiniBand ports have been up for long."""
    watch = Watch()
    ports_only = {"infiniband": 8, "nvlink": 0}
    watch.look(10.0, all_up=True, devices=ports_only)
    settled = watch.look(10.0 + SETTLED_S, all_up=True, devices=ports_only)

    assert not settled
    assert watch.look(200.0, all_up=True)
    assert watch.look(200.0 + SETTLED_S - 1, all_up=True)
    assert not watch.look(200.0 + SETTLED_S, all_up=True)


facts_of = st.builds(
    Facts,
    st.floats(),
    st.one_of(st.none(), st.floats()),
    st.dictionaries(st.sampled_from(["infiniband", "nvlink", "boot"]), st.integers(0, 9)),
    st.lists(st.integers(0, 4), max_size=3),
    st.sampled_from([True, False, None]),
)


@given(st.lists(facts_of, max_size=12))
def test_no_sequence_of_facts_raises(facts: list[Facts]) -> None:
    """Whatever clocks do; twice the same is the same."""
    state: Starting | None = None
    for one in facts:
        after, in_grace, why = step(state, one, GRACE_S)
        again = step(state, one, GRACE_S)

        assert repr((after, in_grace, why)) == repr(again)
        state = after


@pytest.mark.parametrize("grace_s", [0.0, 1e9])
def test_the_length_is_configured(grace_s: float) -> None:
    """None at all, or for ever."""
    assert step(None, Facts(45.0, 45.0), grace_s)[1] is (grace_s > 0)
