"""Which NVSwitches the machine has: bridges of NVIDIA on its PCI bus. Knows class and vendor; reads nothing else of them.

NVSwitches of GB200 racks and of B200 boards are not on the node's bus, or belong to another vendor's management NIC: none are found.
"""

from exporter.sources.pci_text import ADDRESS
from exporter.sources.pci_tree import DEVICES, NVIDIA
from exporter.sources.sysfs import Files, read_once

BRIDGE_OTHER = "0x0680"
"""PCI Code and ID Assignment Specification: bridge device of another kind."""
_TEXT_SIZE = 64


class NvSwitches:
    """Looks again and again; each function's identity is read once, as long as it stays on the bus."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: dict[str, bool] = {}

    def addresses(self) -> tuple[str, ...]:
        """Addresses of the NVSwitches there are now, in order. A bus that cannot be listed has none, and a function that cannot be read
        is none: the PCIe source is who reports that."""
        try:
            listed = self._files.listdir(DEVICES)
        except OSError:
            return ()
        known = {address: self._known[address] for address in listed if address in self._known}
        for address in listed:
            if address not in known and ADDRESS.fullmatch(address):
                try:
                    known[address] = self._is_switch(f"{DEVICES}/{address}")
                except OSError:
                    continue
        self._known = known
        return tuple(sorted(address for address, is_switch in known.items() if is_switch))

    def _is_switch(self, folder: str) -> bool:
        return self._text(f"{folder}/class").startswith(BRIDGE_OTHER) and self._text(f"{folder}/vendor") == NVIDIA

    def _text(self, path: str) -> str:
        return read_once(self._files, path, _TEXT_SIZE).decode("utf-8", "replace").strip()
