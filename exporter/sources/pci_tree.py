"""Which PCI functions matter, what they are called and what stands above them up to the root. Links and identity; reads no link state.

A function's place is the real path of bus/pci/devices/<address>: every folder on it that is a PCI address is a bridge above it. Knows
class codes (PCI Code and ID Assignment Specification) and vendor ids; which GPU is which number it does not know.
"""

import errno
import re
from dataclasses import dataclass

from exporter.model.fault import Reason
from exporter.model.quoted import printable
from exporter.model.topology import PciPath
from exporter.sources.fault_list import FaultList
from exporter.sources.pci_text import ADDRESS, ROOT_BUS
from exporter.sources.sysfs import Files, read_once

DEVICES = "bus/pci/devices"
NVIDIA = "0x10de"
GPU_CLASSES = ("0x0300", "0x0302")
"""VGA and 3D controllers; NVIDIA's data centre GPUs are the latter. NVSwitches are bridges of class 0x0680 and not meant."""
NETWORK_CLASS, ETHERNET_CLASS = "0x02", "0x0200"
HYPERVISORS = frozenset({"0x1b36", "0x1414", "0x15ad", "0x1d0f", "0x5853"})
"""Vendors of bridges that exist in software only: Red Hat (QEMU), Microsoft, VMware, Amazon, Xen."""

_REPRESENTOR = re.compile(r"(c\d+)?pf\d+.+")
_TEXT_SIZE = 64


@dataclass(frozen=True, slots=True)
class PciFunction:
    """One function: its address and its real folder."""

    address: str
    folder: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function that is a GPU or serves a network. `functions` run from the root port down to itself."""

    address: str
    is_gpu: bool
    is_ethernet: bool
    functions: tuple[PciFunction, ...]
    place: PciPath


@dataclass(frozen=True, slots=True)
class PciDevice:
    """A device under the name of its series: `gpu3`, an RDMA device, or a netdev that has none."""

    name: str
    is_gpu: bool
    functions: tuple[PciFunction, ...]
    place: PciPath

    @property
    def address(self) -> str:
        """The device's own address."""
        return self.functions[-1].address


class PciTree:
    """Looks at the bus again and again; class, vendor and path of a function are read once, until `forget`."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: dict[str, Candidate | None] = {}
        self._wired: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}

    def forget(self) -> None:
        """Read everything anew at the next look."""
        self._known.clear()
        self._wired.clear()

    def candidates(self, faults: FaultList) -> list[Candidate]:
        """GPUs and network functions there are now, virtual functions left out: their link is their physical function's. A function that
        cannot be looked at costs only itself. Raises OSError if the bus cannot be listed."""
        names = sorted(self._files.listdir(DEVICES))
        self._known = {address: self._known[address] for address in names if address in self._known}
        for address in names:
            if address not in self._known:
                try:
                    self._known[address] = self._look(address, faults)
                except OSError as error:
                    faults.add_error(f"{DEVICES}/{printable(address)}", error)
        return [candidate for candidate in self._known.values() if candidate is not None]

    def names_of(self, candidate: Candidate, faults: FaultList) -> tuple[str, ...]:
        """RDMA devices of a network function; without one, the netdevs of an Ethernet function. Read afresh: drivers come and go."""
        folder = candidate.functions[-1].folder
        rdma = self._listed(f"{folder}/infiniband", faults)
        if rdma or not candidate.is_ethernet:
            return rdma
        listed = self._listed(f"{folder}/net", faults)
        key = (candidate.address, listed)
        if key not in self._wired:
            self._wired = {kept: wired for kept, wired in self._wired.items() if kept[0] != candidate.address}
            self._wired[key] = tuple(name for name in listed if not self._is_representor(f"{folder}/net/{name}"))
        return self._wired[key]

    def _look(self, address: str, faults: FaultList) -> Candidate | None:
        """What the function is; None if it is of no interest or no function at all. Raises OSError if its link leads nowhere."""
        found = chain_of(self._files.resolve(f"{DEVICES}/{address}"))
        if found is None or found[1][-1].address != address:
            faults.add(f"{DEVICES}/{printable(address)}", Reason.PARSE, "leads to a place that is not this function's; it is left out")
            return None
        root, functions = found
        folder = functions[-1].folder
        code = self._text(f"{folder}/class")
        is_gpu = code.startswith(GPU_CLASSES) and self._text(f"{folder}/vendor") == NVIDIA
        if not is_gpu and not code.startswith(NETWORK_CLASS):
            return None
        if "physfn" in self._files.listdir(folder):
            return None
        node = self._text(f"{folder}/numa_node")
        is_virtual = any(self._text(f"{bridge.folder}/vendor") in HYPERVISORS for bridge in functions[:-1])
        place = PciPath(root, tuple(function.address for function in functions), node if node.isdigit() else "", is_virtual)
        return Candidate(address, is_gpu, code.startswith(ETHERNET_CLASS), functions, place)

    def _is_representor(self, folder: str) -> bool:
        """A switchdev port that stands for a virtual function (`pf0vf1`); the wire's own is called `p0`, and most drivers refuse to say."""
        try:
            return _REPRESENTOR.fullmatch(self._text(f"{folder}/phys_port_name")) is not None
        except OSError:
            return False

    def _listed(self, folder: str, faults: FaultList) -> tuple[str, ...]:
        """Sorted names in a folder; none if it cannot be listed, and a Fault unless it is simply not there."""
        try:
            return tuple(sorted(self._files.listdir(folder)))
        except OSError as error:
            if error.errno != errno.ENOENT:
                faults.add_error(folder, error)
            return ()

    def _text(self, path: str) -> str:
        """One short text attribute, stripped; "" where the kernel has no such file. Raises any other OSError."""
        try:
            return read_once(self._files, path, _TEXT_SIZE).decode("utf-8", "replace").strip()
        except FileNotFoundError:
            return ""


def chain_of(real_path: str) -> tuple[str, tuple[PciFunction, ...]] | None:
    """Root bus and functions, from the top down, of a function's real path. The root is "" if the path shows none.

    None if the path does not end in a function, or one address stands twice on it (no real tree does that). Behind a controller with a
    PCI domain of its own (Intel VMD, Hyper-V) the chain starts at that domain's root bus.
    """
    parts = real_path.split("/")
    top = len(parts)
    while top and ADDRESS.fullmatch(parts[top - 1]):
        top -= 1
    functions = tuple(PciFunction(parts[end - 1], "/".join(parts[:end])) for end in range(top + 1, len(parts) + 1))
    if not functions or len({function.address for function in functions}) < len(functions):
        return None
    root = parts[top - 1] if top and ROOT_BUS.fullmatch(parts[top - 1]) else ""
    return root, functions
