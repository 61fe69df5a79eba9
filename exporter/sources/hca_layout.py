"""What an HCA's folder holds: its ports, which counter files each has and where it sits. Listings and links only; reads no counter.

Layout: torvalds/linux Documentation/ABI/stable/sysfs-class-infiniband. Absent text facts are empty strings.
"""

import errno
from collections.abc import Iterable
from dataclasses import dataclass

from exporter.model.entity import Fabric
from exporter.model.fault import Reason
from exporter.sources.device_place import link_name, names_in, numa_node_of, pci_of, short_text
from exporter.sources.fault_list import FaultList
from exporter.sources.sysfs import Files, read_once

CLASS = "class/infiniband"
_VPD_SIZE = 32768
LIMITED_PF_MARK = b"SMDL=SW_MNG"
"""In the VPD of the bridge functions that Fabric Manager owns on HGX B200 boards (siderolabs/extensions#893, leptonai/gpud#1164)."""


@dataclass(frozen=True, slots=True)
class PortLayout:
    """One port: its number as text, the folder, and the sorted file names of each counter folder (None: no such folder).

    `unlisted` are folders of the port that are there but could not be listed, each with the errno."""

    number: str
    folder: str
    link_layer: str
    counters: tuple[str, ...] | None
    counters_ext: tuple[str, ...] | None
    hw_counters: tuple[str, ...] | None
    unlisted: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class HcaLayout:
    """One device and where it sits. `pci` is the address of the nearest PCI function, "" for a virtual device; `is_vf` is None where
    the device's folder cannot be seen. Inside a guest a VF has no physfn and looks like any function."""

    name: str
    driver: str
    pci: str
    numa_node: str
    is_vf: bool | None
    netdevs: tuple[tuple[str, int | None], ...]
    ports: tuple[PortLayout, ...]
    device_hw_counters: tuple[str, ...]

    def netdev_of(self, port: str) -> str:
        """The netdev whose dev_port is this port's number less one (openshift/assisted-installer-agent#1492), or the only one there is."""
        matching = [name for name, dev_port in self.netdevs if dev_port is not None and str(dev_port + 1) == port]
        if matching:
            return matching[0]
        return self.netdevs[0][0] if len(self.netdevs) == 1 and self.netdevs[0][1] is None else ""

    def fabric_of(self, port: PortLayout) -> Fabric:
        """RoCE for the Ethernet link layer; EFA where the driver is efa; InfiniBand otherwise."""
        if port.link_layer == "Ethernet":
            return Fabric.ROCE
        return Fabric.EFA if self.driver == "efa" else Fabric.INFINIBAND


def names_of_hcas(files: Files, known: Iterable[str], faults: FaultList) -> list[str]:
    """Sorted names in the class folder. One that cannot be listed keeps the `known`, one that is not there has none; both are Faults."""
    try:
        return sorted(files.listdir(CLASS))
    except OSError as error:
        if error.errno == errno.ENOENT:
            faults.add(CLASS, Reason.ABSENT, "is not there: no RDMA driver is loaded, or the container does not see the host's /sys")
            return []
        faults.add_error(CLASS, error)
        return list(known)


def is_limited_pf(files: Files, name: str) -> bool:
    """True for a function that Fabric Manager owns; its counters answer EINVAL and each read spams the kernel log
    (prometheus/node_exporter#3434). The vpd file needs root: False where it cannot be read. Slow (PCI configuration cycles): ask once."""
    device = f"{CLASS}/{name}/device"
    return "vpd" in names_in(files, device) and LIMITED_PF_MARK in _bytes(files, f"{device}/vpd", _VPD_SIZE)


def look(files: Files, name: str) -> HcaLayout:
    """The layout of device `name`. Raises OSError if its ports cannot be listed."""
    base = f"{CLASS}/{name}"
    device = f"{base}/device"
    inside = names_in(files, device)
    ports = sorted((entry for entry in files.listdir(f"{base}/ports") if entry.isdigit()), key=int)
    return HcaLayout(
        name=name,
        driver=link_name(files, f"{device}/driver"),
        pci=pci_of(files, device),
        numa_node=numa_node_of(files, device),
        is_vf="physfn" in inside if inside else None,
        netdevs=_netdevs(files, base),
        ports=tuple(_port(files, f"{base}/ports/{number}", number) for number in ports),
        device_hw_counters=names_in(files, f"{base}/hw_counters"),
    )


def _port(files: Files, folder: str, number: str) -> PortLayout:
    unlisted: list[tuple[str, int]] = []
    folders = _listed(files, folder, unlisted) or ()
    counters, counters_ext, hw_counters = (
        _listed(files, f"{folder}/{name}", unlisted) if name in folders else None for name in ("counters", "counters_ext", "hw_counters")
    )
    return PortLayout(number, folder, short_text(files, f"{folder}/link_layer"), counters, counters_ext, hw_counters, tuple(unlisted))


def _listed(files: Files, folder: str, unlisted: list[tuple[str, int]]) -> tuple[str, ...] | None:
    """Sorted names in a folder, None if it is not there or cannot be listed; the latter is noted in `unlisted`."""
    try:
        return tuple(sorted(files.listdir(folder)))
    except OSError as error:
        if error.errno != errno.ENOENT:
            unlisted.append((folder, error.errno or 0))
        return None


def _netdevs(files: Files, base: str) -> tuple[tuple[str, int | None], ...]:
    """Network interfaces of the device with their dev_port; switchdev representors (`pf0vf1`) left out; rxe names its own in `parent`."""
    found: list[tuple[str, int | None]] = []
    for name in names_in(files, f"{base}/device/net"):
        folder = f"{base}/device/net/{name}"
        if short_text(files, f"{folder}/phys_port_name").startswith("pf"):
            continue
        dev_port = short_text(files, f"{folder}/dev_port")
        found.append((name, int(dev_port) if dev_port.isdigit() else None))
    parent = "" if found else short_text(files, f"{base}/parent")
    return ((parent, None),) if parent else tuple(found)


def _bytes(files: Files, path: str, size: int) -> bytes:
    try:
        return read_once(files, path, size)
    except OSError:
        return b""
