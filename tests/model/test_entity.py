"""Who a number is about, and the labels that say so."""

import pytest

from exporter.model.entity import NODE, Device, Entity, Fabric, Link

PORT = Link(Fabric.INFINIBAND, "mlx5_3", "1")


@pytest.mark.parametrize(
    ("entity", "label", "value"),
    [
        (NODE, "device", None),
        (NODE, "port", None),
        (NODE, "fabric", None),
        (Device("mlx5_3"), "device", "mlx5_3"),
        (Device("mlx5_3"), "port", None),
        (Device("mlx5_3"), "fabric", None),
        (PORT, "device", "mlx5_3"),
        (PORT, "port", "1"),
        (PORT, "fabric", "infiniband"),
        (PORT, "rail", None),
    ],
)
def test_an_entity_supplies_exactly_its_own_labels(entity: Entity, label: str, value: str | None) -> None:
    """A device has no port, a node has no label at all; what is not theirs is None."""
    assert entity.label(label) == value


def test_a_link_reads_as_fabric_device_port() -> None:
    """The one identity rule of the house."""
    assert str(PORT) == "infiniband/mlx5_3/1"


def test_a_device_reads_as_its_name() -> None:
    """As the kernel calls it."""
    assert str(Device("gpu3")) == "gpu3"


def test_the_node_reads_as_node() -> None:
    """Its name is the scrape configuration's business."""
    assert str(NODE) == "node"


def test_links_of_one_identity_are_equal_and_hash_alike() -> None:
    """They are dictionary keys from pass to pass."""
    assert {PORT: 1}[Link(Fabric.INFINIBAND, "mlx5_3", "1")] == 1


def test_the_same_port_on_another_fabric_is_another_link() -> None:
    """A card switched from InfiniBand to Ethernet is not the link it was."""
    assert Link(Fabric.ROCE, "mlx5_3", "1") != PORT
