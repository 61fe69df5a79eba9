"""Where GPUs and NICs stand: what is read for it and when, and the labels on a port's info series."""

import errno
import threading

import pytest

from exporter.catalog.infiniband import PORT_INFO
from exporter.catalog.limits import LIST_AGAIN_S, PCI_LOOK_AGAIN_S
from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.rails import NOWHERE, PortPlace, Roles, Stated
from exporter.runtime.gpu_slot_map import GpuSlotMap
from exporter.simulator.archive import Directory, File, Refusal
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.node import SimulatedNode
from exporter.simulator.profiles import HGX_H100, ROCE_H200
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.infiniband import InfiniBandSource
from exporter.sources.node_places import NODES, NodePlaces
from exporter.sources.pci_tree import DEVICES
from tests.machine import machine
from tests.requires import need_data
from tests.sources.small_pci import GPU, NIC, function, netdev, rdma, switch_pair
from tests.sources.test_pcie_real import PAIRS, _h100

PAIR = PortPlace("gpu0", "0", "compute")
NODE_0 = File(f"{NODES}/node0/cpulist", b"0-55,112-167\n")


def labels_of(tree: MemoryTree, places: NodePlaces, now_s: float = 0.0) -> dict[str, PortPlace]:
    """The labels on each device's port info after one slow pass."""
    source = InfiniBandSource(tree, DeviceFilter().wants, places=places)
    readings = [reading for reader in source.scan(0.0, now_s).readers for reading in reader.read(Cadence.SLOW, 0.0, now_s).readings]
    return {
        str(reading.entity.label("device")): PortPlace(*map(str, key[-3:]))
        for reading in readings
        for key in reading.values
        if key[0] == PORT_INFO.key
    }


def hgx_h100() -> MemoryTree:
    """Eight GPUs, eight rails, two storage ports."""
    return SimulatedNode(HGX_H100, 1).tree()


def test_an_hgx_h100_has_eight_rails_and_storage_without_one() -> None:
    """On the info series of each port; the role of a storage port is known only if configured."""
    expected = {f"mlx5_{n}": PortPlace(f"gpu{n}", str(n), "compute") for n in range(8)}
    storage = Roles(storage=("mlx5_[89]",))

    assert labels_of(hgx_h100(), NodePlaces(hgx_h100())) == expected | {"mlx5_8": NOWHERE, "mlx5_9": NOWHERE}
    assert labels_of(hgx_h100(), NodePlaces(hgx_h100(), roles=storage)) == expected | {
        name: PortPlace("", "", "storage") for name in ("mlx5_8", "mlx5_9")
    }


def test_without_places_the_labels_are_empty() -> None:
    """Nobody was asked."""
    source = InfiniBandSource(hgx_h100(), DeviceFilter().wants)
    (reading, *_) = [r for r in source.scan(0.0, 0.0).readers[0].read(Cadence.SLOW, 0.0, 0.0).readings if r.entity.label("port")]

    assert [key[-3:] for key in reading.values if key[0] == PORT_INFO.key] == [("", "", "")]


def test_the_rails_of_a_captured_h100_node() -> None:
    """Two GPUs have a dual-port card beside their NIC and so no rail, until the operator says what that card is for."""
    tree = _h100(need_data())
    plain, told = NodePlaces(tree), NodePlaces(tree, roles=Roles(storage=(r"mlx5_..\.\d",)))
    nics = [f"mlx5_{bus}" for bus in PAIRS.values()]

    assert [plain.of(nic, 0.0).rail for nic in nics] == ["", "1", "2", "3", "", "5", "6", "7"]
    assert [told.of(nic, 0.0).rail for nic in nics] == [str(n) for n in range(8)]
    assert told.of("mlx5_1b.0", 0.0) == PortPlace("", "", "storage")


def test_module_ids_that_come_later_renumber_the_rails() -> None:
    """NVML's process answers after the first pass; the reader's own info series follows at its next slow pass."""
    tree, modules = hgx_h100(), dict[str, int]()
    places = NodePlaces(tree, module_ids=lambda: modules)
    reader = InfiniBandSource(tree, DeviceFilter().wants, places=places).scan(0.0, 0.0).readers[0]
    rails = []
    for now_s in (0.0, LIST_AGAIN_S, 2 * LIST_AGAIN_S):
        (info,) = [key for r in reader.read(Cadence.SLOW, 0.0, now_s).readings for key in r.values if key[0] == PORT_INFO.key]
        rails.append(info[-2])
        modules |= {gpu.pci: 8 - n for n, gpu in enumerate(HGX_H100.gpus)}

    assert rails == ["0", "7", "7"]


def test_a_second_question_reads_nothing() -> None:
    """Ports of a node ask one after the other; the bus is looked at once."""
    tree = hgx_h100()
    places = NodePlaces(tree)
    places.of("mlx5_0", 0.0)
    before = tree.opened.total() + tree.listdirs
    for n in range(10):
        places.of(f"mlx5_{n}", PCI_LOOK_AGAIN_S - 1)

    assert tree.opened.total() + tree.listdirs == before


def test_a_device_that_was_not_there_is_looked_for_soon() -> None:
    """A driver that was loaded after the start; and one that is nowhere on the bus is not looked for at every question."""
    tree = MemoryTree([entry for entry in switch_pair() if not entry.path.endswith("infiniband/mlx5_0")])
    places = NodePlaces(tree)
    seen = [places.of("mlx5_0", 0.0)]
    tree.add([Directory(f"{tree.resolve(f'{DEVICES}/0000:14:00.0')}/infiniband/mlx5_0")])
    seen += [places.of("mlx5_0", LIST_AGAIN_S / 2), places.of("mlx5_0", LIST_AGAIN_S)]

    assert seen == [NOWHERE, NOWHERE, PAIR]


def test_a_lost_gpu_changes_no_label() -> None:
    """Neither of the other rails nor of its own NIC: the cable is where it was. The topology shows those that are there."""
    tree = hgx_h100()
    places = NodePlaces(tree, slots=GpuSlotMap(None).names)
    before = labels_of(tree, places)
    tree.remove(f"{DEVICES}/{HGX_H100.gpus[3].pci}")

    assert labels_of(tree, places, PCI_LOOK_AGAIN_S) == before
    assert [gpu.name for gpu in places.look(PCI_LOOK_AGAIN_S).topology.gpus] == [f"gpu{n}" for n in range(8) if n != 3]


def test_a_bus_that_cannot_be_listed_keeps_what_was_known() -> None:
    """A refusal is no loss."""
    tree = MemoryTree(switch_pair())
    places = NodePlaces(tree)
    before = places.of("mlx5_0", 0.0)
    tree.remove("bus/pci")
    tree.add([Refusal(DEVICES, errno.EACCES, at_open=True)])

    assert (before, places.of("mlx5_0", PCI_LOOK_AGAIN_S)) == (PAIR, PAIR)


def test_a_guest_has_no_rails_but_those_of_the_table() -> None:
    """PCI is flat there; the operator knows."""
    tree = machine("vm-flat-pci").tree
    nic = NodePlaces(tree).look(0.0).topology.nics[0].name
    stated = {nic: Stated("0"), "mlx5_77": Stated("", "storage")}

    assert NodePlaces(tree).of(nic, 0.0) == NOWHERE
    assert NodePlaces(tree, stated=stated).of(nic, 0.0) == PortPlace("", "0", "compute")
    assert NodePlaces(tree, stated=stated).of("mlx5_77", 0.0) == PortPlace("", "", "storage")


def test_interfaces_without_rdma_are_shown_last_and_have_no_rail() -> None:
    """They are NICs of the node; a rail carries RDMA."""
    look = NodePlaces(SimulatedNode(ROCE_H200, 1).tree(), roles=Roles(management=("eno.*",))).look(0.0)

    assert [nic.name for nic in look.topology.nics] == [*(f"mlx5_{n}" for n in range(8)), "eno1", "eno2"]
    assert look.topology.ports["eno1"] == PortPlace("", "", "management")


def test_cpu_lists_are_those_of_the_numa_nodes() -> None:
    """By node, for the nodes that a GPU or NIC is on."""
    look = NodePlaces(MemoryTree([*switch_pair(), NODE_0, File(f"{NODES}/node1/cpulist", b"56-111\n")])).look(0.0)

    assert look.topology.cpus == {"0": "0-55,112-167"}
    assert look.faults == ()


@pytest.mark.parametrize(
    ("raw", "reasons"),
    [(b"all of them\n", [Reason.PARSE]), (b"\x1b[31m0-3\n", [Reason.PARSE]), (b"0-3," * 1100, [Reason.PARSE]), (b"\n", []), (b"7\n", [])],
)
def test_a_cpu_list_that_makes_no_sense_costs_only_itself(raw: bytes, reasons: list[Reason]) -> None:
    """A node of memory alone has an empty list."""
    look = NodePlaces(MemoryTree([*switch_pair(), File(NODE_0.path, raw)])).look(0.0)

    assert [fault.reason for fault in look.faults] == reasons
    assert look.topology.cpus == ({"0": "7"} if raw == b"7\n" else {})
    assert look.topology.ports["mlx5_0"] == PAIR


def test_a_cpu_list_that_is_refused_is_a_fault() -> None:
    """With the file's name."""
    look = NodePlaces(MemoryTree([*switch_pair(), Refusal(NODE_0.path, errno.EIO)])).look(0.0)

    assert [(fault.subject, fault.reason) for fault in look.faults] == [(NODE_0.path, Reason.IO)]


def test_a_machine_without_a_bus_is_absent_and_not_in_error() -> None:
    """One Fault, no device."""
    look = NodePlaces(MemoryTree()).look(0.0)

    assert [fault.reason for fault in look.faults] == [Reason.ABSENT]
    assert (look.topology.gpus, look.topology.nics) == ((), ())


def test_names_that_are_not_text_are_made_legal() -> None:
    """A stray byte in a name costs neither the label nor the look."""
    path = ("0000:10:01.0", "0000:15:00.0")
    tree = MemoryTree([*switch_pair(), *function(path, NIC), *rdma(path, "mlx\udce9")])

    assert NodePlaces(tree).of("mlx\udce9", 0.0) == NOWHERE
    assert "mlx?" in NodePlaces(tree).look(0.0).topology.ports


def test_a_look_that_hangs_holds_up_nobody_else() -> None:
    """Who asks meanwhile has the last look's answer."""
    tree = MemoryTree([*switch_pair(), *netdev(("0000:10:02.0", "0000:20:00.0"), "eth0")])
    places = NodePlaces(tree)
    before = places.of("mlx5_0", 0.0)
    reached, go = threading.Event(), threading.Event()

    def _hang(_: str) -> None:
        reached.set()
        go.wait(30)

    tree.before_read = _hang
    looking = threading.Thread(target=places.of, args=("mlx5_0", PCI_LOOK_AGAIN_S))
    looking.start()
    assert reached.wait(30)
    meanwhile = places.of("mlx5_0", PCI_LOOK_AGAIN_S)
    go.set()
    looking.join(30)

    assert (before, meanwhile) == (PAIR, PAIR)


def test_many_threads_get_the_same_answer() -> None:
    """Each device's sampler thread asks at the start."""
    places, found = NodePlaces(hgx_h100()), dict[int, PortPlace]()
    threads = [threading.Thread(target=lambda n=n: found.update({n: places.of(f"mlx5_{n}", 0.0)})) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert found == {n: PortPlace(f"gpu{n}", str(n), "compute") for n in range(8)}


def test_gpu_names_come_from_the_slot_map() -> None:
    """A node whose other GPUs were lost before the start keeps its names."""
    places = NodePlaces(MemoryTree(switch_pair()), slots=lambda present: dict.fromkeys(present, "gpu5"))

    assert places.of("mlx5_0", 0.0) == PortPlace("gpu5", "5", "compute")


def test_a_second_gpu_beside_the_nic_takes_its_label_away() -> None:
    """Nobody can tell whose the NIC is any more."""
    second = ("0000:10:01.0", "0000:11:00.0", "0000:12:03.0", "0000:15:00.0")

    assert NodePlaces(MemoryTree([*switch_pair(), *function(second, GPU)])).of("mlx5_0", 0.0) == NOWHERE
