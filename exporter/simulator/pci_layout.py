"""The sysfs of a card and of the bridges above it, as archive entries: identity, link, AER statistics, links from the bus and the driver.

Layout: torvalds/linux Documentation/ABI/testing/sysfs-bus-pci, sysfs-bus-pci-devices-aer_stats; AER lines of drivers/pci/pcie/aer.c.
Knows no card's insides.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import relpath

from exporter.simulator.archive import Entry, File, Symlink

BRIDGE_CLASS = "0x060400"
_BROADCOM, _INTEL = "0x1000", "0x8086"
_SWITCH, _ROOT_PORT = "0xc030", "0x352a"

CORRECTABLE = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF")
UNCORRECTABLE = (
    "Undefined", "DLP", "SDES", "TLP", "FCP", "CmpltTO", "CmpltAbrt", "UnxCmplt", "RxOF", "MalfTLP", "ECRC", "UnsupReq", "ACSViol",
    "UncorrIntErr", "BlockedTLP", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked",
)  # fmt: skip
AER_NAMES: Mapping[str, tuple[str, ...]] = {"correctable": CORRECTABLE, "nonfatal": UNCORRECTABLE, "fatal": UNCORRECTABLE}
"""Severity → the kernel's names of errors, as aer_dev_SEVERITY lists them before their total."""


@dataclass(frozen=True, slots=True)
class Card:
    """A card's own function: ids and class as sysfs prints them, driver, and the best its link does (speed text, lanes)."""

    vendor: str
    device: str
    class_code: str
    driver: str
    speed: str
    lanes: int


def branch_entries(pci_path: tuple[str, ...], numa_node: int, card: Card) -> Iterator[Entry]:
    """Every function on the path from the root bus (`pci0000:15`) down to the card: a root port, then a switch's ports, then the card. All
    run at the card's speed and width and have never seen an error."""
    folder = f"devices/{pci_path[0]}"
    for depth, address in enumerate(pci_path[1:]):
        folder += f"/{address}"
        bridge = Card(_BROADCOM if depth else _INTEL, _SWITCH if depth else _ROOT_PORT, BRIDGE_CLASS, "pcieport", card.speed, card.lanes)
        yield from _function_entries(folder, numa_node, card if address == pci_path[-1] else bridge)


def _function_entries(folder: str, numa_node: int, function: Card) -> Iterator[Entry]:
    address = folder.rpartition("/")[2]
    texts = {
        "vendor": function.vendor,
        "device": function.device,
        "class": function.class_code,
        "numa_node": numa_node,
        "current_link_speed": function.speed,
        "current_link_width": function.lanes,
        "max_link_speed": function.speed,
        "max_link_width": function.lanes,
        "aer_dev_correctable": _statistics(CORRECTABLE, "COR"),
        "aer_dev_nonfatal": _statistics(UNCORRECTABLE, "NONFATAL"),
        "aer_dev_fatal": _statistics(UNCORRECTABLE, "FATAL"),
        "uevent": f"DRIVER={function.driver}\nPCI_SLOT_NAME={address}",
    }
    for name, text in texts.items():
        yield File(f"{folder}/{name}", f"{text}\n".encode())
    driver = f"bus/pci/drivers/{function.driver}"
    yield Symlink(f"{folder}/driver", relpath(driver, folder))
    yield Symlink(f"{driver}/{address}", relpath(folder, driver))
    yield Symlink(f"bus/pci/devices/{address}", relpath(folder, "bus/pci/devices"))


def _statistics(kinds: tuple[str, ...], severity: str) -> str:
    return "\n".join(f"{kind} 0" for kind in (*kinds, f"TOTAL_ERR_{severity}"))
