"""Where GPUs and NICs of this node stand to each other: asked by whoever labels a port, and by the person who asks for the topology.

Reads the bus and the CPU lists of NUMA nodes, no device's own files. Knows when to look again and that several threads ask; which NIC
serves which GPU is rails.py's, what a function is pci_tree.py's.
"""

import errno
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from exporter.catalog.limits import LIST_AGAIN_S, PCI_LOOK_AGAIN_S
from exporter.model.fault import Fault, Reason
from exporter.model.gpu_slots import in_pci_order
from exporter.model.node_topology import NodeTopology, NvlinkCounts, natural_order
from exporter.model.quoted import printable
from exporter.model.rails import Gpu, Nic, PortPlace, Roles, Stated, place_of, port_places, with_lost
from exporter.sources.device_place import names_in
from exporter.sources.fault_list import FaultList
from exporter.sources.pci_tree import DEVICES, Candidate, PciTree
from exporter.sources.sysfs import Files, read_once

SOURCE = "topology"
NODES = "devices/system/node"
FIRST_LOOK_S = 1.0
"""How long a thread waits for another one's first look before it answers that nothing is known; later ones answer with the last look."""

_CPU_LIST = re.compile(r"[0-9]{1,6}(?:-[0-9]{1,6})?(?:,[0-9]{1,6}(?:-[0-9]{1,6})?)*", re.ASCII)
_CPU_LIST_SIZE = 4096


@dataclass(frozen=True, slots=True)
class NodeLook:
    """The topology as it is now, and what could not be read of it."""

    topology: NodeTopology
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """One look at the bus: GPUs and NICs with RDMA, lost ones last, the module ids then known, and how the NICs' ports are labelled."""

    gpus: tuple[Gpu, ...] = ()
    nics: tuple[Nic, ...] = ()
    modules: Mapping[str, int] = field(default_factory=dict)
    ports: Mapping[str, PortPlace] = field(default_factory=dict)


def no_modules() -> Mapping[str, int]:
    """No GPU has a module id: NVML was not asked."""
    return {}


class NodePlaces:
    """Looks at the bus every PCI_LOOK_AGAIN_S seconds, sooner (LIST_AGAIN_S) for a device that it does not know yet or new module ids, and
    only when asked. Safe for several threads, of which one looks.

    `slots` names the GPUs at these addresses, as for PcieSource. `module_ids` tells the number NVML gives each GPU, by PCI address, as far
    as it is known by now. `roles` and `stated` are the operator's.
    """

    def __init__(self, files: Files, *, slots: Callable[[Collection[str]], Mapping[str, str]] = in_pci_order,
                 module_ids: Callable[[], Mapping[str, int]] = no_modules, roles: Roles | None = None,
                 stated: Mapping[str, Stated] | None = None) -> None:  # fmt: skip
        self._files = files
        self._slots = slots
        self._module_ids = module_ids
        self._roles = roles or Roles()
        self._stated = stated or {}
        self._tree = PciTree(files)
        self._lock = threading.Lock()
        self._seen: _Seen | None = None
        self._candidates: list[Candidate] = []
        self._looked_s = self._forgot_s = float("-inf")

    def of(self, device: str, monotonic_s: float) -> PortPlace:
        """The labels of a device's ports. One that is not on the bus (virtual function, software device) has what the operator states."""
        name = printable(device)
        seen = self._seen_at(name, monotonic_s)
        if name in seen.ports:
            return seen.ports[name]
        stated = self._stated.get(name, Stated())
        return place_of("", stated.rail, self._role_of(name))

    def look(self, monotonic_s: float, nvlinks: Mapping[str, NvlinkCounts] | None = None) -> NodeLook:
        """The whole node, read anew; `nvlinks` is what NVML says of each GPU, by PCI address. NICs without RDMA are shown too, last. A bus
        that is not there is a Fault and a topology of nothing."""
        faults = FaultList(SOURCE)
        with self._lock:
            self._forgot_s = float("-inf")
            seen = self._look(monotonic_s, faults)
            there = {candidate.address for candidate in self._candidates}
            plain = self._plain_nics(faults)
        gpus = tuple(sorted((gpu for gpu in seen.gpus if gpu.address in there), key=lambda gpu: natural_order(gpu.name)))
        rdma = sorted((nic for nic in seen.nics if nic.address in there), key=lambda nic: natural_order(nic.name))
        nics = (*rdma, *sorted(plain, key=lambda nic: natural_order(nic.name)))
        ports = {**seen.ports, **{nic.name: place_of("", self._stated.get(nic.name, Stated()).rail, nic.role) for nic in plain}}
        cpus = self._cpu_lists({place.numa_node for place in [*(gpu.place for gpu in gpus), *(nic.place for nic in nics)]} - {""}, faults)
        return NodeLook(NodeTopology(gpus, nics, ports, cpus, nvlinks or {}), tuple(faults.faults))

    def _seen_at(self, device: str, now_s: float) -> _Seen:
        """The last look, or a new one if it is time for it. A look that hangs holds up no other thread for longer than FIRST_LOOK_S."""
        seen = self._seen
        if seen is not None and not self._is_due(seen, device, now_s):
            return seen
        if not self._lock.acquire(timeout=FIRST_LOOK_S if seen is None else 0):
            return seen or _Seen()
        try:
            if self._seen is None or self._is_due(self._seen, device, now_s):
                return self._look(now_s, FaultList(SOURCE))  # the PCIe source counts the same faults
            return self._seen
        finally:
            self._lock.release()

    def _is_due(self, seen: _Seen, device: str, now_s: float) -> bool:
        age_s = now_s - self._looked_s
        is_news = device not in seen.ports or self._module_ids() != seen.modules
        return age_s >= PCI_LOOK_AGAIN_S or (is_news and age_s >= LIST_AGAIN_S)

    def _look(self, now_s: float, faults: FaultList) -> _Seen:
        """Look now, holding the lock. A bus that cannot be listed has what it had; devices that are lost keep their place (with_lost)."""
        before = self._seen or _Seen()
        self._looked_s = now_s
        if now_s >= self._forgot_s + PCI_LOOK_AGAIN_S:
            self._tree.forget()
            self._forgot_s = now_s
        self._list(faults)
        modules = dict(self._module_ids())
        gpus = with_lost(self._gpus(modules), before.gpus)
        nics = with_lost(self._rdma_nics(), before.nics)
        self._seen = _Seen(gpus, nics, modules, port_places(gpus, nics, self._stated))
        return self._seen

    def _list(self, faults: FaultList) -> None:
        try:
            self._candidates = self._tree.candidates(faults)
        except FileNotFoundError:
            self._candidates = []
            faults.add(DEVICES, Reason.ABSENT, "is not there: the machine has no PCI bus, or the container does not see the host's /sys")
        except OSError as error:
            faults.add_error(DEVICES, error)

    def _gpus(self, modules: Mapping[str, int]) -> list[Gpu]:
        places = {candidate.address: candidate.place for candidate in self._candidates if candidate.is_gpu}
        names = self._slots(places)
        return [Gpu(printable(names[address]), place, modules.get(address)) for address, place in places.items()]

    def _rdma_nics(self) -> list[Nic]:
        return [
            self._nic(name, candidate, has_rdma=True)
            for candidate in self._candidates
            for name in (() if candidate.is_gpu else self._rdma_names(candidate))
        ]

    def _plain_nics(self, faults: FaultList) -> list[Nic]:
        """Interfaces of functions without an RDMA device. Only for a person: asking a driver for them may wait for its lock."""
        return [
            self._nic(name, candidate, has_rdma=False)
            for candidate in self._candidates
            if not candidate.is_gpu and not self._rdma_names(candidate)
            for name in self._tree.names_of(candidate, faults)
        ]

    def _rdma_names(self, candidate: Candidate) -> tuple[str, ...]:
        return names_in(self._files, f"{candidate.functions[-1].folder}/infiniband")

    def _nic(self, name: str, candidate: Candidate, *, has_rdma: bool) -> Nic:
        return Nic(printable(name), candidate.place, self._role_of(printable(name)), has_rdma)

    def _role_of(self, device: str) -> str:
        return self._stated.get(device, Stated()).role or self._roles.of(device)

    def _cpu_lists(self, nodes: Iterable[str], faults: FaultList) -> dict[str, str]:
        """CPU list by NUMA node (`0-55,112-167`); a node without CPUs, or whose list cannot be read, is missing."""
        lists: dict[str, str] = {}
        for node in sorted(nodes):
            path = f"{NODES}/node{node}/cpulist"
            try:
                raw = read_once(self._files, path, _CPU_LIST_SIZE)
            except OSError as error:
                if error.errno != errno.ENOENT:
                    faults.add_error(path, error)
                continue
            text = raw.decode("utf-8", "replace").strip()
            if _CPU_LIST.fullmatch(text):
                lists[node] = text
            elif text:
                faults.add_text(path, Reason.PARSE, raw)
        return lists
