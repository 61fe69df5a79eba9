"""Statistics of one interface: exact, under the right name or not at all, with one call a pass."""

import errno
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.entity import Fabric, Link
from exporter.model.snapshot import Number, SeriesKey
from exporter.sources.ethtool import STATISTICS_MAX, TableChangedError
from exporter.sources.fault_list import FaultList
from exporter.sources.netdev_place import NetdevPlace
from exporter.sources.netdev_statistics import NetdevStatistics
from tests.sources.scripted_ethtool import ScriptedEthtool

OWN = Link(Fabric.ETHERNET, "eth0", "1")
PLACE = NetdevPlace("eth0", "", OWN, OWN, "mlx5_core", "0000:19:00.0", "0", is_vf=False, index=b"7")
DISCARDS: SeriesKey = ("eth_events", "rx_discards_phy")
PAUSED: SeriesKey = ("eth_pause_seconds", "receive", "3")
PFC3: Mapping[str, int] = {"rx_packets": 5, "rx_prio3_pause_duration": 1523874, "rx_discards_phy": 17}
UINT64 = st.integers(0, 2**64 - 1)


def _pass(statistics: NetdevStatistics, now_s: float = 0.0) -> tuple[dict[SeriesKey, Number], list[str]]:
    faults = FaultList("ethernet")
    return statistics.read(faults, now_s), [fault.reason.value for fault in faults.faults]


@given(UINT64)
def test_microseconds_of_pause_become_seconds_exactly(microseconds: int) -> None:
    """The float nearest to the true quotient: no product with 1e-6, which is off in the last place for three numbers in ten."""
    values, _ = _pass(NetdevStatistics(ScriptedEthtool({"rx_prio3_pause_duration": microseconds}), PLACE))

    assert values == {PAUSED: microseconds / 1_000_000}


def test_the_paper_s_port_was_paused_for_what_it_says() -> None:
    """1523874 µs received, 48736124 µs sent."""
    table = {"rx_prio3_pause_duration": 1523874, "tx_prio3_pause_duration": 48736124}
    values, _ = _pass(NetdevStatistics(ScriptedEthtool(table), PLACE))

    assert values == {PAUSED: 1.523874, ("eth_pause_seconds", "transmit", "3"): 48.736124}


def test_percent_of_stalled_pcie_becomes_a_ratio_and_more_than_all_is_no_number() -> None:
    """A firmware that does not know says 2^32 - 1."""
    table = {"outbound_pci_stalled_rd": 12, "outbound_pci_stalled_wr": 4294967295}
    values, _ = _pass(NetdevStatistics(ScriptedEthtool(table), PLACE))

    assert values == {("eth_pci_stalled", "transmit"): 0.12}


def test_a_pass_costs_one_call_once_the_names_are_known() -> None:
    """The driver sums up thousands of rings for each call."""
    ethtool = ScriptedEthtool(PFC3)
    statistics = NetdevStatistics(ethtool, PLACE)
    for _ in range(5):
        _pass(statistics)

    assert dict(ethtool.calls) == {"bus": 1, "names": 1, "values": 5}


def test_a_table_that_grew_is_read_anew_within_the_pass() -> None:
    """PFC was switched on for another priority: all positions move."""
    ethtool = ScriptedEthtool(PFC3)
    statistics = NetdevStatistics(ethtool, PLACE)
    _pass(statistics)
    ethtool.table = {"rx_prio0_pause_duration": 9, **PFC3}
    values, faults = _pass(statistics)

    assert (values[PAUSED], values[DISCARDS], values["eth_pause_seconds", "receive", "0"]) == (1.523874, 17, 9e-6)
    assert faults == []


def test_a_table_that_shrank_shows_nothing_that_is_gone() -> None:
    """PFC off: its series leave, the others stay right."""
    ethtool = ScriptedEthtool(PFC3)
    statistics = NetdevStatistics(ethtool, PLACE)
    _pass(statistics)
    ethtool.table = {"rx_discards_phy": 18}

    assert _pass(statistics) == ({DISCARDS: 18}, [])


def test_a_table_of_the_same_length_with_other_names_is_noticed_with_the_next_slow_pass() -> None:
    """PFC moved from priority 3 to 4: the number of statistics does not tell."""
    ethtool = ScriptedEthtool(PFC3)
    statistics = NetdevStatistics(ethtool, PLACE)
    _pass(statistics)
    ethtool.table = {"rx_packets": 5, "rx_prio4_pause_duration": 3, "rx_discards_phy": 17}
    statistics.forget()
    values, _ = _pass(statistics)

    assert PAUSED not in values
    assert values["eth_pause_seconds", "receive", "4"] == 3e-6


def test_a_table_that_changes_at_every_call_shows_nothing_and_is_tried_again() -> None:
    """No value is better than one under a wrong name."""
    ethtool = ScriptedEthtool(PFC3)
    statistics = NetdevStatistics(ethtool, PLACE)
    ethtool.before = lambda call: (_ for _ in ()).throw(TableChangedError(call)) if call == "values" else None
    unsettled = _pass(statistics)
    ethtool.before = lambda _: None
    settled = _pass(statistics)

    assert unsettled == ({}, ["io"])
    assert settled[0][DISCARDS] == 17


@given(st.lists(st.dictionaries(st.sampled_from([f"rx_prio{p}_discards" for p in range(8)] + ["rx0_packets", "x"]), UINT64), max_size=6))
def test_no_value_ever_stands_under_another_s_name(tables: list[dict[str, int]]) -> None:
    """Whatever tables follow each other, as long as their lengths differ or the names are learnt anew."""
    ethtool = ScriptedEthtool({})
    statistics = NetdevStatistics(ethtool, PLACE)
    for table in tables:
        if len(table) == len(ethtool.table):
            statistics.forget()
        ethtool.table = table
        values, _ = _pass(statistics)

        assert values == {("eth_priority_discards", name[7], "discards"): n for name, n in table.items() if name.startswith("rx_prio")}


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EPERM])
def test_a_driver_that_refuses_is_left_alone_and_then_asked_again(code: int) -> None:
    """After one minute, then two, then four."""
    ethtool = ScriptedEthtool({}, error=OSError(code, "refused"))
    statistics = NetdevStatistics(ethtool, PLACE)
    asked_at = []
    for now_s in range(0, 480, 15):
        before = ethtool.calls.total()
        _pass(statistics, now_s)
        asked_at += [now_s] if ethtool.calls.total() > before else []

    assert asked_at == [0, 60, 180, 420]


def test_an_interface_of_that_name_elsewhere_is_not_taken_for_ours() -> None:
    """A container with the host's /sys and its own network: its eth0 is another one."""
    ethtool = ScriptedEthtool(PFC3, address="0000:00:05.0")

    assert _pass(NetdevStatistics(ethtool, PLACE)) == ({}, ["absent"])
    assert ethtool.calls["values"] == 0


@pytest.mark.parametrize("address", ["", "0000:19:00.0", "mlx5_core.sf.4", "N/A"])
def test_a_bus_that_agrees_or_is_no_pci_address_is_believed(address: str) -> None:
    """Virtual drivers say all sorts of things."""
    assert _pass(NetdevStatistics(ScriptedEthtool(PFC3, address=address), PLACE))[0][DISCARDS] == 17


def test_more_statistics_than_the_bound_are_none() -> None:
    """One fault, no number, and no call every pass."""
    ethtool = ScriptedEthtool({f"x{n}": n for n in range(STATISTICS_MAX + 1)})
    statistics = NetdevStatistics(ethtool, PLACE)

    assert (_pass(statistics), _pass(statistics, 15)) == (({}, ["limit"]), ({}, []))


def test_of_two_statistics_for_one_series_the_first_counts() -> None:
    """A driver may repeat a name (seen in a fixture of node_exporter's)."""
    ethtool = ScriptedEthtool({"rx_discards_phy": 1, "rx_discards_phy ": 2})
    ethtool.spelt = str.strip

    assert _pass(NetdevStatistics(ethtool, PLACE))[0] == {DISCARDS: 1}
