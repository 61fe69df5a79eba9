"""The GPUDirect source: what it takes for each RDMA device to reach the GPUs beside it without the CPU, as far as files tell.

Knows which files say so; what follows from them is exporter/signals/gpudirect.py's, what stands where pci_tree.py's. Uses nothing: whether
RDMA to a GPU really works only a transfer tells.
"""

import errno
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile

from exporter.catalog.gpudirect import ACS_OFF, PATH, REQUIREMENT, SOFTWARE
from exporter.model.entity import Device
from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.model.quoted import printable
from exporter.model.rails import NEARNESS
from exporter.model.snapshot import Feed, Number, Reading, SeriesKey, Snapshot
from exporter.model.topology import Distance, distance
from exporter.sources.device_place import names_in
from exporter.sources.fault_list import FaultList
from exporter.sources.pci_acs import redirects
from exporter.sources.pci_tree import DEVICES, Candidate, PciFunction, PciTree
from exporter.sources.sysfs import Files, read_once

SOURCE = "gpudirect"
MODULES, DRIVER, RELEASE = "modules", "driver/nvidia/version", "sys/kernel/osrelease"
PEER_MODULES = ("nvidia_peermem", "nv_peer_mem")
"""Name as it ships with the driver since R470, and before."""
OPEN_DRIVER = "Open Kernel Module"
"""Only the open flavour of the driver exports DMA-BUF."""
DMABUF_SINCE = (5, 12)
"""Kernel whose RDMA core takes DMA-BUF; vendors' own RDMA stacks take it on older ones too [B]."""
MODULES_MAX_BYTES = 1 << 20
"""A kernel lists some 200 modules in 20 kB [M]."""
_PIECE = 65_536
_TEXT = 1024


@dataclass(frozen=True, slots=True)
class NicPath:
    """An RDMA device, the nearest distance of any GPU, and the functions on the ways to the GPUs at that distance, both ends left out."""

    name: str
    apart: Distance
    folder: str
    gpu_folders: tuple[str, ...]
    between: tuple[PciFunction, ...]


class GpuDirectReader:
    """All NICs in one go: modules in each normal pass, PCI registers in slow ones. Not thread-safe: one read at a time."""

    subject = "rdma"
    cadences = (Cadence.NORMAL, Cadence.SLOW)

    def __init__(self, files: Files, procfs: Files, paths: Callable[[], tuple[NicPath, ...]]) -> None:
        self._files = files
        self._procfs = procfs
        self._paths = paths
        self._acs_off: Mapping[str, bool | None] = {}
        self._asked: tuple[NicPath, ...] = ()

    def read(self, cadence: Cadence, wall_s: float, monotonic_s: float) -> Snapshot:
        """One Reading for each NIC beside a GPU, at the normal cadence; a requirement that cannot be told is a missing key."""
        faults = FaultList(SOURCE)
        paths = self._paths()
        if cadence is Cadence.SLOW or paths != self._asked:
            self._acs_off, self._asked = {path.name: self._is_acs_off(path) for path in paths}, paths
        readings = () if cadence is Cadence.SLOW else self._readings(paths, faults)
        return Snapshot(Feed(SOURCE, self.subject, cadence), wall_s, monotonic_s, readings, tuple(faults.faults))

    def close(self) -> None:
        """Nothing is kept open."""

    def _readings(self, paths: tuple[NicPath, ...], faults: FaultList) -> tuple[Reading, ...]:
        if not paths:
            return ()
        software = self._software(faults)
        found: list[Reading] = []
        for path in paths:
            near = None if path.apart is Distance.UNKNOWN else path.apart in NEARNESS
            facts = {SOFTWARE: software, PATH: near, ACS_OFF: self._acs_off.get(path.name)}
            values: dict[SeriesKey, Number] = {(REQUIREMENT.key, name): int(fact) for name, fact in facts.items() if fact is not None}
            found.append(Reading(Device(path.name), values))
        return tuple(found)

    def _software(self, faults: FaultList) -> bool | None:
        """Whether nvidia-peermem is loaded, or driver and kernel pass DMA-BUF; None if nobody can say."""
        ways = (self._peer_module(faults), self._dmabuf())
        if True in ways:
            return True
        return None if None in ways else False

    def _peer_module(self, faults: FaultList) -> bool | None:
        try:
            return peer_module_in(_whole(self._procfs, MODULES))
        except OSError as error:
            if error.errno == errno.ENOENT:
                faults.add(MODULES, Reason.ABSENT, "the kernel's modules are hidden, so nobody can say whether nvidia-peermem is loaded; "
                                                   "let the container see the host's /proc (sources.procfs_root)")  # fmt: skip
            else:
                faults.add_error(MODULES, error)
            return None

    def _dmabuf(self) -> bool | None:
        """False without the NVIDIA driver; None where files cannot be read, or a vendor's RDMA stack on an older kernel may."""
        try:
            driver = read_once(self._procfs, DRIVER, _TEXT).decode("utf-8", "replace")
        except OSError as error:
            return False if error.errno == errno.ENOENT else None
        if OPEN_DRIVER not in driver:
            return False
        try:
            release = read_once(self._procfs, RELEASE, _TEXT).decode("utf-8", "replace")
        except OSError:
            return None
        return True if kernel_of(release) >= DMABUF_SINCE else None

    def _is_acs_off(self, path: NicPath) -> bool | None:
        """Whether no function on the way redirects; None if that cannot be told. One IOMMU group for NIC and GPUs says it too: the kernel
        keeps together what can reach each other behind its back."""
        if path.apart not in NEARNESS:
            return None
        answers = [redirects(self._files, f"{function.folder}/config") for function in path.between]
        if True in answers:
            return False
        if None not in answers:
            return True
        groups = {self._group(folder) for folder in (path.folder, *path.gpu_folders)}
        return True if len(groups) == 1 and None not in groups else None

    def _group(self, folder: str) -> str | None:
        try:
            return self._files.resolve(f"{folder}/iommu_group")
        except OSError:
            return None


@dataclass(frozen=True, slots=True)
class GpuDirectScan:
    """The reader, if there is a NIC with a GPU."""

    readers: tuple[GpuDirectReader, ...]
    snapshot: Snapshot


class GpuDirectSource:
    """RDMA devices beside GPUs. `procfs` is the tree of /proc."""

    name = SOURCE

    def __init__(self, files: Files, procfs: Files, wants: Callable[[str], bool], *, root: str = "/sys") -> None:
        self.looked_for = f"RDMA devices beside NVIDIA GPUs in {root.rstrip('/')}/{DEVICES}"
        self._files = files
        self._wants = wants
        self._tree = PciTree(files)
        self._paths: tuple[NicPath, ...] = ()
        self._reader = GpuDirectReader(files, procfs, lambda: self._paths)

    def scan(self, wall_s: float, monotonic_s: float) -> GpuDirectScan:
        """Who is there now. What cannot be listed is the PCIe source's to report; it leaves what was there."""
        try:
            self._paths = self._look()
        except OSError as error:
            self._paths = () if error.errno == errno.ENOENT else self._paths
        readers = (self._reader,) if self._paths else ()
        return GpuDirectScan(readers, Snapshot(Feed(SOURCE, "", Cadence.NORMAL), wall_s, monotonic_s, ()))

    def _look(self) -> tuple[NicPath, ...]:
        candidates = self._tree.candidates(FaultList(SOURCE))
        gpus = [candidate for candidate in candidates if candidate.is_gpu]
        if not gpus:
            return ()
        named = [
            (printable(name), nic)
            for nic in candidates
            if not nic.is_gpu
            for name in names_in(self._files, f"{nic.functions[-1].folder}/infiniband")
            if self._wants(printable(name))
        ]
        paths = [_path_of(name, nic, gpus) for name, nic in named]
        return tuple(path for path in paths if path is not None)


def _path_of(name: str, nic: Candidate, gpus: list[Candidate]) -> NicPath | None:
    """The ways from a NIC to its nearest GPUs; None if each is known to be beyond a CPU: such a NIC was never meant for it."""
    apart = {gpu.address: distance(nic.place, gpu.place) for gpu in gpus}
    near = min((NEARNESS[one] for one in apart.values() if one in NEARNESS), default=None)
    if near is None:
        hidden = Distance.UNKNOWN in apart.values()
        return NicPath(name, Distance.UNKNOWN, nic.functions[-1].folder, (), ()) if hidden else None
    nearest = [gpu for gpu in gpus if NEARNESS.get(apart[gpu.address]) == near]
    between = {function for gpu in nearest for function in _between(nic, gpu)}
    return NicPath(name, apart[nearest[0].address], nic.functions[-1].folder, tuple(gpu.functions[-1].folder for gpu in nearest),
                   tuple(sorted(between, key=lambda function: function.address)))  # fmt: skip


def _between(one: Candidate, other: Candidate) -> list[PciFunction]:
    """Functions on the way, from below the last one that both have above them, both ends left out."""
    common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one.functions, other.functions, strict=False))))
    return [*one.functions[common:-1], *other.functions[common:-1]]


def peer_module_in(raw: bytes) -> bool:
    """Whether /proc/modules lists one of PEER_MODULES as live."""
    lines = [line.split() for line in raw.decode("utf-8", "replace").splitlines()]
    return any(words[0] in PEER_MODULES and "Live" in words[1:] for words in lines if words)


def kernel_of(release: str) -> tuple[int, int]:
    """Major and minor number of a kernel's release; (0, 0) for text that is none."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _whole(files: Files, path: str) -> bytes:
    """A file of procfs, which gives a page at each read. Raises OSError."""
    handle = files.open(path)
    try:
        pieces: list[bytes] = []
        size = 0
        while size < MODULES_MAX_BYTES and (piece := files.pread(handle, _PIECE, size)):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)
    finally:
        files.close(handle)
