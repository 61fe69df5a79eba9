"""Which link stands at which place of a feed's Snapshots, and how far apart its passes are."""

import pytest

from exporter.model.entity import NODE, Device, Entity, Fabric, Link
from exporter.model.snapshot import Reading
from exporter.signals.observation import Observation
from exporter.signals.roster import Roster, Seats
from exporter.signals.tracked import Tracked
from tests.signals.passes import seen

LINKS = [Link(Fabric.NVLINK, "gpu0", str(number)) for number in range(4)]
RECORDS = {link: Tracked(link, ()) for link in LINKS}


def seated(roster: Roster, *entities: Entity, known: int = 4) -> Seats:
    """Seats of a pass over these; links that nobody knows concern nobody."""
    return roster.seat([Reading(entity, {}) for entity in entities], known, lambda reading: RECORDS.get(reading.entity))  # type: ignore[call-overload]


def befores(seats: Seats, now_s: float) -> list[float | None]:
    """When each link was seen last, as a pass at this time finds it."""
    found: list[Observation | None] = [seat.next(seen({}, now_s)) for _, seat in seats.links]
    return [before and before.monotonic_s for before in found]


def test_links_and_devices_have_their_places() -> None:
    """The node and links that concern nobody have none."""
    switch = Link(Fabric.NVLINK, "0000:07:00.0", "1")
    seats = seated(Roster(), NODE, LINKS[0], Device("gpu0"), switch, LINKS[1])

    assert [(at, seat.tracked.link) for at, seat in seats.links] == [(1, LINKS[0]), (4, LINKS[1])]
    assert [(at, device.name) for at, device in seats.devices] == [(2, "gpu0")]


def test_the_same_links_keep_their_seats() -> None:
    """At no cost: the very same object."""
    roster = Roster()

    assert seated(roster, LINKS[0], LINKS[1]) is seated(roster, LINKS[0], LINKS[1])


def test_a_link_that_moves_keeps_what_it_said() -> None:
    """Others came, or went, before it."""
    roster = Roster()
    befores(seated(roster, LINKS[0], LINKS[1]), 5.0)

    assert befores(seated(roster, LINKS[2], LINKS[1]), 10.0) == [None, 5.0]


def test_several_readings_of_one_link_are_told_apart_by_their_order() -> None:
    """One of them may be gone: the first stays the first."""
    roster = Roster()
    first = seated(roster, LINKS[0], LINKS[0])
    befores(first, 5.0)

    assert seated(roster, LINKS[0]).links[0][1] is first.links[0][1]


def test_a_link_that_begins_to_concern_somebody_gets_a_seat() -> None:
    """Another feed made it known."""
    roster, late = Roster(), Link(Fabric.NVLINK, "gpu1", "0")
    before = seated(roster, late, known=0)
    record = roster.seat([Reading(late, {})], 1, lambda _: Tracked(late, ()))

    assert (len(before.links), len(record.links)) == (0, 1)


def test_other_hardware_has_no_pass_before() -> None:
    """What the former card counted is not compared with what this one counts."""
    roster, record = Roster(), Tracked(LINKS[0], ())
    seats = roster.seat([Reading(LINKS[0], {})], 1, lambda _: record)
    befores(seats, 5.0)
    record.forget()

    assert [befores(seats, now_s) for now_s in (10.0, 15.0)] == [[None], [10.0]]


@pytest.mark.parametrize(
    ("times", "interval_s"),
    [
        ([0.0], 0.0),
        ([0.0, 5.0], 5.0),
        ([0.0, 5.0, 10.0, 15.0], 5.0),
        ([0.0, 60.0, 120.0, 121.0], 60.0),
        ([0.0, 5.0, 10.0, 3600.0], 5.0),
        ([0.0, 5.0, 10.0, 40.0, 70.0], 30.0),
        ([10.0, 5.0, 5.0], 0.0),
    ],
)
def test_the_pace_is_the_middle_of_the_last_three(times: list[float], interval_s: float) -> None:
    """One pass that came late or early does not change it; a clock that stands still or goes back says nothing."""
    roster = Roster()

    assert [roster.time(now_s) for now_s in times][-1] == interval_s
