"""Which GPU is called `gpu3`: its index in PCI order, remembered, so that the others keep their names when one is lost. Pure.

Knows addresses and numbers; which functions are GPUs is the PCIe source's knowledge, where the memory lies the runtime's.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

_ADDRESS = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")


@dataclass(frozen=True, slots=True)
class GpuSlots:
    """Number of each GPU by PCI address, lost ones included, and the most GPUs that were ever seen at once."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    most_present: int = 0

    def name_of(self, address: str) -> str:
        """`gpu3`. Raises KeyError for an address that has no number."""
        return f"gpu{self.numbers[address]}"


NOTHING = GpuSlots()


def pci_order(address: str) -> tuple[int, ...]:
    """Sort key of a PCI address: domain, bus, device, function as numbers. Raises ValueError for any other text."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ValueError(f"no PCI address: {address!r}")
    return tuple(int(part, 16) for part in match.groups())


def assign(present: Collection[str], remembered: GpuSlots) -> GpuSlots:
    """Numbers for the GPUs that are present now; the same value if nothing is new.

    Who is remembered keeps its number, present or not. If the node is complete (as many GPUs as there ever were) and yet some address is
    gone, nobody is lost: cards moved or the firmware numbered the buses anew, and all are numbered in PCI order afresh. Any other
    newcomer gets the next number that no GPU, lost or present, has. Raises ValueError for an address that is none.
    """
    ordered = sorted(set(present), key=pci_order)
    if not ordered:
        return remembered
    newcomers = [address for address in ordered if address not in remembered.numbers]
    missing = remembered.numbers.keys() - set(ordered)
    if len(ordered) >= remembered.most_present and missing:
        return GpuSlots({address: number for number, address in enumerate(ordered)}, len(ordered))
    most = max(remembered.most_present, len(ordered))
    if not newcomers and most == remembered.most_present:
        return remembered
    first = max(remembered.numbers.values(), default=-1) + 1
    return GpuSlots({**remembered.numbers, **{address: number for number, address in enumerate(newcomers, first)}}, most)


def in_pci_order(present: Collection[str], remembered: GpuSlots = NOTHING) -> Mapping[str, str]:
    """Name of each GPU by address, for a process that keeps nothing. If nothing is remembered, a lost GPU shifts the names behind it."""
    slots = assign(present, remembered)
    return {address: slots.name_of(address) for address in present}
