"""Which NIC serves which GPU, which rail that is, and what a NIC is for. Pure; knows no file and no counter.

A rail is the set of ports, one a node, that should hang on the same leaf switch. The node cannot see its leaf switches: what it can see is
which NIC stands next to which GPU, and rail i is the rail of GPU i. Where that is not plain there is no label: a wrong one would lay the
blame for one rail at another's door. An operator's table (rail_table.py) knows better and wins.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from exporter.model.gpu_slots import pci_order
from exporter.model.topology import Distance, PciPath, distance

COMPUTE, STORAGE, MANAGEMENT = "compute", "storage", "management"
ROLES = (STORAGE, MANAGEMENT, COMPUTE)
"""What a NIC can be for. The order decides where a name matches the patterns of several: who is told that a port carries gradients looks
for slow jobs there, so a port that may be something else is that."""

NEARNESS: Mapping[Distance, int] = {Distance.PIX: 0, Distance.PXB: 1}
"""Distances at which a NIC can serve a GPU without crossing the CPU, the nearest first."""

_GPU_NAME = re.compile(r"gpu([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: its name (`gpu3`), where it hangs, and NVML's number of its place on the board (None if it has none or nobody asked)."""

    name: str
    place: PciPath
    module_id: int | None = None

    @property
    def address(self) -> str:
        """Its PCI address."""
        return self.place.addresses[-1]


@dataclass(frozen=True, slots=True)
class Nic:
    """One NIC as the operator has it: its name, where it hangs, its configured role ("" if none is). Without RDMA it serves no rail."""

    name: str
    place: PciPath
    role: str = ""
    has_rdma: bool = True

    @property
    def address(self) -> str:
        """Its PCI address."""
        return self.place.addresses[-1]


@dataclass(frozen=True, slots=True)
class PortPlace:
    """The labels of a NIC's ports: the GPU that it serves, its rail, its role. "" is what cannot be known."""

    gpu: str = ""
    rail: str = ""
    role: str = ""


NOWHERE = PortPlace()
_Device = TypeVar("_Device", bound=Gpu | Nic)


@dataclass(frozen=True, slots=True)
class Stated:
    """What the operator's table says of one device; "" where it says nothing."""

    rail: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True)
class Roles:
    """Patterns (regular expressions that match the whole name of a device) for each role."""

    storage: Sequence[str] = ()
    management: Sequence[str] = ()
    compute: Sequence[str] = ()

    def of(self, device: str) -> str:
        """The first of ROLES that has a pattern for this name; "" if none has."""
        patterns = {STORAGE: self.storage, MANAGEMENT: self.management, COMPUTE: self.compute}
        return next((role for role in ROLES if any(re.fullmatch(pattern, device) for pattern in patterns[role])), "")


def pairs(gpus: Collection[Gpu], nics: Collection[Nic]) -> Mapping[str, str]:
    """Name of the GPU that a NIC serves, by the NIC's name; a NIC that serves none is missing.

    The rule: a GPU and a NIC are a pair if each is the other's *only* nearest, at PIX or else PXB. PIX is nearer than PXB; two of the same
    distance are equally near. So there is no pair where a GPU has two NICs equally near, where two GPUs are equally near to one NIC (two
    GPUs and two NICs on one switch, four NICs for eight GPUs), and a NIC whose GPU has a nearer one stays without.

    Only a NIC that does RDMA is asked, never one for storage or management; where some are configured for compute, only those.
    """
    serving = _serving(nics)
    ranks = {
        (gpu.name, nic.name): NEARNESS[apart] for gpu in gpus for nic in serving if (apart := distance(gpu.place, nic.place)) in NEARNESS
    }
    nearest_nic = _only_nearest((gpu, nic, rank) for (gpu, nic), rank in ranks.items())
    nearest_gpu = _only_nearest((nic, gpu, rank) for (gpu, nic), rank in ranks.items())
    return {nic: gpu for nic, gpu in nearest_gpu.items() if nearest_nic.get(gpu) == nic}


def rail_numbers(gpus: Collection[Gpu]) -> Mapping[str, int]:
    """Rail of each GPU by its name: its place among the module ids if each has one and no two the same; else the number in its name, which
    is its index in PCI order and stays when another GPU is lost; else its place in PCI order."""
    modules = [gpu.module_id for gpu in gpus if gpu.module_id is not None]
    if len(modules) == len(gpus) == len(set(modules)):
        ranks = {module: rank for rank, module in enumerate(sorted(modules))}
        return {gpu.name: ranks[gpu.module_id] for gpu in gpus if gpu.module_id is not None}
    numbers = {gpu.name: int(match[1]) for gpu in gpus if (match := _GPU_NAME.fullmatch(gpu.name))}
    if len(numbers) == len(gpus) == len(set(numbers.values())):
        return numbers
    ordered = sorted(gpus, key=lambda gpu: pci_order(gpu.address))
    return {gpu.name: rank for rank, gpu in enumerate(ordered)}


def port_places(gpus: Collection[Gpu], nics: Collection[Nic], stated: Mapping[str, Stated] | None = None) -> Mapping[str, PortPlace]:
    """The labels of each NIC's ports, by the NIC's name. `stated` is the operator's table: its rail and role win, while `gpu` always says
    what was seen on PCI."""
    told = stated or {}
    known = [Nic(nic.name, nic.place, told.get(nic.name, Stated()).role or nic.role, nic.has_rdma) for nic in nics]
    served = pairs(gpus, known)
    numbers = rail_numbers(gpus)
    return {
        nic.name: place_of(served.get(nic.name, ""), told.get(nic.name, Stated()).rail or _rail(numbers, served.get(nic.name)), nic.role)
        for nic in known
    }


def place_of(gpu: str, rail: str, role: str) -> PortPlace:
    """The labels; a port that serves a rail and has no role configured is for compute."""
    return PortPlace(gpu, rail, role or (COMPUTE if rail else ""))


def with_lost(now: Sequence[_Device], before: Sequence[_Device]) -> tuple[_Device, ...]:
    """The devices there are now, then those of `before` that are lost, as many as are missing: who serves whom stays as it was, for a lost
    GPU must not shift the rails behind it, nor a lost NIC make another one nearest.

    If there are as many as before nobody is lost: cards moved, or the firmware numbered the buses anew (gpu_slots.py has the same rule).
    """
    taken = {device.name for device in now} | {device.address for device in now}
    lost = [device for device in before if not {device.name, device.address} & taken]
    return (*now, *lost[: max(0, len(before) - len(now))])


def _serving(nics: Collection[Nic]) -> list[Nic]:
    able = [nic for nic in nics if nic.has_rdma and nic.role in {"", COMPUTE}]
    return [nic for nic in able if nic.role] or able


def _only_nearest(ranks: Iterable[tuple[str, str, int]]) -> Mapping[str, str]:
    """Of each `one` the single `other` of its lowest rank; missing if two share that rank."""
    lowest: dict[str, int] = {}
    holders: dict[str, list[str]] = {}
    for one, other, rank in ranks:
        if rank < lowest.get(one, rank + 1):
            lowest[one], holders[one] = rank, [other]
        elif rank == lowest[one]:
            holders[one].append(other)
    return {one: others[0] for one, others in holders.items() if len(others) == 1}


def _rail(numbers: Mapping[str, int], gpu: str | None) -> str:
    return "" if gpu is None else str(numbers[gpu])
