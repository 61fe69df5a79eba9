"""Which interfaces are shown, and under whose name: one physical port is one link."""

import errno

import pytest

from exporter.model.entity import Fabric, Link
from exporter.simulator.archive import File, Refusal, Symlink
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.tree_ethtool import TreeEthtool
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.ethernet import EthernetSource
from tests.machine import Machine, everything, machine, machine_names
from tests.sources.small_net import PFC, UP, drivers, ethernet, function, interface, links_of, rdma

IPOIB = {**UP, "type": 32}


def _links(tree: MemoryTree) -> dict[str, Link]:
    """Interface → link of one scan."""
    scan = EthernetSource(tree, TreeEthtool(tree), everything).scan(0.0, 0.0)
    return {reader.place.name: reader.place.link for reader in scan.readers}


def test_a_roce_port_s_interface_feeds_its_rdma_device() -> None:
    """The interface's name appears on the info row only."""
    samples = Machine(MemoryTree([*interface("eth7", 0x19, statistics=PFC), *rdma("mlx5_0", 0x19), *drivers()])).samples

    assert links_of(samples) == {("mlx5_0", "1")}
    assert ethernet(samples, "events_total", "mlx5_0", event="rx_discards_phy") == 17


def test_a_nic_without_an_rdma_device_is_a_link_of_its_own() -> None:
    """Device is the interface, port is dev_port + 1."""
    assert _links(MemoryTree(interface("eno2", 4, {**UP, "dev_port": 1}))) == {"eno2": Link(Fabric.ETHERNET, "eno2", "2")}


def test_each_interface_of_a_two_port_device_feeds_its_own_port() -> None:
    """ConnectX-3: one function, two ports, told apart by dev_port."""
    tree = MemoryTree([*interface("eth0", 3), *interface("eth1", 3, {**UP, "dev_port": 1})[:-1], *rdma("mlx4_0", 3, ports=2)])

    assert _links(tree) == {"eth0": Link(Fabric.ROCE, "mlx4_0", "1"), "eth1": Link(Fabric.ROCE, "mlx4_0", "2")}


def test_a_second_function_s_dev_port_is_not_its_rdma_device_s_port() -> None:
    """bnxt_en counts dev_port over the card; each function's RDMA device has port 1 only."""
    assert _links(MemoryTree([*interface("ens1", 5, {**UP, "dev_port": 1}), *rdma("bnxt_re1", 5)]))["ens1"] == Link(
        Fabric.ROCE, "bnxt_re1", "1"
    )


def test_the_second_leg_of_a_bond_is_the_one_exception() -> None:
    """Its function has no RDMA device, so it appears under its own name; both legs name the bond."""
    samples = machine("roce-bond").samples
    bonds = {labels for name, labels in samples if name == "fabric_ethernet_info"}

    assert links_of(samples) == {("mlx5_bond_0", "1"), ("enp107s0f1np1", "1")}
    assert {dict(labels)["bond"] for labels in bonds} == {"bond0"}


def test_efa_s_own_interface_is_efa_and_ena_s_is_ethernet() -> None:
    """The same fabric as the InfiniBand source says, so that both speak of one link."""
    fabrics = {link.device: link.fabric for link in _links(machine("efa-p5").tree).values()}

    assert fabrics == {"rdmap0s6": Fabric.EFA, "rdmap16s6": Fabric.EFA, "ens5": Fabric.ETHERNET}


def test_software_rdma_takes_the_interface_it_sits_on() -> None:
    """Soft RoCE lies below devices/virtual and names its interface in `parent`."""
    links = _links(machine("rxe").tree)

    assert {link.device for link in links.values()} == {"rxe0"}


@pytest.mark.parametrize("name", machine_names())
def test_one_roce_port_is_one_link_in_every_series(name: str) -> None:
    """Every RDMA port on Ethernet that both sources show carries the same device and port, and its interface no link of its own."""
    samples = machine(name).run(20).samples
    infos = [dict(labels) for metric, labels in samples if metric == "fabric_infiniband_port_info"]
    roce = {info["netdev"]: (info["device"], info["port"]) for info in infos if info["link_layer"] != "InfiniBand" and info["netdev"]}
    fed = {info["netdev"]: (info["device"], info["port"]) for info in (dict(ls) for m, ls in samples if m == "fabric_ethernet_info")}

    assert {netdev: fed[netdev] for netdev in roce if netdev in fed} == {netdev: link for netdev, link in roce.items() if netdev in fed}
    assert not {device for device, _ in links_of(samples)} & set(roce)


@pytest.mark.parametrize("name", machine_names())
def test_no_two_interfaces_are_one_link(name: str) -> None:
    """Two of them under one name would overwrite each other."""
    links = list(_links(machine(name).tree).values())

    assert len(links) == len(set(links))


def test_a_second_interface_of_an_rdma_port_is_a_link_of_its_own() -> None:
    """The first by name feeds the port."""
    tree = MemoryTree([*interface("eth0", 3), *interface("eth1", 3)[:-1], *rdma("mlx5_0", 3)])

    assert [link.device for link in _links(tree).values()] == ["mlx5_0", "eth1"]


def test_virtual_interfaces_ipoib_and_representors_are_left_alone() -> None:
    """Loopback and veth lie below devices/virtual; IPoIB is type 32; representors are named after their port."""
    tree = MemoryTree([
        *interface("ib0", 1, IPOIB), *interface("eth0", 2, {**UP, "phys_port_name": "p0"}),
        *interface("eth0_rep", 2, {**UP, "phys_port_name": "pf0vf1"})[:-1], File("devices/virtual/net/lo/type", b"772\n"),
        Symlink("class/net/lo", "../../devices/virtual/net/lo"),
    ])  # fmt: skip

    assert list(_links(tree)) == ["eth0"]


def test_statistics_of_a_virtual_function_are_not_asked_for() -> None:
    """What a VF shows of the physical port is its PF's: pause would be counted twice."""
    entries = [*interface("eth0", 2, statistics=PFC), Symlink(f"{function(2)}/physfn", "../0000:03:00.0"), *drivers()]
    seen = Machine(MemoryTree(entries))

    assert ethernet(seen.samples, "carrier", "eth0") == 1
    assert not [path for path in seen.tree.opened if path.startswith("ethtool/")]


def test_nothing_of_an_excluded_interface_is_opened() -> None:
    """The filter decides by name."""
    tree = MemoryTree([*interface("eth0", 1), *interface("eth1", 2, statistics=PFC), *drivers()])
    Machine(tree, DeviceFilter(exclude=["eth1"]).wants).run(320)

    assert not [path for path in tree.opened if "eth1" in path]
    assert [path for path in tree.opened if "eth0" in path]


@pytest.mark.parametrize("target", ["eth0", "../../devices/none", "../class/net/eth0"])
def test_links_that_dangle_or_go_in_circles_cost_only_their_interface(target: str) -> None:
    """ELOOP is a fault, a dangling link an interface that went."""
    tree = MemoryTree([Symlink("class/net/eth0", target), *interface("eth1", 2)])

    assert list(_links(tree)) == ["eth1"]


def test_an_rdma_device_that_comes_later_takes_the_interface_over() -> None:
    """At boot the RDMA driver loads after the network driver."""
    seen = Machine(MemoryTree([*interface("eth0", 0x19), *drivers()])).run(1)
    before = links_of(seen.samples)
    seen.tree.add(rdma("mlx5_0", 0x19))
    seen.run(20)

    assert (before, links_of(seen.samples)) == ({("eth0", "1")}, {("mlx5_0", "1")})


def test_a_class_folder_that_cannot_be_listed_keeps_the_readers() -> None:
    """A moment's trouble must not take the counters away."""
    tree = MemoryTree(interface("eth0", 1))
    source = EthernetSource(tree, TreeEthtool(tree), everything)
    before = source.scan(0.0, 0.0).readers
    tree.fail_open("class/net", errno.EMFILE)
    after = source.scan(1.0, 1.0)

    assert after.readers == before
    assert [fault.reason for fault in after.snapshot.faults] == ["exhausted"]


def test_an_interface_whose_type_refuses_costs_only_itself() -> None:
    """One fault, the other interface shown."""
    entries = [entry for entry in interface("eth0", 1) if not entry.path.endswith("/type")]
    tree = MemoryTree([*entries, Refusal(f"{function(1)}/net/eth0/type", errno.EIO), *interface("eth1", 2)])
    scan = EthernetSource(tree, TreeEthtool(tree), everything).scan(0.0, 0.0)

    assert [reader.subject for reader in scan.readers] == ["eth1"]
    assert [(fault.subject, fault.reason) for fault in scan.snapshot.faults] == [("class/net/eth0", "io")]
