"""The PCIe source on real trees: a captured H100 node (FABRIC_TEST_DATA), and this machine's own /sys beside lspci."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from exporter.catalog.pcie import SPEED, SPEED_EXPECTED, WIDTH, WIDTH_EXPECTED
from exporter.model.link_capability import UNKNOWN, Capability
from exporter.model.metric import Cadence
from exporter.model.topology import PciPath
from exporter.simulator.archive import Directory, read_archive
from exporter.simulator.memory_tree import MemoryTree
from exporter.sources.fault_list import FaultList
from exporter.sources.pci_branch import BranchReader, NoMemory
from exporter.sources.pci_function import FunctionReader
from exporter.sources.pci_tree import DEVICES, PciDevice, chain_of
from exporter.sources.pcie import PcieSource
from exporter.sources.sysfs import RealFiles
from tests.machine import Machine, everything
from tests.requires import need, need_data
from tests.sources.small_pci import below_expectation, distances_of, links_of

PAIRS = {"19": "1a", "3b": "3c", "4c": "4d", "5d": "5e", "9b": "9c", "bb": "bc", "cb": "cc", "db": "dc"}
"""Bus of each GPU and of the ConnectX-7 behind the same switch."""
NEIGHBOURS = {"19": ("1b.0", "1b.1"), "9b": ("9d.0", "9d.1")}
"""Dual-port ConnectX-6 Dx on the switch of two of them."""
BELOW_OWN_MAXIMUM = {"0000:17:03.0", "0000:99:03.0", "0000:80:01.0", "0000:01:00.0", "0000:01:00.1", "0000:00:0c.0"}


@cache
def _h100(folder: Path) -> MemoryTree:
    """The captured tree, with the RDMA devices that its drivers made, which lspci does not show."""
    tree = MemoryTree(read_archive(folder / "sysfs" / "h100-pci-from-lspci.tree"))
    for bus in PAIRS.values():
        tree.add([Directory(f"{tree.resolve(f'{DEVICES}/0000:{bus}:00.0')}/infiniband/mlx5_{bus}")])
    for bus in ("1b", "9d"):
        for port in (0, 1):
            tree.add([Directory(f"{tree.resolve(f'{DEVICES}/0000:{bus}:00.{port}')}/infiniband/mlx5_{bus}.{port}")])
    return tree


def test_the_whole_path_of_each_device_of_an_h100_node_is_shown() -> None:
    """Eight GPUs and twelve ports, each with root port, switch upstream and downstream port, and nothing of the NVSwitches."""
    seen = Machine(_h100(need_data()))
    places = links_of(seen, "link_speed_transfers_per_second")

    assert {device for device, _ in places} == {f"gpu{n}" for n in range(8)} | {f"mlx5_{bus}" for bus in PAIRS.values()} | {
        f"mlx5_{bus}.{port}" for bus in ("1b", "9d") for port in (0, 1)
    }
    assert len(places) == 20 * 4


def test_no_link_of_the_healthy_h100_node_is_below_expectation() -> None:
    """And none is judged by its own maximum alone."""
    assert below_expectation(Machine(_h100(need_data()))) == set()


def test_every_function_of_the_healthy_h100_node_runs_as_its_partner_allows() -> None:
    """All 65 functions with a link, NVSwitches and on-board cards too, though they are no devices of ours; the six that run below their own
    maximum are exactly those that their partner explains."""
    tree = _h100(need_data())
    own, wrong = _judged(tree)

    assert wrong == {}
    assert own == BELOW_OWN_MAXIMUM


def _judged(tree: MemoryTree) -> tuple[set[str], dict[str, tuple[object, ...]]]:
    """Functions below their own maximum; functions that are not as expected, with what they say."""
    own: set[str] = set()
    wrong: dict[str, tuple[object, ...]] = {}
    for device in _every_leaf(tree):
        reader = BranchReader(tree, device.name, [device], NoMemory(), {})
        for reading in reader.read(Cadence.NORMAL, 0.0, 0.0).readings:
            port = str(reading.entity.label("port"))
            address = device.address if port == "upstream" else port
            now = reading.values[SPEED.key], reading.values[WIDTH.key]
            expected = reading.values[SPEED_EXPECTED.key], reading.values[WIDTH_EXPECTED.key]
            if now != expected:
                wrong[address] = (now, expected)
            if Capability(int(now[0]), int(now[1])) != _capability(tree, address):
                own.add(address)
    return own, wrong


def _every_leaf(tree: MemoryTree) -> list[PciDevice]:
    """Every function that no other one stands below, as a device under its address."""
    chains = [chain for name in sorted(tree.listdir(DEVICES)) if (chain := chain_of(tree.resolve(f"{DEVICES}/{name}"))) is not None]
    above = {function.address for _, functions in chains for function in functions[:-1]}
    leaves = [functions for _, functions in chains if functions[-1].address not in above]
    return [PciDevice(functions[-1].address, False, functions, PciPath("", ())) for functions in leaves]  # noqa: FBT003  # is_gpu


def _capability(tree: MemoryTree, address: str) -> Capability:
    reader = FunctionReader(tree, tree.resolve(f"{DEVICES}/{address}"))
    reader.look_again(FaultList("pcie"))
    assert reader.capability != UNKNOWN
    return reader.capability


def test_distances_of_the_h100_node_are_those_of_its_switches_and_sockets() -> None:
    """A GPU and the NICs behind its switch PIX, others of its socket NODE, across sockets SYS."""
    gpus, first_socket = list(PAIRS), {"19", "3b", "4c", "5d", "1a", "3c", "4d", "5e", "1b.0", "1b.1"}
    nics = [*PAIRS.values(), *(port for ports in NEIGHBOURS.values() for port in ports)]

    def _expected(gpu: str, nic: str) -> str:
        if PAIRS[gpu] == nic or nic in NEIGHBOURS.get(gpu, ()):
            return "PIX"
        return "NODE" if (gpu in first_socket) == (nic in first_socket) else "SYS"

    expected = {(f"gpu{n}", f"mlx5_{nic}"): _expected(gpu, nic) for n, gpu in enumerate(gpus) for nic in nics}

    assert distances_of(Machine(_h100(need_data()))) == expected


@pytest.mark.parametrize("name", ["procfs-fixtures", "node-exporter-fixtures", "rdma-exporter-vf", "rdma-exporter-guest_vf", "h100-gpud"])
def test_other_captured_trees_are_read_without_error(name: str) -> None:
    """Whatever they lack; dangling links cost themselves."""
    seen = Machine(MemoryTree(read_archive(need_data() / "sysfs" / f"{name}.tree"))).run(20)

    assert seen.samples["fabric_exporter_source_faults_total", (("reason", "bug"), ("source", "pcie"))] == 0
    assert below_expectation(seen) == set()


def test_this_machines_own_bus_is_read_without_error() -> None:
    """Where it has no GPU, HCA or NIC on PCI there is nothing, and the source says what it looked for."""
    source = PcieSource(RealFiles("/sys", 500), everything)
    scan = source.scan(0.0, 0.0)
    snapshots = [reader.read(cadence, 0.0, 0.0) for reader in scan.readers for cadence in reader.cadences]
    for reader in scan.readers:
        reader.close()

    assert {fault.reason.value for one in (scan.snapshot, *snapshots) for fault in one.faults} <= {
        "absent",
        "unsupported",
        "denied",
    }
    assert bool(snapshots) or "NVIDIA GPUs" in source.looked_for


def test_every_link_of_this_machine_is_as_lspci_says() -> None:
    """Speed and width of each function that has link attributes, whatever it is; a machine without any agrees too."""
    lspci = need("lspci", "apt-get install pciutils")
    if not Path("/sys", DEVICES).is_dir():
        return
    text = subprocess.run([lspci, "-D", "-vv"], capture_output=True, text=True, check=True, timeout=60).stdout
    files, wrong = RealFiles("/sys", 500), {}
    for address, status in _link_states(text).items():
        reader = FunctionReader(files, f"{DEVICES}/{address}")
        faults = FaultList("pcie")
        reader.look_again(faults)
        values = reader.read_now(faults, 0.0)
        reader.close()
        shown = values.get(SPEED.key), values.get(WIDTH.key)
        if values and shown != status:
            wrong[address] = (status, shown)

    assert wrong == {}


def _link_states(text: str) -> dict[str, tuple[float, int]]:
    """Address → speed and width of each LnkSta line that lspci could read (capabilities need root)."""
    found: dict[str, tuple[float, int]] = {}
    for block in re.split(r"\n(?=\S)", text):
        match = re.search(r"LnkSta:\s+Speed ([\d.]+)GT/s.*?Width x(\d+)", block)
        if match and int(match[2]):
            found[block.split()[0]] = (float(match[1]) * 1e9, int(match[2]))
    return found
