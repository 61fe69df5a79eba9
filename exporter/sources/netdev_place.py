"""Which port an Ethernet interface belongs to: its RDMA device's, or its own. Listings, links and short texts; reads no counter.

One physical port is one link: a RoCE port is its RDMA device, and its interface only feeds it. An interface without an RDMA device is a
link of its own, device = its name, port = dev_port + 1; so is the second leg of a bond, whose function has none while `mlx5_bond_0` sits on
the first. Left alone are virtual interfaces, the representors of a switch (`pf0vf1`) and IPoIB: an InfiniBand port's own state and counters
tell more, and a second source of its flaps under the same name would be counted twice.
"""

import re
from dataclasses import dataclass

from exporter.model.entity import Fabric, Link
from exporter.model.quoted import printable
from exporter.sources.device_place import link_name, names_in, numa_node_of, pci_within, short_text
from exporter.sources.sysfs import Files, read_once

CLASS = "class/net"
_RDMA_CLASS = "class/infiniband"
_ETHERNET = b"1"
"""ARPHRD_ETHER; 32 is IPoIB, 772 loopback (torvalds/linux include/uapi/linux/if_arp.h)."""
_REPRESENTOR = re.compile(r"(c\d+)?pf\d+\S*", re.ASCII)


@dataclass(frozen=True, slots=True)
class NetdevPlace:
    """One interface and where it sits; `path` is its real folder, `own` the link it would be without an RDMA device. Two looks at the same
    interface are equal."""

    name: str
    path: str
    link: Link
    own: Link
    driver: str
    pci: str
    numa_node: str
    is_vf: bool
    index: bytes

    @property
    def folder(self) -> str:
        """Where its files are found by name."""
        return f"{CLASS}/{self.name}"

    @property
    def has_rdma(self) -> bool:
        """True if its port is an RDMA device's."""
        return self.link.fabric is not Fabric.ETHERNET


def place_of(files: Files, name: str) -> NetdevPlace | None:
    """Where interface `name` sits; None if it is none of ours. Raises OSError: ENOENT, ENODEV if it went meanwhile, ELOOP …"""
    folder = f"{CLASS}/{name}"
    path = files.resolve(folder)
    if "virtual" in path.split("/"):
        return None
    inside = files.listdir(f"{folder}/device")
    if read_once(files, f"{folder}/type", 16).strip() != _ETHERNET:
        return None
    if len(names_in(files, f"{folder}/device/net")) > 1 and _REPRESENTOR.fullmatch(short_text(files, f"{folder}/phys_port_name")):
        return None  # asked only where a function has several interfaces: the answer takes the driver's lock
    device = files.resolve(f"{folder}/device")
    driver = link_name(files, f"{folder}/device/driver")
    number = _port_number(short_text(files, f"{folder}/dev_port"))
    own = Link(Fabric.ETHERNET, printable(name), number)
    rdma = names_in(files, f"{folder}/device/infiniband") if "infiniband" in inside else _soft_rdma(files, name)
    return NetdevPlace(
        name=name,
        path=path,
        link=_rdma_link(files, rdma, number, driver) or own,
        own=own,
        driver=driver,
        pci=pci_within(device),
        numa_node=numa_node_of(files, f"{folder}/device"),
        is_vf="physfn" in inside,
        index=index_of(files, name),
    )


def index_of(files: Files, name: str) -> bytes:
    """The kernel's number of the interface that has this name now; b"" where it cannot be read. Another number: another interface."""
    try:
        return read_once(files, f"{CLASS}/{name}/ifindex", 16)
    except OSError:
        return b""


def _port_number(dev_port: str) -> str:
    """Ports count from 1, dev_port from 0; the first where the kernel does not say."""
    return str(int(dev_port) + 1) if dev_port.isdigit() and len(dev_port) < 6 else "1"


def _rdma_link(files: Files, devices: tuple[str, ...], number: str, driver: str) -> Link | None:
    for device in devices:
        port = _port_of(names_in(files, f"{_RDMA_CLASS}/{device}/ports"), number)
        if port:
            return Link(_fabric_of(short_text(files, f"{_RDMA_CLASS}/{device}/ports/{port}/link_layer"), driver), printable(device), port)
    return None


def _port_of(ports: tuple[str, ...], number: str) -> str:
    """The RDMA port of that number, or the only one there is: bnxt_en counts dev_port over a card's functions, each with a device of one
    port. "" if neither."""
    return number if number in ports else ports[0] if len(ports) == 1 else ""


def _fabric_of(link_layer: str, driver: str) -> Fabric:
    """As the InfiniBand source has it, so that both speak of one link."""
    if link_layer == "Ethernet":
        return Fabric.ROCE
    return Fabric.EFA if driver == "efa" else Fabric.INFINIBAND


def _soft_rdma(files: Files, name: str) -> tuple[str, ...]:
    """Software RDMA devices on this interface: rxe and siw lie below devices/virtual and name it in `parent`."""
    return tuple(
        device
        for device in names_in(files, _RDMA_CLASS)
        if "virtual" in _resolved(files, f"{_RDMA_CLASS}/{device}").split("/")
        and short_text(files, f"{_RDMA_CLASS}/{device}/parent") == name
    )


def _resolved(files: Files, path: str) -> str:
    try:
        return files.resolve(path)
    except OSError:
        return ""
