"""A simulated RoCE node: its ports' statistics move with the traffic, in memory and on disk alike."""

from itertools import pairwise
from pathlib import Path

from exporter.simulator.node import DiskNode, SimulatedNode
from exporter.simulator.profiles import HGX_H100, ROCE_H200
from exporter.simulator.tree_ethtool import TreeEthtool
from exporter.sources.sysfs import RealFiles
from tests.machine import Machine, Samples
from tests.sources.small_net import ethernet, links_of


def _after(seconds: float) -> Samples:
    node = SimulatedNode(ROCE_H200, 1)
    node.advance(seconds)
    return Machine(node.tree()).samples


def test_a_roce_node_has_eight_rails_and_two_ports_for_administration() -> None:
    """The rails under their RDMA devices' names."""
    assert links_of(_after(0)) == {*((f"mlx5_{n}", "1") for n in range(8)), ("eno1", "1"), ("eno2", "1")}


def test_only_the_lossless_priority_is_paused_and_only_a_little() -> None:
    """Healthy: some milliseconds in an hour, both ways, and no discard."""
    samples = _after(3600)
    paused = {labels: value for (name, labels), value in samples.items() if name == "fabric_ethernet_pause_seconds_total"}
    discards = [value for (name, _), value in samples.items() if name == "fabric_ethernet_priority_discards_total"]

    assert {dict(labels)["priority"] for labels in paused} == {"3"}
    assert len(paused) == 16
    assert all(0 < value < 1 for value in paused.values())
    assert set(discards) == {0}


def test_no_counter_of_a_port_ever_falls() -> None:
    """Over an hour in uneven steps."""
    node = SimulatedNode(ROCE_H200, 1)
    seen: list[Samples] = []
    for seconds in (0, 1, 7.5, 8, 60, 1799, 1800, 3600):
        node.advance(seconds)
        seen.append({series: value for series, value in Machine(node.tree()).samples.items() if series[0].endswith("_total")})
    pairs = [(before[series], after[series]) for before, after in pairwise(seen) for series in before if series in after]

    assert len(pairs) > 1000
    assert [pair for pair in pairs if pair[1] < pair[0]] == []


def test_raw_bit_errors_are_one_in_a_hundred_million() -> None:
    """Corrected bits over eight times the line's bytes: what a rule will divide."""
    samples = _after(3600)
    corrected, capacity = (ethernet(samples, name, "mlx5_0") for name in ("corrected_bit_errors_total", "line_capacity_bytes_total"))

    assert corrected is not None
    assert capacity is not None
    assert abs(corrected / (8 * capacity) - 1e-8) < 1e-12


def test_statistics_on_disk_are_those_in_memory(tmp_path: Path) -> None:
    """`run --simulate` reads real files: the same fake reads both."""
    memory, disk = SimulatedNode(ROCE_H200, 1), DiskNode(ROCE_H200, 1, tmp_path)
    memory.advance(100)
    disk.advance(100)
    netdev = ROCE_H200.hcas[0].netdev
    names = TreeEthtool(RealFiles(tmp_path, 10)).names(netdev)

    assert names == TreeEthtool(memory.tree()).names(netdev)
    assert TreeEthtool(RealFiles(tmp_path, 10)).values(netdev, len(names)) == TreeEthtool(memory.tree()).values(netdev, len(names))


def test_an_infiniband_node_shows_its_ethernet_ports_only() -> None:
    """IPoIB interfaces are no Ethernet ports."""
    assert links_of(Machine(SimulatedNode(HGX_H100, 1).tree()).samples) == {("mlx5_8", "1"), ("mlx5_9", "1")}
