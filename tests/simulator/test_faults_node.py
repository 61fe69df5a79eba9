"""What a node shows before, during and after it reboots, a driver is loaded anew, its clock jumps or its exporter is killed."""

import pytest

from exporter.simulator.gpu_models import STATE
from exporter.simulator.procfs import BOOT_ID, MODULES, UPTIME
from exporter.sources.nvml_session import DRIVER_NOT_LOADED, NvmlError
from tests.simulator.faulty import Watched, planned


def _proc(node: Watched, path: str) -> str:
    return (node.hardware.proc.content(path) or b"").decode()


def _fabric(node: Watched) -> int:
    return node.hardware.nvml.gpus.fabric[0].state


def test_a_reboot_starts_everything_anew() -> None:
    """Boot id, uptime, kernel log, every counter; the exporter is away while the node is off and started once it is on."""
    node = Watched(planned("xid", "gpu0", at_s=10, until_s=None, xid=79), planned("reboot", at_s=60, until_s=240, links_after=30.0))
    around, log = node.hardware.around, node.hardware.log
    before = (_proc(node.at(59), BOOT_ID), float(_proc(node, UPTIME).split()[0]), node.count("counters/port_xmit_data"))

    assert before[1:2] == (3659.0,)
    assert before[2] > 0
    assert len(log.records().records) == 1
    assert not around.exporter_away

    node.at(100)

    assert around.exporter_away
    assert around.exporter_starts == 0

    node.at(250)

    assert not around.exporter_away
    assert around.exporter_starts == 1
    assert _proc(node, BOOT_ID) != before[0]
    assert node.hardware.boot_id == _proc(node, BOOT_ID).strip()
    assert float(_proc(node, UPTIME).split()[0]) == 10.0
    assert node.hardware.monotonic_s() == 10.0
    assert node.hardware.wall_s() == 1_800_000_000 + 3600 + 250
    assert log.records().records == ()
    assert {node.count(f"counters/{name}") for name in ("port_xmit_data", "link_downed", "symbol_error")} == {0}
    assert node.nvlink(0, 0, 138) == 0


def test_links_come_up_some_time_after_a_boot() -> None:
    """Ports wait for their subnet manager, NVLinks for the fabric manager: 214 of 288 nodes raised a false alarm then
    (NVIDIA/NVSentinel#1701)."""
    node = Watched(planned("reboot", at_s=60, until_s=240, links_after=30.0))

    def shown(moment: float) -> tuple[str | None, int, int]:
        node.at(moment)
        return node.port("state"), node.field(0, STATE, 0), _fabric(node)

    assert [shown(moment) for moment in (59, 250, 269, 271)] == [
        ("4: ACTIVE", 1, 3),
        ("2: INIT", 0, 2),
        ("2: INIT", 0, 2),
        ("4: ACTIVE", 1, 3),
    ]
    assert node.growth(lambda: node.count("counters/port_xmit_data"), 272, 300) > 0
    assert node.count("counters/link_downed") == 0


def test_a_reload_of_the_rdma_driver_takes_its_devices_and_brings_them_back() -> None:
    """The cards stay on the bus; names, interfaces and counters are the driver's. GPUs know nothing of it."""
    node = Watched(planned("driver_reload", "mlx5_core", until_s=90, links_after=10.0))
    tree, nvml = node.hardware.tree, node.hardware.nvml
    card = f"bus/pci/devices/{node.hardware.profile.hcas[3].pci}"

    def shown(moment: float) -> tuple[int, bool, str | None, str | None]:
        node.at(moment)
        return len(tree.listdir("class/infiniband")), tree.exists(f"{card}/driver"), node.text(f"{card}/vendor"), node.port("state")

    assert shown(59) == (10, True, "0x15b3", "4: ACTIVE")
    assert shown(61) == (0, False, "0x15b3", None)
    assert shown(91) == (10, True, "0x15b3", "2: INIT")
    assert node.count("counters/port_xmit_data") == 0
    assert shown(101) == (10, True, "0x15b3", "4: ACTIVE")
    nvml.open()
    assert nvml.gpu_count() == 8


def test_a_reload_of_the_gpu_driver_leaves_nobody_to_ask() -> None:
    """Every call says that there is no driver; then counters are at 0 and links come up later."""
    node = Watched(planned("driver_reload", "nvidia", until_s=90, links_after=10.0))
    nvml = node.hardware.nvml
    nvml.open()
    node.at(61)
    with pytest.raises(NvmlError) as caught:
        nvml.gpu_count()

    assert caught.value.code == DRIVER_NOT_LOADED

    node.at(91)
    nvml.open()

    assert (nvml.gpu_count(), node.field(0, STATE, 0), node.nvlink(0, 0, 138), _fabric(node)) == (8, 0, 0, 2)
    assert (node.at(101).field(0, STATE, 0), _fabric(node)) == (1, 3)
    assert node.port("state") == "4: ACTIVE"


def test_reads_hang_where_and_as_long_as_planned() -> None:
    """A whole source, or one device of it."""
    node = Watched(planned("hang", "nvlink"), planned("hang", "infiniband", device="mlx5_3"))
    hangs = node.hardware.around.hangs

    def now(moment: float) -> list[bool]:
        node.at(moment)
        return [hangs("nvlink", ""), hangs("nvlink", "gpu0"), hangs("infiniband", "mlx5_3"), hangs("infiniband", "mlx5_4")]

    assert now(59) == [False] * 4
    assert now(61) == [True, True, True, False]
    assert now(121) == [False] * 4


def test_the_wall_clock_jumps_and_time_goes_on() -> None:
    """Back an hour; intervals are not touched."""
    node = Watched(planned("clock_jump", until_s=None, by=-3600.0))
    walls = [node.at(moment).hardware.wall_s() - 1_800_000_000 for moment in (59, 61)]

    assert walls == [3659, 61]
    assert node.hardware.monotonic_s() == 3661


def test_peer_memory_is_unloaded_for_a_while() -> None:
    """The module is not in the list; others are."""
    node = Watched(planned("gdr_off"))
    shown = ["nvidia_peermem " in _proc(node.at(moment), MODULES) for moment in (59, 61, 121)]

    assert shown == [True, False, True]
    assert "mlx5_core " in _proc(node, MODULES)


def test_somebody_works_on_the_node() -> None:
    """And stops."""
    node = Watched(planned("maintenance"))

    assert [bool(node.at(moment).hardware.around.maintenance) for moment in (59, 61, 121)] == [False, True, False]


def test_the_exporter_is_killed_and_started() -> None:
    """At once, or after a while; the hardware goes on."""
    node = Watched(planned("exporter_restart", at_s=30, until_s=30), planned("exporter_restart"))
    around = node.hardware.around
    seen = [(bool(node.at(moment).hardware.around.exporter_away), around.exporter_starts) for moment in (29, 31, 61, 121)]

    assert seen == [(False, 0), (False, 1), (True, 1), (False, 2)]
    assert node.growth(lambda: node.count("counters/port_xmit_data"), 121, 140) > 0
