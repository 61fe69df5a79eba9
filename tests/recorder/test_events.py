"""What is an event and what is none: from looks of health, made by hand."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog import signals
from exporter.catalog.infiniband import ROWS
from exporter.catalog.xid import OFF_BUS, SXID, XID
from exporter.model.entity import Device, Fabric, Link
from exporter.model.fault import Fault, Reason
from exporter.model.health import Active, Level, Unknown, Verdict, Why
from exporter.model.maintenance import Maintenance
from exporter.model.metric import Cadence, Role
from exporter.model.snapshot import Feed, FixedValues, Number, Reading, SeriesKey, Snapshot, SourceStatus
from exporter.recorder.events import QUIET_S, EventWatch, Look
from exporter.recorder.tick import Event, EventKind, Tick, document_of
from tests.recorder.test_rows import TICKS

PORT = Link(Fabric.INFINIBAND, "mlx5_0", "1")
LOG = Feed("kernel_log", "", Cadence.FAST)
IB = Feed("infiniband", "mlx5_0", Cadence.FAST)
STATUS = SourceStatus("infiniband", up=True, devices=1)


def look(now_s: float, *snapshots: Snapshot, **more: object) -> Look:
    """One at that time, with one healthy source unless told."""
    return Look(1e9 + now_s, now_s, snapshots, more.pop("statuses", (STATUS,)), **more)  # type: ignore[arg-type]


def brings(feed: Feed, now_s: float, *readings: Reading, faults: tuple[Fault, ...] = ()) -> Snapshot:
    """A pass of that feed."""
    return Snapshot(feed, 1e9 + now_s, now_s, readings, faults)


def told(watch: EventWatch, *looks: Look) -> list[Event]:
    """All events of these looks."""
    return [event for one in looks for event in watch.look(one)]


def log_of(now_s: float, counts: dict[SeriesKey, Number], link: Link | Device | None = None, *, fixed: bool = False) -> Snapshot:
    """What the kernel log tells of a GPU."""
    values = FixedValues({key: place for place, key in enumerate(counts)}, list(counts.values())) if fixed else counts
    return brings(LOG, now_s, Reading(link or Link(Fabric.NVLINK, "gpu1", ""), values))


@pytest.mark.parametrize("fixed", [False, True], ids=["from the log", "from the child"])
def test_an_xid_is_an_event_with_its_counts(fixed: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """One that grew, and one that nobody expected; what was there at first sight is history."""
    watch = EventWatch()
    first = log_of(0.0, {(XID.key, "74"): 3}, fixed=fixed)
    then = log_of(5.0, {(XID.key, "74"): 4, (XID.key, "79"): 1}, fixed=fixed)

    found = told(watch, look(0.0, first), look(5.0, then), look(10.0, then))

    assert [(one.kind, one.link, one.facts["code"], one.facts["before"], one.facts["after"]) for one in found] == [
        (EventKind.XID, "gpu1", "74", 3, 4), (EventKind.XID, "gpu1", "79", 0, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("key", "entity", "text"), [
    ((XID.key, "74"), Link(Fabric.NVLINK, "gpu1", "4"), "nvlink/gpu1/4: Xid 74"),
    ((SXID.key, "20034"), Link(Fabric.NVLINK, "0000:80:00.0", ""), "0000:80:00.0: SXid 20034"),
    (OFF_BUS.key, Device("gpu1"), "gpu1: GPU fell off the bus"),
])  # fmt: skip
def test_what_the_driver_reports_is_told_by_its_name(key: SeriesKey, entity: Link | Device, text: str) -> None:
    """Of a GPU, a switch, a link."""
    watch = EventWatch()

    found = told(watch, look(0.0, log_of(0.0, {key: 0}, entity)), look(5.0, log_of(5.0, {key: 1}, entity)))

    assert [one.text for one in found] == [text]


def test_a_link_that_the_log_names_for_the_first_time_is_an_event() -> None:
    """Its Reading was not there before; the log had been read."""
    watch = EventWatch()
    before = log_of(0.0, {(XID.key, "74"): 0})
    named = Reading(Link(Fabric.NVLINK, "gpu1", "4"), {(XID.key, "74"): 1})

    found = told(watch, look(0.0, before), look(5.0, before._replace(readings=(*before.readings, named))))

    assert [one.link for one in found] == ["nvlink/gpu1/4"]


def shown(total: int) -> Reading:
    """What health shows of the port: how often it went down."""
    return Reading(PORT, FixedValues({signals.FLAPS.key: 0, signals.HEALTH.key: 1}, [total, 0]))


def test_a_flap_has_the_raw_numbers_of_its_witnesses() -> None:
    """State and counters, before and after, and when; bytes say nothing."""
    watch = EventWatch()
    roles = (Role.STATE, Role.LINK_DOWNS, Role.TX_BYTES)
    places: dict[SeriesKey, int] = {next(row.key for row in ROWS if row.role is role): place for place, role in enumerate(roles)}
    up, down = (Reading(PORT, FixedValues(places, numbers)) for numbers in ([4, 7, 100], [1, 8, 200]))

    found = told(watch, look(0.0, brings(IB, 0.0, up), shown=[shown(2)]), look(5.0, brings(IB, 5.0, down), shown=[shown(4)]),
                 look(10.0, shown=[shown(0)]))  # fmt: skip

    assert [(one.kind, one.text, one.facts["before"], one.facts["after"]) for one in found] == [
        (EventKind.FLAP, f"{PORT}: went down 2 times", 2, 4)
    ]
    assert [(one["before"], one["after"]) for one in found[0].facts["numbers"]] == [(4, 1), (7, 8)]  # type: ignore[index, union-attr, call-overload]


def verdict(level: Level | None, *whys: Why) -> Verdict:
    """Of the port."""
    active = tuple(Active(why, Level.DEGRADED, 1e9, "numbers") for why in whys)
    return Verdict(PORT, level, Unknown.STALE if level is None else None, 1e9, active)


def test_a_verdict_that_changed_is_an_event() -> None:
    """From, to, reasons, evidence."""
    change = verdict(Level.OK), verdict(Level.DEGRADED, Why.SPEED_DOWNGRADE)

    (found,) = told(EventWatch(), look(5.0, changes=[change]))

    assert (found.kind, found.link, found.facts["from"], found.facts["to"]) == (EventKind.HEALTH, str(PORT), "ok", "degraded")
    assert found.text == f"{PORT}: ok → degraded (speed_downgrade: numbers)"
    assert document_of(found, "boot-1")["reasons"] == [
        {"reason": "speed_downgrade", "level": "degraded", "since": 1e9, "evidence": "numbers"}
    ]  # fmt: skip


def test_a_source_in_trouble_is_an_event_and_its_end_another() -> None:
    """A device that hangs, a source that is down; what is well at first sight is none."""
    hung = replace(STATUS, up=False, hung=("mlx5_0",))

    found = told(EventWatch(), look(0.0), look(5.0, statuses=[hung]), look(10.0, statuses=[hung]), look(15.0))

    assert [one.text for one in found] == [
        "infiniband: mlx5_0 does not answer", "infiniband: not everything can be read",
        "infiniband: mlx5_0 answers again, or is gone", "infiniband: can be read again",
    ]  # fmt: skip


def test_what_is_down_at_first_sight_is_an_event() -> None:
    """A daemon that starts beside a hung driver says so."""
    found = told(EventWatch(), look(0.0, statuses=[replace(STATUS, up=None)]), look(5.0, statuses=[replace(STATUS, up=False)]))

    assert [one.facts["up"] for one in found] == [False]


def test_a_fault_that_goes_on_is_told_once() -> None:
    """Again only after a while of quiet; with a line of what it was. What hardware does not have is no event."""
    watch = EventWatch()
    fault = Fault("infiniband", "mlx5_0/1/counters", Reason.IO, "Input/output error")
    counts = [replace(STATUS, faults={Reason.IO: number, Reason.ABSENT: number}) for number in range(1, 6)]
    looks = [look(number * 5.0, brings(IB, number * 5.0, faults=(fault,)), statuses=[one]) for number, one in enumerate(counts)]
    later = look(QUIET_S + 100.0, statuses=[replace(STATUS, faults={Reason.IO: 9})])

    found = told(watch, look(-5.0), *looks, later)

    assert [(one.facts["reason"], one.facts["before"], one.facts["after"]) for one in found] == [("io", 0, 1), ("io", 5, 9)]
    assert found[0].facts["details"] == ["mlx5_0/1/counters: Input/output error"]


def test_grace_and_maintenance_are_events() -> None:
    """When they begin, when they change, and when they end."""
    work = Maintenance(is_active=True, reason="file: cables")

    found = told(EventWatch(), look(0.0, grace="the machine started 5 s ago"), look(5.0, grace="the machine started 10 s ago"),
                 look(10.0, maintenance=work), look(15.0, maintenance=work._replace(until_wall_s=2e9)), look(20.0))  # fmt: skip

    assert [(one.kind.value, one.text) for one in found] == [
        ("grace", "grace began: the machine started 5 s ago"), ("grace", "grace ended"), ("maintenance", "maintenance: file: cables"),
        ("maintenance", "maintenance: file: cables"), ("maintenance", "maintenance ended"),
    ]  # fmt: skip


@given(st.lists(TICKS, min_size=1, max_size=4))
def test_no_reading_makes_it_raise(ticks: list[Tick]) -> None:
    """It runs in the thread that samples; whatever sources bring is looked at."""
    watch = EventWatch()

    for number, one in enumerate(ticks):
        shown = [reading for snapshot in one.fresh for reading in snapshot.readings]
        json.dumps([document_of(event) for event in watch.look(Look(1e9, float(number), one.fresh, one.statuses, shown=shown))])
