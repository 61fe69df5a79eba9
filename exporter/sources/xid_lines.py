"""One line of the NVIDIA driver in the kernel log, read: Xid, SXid, or a GPU that fell off the bus. Pure; opens nothing.

`event_of` takes the text as the driver printed it and is strict about its beginning: other kernel messages repeat what users chose (USB
product strings, file system labels, process names). `event_of_line` also takes lines of dmesg, syslog and journals, whose prefixes say
nothing about who wrote them: for files that a person trusts. Wording: NVIDIA/open-gpu-kernel-modules (NVSWITCH_PRINT_SXID and
NVSWITCH_REPORT_* in src/common/nvswitch; "fallen off the bus" in osinit.c), NVIDIA/NVSentinel#545 and leptonai/gpud for lines seen.
"""

import re

from exporter.model.xid import Event, FellOff, Severity, SxidEvent, XidEvent
from exporter.sources.pci_text import sysfs_address

_PCI = r"(?:PCI:)?((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)"
_XID = re.compile(rf"NVRM: Xid \({_PCI}(?:[ ,][^)\n]{{0,80}})?\): ([0-9]{{1,6}})(?![0-9A-Za-z])")
"""Within the brackets a MIG instance (`GPU-I:05`) or the GPU's UUID may follow the address."""
_SXID = re.compile(rf"nvidia-nvswitch[0-9]{{1,4}}: SXid \({_PCI}\): ([0-9]{{1,6}}), (?!Severity |Data \{{)")
"""Lines that begin with Severity or Data are details of the SXid above them."""
_SWITCH_LINK = re.compile(r"(?:(Fatal|Non-fatal|Correctable), )?(?:Link ([0-9]{1,3})\b)?")

_XID_74_LINK = re.compile(r"NVLink: [^(\n]*\bdetected on link ([0-9]{1,3})\b")
_XID_NVLINK5 = re.compile(r"(\S{1,64}) +(Fatal|Nonfatal) +XC[0-9]+ +i[0-9]+ +Link +(-?[0-9]{1,3})\b")
"""Both patterns are longer than the 15 characters of a process name, which the driver repeats in the same line and its owner chooses."""

_OFF_BUS = re.compile(rf"NVRM: GPU (?:at )?{_PCI}:?(?: GPU)? has fallen off the bus")
_OFF_BUS_THREE_LINES = re.compile(rf"NVRM: The NVIDIA GPU {_PCI}\b[^\n]{{0,200}}\n?[^\n]{{0,200}}\n[^\n]{{0,40}}fallen off the bus")
"""One record that holds line ends."""
_OFF_BUS_NAMELESS = re.compile(r"NVRM: fallen off the bus and is not responding")

_SEVERITIES = {"Fatal": Severity.FATAL, "Nonfatal": Severity.NONFATAL, "Non-fatal": Severity.NONFATAL, "Correctable": Severity.CORRECTABLE}
_PREFIX = re.compile(
    r"""\s*(?:
      [0-9]+,[0-9]+,[0-9]+,[^;\n]{1,120};                  # /dev/kmsg
    | <[0-9]{1,3}>                                         # dmesg -r
    | \[[^\]\n]{0,60}\]                                    # dmesg, dmesg -T
    | [a-z0-9]{1,10}\s*:[a-z]{1,10}\s*:\s                  # dmesg -x
    | [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,+Z-]{8,30}\s       # ISO 8601
    | [A-Z][a-z]{2}\s+[0-9]{1,2}\s[0-9:]{8}(?:\.[0-9]+)?\s # syslog
    | \S{1,255}\skernel:\s                                 # host and facility
    | kernel:\s
    )\s*""",
    re.VERBOSE,
)
_PREFIXES_MAX = 6


def event_of(text: str) -> Event | None:
    """What the text of one kernel record reports; None for any other text, the driver's included. Never raises."""
    if "Xid" not in text and "fallen off" not in text:  # nearly always
        return None
    return _xid(text) or _sxid(text) or _fell_off(text)


def event_of_line(line: str) -> Event | None:
    """The same for a line with the prefixes of /dev/kmsg, dmesg, syslog or a journal, in any order, or with none."""
    for _ in range(_PREFIXES_MAX):
        prefix = _PREFIX.match(line)
        if prefix is None:
            break
        line = line[prefix.end() :]
    return event_of(line)


def _xid(text: str) -> XidEvent | None:
    match = _XID.match(text)
    if match is None:
        return None
    pci, xid, rest = _address(match[1]), int(match[2]), text[match.end() :]
    nvlink5 = _XID_NVLINK5.search(rest)
    if nvlink5 is not None:
        return XidEvent(pci, xid, _port(nvlink5[3]), nvlink5[1], _SEVERITIES[nvlink5[2]])
    link = _XID_74_LINK.search(rest)
    return XidEvent(pci, xid, _port(link[1]) if link is not None else "")


def _sxid(text: str) -> SxidEvent | None:
    match = _SXID.match(text)
    if match is None:
        return None
    found = _SWITCH_LINK.match(text, match.end())
    severity, link = found.groups() if found is not None else (None, None)
    return SxidEvent(_address(match[1]), int(match[2]), _port(link) if link else "", _SEVERITIES.get(severity or ""))


def _fell_off(text: str) -> FellOff | None:
    match = _OFF_BUS.match(text) or _OFF_BUS_THREE_LINES.match(text)
    if match is not None:
        return FellOff(_address(match[1]))
    return FellOff("") if _OFF_BUS_NAMELESS.match(text) else None


def _address(text: str) -> str:
    """As sysfs writes it; a driver that leaves out the domain means the first."""
    return sysfs_address(text if text.count(":") > 1 else f"0000:{text}")


def _port(number: str) -> str:
    """A link's number as a label; Link -1 is the whole unit, no link."""
    return "" if number.startswith("-") else str(int(number))
