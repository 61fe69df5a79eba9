"""Devices that are not to be read: Fabric Manager's own, and those the configuration leaves out."""

from exporter.sources.device_filter import DeviceFilter
from tests.machine import Machine, machine
from tests.sources.small_hca import UP, hca, names_of, tree_of

PORT_FILES = {**UP, "counters/port_xmit_data": 1000, "counters/link_downed": 1, "hw_counters/out_of_buffer": 2}


def test_nothing_below_the_ports_of_a_limited_pf_is_opened() -> None:
    """HGX B200: four functions of Fabric Manager's, three ordinary HCAs, ten minutes."""
    seen = machine("limited-pf").run(600)
    opened_at = {device: [path for path in seen.tree.opened if f"/{device}/ports" in path] for device in ("mlx5_0", "mlx5_12", "mlx5_15")}

    assert (bool(opened_at["mlx5_0"]), opened_at["mlx5_12"], opened_at["mlx5_15"]) == (True, [], [])


def test_vital_product_data_is_read_once() -> None:
    """It is read in slow PCI configuration cycles."""
    seen = machine("limited-pf").run(600)
    reads = {path: count for path, count in seen.tree.opened.items() if path.endswith("/vpd")}

    assert set(reads.values()) == {1}


def test_nothing_below_an_excluded_device_is_opened_or_listed() -> None:
    """Not even its name's firmware version (prometheus/node_exporter#3823); the same as if it were not there."""
    excluded, alone = tree_of(hca("mlx5_0", PORT_FILES), hca("mlx5_1", PORT_FILES)), tree_of(hca("mlx5_0", PORT_FILES))
    Machine(excluded, DeviceFilter(exclude=["mlx5_1"]).wants).run(320)
    Machine(alone).run(320)

    assert excluded.opened == alone.opened
    assert (excluded.preads, excluded.listdirs) == (alone.preads, alone.listdirs)


def test_include_reads_only_what_it_names() -> None:
    """Patterns are anchored: `mlx5_1` is not `mlx5_12`."""
    seen = Machine(tree_of(*(hca(f"mlx5_{n}", PORT_FILES) for n in (1, 12))), DeviceFilter(include=["mlx5_1"]).wants)

    assert "state_id" in names_of(seen, "mlx5_1")
    assert names_of(seen, "mlx5_12") == {"excluded_info"}
