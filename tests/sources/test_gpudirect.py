"""What it takes for an RDMA device to reach the GPUs beside it, as files tell."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.catalog.gpudirect import REQUIREMENT, REQUIREMENTS
from exporter.model.fault import Fault, Reason
from exporter.model.metric import Cadence
from exporter.simulator.archive import Directory, Entry, File, Symlink
from exporter.simulator.memory_tree import MemoryTree
from exporter.simulator.node import SimulatedNode
from exporter.simulator.profiles import profile_named
from exporter.sources.gpudirect import DRIVER, MODULES, RELEASE, GpuDirectSource, kernel_of, peer_module_in
from exporter.sources.pci_acs import redirects
from tests.machine import everything
from tests.sources.small_pci import BRIDGE, GPU, GPU_PATH, HCA, HCA_PATH, folder_of, function, rdma, switch_pair

PEERMEM = b"nvidia_peermem 20480 0 - Live 0x0000000000000000 (OE)\nib_uverbs 200704 2 nvidia_peermem,mlx5_ib, Live 0x0000000000000000\n"
NO_PEERMEM = b"nvidia 9973760 120 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n"
OPEN = b"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  999.10.01  Release Build\nGCC version: 13\n"
CLOSED = b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  999.10.01\n"


def procfs(modules: bytes | None = PEERMEM, driver: bytes | None = CLOSED, release: bytes = b"6.8.0-31-generic\n") -> MemoryTree:
    """A /proc of these three files; None leaves one out."""
    files = {MODULES: modules, DRIVER: driver, RELEASE: release}
    return MemoryTree([File(path, text) for path, text in files.items() if text is not None])


def config(*capabilities: tuple[int, int]) -> bytes:
    """Configuration space as root sees it: these extended capabilities, each by its id and the register 6 bytes in."""
    space = bytearray(4096)
    places = [0x100 + 0x40 * number for number in range(len(capabilities))]
    for at, after, (number, control) in zip(places, (*places[1:], 0), capabilities, strict=False):
        space[at : at + 4] = (number | 1 << 16 | after << 20).to_bytes(4, "little")
        space[at + 6 : at + 8] = control.to_bytes(2, "little")
    return bytes(space)


AER, ACS = 0x0001, 0x000D
ISOLATING, HARMLESS = 0x1D, 0x01


class Node:
    """One source over a bus and a /proc."""

    def __init__(self, entries: list[Entry] | None = None, proc: MemoryTree | None = None) -> None:
        self.tree = MemoryTree(switch_pair() if entries is None else entries)
        self.proc = proc or procfs()
        self.source = GpuDirectSource(self.tree, self.proc, everything)
        self.faults: tuple[Fault, ...] = ()

    def read(self, cadence: Cadence = Cadence.NORMAL) -> dict[str, dict[str, float]]:
        """NIC → requirement → value, after a scan; nothing where the scan finds no reader."""
        found: dict[str, dict[str, float]] = {}
        for reader in self.source.scan(1.8e9, 0.0).readers:
            snapshot = reader.read(cadence, 1.8e9, 0.0)
            self.faults = snapshot.faults
            for reading in snapshot.readings:
                found[str(reading.entity)] = {key[1]: number for key, number in reading.values.items()}
                assert {key[0] for key in reading.values} <= {REQUIREMENT.key}
        return found

    def set_config(self, path: tuple[str, ...], raw: bytes) -> None:
        """The configuration space of a function."""
        self.tree.write(f"{folder_of(path)}/config", raw)


def test_a_nic_beside_a_gpu_with_the_module_has_software_and_path() -> None:
    """An ordinary user is not told of ACS: the key is missing."""
    assert Node().read() == {"mlx5_0": {"software": 1, "path": 1}}


@pytest.mark.parametrize(
    ("proc", "software"),
    [
        (procfs(NO_PEERMEM), 0),
        (procfs(b"nv_peer_mem 16384 0 - Live 0x0\n"), 1),
        (procfs(b"nvidia_peermem 16384 0 - Unloading 0x0\n"), 0),
        (procfs(NO_PEERMEM, OPEN), 1),
        (procfs(NO_PEERMEM, OPEN, b"5.4.0-100\n"), None),
        (procfs(NO_PEERMEM, OPEN, b"who knows"), None),
        (procfs(NO_PEERMEM, None), 0),
        (procfs(None, CLOSED), None),
        (procfs(None, OPEN), 1),
        (procfs(b"", None), 0),
    ],
)
def test_software_is_the_module_or_the_open_driver_on_a_kernel_with_dmabuf(proc: MemoryTree, software: int | None) -> None:
    """Hidden modules are unknown, not missing; an older kernel may have a vendor's RDMA stack that can."""
    assert Node(proc=proc).read()["mlx5_0"].get("software") == software


def test_hidden_modules_are_a_fault_with_advice_only_where_a_nic_asks() -> None:
    """A container without the host's /proc; a node without GPUs has nothing to complain of."""
    node, gpuless = Node(proc=procfs(None)), Node([*function(HCA_PATH, HCA), *rdma(HCA_PATH, "mlx5_0")], procfs(None))
    node.read()

    assert [(fault.subject, fault.reason) for fault in node.faults] == [(MODULES, Reason.ABSENT)]
    assert "procfs_root" in node.faults[0].detail
    assert (gpuless.read(), gpuless.faults) == ({}, ())


def test_modules_that_may_not_be_read_are_unknown() -> None:
    """The errno is told."""
    node = Node()
    node.proc.fail(MODULES, errno.EACCES)

    assert node.read() == {"mlx5_0": {"path": 1}}
    assert [fault.reason for fault in node.faults] == [Reason.DENIED]


def test_a_list_of_modules_of_several_pages_is_read_to_its_end() -> None:
    """The kernel gives a page at each read."""
    long = b"".join(b"module_%05d 16384 0 - Live 0x0000000000000000\n" % number for number in range(3_000)) + PEERMEM

    assert Node(proc=procfs(long)).read()["mlx5_0"]["software"] == 1


def test_a_nic_beyond_the_cpu_was_never_meant_for_it() -> None:
    """The storage NIC on another root port, and NICs of Grace nodes: no row at all."""
    far, root = ("0000:20:01.0", "0000:21:00.0"), "pci0000:20"
    entries = [*switch_pair(), *function(far[:1], BRIDGE, root), *function(far, HCA, root), *rdma(far, "mlx5_9", root)]

    assert set(Node(entries).read()) == {"mlx5_0"}


def test_a_virtual_machine_hides_the_path() -> None:
    """GPU and NIC on a root bus: unknown."""
    gpu, nic = ("0000:00:05.0",), ("0000:00:06.0",)
    entries = [*function(gpu, GPU, "pci0000:00"), *function(nic, HCA, "pci0000:00"), *rdma(nic, "mlx5_0", "pci0000:00")]

    assert Node(entries).read() == {"mlx5_0": {"software": 1}}


@pytest.mark.parametrize(("control", "acs_off"), [(ISOLATING, 0), (0x04, 0), (0x08, 0), (HARMLESS, 1), (0, 1)])
def test_root_is_told_whether_the_ports_between_redirect(control: int, acs_off: int) -> None:
    """Request or completion redirect of either downstream port; other controls do not matter, nor what stands above the switch."""
    node = Node()
    node.set_config(GPU_PATH[:3], config((AER, 0), (ACS, 0)))
    node.set_config(HCA_PATH[:3], config((AER, 0), (ACS, control)))
    node.set_config(GPU_PATH[:1], config((ACS, ISOLATING)))

    assert node.read()["mlx5_0"]["acs_off"] == acs_off


def test_a_port_without_acs_does_not_redirect_and_one_that_cannot_be_read_is_unknown() -> None:
    """64 bytes are what an ordinary user gets."""
    node = Node()
    node.set_config(GPU_PATH[:3], config((AER, 0)))
    node.set_config(HCA_PATH[:3], config((ACS, HARMLESS))[:64])
    unknown = node.read()["mlx5_0"].get("acs_off")
    node.set_config(HCA_PATH[:3], config())
    node.read(Cadence.SLOW)

    assert (unknown, node.read()["mlx5_0"]["acs_off"]) == (None, 1)


@pytest.mark.parametrize(("groups", "acs_off"), [(("7", "7"), 1), (("7", "8"), None), (("7", None), None)])
def test_one_iommu_group_says_that_nothing_redirects(groups: tuple[str | None, str | None], acs_off: int | None) -> None:
    """Two groups say nothing: ACS may have been switched off after the kernel made them."""
    entries = switch_pair()
    for path, group in zip((GPU_PATH, HCA_PATH), groups, strict=True):
        if group is not None:
            entries += [
                Directory(f"kernel/iommu_groups/{group}"),
                Symlink(f"{folder_of(path)}/iommu_group", "../" * len(folder_of(path).split("/")) + f"kernel/iommu_groups/{group}"),
            ]

    assert Node(entries).read()["mlx5_0"].get("acs_off") == acs_off


def test_registers_are_read_in_slow_passes_and_modules_in_normal_ones() -> None:
    """A read of configuration space asks the hardware."""
    node = Node()
    node.set_config(GPU_PATH[:3], config((ACS, 0)))
    node.set_config(HCA_PATH[:3], config((ACS, 0)))
    node.read()
    opened = {path: count for path, count in node.tree.opened.items() if path.endswith("/config")}
    node.read()

    assert {path: count for path, count in node.tree.opened.items() if path.endswith("/config")} == opened
    assert node.read(Cadence.SLOW) == {}
    assert sum(node.tree.opened[path] for path in opened) == 2 * sum(opened.values())


def test_nothing_is_kept_open_and_a_bus_that_fails_leaves_what_was_there() -> None:
    """The PCIe source reports the bus; one that is gone has no NICs."""
    node = Node()
    node.read()
    node.tree.fail_open("bus/pci/devices", errno.EIO)

    assert node.read() == {"mlx5_0": {"software": 1, "path": 1}}
    assert (node.tree.handles_open, node.proc.handles_open) == (0, 0)
    assert GpuDirectSource(MemoryTree(), procfs(), everything).scan(0.0, 0.0).readers == ()


def test_devices_that_are_not_wanted_are_left_alone() -> None:
    """The site's filter."""
    source = GpuDirectSource(MemoryTree(switch_pair()), procfs(), lambda name: name != "mlx5_0")

    assert source.scan(0.0, 0.0).readers == ()


@pytest.mark.parametrize(("profile", "nics"), [("hgx-h100", 8), ("gb200-tray", 0), ("no-gpu-ib", 0)])
def test_a_simulated_node_has_one_for_each_gpu_or_none(profile: str, nics: int) -> None:
    """A compute NIC beside each GPU of an HGX board, none on a Grace tray, whose NICs hang on the CPU."""
    source = GpuDirectSource(SimulatedNode(profile_named(profile), 1).tree(), procfs(), everything)
    readings = [reading for reader in source.scan(0.0, 0.0).readers for reading in reader.read(Cadence.NORMAL, 0.0, 0.0).readings]

    assert [dict(reading.values) for reading in readings] == [{(REQUIREMENT.key, "software"): 1, (REQUIREMENT.key, "path"): 1}] * nics


@given(st.binary(max_size=300), st.text(max_size=20))
def test_junk_is_no_module_and_no_kernel(raw: bytes, release: str) -> None:
    """Whatever stands there; nothing raises."""
    assert peer_module_in(raw) in {True, False}
    assert min(kernel_of(release)) >= 0


@given(st.binary(max_size=4096 - 256))
def test_junk_in_configuration_space_never_raises_nor_goes_in_circles(raw: bytes) -> None:
    """A capability that names itself as the next one, too."""
    circle = (0x0001 | 0x100 << 20).to_bytes(4, "little")
    for space in (raw, circle, b"\xff" * 8, b""):
        assert redirects(MemoryTree([File("config", bytes(256) + space)]), "config") in {True, False, None}
    assert redirects(MemoryTree([File("config", bytes(256) + circle)]), "config") is None
    assert redirects(MemoryTree(), "config") is None


def test_requirements_are_those_of_the_catalogue() -> None:
    """Three, by name."""
    assert REQUIREMENTS == ("software", "path", "acs_off")
