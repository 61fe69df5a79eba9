"""Whether a PCI function redirects requests between the devices below it to the CPU, by its own registers (Access Control Services).

Knows the capability's layout: PCI Express Base Specification 6.0, 7.7.12; torvalds/linux include/uapi/linux/pci_regs.h. Only root is shown
more than the first 64 bytes of a function's configuration space.
"""

from exporter.sources.sysfs import Files

EXTENDED = 0x100
"""Where extended capabilities begin."""
SPACE_BYTES = 4096
ACS = 0x000D
CONTROL = 6
"""Offset of the control register within the capability."""
REQUEST_REDIRECT, COMPLETION_REDIRECT = 1 << 2, 1 << 3
NO_ANSWER = 0xFFFFFFFF
CAPABILITIES_MAX = 64
"""A list that is longer leads in circles."""


def redirects(files: Files, path: str) -> bool | None:
    """Whether ACS of the function whose config file that is redirects requests or completions; False if it has no such capability. None
    if it cannot be told: another user than root, a function that does not answer, a list that leads nowhere."""
    try:
        handle = files.open(path)
    except OSError:
        return None
    try:
        return _redirects(files, handle)
    except OSError:
        return None
    finally:
        files.close(handle)


def _redirects(files: Files, handle: int) -> bool | None:
    at = EXTENDED
    for _ in range(CAPABILITIES_MAX):
        head = _number(files, handle, at, 4)
        if head is None or head == NO_ANSWER:
            return None
        if head & 0xFFFF == ACS:
            control = _number(files, handle, at + CONTROL, 2)
            return None if control is None else bool(control & (REQUEST_REDIRECT | COMPLETION_REDIRECT))
        at = head >> 20 & ~0b11
        if at == 0:
            return False
        if not EXTENDED <= at < SPACE_BYTES:
            return None
    return None


def _number(files: Files, handle: int, at: int, size: int) -> int | None:
    """A register; None if the file ends before it."""
    raw = files.pread(handle, size, at)
    return int.from_bytes(raw, "little") if len(raw) == size else None
