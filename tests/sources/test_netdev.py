"""One interface's files: carrier, speed, counters; what happens when it is renamed, goes or refuses."""

import errno
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.metric import Cadence
from exporter.simulator.archive import Entry, File, Refusal, Symlink
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.tree_ethtool import TreeEthtool
from exporter.sources.ethernet import EthernetSource
from tests.machine import Machine, Samples, everything
from tests.sources.scripted_ethtool import ScriptedEthtool
from tests.sources.small_net import PFC, UP, drivers, ethernet, ethernet_faults, function, interface, links_of, rdma

TRAFFIC = {"statistics/rx_bytes": 10, "statistics/tx_bytes": 20, "statistics/rx_packets": 3, "statistics/rx_errors": 4}


def _samples(said: Mapping[str, object]) -> Samples:
    return Machine(MemoryTree(interface("eth0", 1, {**UP, **said}))).samples


@pytest.mark.parametrize(("operstate", "carrier"), [("up", 1), ("down", 0), ("lowerlayerdown", 0), ("dormant", 0), ("unknown", 1)])
def test_operstate_is_the_carrier(operstate: str, carrier: int) -> None:
    """With `unknown` the file `carrier` tells."""
    assert ethernet(_samples({"operstate": operstate, "carrier": 1}), "carrier", "eth0") == carrier


def test_an_operstate_that_no_kernel_prints_is_absent() -> None:
    """And one fault."""
    seen = Machine(MemoryTree(interface("eth0", 1, {**UP, "operstate": "sideways"})))

    assert ethernet(seen.samples, "carrier", "eth0") is None
    assert [(fault.subject, fault.reason) for fault in ethernet_faults(seen)] == [("class/net/eth0/operstate", "parse")]


@pytest.mark.parametrize(("said", "bytes_per_s"), [
    ({"speed": 400000}, 50_000_000_000), ({"speed": 10}, 1_250_000), ({"speed": -1}, None), ({"speed": 4294967295}, None),
    ({"speed": 0}, None), ({"speed": "Unknown!"}, None), ({"speed": 400000, "operstate": "down"}, None),
])  # fmt: skip
def test_speed_is_shown_with_carrier_and_where_the_driver_knows(said: Mapping[str, object], bytes_per_s: int | None) -> None:
    """Mb/s become bytes per second; an interface that is down shows a speed of yesterday."""
    assert ethernet(_samples(said), "speed_bytes_per_second", "eth0") == bytes_per_s


@pytest.mark.parametrize("name", ["speed", "carrier"])
def test_a_file_that_answers_einval_while_the_interface_is_down_is_no_fault(name: str) -> None:
    """So the kernel says it; the value returns at once with the interface."""
    kept = [entry for entry in interface("eth0", 1, {**UP, "operstate": "unknown"}) if not entry.path.endswith(f"/{name}")]
    seen = Machine(MemoryTree([*kept, Refusal(f"{function(1)}/net/eth0/{name}", errno.EINVAL)])).run(60)

    assert ethernet_faults(seen) == []


def test_kernel_traffic_is_shown_of_a_nic_without_rdma_only() -> None:
    """RDMA bypasses it: of a RoCE port it would be a number that nobody should plot."""
    own = _samples(TRAFFIC)
    fed = Machine(MemoryTree([*interface("eth0", 1, {**UP, **TRAFFIC}), *rdma("mlx5_0", 1)])).samples
    names = ("received_bytes_total", "transmitted_bytes_total", "received_packets_total")

    assert [ethernet(own, name, "eth0") for name in names] == [10, 20, 3]
    assert [ethernet(fed, name, "mlx5_0") for name in names] == [None] * 3
    assert ethernet(fed, "events_total", "mlx5_0", event="rx_errors") == 4


def test_counters_that_a_kernel_does_not_have_are_absent_and_no_fault() -> None:
    """Before 4.16 there is no carrier_down_count."""
    seen = Machine(MemoryTree(interface("eth0", 1)))

    assert ethernet(seen.samples, "carrier_downs_total", "eth0") is None
    assert ethernet_faults(seen) == []


def test_an_interface_that_goes_takes_its_series_along_and_returns() -> None:
    """A driver reload: one `lost`, then nothing, then all of it."""
    seen = Machine(MemoryTree([*interface("eth0", 1, statistics=PFC), *drivers()])).run(1)
    before = links_of(seen.samples)
    gone = seen.tree.remove(f"{function(1)}/net/eth0")
    without = links_of(seen.run(40).samples)
    seen.tree.add(gone)
    back = links_of(seen.run(40).samples)

    assert (before, without, back) == ({("eth0", "1")}, set(), {("eth0", "1")})


def test_a_renamed_interface_appears_under_its_new_name_alone() -> None:
    """At boot udev renames it; files of the old name are gone."""
    seen = Machine(MemoryTree([*interface("eth0", 1, statistics=PFC), *drivers()])).run(1)
    seen.tree.remove(f"{function(1)}/net/eth0")
    seen.tree.add(interface("enp1s0", 1)[:-1])
    seen.run(40)

    assert links_of(seen.samples) == {("enp1s0", "1")}


def test_statistics_asked_of_a_name_that_changed_hands_meanwhile_are_thrown_away() -> None:
    """Between two scans eth0 became another interface: the ioctl goes by name, the kept files do not."""
    tree = MemoryTree([*interface("eth0", 1, {**UP, **TRAFFIC}), *drivers()])
    ethtool = ScriptedEthtool({"rx_discards_phy": 17})
    reader = EthernetSource(tree, ethtool, everything).scan(0.0, 0.0).readers[0]
    ethtool.before = lambda _: tree.write("class/net/eth0/ifindex", b"8\n")
    values = reader.read(Cadence.NORMAL, 0.0, 0.0).readings[0].values

    assert ("eth_events", "rx_discards_phy") not in values
    assert values["eth_received_bytes"] == 10


def test_another_interface_under_the_same_name_has_a_reader_of_its_own() -> None:
    """Two interfaces that swapped their names."""
    tree = MemoryTree([*interface("eth0", 1), *interface("eth1", 2, {**UP, "ifindex": 8})])
    source = EthernetSource(tree, TreeEthtool(tree), everything)
    before = source.scan(0.0, 0.0).readers
    unchanged = source.scan(0.0, 0.0).readers
    tree.write("class/net/eth0/ifindex", b"9\n")
    after = source.scan(0.0, 0.0).readers

    assert unchanged == before
    assert after[0] is not before[0]
    assert after[1] is before[1]


def test_an_interface_of_another_network_namespace_is_not_asked_again_and_again() -> None:
    """ENODEV while /sys shows it: a container without the host's network. One fault, its files' numbers kept, and its handles too."""
    tree = MemoryTree([*interface("eth0", 1, {**UP, **TRAFFIC}), *drivers()])
    ethtool = ScriptedEthtool({}, error=OSError(errno.ENODEV, "No such device"))
    reader = EthernetSource(tree, ethtool, everything).scan(0.0, 0.0).readers[0]
    snapshot = reader.read(Cadence.NORMAL, 0.0, 0.0)

    again = reader.read(Cadence.NORMAL, 15.0, 15.0)

    assert [fault.reason for fault in snapshot.faults] == ["absent"]
    assert snapshot.readings[0].values["eth_received_bytes"] == 10
    assert again.faults == ()
    assert again.readings[0].values["eth_received_bytes"] == 10
    reader.close()
    assert tree.handles_open == 0


def test_stopping_gives_every_handle_back() -> None:
    """Kept files of every interface."""
    seen = Machine(MemoryTree([*interface("eth0", 1, {**UP, **TRAFFIC}, statistics=PFC), *drivers()])).run(20)
    seen.sampler.stop()

    assert seen.tree.handles_open == 0


BAD = st.sampled_from([errno.EIO, errno.EINVAL, errno.EACCES, errno.ENODEV, errno.EOPNOTSUPP, errno.EMFILE])
PATHS = (*(f"{function(1)}/net/eth0/{name}" for name in (*UP, *TRAFFIC)), "ethtool/eth0/statistics")


@given(st.dictionaries(st.sampled_from(PATHS), BAD | st.binary(max_size=40), min_size=1))
def test_whatever_one_interface_answers_the_other_is_unchanged(odd: Mapping[str, int | bytes]) -> None:
    """Any pattern of errors and texts, files and ioctl alike; and nothing is a bug of ours."""
    said = {**UP, **TRAFFIC}
    first = interface("eth0", 1, said, statistics=PFC)
    others: list[Entry] = [*interface("eth1", 2, {**said, "ifindex": 8}, statistics=PFC), *drivers()]
    broken = [_answering(entry, odd[entry.path]) if entry.path in odd else entry for entry in first]
    alone, seen = Machine(MemoryTree(others)).run(40).samples, Machine(MemoryTree([*broken, *others])).run(40).samples

    assert {series: value for series, value in seen.items() if ("device", "eth1") in series[1]} == {
        series: value for series, value in alone.items() if ("device", "eth1") in series[1]
    }
    assert seen["fabric_exporter_source_faults_total", (("reason", "bug"), ("source", "ethernet"))] == 0


def _answering(entry: Entry, answer: int | bytes) -> Entry:
    assert not isinstance(entry, Symlink)
    return Refusal(entry.path, answer) if isinstance(answer, int) else File(entry.path, answer)
