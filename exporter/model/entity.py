"""Entities: who a number is about. One identity rule for the whole house: a link is (fabric, device, port).

Every series about a device carries `device`, every series about a link `device` and `port`, raw and derived alike, so they join
on the same two labels. Knows the rule only; which hardware exists is the sources' knowledge.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Fabric(Enum):
    """What kind of wire a link is. ROCE is an RDMA port over Ethernet; ETHERNET a NIC without an RDMA device.

    EFA (AWS Elastic Fabric Adapter) is an RDMA device whose link layer the kernel calls Unknown: neither InfiniBand nor RoCE.
    """

    __hash__ = object.__hash__
    """As Role's (metric.py)."""

    NVLINK = "nvlink"
    C2C = "c2c"
    INFINIBAND = "infiniband"
    ROCE = "roce"
    EFA = "efa"
    ETHERNET = "ethernet"
    PCIE = "pcie"
    COLLECTIVE = "collective"


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """This machine as a whole; carries no label (the scrape configuration names the node)."""

    def label(self, name: str) -> str | None:  # noqa: ARG002  # same shape as the other entities
        """The value of an entity label; a node has none."""
        return None

    def __str__(self) -> str:
        return "node"


@dataclass(frozen=True, slots=True, order=True)
class Device:
    """One device: an HCA (`mlx5_0`), a GPU (`gpu3`), a netdev (`eth0`)."""

    name: str

    def label(self, name: str) -> str | None:
        """The value of an entity label, None where a device has none."""
        return self.name if name == "device" else None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Link:
    """One physical port or link: `infiniband/mlx5_3/1`, `nvlink/gpu0/4`, `pcie/gpu0/upstream`."""

    fabric: Fabric
    device: str
    port: str

    def label(self, name: str) -> str | None:
        """The value of an entity label: fabric, device or port."""
        if name == "device":
            return self.device
        if name == "port":
            return self.port
        return self.fabric.value if name == "fabric" else None

    def __str__(self) -> str:
        return f"{self.fabric.value}/{self.device}/{self.port}"


Entity: TypeAlias = Node | Device | Link

NODE = Node()
