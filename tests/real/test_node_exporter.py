"""node_exporter on a tree of real files: its numbers, and how it fails."""

from pathlib import Path

import pytest

from tests.real.listener import RealServerError
from tests.real.node_exporter import node_exporter_samples

DEVICE = "class/infiniband/mlx5_7"
FILES = {
    "board_id": "MT_0000000838\n",
    "fw_ver": "28.39.1002\n",
    "hca_type": "MT4129\n",
    "ports/1/state": "4: ACTIVE\n",
    "ports/1/phys_state": "5: LinkUp\n",
    "ports/1/rate": "400 Gb/sec (4X NDR)\n",
    "ports/1/counters/port_xmit_data": "1000\n",
    "ports/1/counters/link_downed": "3\n",
}


def write_device(sysfs: Path, files: dict[str, str]) -> None:
    """One HCA with those files."""
    for name, text in files.items():
        path = sysfs / DEVICE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_its_infiniband_series_come_with_labels_and_values(tmp_path: Path) -> None:
    """Words of 4 bytes are bytes there, and nothing but node_infiniband_* is returned."""
    write_device(tmp_path / "sys", FILES)

    samples = node_exporter_samples(tmp_path / "sys", tmp_path / "log")

    port = (("device", "mlx5_7"), ("port", "1"))
    assert samples["node_infiniband_port_data_transmitted_bytes_total", port] == 4000
    assert samples["node_infiniband_link_downed_total", port] == 3
    assert {name.startswith("node_infiniband_") for name, _ in samples} == {True}


def test_a_tree_without_infiniband_is_an_error_not_an_empty_answer(tmp_path: Path) -> None:
    """An agreement of two empty answers would prove nothing, so the harness refuses."""
    (tmp_path / "sys").mkdir()

    with pytest.raises(RealServerError, match="read nothing"):
        node_exporter_samples(tmp_path / "sys", tmp_path / "log")


def test_one_file_it_cannot_parse_costs_it_every_series(tmp_path: Path) -> None:
    """What our own source must do better: a rate without a number loses the whole collector there."""
    write_device(tmp_path / "sys", FILES | {"ports/1/rate": "unknown\n"})

    with pytest.raises(RealServerError, match="read nothing"):
        node_exporter_samples(tmp_path / "sys", tmp_path / "log")
