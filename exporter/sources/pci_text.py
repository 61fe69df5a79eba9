"""The grammar of sysfs PCI attribute text: `32.0 GT/s PCIe`, a width in lanes, AER statistics, addresses. Pure; knows no file.

Kernel text: torvalds/linux drivers/pci/pci-sysfs.c, drivers/pci/probe.c (pci_speed_string), drivers/pci/pcie/aer.c.
"""

import re
from collections.abc import Mapping

from exporter.catalog.limits import READ_SIZE_BYTES
from exporter.catalog.pcie import AER_KINDS, AER_OTHER, SPEED
from exporter.model.fault import Reason
from exporter.model.quantity import UINT64_MAX

ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
ROOT_BUS = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
LANES_MAX = 32
LANES_UNKNOWN = frozenset({0, 63, 255})
"""No link; a register of all ones, as a function that fell off the bus answers; PCIE_LNK_WIDTH_UNKNOWN."""

_ANY_ADDRESS = re.compile(r"([0-9A-Fa-f]{1,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})(?:\.([0-7F]))?")
_SPEED = re.compile(rb"([0-9]{1,3}(?:\.[0-9]{1,2})?) GT/s(?: PCIe)?")
_COUNT = re.compile(rb"(\S+) ([0-9]{1,20})")
_TOTAL = "TOTAL_ERR_"


def sysfs_address(text: str) -> str:
    """A PCI address as sysfs writes it, from the ways drivers do (`00000000:D8:00.0`, `0000:D8:00`): lower case, four digits of domain
    unless it needs more, function 0 where none is named. Text that is no address comes back in lower case."""
    match = _ANY_ADDRESS.fullmatch(text.strip())
    if match is None:
        return text.strip().lower()
    domain, bus, device, function = match.groups()
    return f"{int(domain, 16):04x}:{bus}:{device}.{function or 0}".lower()


def speed_of(raw: bytes) -> int | Reason:
    """Transfers per second of `32.0 GT/s PCIe`, `16 GT/s`; UNSUPPORTED for `Unknown` and `Unknown speed` (old kernels), PARSE else."""
    text = raw.strip() if len(raw) < READ_SIZE_BYTES else b""
    if text in {b"Unknown", b"Unknown speed"}:
        return Reason.UNSUPPORTED
    match = _SPEED.fullmatch(text)
    speed = round(float(match[1]) * SPEED.scale) if match else 0
    return speed or Reason.PARSE


def lanes_of(raw: bytes) -> int | Reason:
    """Lanes; UNSUPPORTED for the numbers of LANES_UNKNOWN, PARSE for anything that is no width."""
    text = raw.strip() if len(raw) < READ_SIZE_BYTES else b""
    if not text.isdigit() or len(text) > 3:
        return Reason.PARSE
    lanes = int(text)
    if lanes in LANES_UNKNOWN:
        return Reason.UNSUPPORTED
    return lanes if lanes <= LANES_MAX else Reason.PARSE


def aer_of(raw: bytes, severity: str) -> Mapping[str, int] | None:
    """Kind → count: each kind of AER_KINDS[severity] the kernel lists, and the sum of all others; its total line is left out.

    None if any line is not a name and an unsigned 64-bit number, or there is none.
    """
    counts: dict[str, int] = {}
    other = 0
    for line in raw.splitlines():
        match = _COUNT.fullmatch(line.strip())
        name, count = (match[1].decode("utf-8", "replace"), int(match[2])) if match else ("", UINT64_MAX + 1)
        if count > UINT64_MAX:
            return None
        if name in AER_KINDS[severity]:
            counts[name] = counts.get(name, 0) + count
        elif not name.startswith(_TOTAL):
            other += count
    return {**counts, AER_OTHER: other} if raw.strip() else None
