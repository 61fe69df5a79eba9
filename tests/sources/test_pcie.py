"""The PCIe source: names, expectations, what a pass costs, and what happens when parts of the tree fail or go."""

import errno
from collections import Counter

import pytest

from exporter.catalog import limits
from exporter.catalog.pcie import ERRORS, SPEED, SPEED_EXPECTED, WIDTH, WIDTH_EXPECTED
from exporter.model.fault import Reason
from exporter.model.link_capability import Capability
from exporter.simulator.archive import Directory
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.device_filter import DeviceFilter
from tests.machine import Machine, machine
from tests.sources.small_pci import (
    BRIDGE,
    GPU,
    GPU_PATH,
    HCA,
    HCA_PATH,
    NIC,
    Bus,
    below_expectation,
    distances_of,
    folder_of,
    function,
    link,
    links_of,
    netdev,
    rdma,
    switch_pair,
)

AER = {"aer_dev_correctable": "RxErr 3\nTOTAL_ERR_COR 3", "aer_dev_nonfatal": "CmpltTO 0", "aer_dev_fatal": "SDES 0"}


def test_every_bridge_up_to_the_root_is_shown_under_each_device() -> None:
    """A shared bridge once for each: what slows it slows both."""
    shared = GPU_PATH[:2]
    expected = {("gpu0", port) for port in (*shared, GPU_PATH[2], "upstream")} | {
        ("mlx5_0", port) for port in (*shared, HCA_PATH[2], "upstream")
    }

    assert set(Bus(switch_pair()).read()) == expected


def test_a_shared_bridge_is_read_once_a_pass() -> None:
    """Two files of each of six functions, however many devices hang on them; steady passes open and list nothing of a function."""
    bus = Bus(switch_pair())
    bus.read()
    before, opened = bus.tree.preads, bus.tree.opens
    bus.read(15.0)

    assert (bus.tree.preads - before, bus.tree.opens - opened) == (2 * 6, 0)


def test_error_statistics_cost_one_call_a_file() -> None:
    """However long they are."""
    bus = Bus(switch_pair(gpu=AER))
    bus.read()
    before = bus.tree.preads
    seen = bus.read(15.0)

    assert bus.tree.preads - before == 2 * 6 + 3
    assert seen["gpu0", "upstream"][ERRORS.key, "correctable", "RxErr"] == 3


def test_counters_exist_at_zero_before_the_first_event() -> None:
    """So that the first one is an increase."""
    seen = Bus(switch_pair(gpu=AER)).read()["gpu0", "upstream"]

    assert seen[ERRORS.key, "nonfatal", "CmpltTO"] == seen[ERRORS.key, "fatal", "other"] == 0


def test_a_card_in_a_slot_of_eight_lanes_is_as_expected() -> None:
    """The other one, which trained eight of sixteen, is not."""
    assert below_expectation(machine("x8-slot-by-design")) == {("mlx5_1", "upstream"), ("mlx5_1", "0000:60:01.1")}


def test_a_degraded_bridge_is_named_and_its_healthy_endpoints_are_not() -> None:
    """Both ends of the bad link, under each device that it slows (NVIDIA/NVSentinel#890)."""
    expected = {(device, port) for device in ("gpu0", "mlx5_0") for port in ("0000:20:01.0", "0000:21:00.0")}
    expected |= {(device, port) for device in ("gpu1", "mlx5_1") for port in ("0000:50:01.0", "0000:51:00.0")}
    expected |= {("gpu2", "upstream"), ("gpu2", "0000:82:01.0")}

    assert below_expectation(machine("degraded-bridge")) == expected


def test_a_healthy_node_with_older_cards_below_new_switches_has_nothing_below_expectation() -> None:
    """Ports above an older card, an on-board card on a narrow slot: seen on every healthy H100 node."""
    seen = machine("hgx-h100-pcie")

    assert below_expectation(seen) == set()
    assert links_of(seen, "link_speed_transfers_per_second")["mlx5_8", "0000:1e:02.0"] == 16e9


def test_an_idle_gpu_keeps_its_expectation() -> None:
    """That it sleeps is for rules to judge, by whether it is busy."""
    seen = machine("gpu-idle-gen1")

    assert links_of(seen, "link_speed_transfers_per_second")["gpu2", "upstream"] == 2.5e9
    assert links_of(seen, "link_speed_expected_transfers_per_second")["gpu2", "upstream"] == 16e9


def test_a_virtual_machine_without_link_registers_shows_none() -> None:
    """Devices and where they sit, nothing else; a port that QEMU made up says nothing of real hardware."""
    seen = machine("vm-flat-pci")

    assert set(links_of(seen, "link_width_lanes")) == {("gpu4", "upstream")}
    assert set(distances_of(seen).values()) == {"unknown"}
    assert seen.samples["fabric_exporter_source_up", (("source", "pcie"),)] == 1


def test_numa_node_minus_one_is_empty() -> None:
    """The kernel's word for a firmware that names none."""
    seen = Machine(MemoryTree(switch_pair(gpu={"numa_node": -1})))

    assert ("fabric_pcie_info", (("device", "gpu0"), ("numa_node", ""), ("pci", GPU_PATH[-1]))) in seen.samples


def test_a_network_card_without_rdma_is_called_by_its_netdev() -> None:
    """One with RDMA by that device alone; a switchdev representor is nobody."""
    entries = [*function(HCA_PATH[:1], BRIDGE), *function((HCA_PATH[0], "0000:11:00.0"), {**NIC, **link()})]
    entries += netdev((HCA_PATH[0], "0000:11:00.0"), "eno1") + netdev((HCA_PATH[0], "0000:11:00.0"), "eth7", "pf0vf3")

    assert {device for device, _ in Bus(entries).read()} == {"eno1"}
    assert {device for device, _ in Bus(entries + rdma((HCA_PATH[0], "0000:11:00.0"), "bnxt_re0")).read()} == {"bnxt_re0"}


def test_an_interface_whose_driver_refuses_its_port_name_is_shown() -> None:
    """Most drivers answer EOPNOTSUPP."""
    path = (HCA_PATH[0], "0000:11:00.0")
    tree = MemoryTree([*function(path, {**NIC, **link()}), *netdev(path, "eno1")])
    tree.fail(f"{folder_of(path)}/net/eno1/phys_port_name", errno.EOPNOTSUPP)
    bus = Bus(tree)

    assert ("eno1", "upstream") in bus.read()
    assert bus.faults == []


def test_a_virtual_function_has_no_link_of_its_own() -> None:
    """Its physical function is shown."""
    physical, virtual = (HCA_PATH[0], "0000:11:00.0"), (HCA_PATH[0], "0000:11:00.1")
    entries = [*function(HCA_PATH[:1], {**BRIDGE, **link()}), *function(physical, {**HCA, **link()}), *rdma(physical, "mlx5_0")]
    entries += [*function(virtual, HCA), *rdma(virtual, "mlx5_1"), Directory(f"{folder_of(virtual)}/physfn")]

    assert {device for device, _ in Bus(entries).read()} == {"mlx5_0"}


def test_a_driver_that_loads_later_is_seen_at_the_next_scan() -> None:
    """The exporter may start before mlx5_core does."""
    bus = Bus([*function(HCA_PATH[:1], BRIDGE), *function((HCA_PATH[0], "0000:11:00.0"), {**HCA, **link()})])
    first = bus.read()
    bus.tree.add(rdma((HCA_PATH[0], "0000:11:00.0"), "mlx5_0"))

    assert (first, set(bus.read(15.0))) == ({}, {("mlx5_0", "upstream")})


def test_an_unwanted_device_is_not_read_but_the_bridge_it_shares_is() -> None:
    """Its identity is all that was looked at."""
    tree = MemoryTree(switch_pair())
    seen = Machine(tree, DeviceFilter(exclude=["gpu.*"]).wants)

    assert {device for device, _ in links_of(seen, "link_width_lanes")} == {"mlx5_0"}
    assert not any("_link_" in path for path in tree.opened if path.startswith(folder_of(GPU_PATH)))


def test_an_unwanted_gpu_keeps_its_number() -> None:
    """gpu1 is gpu1 whether or not gpu0 is shown."""
    entries = [*switch_pair(), *function((*GPU_PATH[:2], "0000:12:03.0", "0000:20:00.0"), {**GPU, **link()})]
    seen = Machine(MemoryTree(entries), DeviceFilter(exclude=["gpu0"]).wants)

    assert {device for device, _ in links_of(seen, "link_width_lanes")} == {"gpu1", "mlx5_0"}


@pytest.mark.parametrize("pattern", ["mlx5_.*", HCA_PATH[2].replace(".", r"\.")])
def test_a_configured_width_lowers_what_both_ends_of_the_link_are_expected_to_do(pattern: str) -> None:
    """Named by the device or by the bridge above it; the switch's own link is another."""
    seen = Bus(switch_pair(), configured={pattern: Capability(None, 8)}).read()
    widths = {port: values[WIDTH_EXPECTED.key] for (device, port), values in seen.items() if device == "mlx5_0"}

    assert widths == {"upstream": 8, HCA_PATH[2]: 8, HCA_PATH[1]: 16, HCA_PATH[0]: 16}
    assert seen["mlx5_0", "upstream"][SPEED_EXPECTED.key] == 32e9


def test_one_file_that_refuses_costs_only_itself() -> None:
    """Every other series is as it was."""
    tree = MemoryTree(switch_pair())
    expected = Bus(switch_pair()).read()
    del expected["gpu0", "upstream"][SPEED.key]
    tree.fail(f"{folder_of(GPU_PATH)}/current_link_speed", errno.EINVAL)
    bus = Bus(tree)

    assert bus.read() == expected
    assert [(fault.subject.rsplit("/")[-1], fault.reason) for fault in bus.faults] == [("current_link_speed", Reason.UNSUPPORTED)]


def test_a_file_that_refuses_rests() -> None:
    """It is not asked at every pass."""
    tree = MemoryTree(switch_pair())
    path = f"{folder_of(GPU_PATH)}/current_link_speed"
    tree.fail(path, errno.EINVAL)
    bus, asked = Bus(tree), Counter[str]()
    tree.before_read = lambda read: asked.update([read])
    for now_s in range(0, 60, 15):
        bus.read(float(now_s))

    assert (asked[path], asked[path.replace("speed", "width")]) == (1, 4)


def test_a_gpu_that_falls_off_the_bus_costs_its_own_series_and_no_other() -> None:
    """The NIC behind the same switch stays; the GPU's bridges leave with it at the next scan."""
    tree = MemoryTree(switch_pair())
    seen = Machine(tree)
    tree.remove(folder_of(GPU_PATH))
    seen.run(40)

    assert {device for device, _ in links_of(seen, "link_width_lanes")} == {"mlx5_0"}
    assert len(links_of(seen, "link_width_lanes")) == 4


def test_a_card_that_returns_at_its_address_is_read_again() -> None:
    """A kept handle answers ENODEV for ever; and it may be another card now."""
    tree = MemoryTree(switch_pair())
    seen = Machine(tree)
    gone = tree.remove(folder_of(GPU_PATH))
    seen.run(40)
    tree.add(gone)
    tree.write(f"{folder_of(GPU_PATH)}/current_link_width", b"8\n")
    seen.run(40)

    assert links_of(seen, "link_width_lanes")["gpu0", "upstream"] == 8


def test_no_handle_is_left_behind_when_a_card_comes_and_goes() -> None:
    """Thirty times; each of its files is open once when it is there."""
    tree = MemoryTree(switch_pair(gpu=AER))
    seen = Machine(tree).run(40)
    before = tree.handles_open
    for _ in range(30):
        gone = tree.remove(folder_of(GPU_PATH))
        seen.run(40)
        tree.add(gone)
        seen.run(40)

    assert tree.handles_open == before


def test_odd_text_costs_only_its_own_series() -> None:
    """One oddity a file: words, signs, refusals, dangling and circular links, an address twice on a path."""
    seen = machine("pcie-odd-text").run(20)
    speeds, widths = (links_of(seen, name) for name in ("link_speed_transfers_per_second", "link_width_lanes"))

    assert {device for device, _ in speeds} == {"gpu0", "mlx5_0", "mlx5_2", "mlx5_3", "mlx5_5"}
    assert ("gpu0", "upstream") not in speeds.keys() | widths.keys()
    assert (widths["mlx5_3", "upstream"], speeds["mlx5_5", "upstream"]) == (8, 32e9)


def test_a_bus_that_cannot_be_listed_keeps_what_there_was() -> None:
    """And says so; one that is not there has nothing and is no failure."""
    tree = MemoryTree(switch_pair())
    bus = Bus(tree)
    before = bus.read()
    tree.fail_open("bus/pci/devices", errno.EACCES)

    assert bus.read(15.0) == before
    assert [fault.reason for fault in bus.faults] == [Reason.DENIED]


def test_a_machine_without_pci_says_what_was_looked_for() -> None:
    """Up, no devices, one Fault."""
    bus = Bus([Directory("class")])

    assert bus.read() == {}
    assert [fault.reason for fault in bus.faults] == [Reason.ABSENT]
    assert bus.source.looked_for == "NVIDIA GPUs, RDMA devices and NICs in /sys/bus/pci/devices"


def test_functions_are_looked_at_anew_now_and_then() -> None:
    """Another card may have taken an address between two scans."""
    tree = MemoryTree(switch_pair())
    bus = Bus(tree)
    bus.read()
    looked = tree.opened["/".join((folder_of(GPU_PATH), "class"))]
    for now_s in (15.0, limits.PCI_LOOK_AGAIN_S - 1, limits.PCI_LOOK_AGAIN_S):
        bus.source.scan(0.0, now_s)

    assert tree.opened["/".join((folder_of(GPU_PATH), "class"))] == looked + 1


def test_what_was_learned_bounds_what_is_expected_and_every_pass_teaches() -> None:
    """By function and by who it is."""
    memory = _Memory(Capability(None, 8))
    seen = Bus(switch_pair(), learned=memory).read()

    assert {values[WIDTH_EXPECTED.key] for values in seen.values()} == {8}
    assert {values[WIDTH.key] for values in seen.values()} == {16}
    assert memory.notes[GPU_PATH[-1]] == ("0x10de:0x2330", Capability(32_000_000_000, 16))


class _Memory:
    """Believes one thing of every function and writes down what it is told."""

    def __init__(self, capability: Capability) -> None:
        self.notes: dict[str, tuple[str, Capability]] = {}
        self._capability = capability

    def believed(self, address: str, identity: str, wall_s: float) -> Capability:  # noqa: ARG002
        return self._capability

    def note(self, address: str, identity: str, seen: Capability, wall_s: float) -> None:  # noqa: ARG002
        self.notes[address] = (identity, seen)
