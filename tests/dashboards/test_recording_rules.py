"""What the recording rules record: sums by node, rail and pool, in Prometheus' own engine."""

from pathlib import Path
from typing import Any

from dashboards.rules.recording import recording_groups
from dashboards.yaml_text import yaml_text
from exporter.catalog.infiniband import PORT_INFO, TRANSMITTED
from exporter.catalog.internals import BUILD_INFO
from exporter.catalog.signals import CONGESTION, HEALTH, NODE_HEALTH, NODE_LINKS
from tests.dashboards.alert_case import Series, fleet, series, steps
from tests.dashboards.promtool_rules import run_tests

A, B, UNNAMED = fleet("n1"), fleet("n2"), fleet("n3", named=False)
RAIL_RATE = "rail:fabric_infiniband_port_data_transmitted_bytes:rate5m"
NODE_RATE = "node:fabric_infiniband_port_data_transmitted_bytes:rate5m"


def _port(device: str, at: dict[str, str], rail: str, role: str = "compute", netdev: str = "", values: str = "1x30") -> Series:
    return series(PORT_INFO, values, at, device=device, port="1", pci="", numa_node="", netdev=netdev, driver="mlx5_core",
                  link_layer="InfiniBand", is_vf="0", gpu="", rail=rail, role=role)  # fmt: skip


def _bytes(device: str, at: dict[str, str], per_minute: int) -> Series:
    return series(TRANSMITTED, f"0+{per_minute}x30", at, device=device, port="1")


def _recorded(folder: Path, given: tuple[Series, ...], asked: dict[str, dict[str, float]], at: str = "20m") -> str:
    """What promtool finds wrong: `asked` is an expression and the series that it must give."""
    (folder / "recording.rules").write_text(yaml_text(recording_groups(), ()), encoding="utf-8")
    tests: dict[str, Any] = {
        "interval": "1m",
        "input_series": [{"series": s.text, "values": s.values} for s in given],
        "promql_expr_test": [
            {"expr": expr, "eval_time": at, "exp_samples": [{"labels": labels, "value": value} for labels, value in samples.items()]}
            for expr, samples in asked.items()
        ],
    }
    document = {"rule_files": ["recording.rules"], "evaluation_interval": "1m", "tests": [tests]}
    (folder / "asked.yaml").write_text(yaml_text(document, ()), encoding="utf-8")
    return run_tests([folder / "asked.yaml"])["asked.yaml"]


def test_traffic_is_summed_by_node_rail_and_pool(tmp_path: Path) -> None:
    """A storage NIC is the node's traffic but no rail's; a port that was renamed, with two info series for a moment, counts once."""
    given = (
        _port("mlx5_0", A, "0"), _port("mlx5_1", A, "1"), _port("mlx5_8", A, "", "storage"), _port("mlx5_0", B, "0"),
        _port("mlx5_0", A, "0", netdev="ib0"),
        _bytes("mlx5_0", A, 600), _bytes("mlx5_1", A, 1200), _bytes("mlx5_8", A, 6000), _bytes("mlx5_0", B, 2400),
    )  # fmt: skip

    wrong = _recorded(tmp_path, given, {
        NODE_RATE: {f'{NODE_RATE}{{node="n1",pool="a"}}': 130, f'{NODE_RATE}{{node="n2",pool="a"}}': 40},
        RAIL_RATE: {f'{RAIL_RATE}{{pool="a",rail="0"}}': 50, f'{RAIL_RATE}{{pool="a",rail="1"}}': 20},
        "pool:fabric_infiniband_port_data_transmitted_bytes:rate5m":
            {'pool:fabric_infiniband_port_data_transmitted_bytes:rate5m{pool="a"}': 170},
    })  # fmt: skip

    assert wrong == ""


def test_a_site_without_node_and_pool_gets_one_series_for_all(tmp_path: Path) -> None:
    """Nothing breaks and nothing is lost; nodes are not told apart."""
    more = fleet("n4", named=False)
    given = (_bytes("mlx5_0", UNNAMED, 600), _bytes("mlx5_0", more, 600), _port("mlx5_0", UNNAMED, "0"), _port("mlx5_0", more, "0"))

    assert _recorded(tmp_path, given, {NODE_RATE: {NODE_RATE: 20}, RAIL_RATE: {f'{RAIL_RATE}{{rail="0"}}': 20}}) == ""


def test_congestion_of_a_rail_leaves_pcie_and_nvlink_out(tmp_path: Path) -> None:
    """Only ports that have a rail are averaged."""
    given = (
        _port("mlx5_0", A, "0"), _port("mlx5_0", B, "0"),
        series(CONGESTION, "0.2x30", A, fabric="infiniband", device="mlx5_0", port="1", tick_source="documented"),
        series(CONGESTION, "0.4x30", B, fabric="infiniband", device="mlx5_0", port="1", tick_source="documented"),
        series(CONGESTION, "0.9x30", A, fabric="infiniband", device="mlx5_8", port="1", tick_source="documented"),
    )  # fmt: skip
    name = "rail:fabric_link_congestion_ratio:max"

    assert _recorded(tmp_path, given, {name: {f'{name}{{pool="a",rail="0"}}': 0.4}}) == ""


def test_links_and_nodes_are_counted_by_pool(tmp_path: Path) -> None:
    """By status, as text, so that a board can stack them."""
    given = (
        series(NODE_LINKS, "144x30", A, fabric="nvlink", status="ok"), series(NODE_LINKS, "143x30", B, fabric="nvlink", status="ok"),
        series(NODE_HEALTH, "0x30", A), series(NODE_HEALTH, "3x30", B),
    )  # fmt: skip
    links, nodes = "pool:fabric_node_links:sum", "pool:fabric_node_health_status:count"

    wrong = _recorded(tmp_path, given, {
        links: {f'{links}{{fabric="nvlink",pool="a",status="ok"}}': 287},
        nodes: {f'{nodes}{{pool="a",status="0"}}': 1, f'{nodes}{{pool="a",status="3"}}': 1},
    })  # fmt: skip

    assert wrong == ""


def test_what_was_last_known_is_forgotten_after_a_day(tmp_path: Path) -> None:
    """A node that was scrapped does not page for ever."""
    given = (
        series(HEALTH, steps((3, 20), (None, 1600)), A, fabric="nvlink", device="gpu0", port="1"),
        series(BUILD_INFO, steps((1, 20), (None, 1600)), A, version="1", revision="", pythonversion="3.11"),
    )
    name = "link:fabric_link_health_status:last_known"
    still = f'{name}{{job="fabric-exporter",instance="n1:29100",node="n1",pool="a",fabric="nvlink",device="gpu0",port="1"}}'

    assert _recorded(tmp_path, given, {name: {still: 3}}, "23h") == ""
    assert _recorded(tmp_path, given, {name: {}}, "25h") == ""
