"""How events are counted: nothing is dropped, nothing goes back, and a crowd is bounded."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from exporter.model.xid import OTHER, EventKey, EventKind, FellOff, SxidEvent, Tally, XidEvent, counted, key_of

GPU, LIMIT = "0000:3b:00.0", 8
addresses, codes, ports = (st.sampled_from(values) for values in ([GPU, "0000:5d:00.0"], ["1", "2", "3"], ["", "7"]))
keys = st.builds(EventKey, st.sampled_from(EventKind), addresses, codes, ports)
events = st.lists(st.tuples(keys, st.floats(0, 2e9)), max_size=30)


def test_each_kind_of_event_counts_under_its_own_key() -> None:
    """A lost GPU that is only spoken of is no Xid 79."""
    seen = [key_of(event) for event in (XidEvent(GPU, 74, "7"), SxidEvent(GPU, 74, "7"), FellOff(GPU))]

    assert seen == [(EventKind.XID, GPU, "74", "7"), (EventKind.SXID, GPU, "74", "7"), (EventKind.OFF_BUS, GPU, "", "")]


def test_times_add_up_and_the_newest_moment_is_kept() -> None:
    """Also where the records came out of order."""
    key = key_of(XidEvent(GPU, 74, "7"))
    after, crowded = counted({key: Tally(2, 50.0)}, [(key, 90.0), (key, 70.0)], LIMIT)

    assert (after, crowded) == ({key: Tally(4, 90.0)}, 0)


def test_beyond_the_limit_links_are_no_longer_told_apart_then_devices() -> None:
    """Eight links fit, the next event counts without its link, and a stranger's under other."""
    links = [(EventKey(EventKind.XID, GPU, "74", str(port)), 0.0) for port in range(10)]
    strangers = [(EventKey(EventKind.XID, f"00{bus}:00:00.0", "31", ""), 0.0) for bus in (10, 11, 12)]
    after, crowded = counted({}, links + strangers, LIMIT)

    assert after[EventKey(EventKind.XID, GPU, "74", "")].times == 2
    assert after[EventKey(EventKind.XID, OTHER, OTHER, "")].times == 2
    assert (len(after), crowded) == (LIMIT + LIMIT // 4 + 1, 4)


@given(st.lists(events, max_size=5), st.integers(0, 5))
def test_no_event_is_dropped_and_no_count_goes_back(passes: list[list[tuple[EventKey, float]]], limit: int) -> None:
    """Whatever comes in whatever order."""
    tallies: Mapping[EventKey, Tally] = {}
    for events_of_pass in passes:
        before = tallies
        tallies, _ = counted(before, events_of_pass, limit)

        assert all(tallies[key].times >= tally.times for key, tally in before.items())
    assert sum(tally.times for tally in tallies.values()) == sum(len(one) for one in passes)
    assert len(tallies) <= limit + limit // 4 + len(EventKind)
