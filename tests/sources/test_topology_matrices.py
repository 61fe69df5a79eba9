"""Matrices that nvidia-smi printed on real machines: a node imitated after each gives the same matrix, and the rails its owner knows."""

from pathlib import Path

import pytest

from exporter.model.node_topology import matrix_text
from exporter.sources.node_places import NodePlaces
from tests.requires import need_data
from tests.sources.imitated_topology import Matrix, matrix_of, nvlinks_of, tree_of

IN_ORDER = {f"mlx5_{number}": str(number) for number in range(8)}
RAILS = {
    "topology/topo-m-a100-80gb-visible1": {"mlx5_0": "0"},
    "topology/topo-m-a100-sxm4-40gb-x8-4nic": {},
    "topology/topo-m-a100-sxm4-visible1-4nic": {},
    "topology/topo-m-h20-visible4-2nic": {"mlx5_0": "2"},
    "topology/topo-m-h20-x8-2nic": {"mlx5_0": "2", "mlx5_1": "6"},
    "topology/topo-m-h200-visible1": {"mlx5_8": "0"},
    "topology/topo-m-h200-x8-10nic-4numa": {f"mlx5_{nic}": str(rail) for rail, nic in enumerate((0, 1, 2, 5, 6, 7, 8, 9))},
    "topology/topo-m-l4-x1": {},
    "topology/topo-m-rtx3090-visible4": {},
    "topology/topo-m-rtx4090-x8-no-nic": {},
    "topology/topo-m-rtx6000ada-x2-2nic": {},
    "topology/topo-m-rtx6000ada-x4-4nic-2numa": {},
    "topology/topo-m-rtxa6000-x8-pcie-4nic": {"mlx5_1": "5"},
    "topology/topo-m-v100-pcie-x1": {},
    "topology/topo-m-v100s-pcie-x8-4nic": {},
    "rewritten/topology/dgx-h100-12nic": {f"mlx5_{nic}": str(rail) for rail, nic in enumerate((0, 3, 4, 5, 6, 9, 10, 11))},
    "rewritten/topology/hgx-b200-16nic-half-far": IN_ORDER,
    "rewritten/topology/old-driver-mlx-columns": {},
    "rewritten/topology/swapped-rails-2nic": {"mlx5_1": "0", "mlx5_0": "1", "mlx5_2": "2", "mlx5_3": "3"},
}
"""Rail of each NIC that has one. Without: two GPUs and two ports on one switch, one NIC for two GPUs, NICs that only the CPU joins."""


def _printed(name: str) -> Matrix:
    return matrix_of((need_data() / f"{name}.txt").read_text(encoding="utf-8"))


def test_every_matrix_of_the_captures_is_looked_at() -> None:
    """A new one needs a line in RAILS."""
    data = need_data()
    found = {str(path.relative_to(data).with_suffix("")) for path in Path(data).glob("**/topology/*.txt")}

    assert found == set(RAILS)


@pytest.mark.parametrize("width", [None, 80], ids=["whole", "80 columns"])
@pytest.mark.parametrize("name", RAILS)
def test_an_imitated_node_has_the_matrix_that_was_printed(name: str, width: int | None) -> None:
    """Each relation of two devices, and each GPU's CPUs and NUMA node, whether the table is whole or cut to a terminal."""
    printed = _printed(name)
    text = matrix_text(NodePlaces(tree_of(printed)).look(0.0, nvlinks_of(printed)).topology, width)

    shown = matrix_of(text)
    assert shown.cells == printed.cells
    assert shown.cpus == printed.cpus
    assert {gpu: numa for gpu, numa in shown.numa.items() if gpu in printed.numa} == printed.numa


@pytest.mark.parametrize(("name", "expected"), RAILS.items(), ids=list(RAILS))
def test_the_rails_are_those_that_the_owner_of_such_a_node_knows(name: str, expected: dict[str, str]) -> None:
    """And no label where the matrix does not say whose a NIC is."""
    ports = NodePlaces(tree_of(_printed(name))).look(0.0).topology.ports

    assert {nic: port.rail for nic, port in ports.items() if port.rail} == expected
