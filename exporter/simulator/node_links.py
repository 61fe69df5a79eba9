"""The links of a simulated node by name, `FABRIC/DEVICE/PORT` as everywhere, and which of them a pattern with * and ? names. Pure."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache

from exporter.model.entity import Fabric, Link
from exporter.model.gpu_fabric import STATE_UNSUPPORTED
from exporter.simulator.nvlink_wiring import Place
from exporter.simulator.profiles import PROFILES, Profile

UPSTREAM = "upstream"
DOMAIN = "fabric"
"""Port of the link that stands for a GPU's place in its NVLink domain."""


@lru_cache(maxsize=len(PROFILES))
def _links_of(name: str) -> Mapping[str, Link]:
    profile = PROFILES[name]
    return {str(link): link for link in _all_links(profile)}


def links_of(profile: Profile) -> Mapping[str, Link]:
    """Every link by its name; NVLink ports that lead nowhere included."""
    return _links_of(profile.name)


def matching(profile: Profile, pattern: str) -> tuple[Link, ...]:
    """The links that a name or a pattern means; none if it means none."""
    known = links_of(profile)
    return (known[pattern],) if pattern in known else tuple(link for name, link in known.items() if fnmatchcase(name, pattern))


def nearest(profile: Profile, pattern: str) -> str:
    """The link whose name looks most like it, for a person who mistyped; "" if none does."""
    found = get_close_matches(pattern[:64], links_of(profile), 1)
    return found[0] if found else ""


def pci_path(profile: Profile, device: str) -> tuple[str, ...]:
    """The path of a device from the root bus to its own function. Raises KeyError for a device that the node does not have."""
    return dict(_pci_paths(profile))[device]


def devices_of(profile: Profile) -> tuple[str, ...]:
    """Names of all devices: HCAs, interfaces without one, GPUs."""
    return tuple(name for name, _ in _pci_paths(profile))


def gpu_number(profile: Profile, device: str) -> int:
    """The number of a GPU by its name. Raises KeyError for what is no GPU of the node."""
    return {f"gpu{number}": number for number in range(len(profile.gpus))}[device]


def nvlink_place(profile: Profile, link: Link) -> Place | None:
    """Which link of which GPU it is; None for one that is no NVLink, or that leads nowhere."""
    if link.fabric is not Fabric.NVLINK or not link.port.isdigit():
        return None
    place = Place(gpu_number(profile, link.device), int(link.port))
    return place if place in profile.nvlinks else None


def _pci_paths(profile: Profile) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield from ((hca.name, hca.pci_path) for hca in profile.hcas)
    yield from ((nic.name, nic.pci_path) for nic in profile.nics)
    yield from ((f"gpu{number}", gpu.pci_path) for number, gpu in enumerate(profile.gpus))


def _all_links(profile: Profile) -> Iterator[Link]:
    for hca in profile.hcas:
        yield Link(Fabric.INFINIBAND if hca.link_layer == "InfiniBand" else Fabric.ROCE, hca.name, "1")
    for nic in profile.nics:
        yield Link(Fabric.ETHERNET, nic.name, "1")
    for number, gpu in enumerate(profile.gpus):
        yield from (Link(Fabric.NVLINK, f"gpu{number}", str(port)) for port in range(gpu.model.ports))
        if gpu.model.fabric is not None and gpu.model.fabric.state != STATE_UNSUPPORTED:
            yield Link(Fabric.NVLINK, f"gpu{number}", DOMAIN)
        yield from (Link(Fabric.C2C, f"gpu{number}", str(port)) for port in range(gpu.model.c2c_links))
    for device, path in _pci_paths(profile):
        yield from (Link(Fabric.PCIE, device, UPSTREAM if address == path[-1] else address) for address in path[1:])
