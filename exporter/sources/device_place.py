"""Where a device sits, told by links and short texts below /sys: driver, PCI function, NUMA node. Reads no counter.

What is absent is an empty string.
"""

from exporter.sources.pci_text import ADDRESS
from exporter.sources.sysfs import Files, read_once

_TEXT_SIZE = 256


def is_pci_address(text: str) -> bool:
    """True for `0000:19:00.0` and the longer domains of VMD and Hyper-V."""
    return ADDRESS.fullmatch(text) is not None


def pci_within(path: str) -> str:
    """The nearest PCI function in a resolved path, "" for a device that has none above it."""
    return next((part for part in reversed(path.split("/")) if is_pci_address(part)), "")


def pci_of(files: Files, device: str) -> str:
    """The nearest PCI function of a device's folder or link; "" if it has none or cannot be resolved."""
    try:
        return pci_within(files.resolve(device))
    except OSError:
        return ""


def link_name(files: Files, path: str) -> str:
    """The last part of where a link leads (`driver` → `mlx5_core`); "" if it leads nowhere."""
    try:
        return files.resolve(path).rsplit("/", 1)[-1]
    except OSError:
        return ""


def short_text(files: Files, path: str) -> str:
    """One short text attribute, stripped; "" if it cannot be read."""
    try:
        return read_once(files, path, _TEXT_SIZE).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def numa_node_of(files: Files, device: str) -> str:
    """The node's number; "" where it is unknown (the kernel says -1)."""
    node = short_text(files, f"{device}/numa_node")
    return node if node.isdigit() else ""


def names_in(files: Files, folder: str) -> tuple[str, ...]:
    """Sorted names in a folder; () if it cannot be listed."""
    try:
        return tuple(sorted(files.listdir(folder)))
    except OSError:
        return ()
