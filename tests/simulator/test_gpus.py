"""GPUs of a simulated node, as the PCIe source sees them."""

from exporter.simulator.node import SimulatedNode
from exporter.simulator.profiles import HGX_H100, NO_GPU_IB
from tests.machine import Machine
from tests.sources.small_pci import below_expectation, distances_of, links_of


def test_an_hgx_h100_has_eight_gpus_each_behind_the_switch_of_its_rail() -> None:
    """GpuN and mlx5_N are PIX; storage is farther."""
    distances = distances_of(Machine(SimulatedNode(HGX_H100, 1).tree()))

    assert {pair for pair, distance in distances.items() if distance == "PIX"} == {(f"gpu{n}", f"mlx5_{n}") for n in range(8)}
    assert distances["gpu0", "mlx5_8"] == "NODE"
    assert distances["gpu0", "mlx5_9"] == "SYS"


def test_a_simulated_node_is_healthy_on_pcie() -> None:
    """Every link at its best, every error counter at zero."""
    seen = Machine(SimulatedNode(HGX_H100, 1).tree())
    errors = {value for (name, _), value in seen.samples.items() if name == "fabric_pcie_errors_total"}

    assert (below_expectation(seen), errors) == (set(), {0})
    assert len(links_of(seen, "link_width_lanes")) == 8 * 4 + 8 * 4 + 2 * 2


def test_a_node_without_gpus_has_none() -> None:
    """Its cards are on PCIe all the same."""
    seen = Machine(SimulatedNode(NO_GPU_IB, 1).tree())

    assert {device for device, _ in links_of(seen, "link_width_lanes")} == {"mlx5_0", "mlx5_1"}
