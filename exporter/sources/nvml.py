"""NVML through pynvml (nvml_calls.py): values become plain numbers.

A call may hang in the kernel for ever (NVIDIA/open-gpu-kernel-modules#1333): use it in a process that may be given up (runtime/worker.py).
pynvml keeps a loaded library, and each symbol it once found, as long as the process lives.
"""

import ctypes
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from exporter.sources.nvml_calls import FIELD_VALUE, address, call, function, structure
from exporter.sources.nvml_fields import PynvmlBatch, number_of_union
from exporter.sources.nvml_occupancy import occupancy_of
from exporter.sources.nvml_session import (
    FUNCTION_NOT_FOUND,
    INVALID_ARGUMENT,
    LIBRARY_NOT_FOUND,
    NOT_FOUND,
    Answers,
    DeviceQuestion,
    FabricFacts,
    FieldBatch,
    GpuFacts,
    LinkQuestion,
    Nvml,
    NvmlError,
    Occupancy,
    PlatformFacts,
)

XID_EVENT = 0x8
"""nvmlEventTypeXidCriticalError."""
EVENTS_MAX = 1000
"""Events taken in one pass, at most."""
TIMEOUT = 10
_ERROR_COUNTERS = {LinkQuestion.REPLAY: 0, LinkQuestion.RECOVERY: 1, LinkQuestion.CRC_FLIT: 2, LinkQuestion.CRC_DATA: 3,
                   LinkQuestion.ECC_DATA: 4}  # fmt: skip
_LINK_CALLS = {LinkQuestion.STATE: "nvmlDeviceGetNvLinkState", LinkQuestion.VERSION: "nvmlDeviceGetNvLinkVersion",
               LinkQuestion.REMOTE_TYPE: "nvmlDeviceGetNvLinkRemoteDeviceType"}  # fmt: skip
_CHASSIS_AT = 20
"""Offset of chassisSerialNumber in nvmlPlatformInfo_v2_t: behind the version and 16 bytes of InfiniBand GUID."""
_FIRMWARE = {1: "MSE", 2: "NETIR", 3: "NETIR_UPHY", 4: "NETIR_CLN", 5: "NETIR_DLN"}


def open_library(_monotonic_s: Callable[[], float], library: str | None) -> Nvml:
    """The session that the NVML child asks for by name."""
    return Pynvml(library)


class Pynvml:
    """The driver's library. `library` is its path; None lets the loader find libnvidia-ml.so.1. Not thread-safe."""

    def __init__(self, library: str | None = None) -> None:
        self._library = library
        self._handles: dict[int, Any] = {}
        self._events: Any = None
        self._watched: dict[int, int] = {}

    def open(self) -> None:
        """Load and attach. Raises NvmlError."""
        if self._library is not None:
            try:
                ctypes.CDLL(self._library)  # pynvml opens it by its soname, which the loader then knows
            except OSError:
                raise NvmlError(f"cannot load {self._library}", LIBRARY_NOT_FOUND) from None
        call("nvmlInit")
        self._handles.clear()

    def close(self) -> None:
        """Let go. Never raises: what was not open, or whose driver went first, is let go of already."""
        if self._events is not None:
            with suppress(NvmlError):
                call("nvmlEventSetFree", self._events)
        with suppress(NvmlError):
            call("nvmlShutdown")
        self._events = None
        self._handles.clear()

    def driver_version(self) -> str:
        """The kernel driver's."""
        return str(call("nvmlSystemGetDriverVersion"))

    def gpu_count(self) -> int:
        """GPUs by the driver's count."""
        return int(call("nvmlDeviceGetCount"))

    def facts(self, gpu: int) -> GpuFacts:
        """Who it is."""
        handle = self._handle(gpu)
        pci = call("nvmlDeviceGetPciInfo", handle)
        try:
            module_id: int | None = int(call("nvmlDeviceGetModuleId", handle))
        except NvmlError:
            module_id = None
        return GpuFacts(str(call("nvmlDeviceGetUUID", handle)), address(pci), str(call("nvmlDeviceGetName", handle)), module_id)

    def batch(self, gpu: int, pairs: Sequence[tuple[int, int]]) -> FieldBatch:
        """A field call over an array that is laid out once."""
        return PynvmlBatch(self._handle(gpu), pairs, function("nvmlDeviceGetFieldValues"), FIELD_VALUE)

    def ask(self, gpu: int, question: DeviceQuestion) -> int:
        """One number about the GPU."""
        handle = self._handle(gpu)
        if question is DeviceQuestion.MIG_MODE:
            return int(call("nvmlDeviceGetMigMode", handle)[0])
        if question is DeviceQuestion.MINOR_NUMBER:
            return int(call("nvmlDeviceGetMinorNumber", handle))
        mode = structure("c_nvmlNvlinkGetBwMode_v1_t")()
        call("nvmlDeviceGetNvlinkBwMode", handle, ctypes.byref(mode))
        return int(mode.bwMode)

    def ask_link(self, gpu: int, link: int, question: LinkQuestion) -> int:
        """One number about a link."""
        handle = self._handle(gpu)
        if question in _ERROR_COUNTERS:
            return int(call("nvmlDeviceGetNvLinkErrorCounter", handle, link, _ERROR_COUNTERS[question]))
        return int(call(_LINK_CALLS[question], handle, link))

    def peer_pci(self, gpu: int, link: int) -> str:
        """The far end."""
        return address(call("nvmlDeviceGetNvLinkRemotePciInfo", self._handle(gpu), link))

    def port_counters(self, gpu: int, wanted: Sequence[tuple[int, int]]) -> Answers:
        """One call for all of them."""
        counters = (structure("c_nvmlPRMCounter_v1_t") * len(wanted))()
        for counter, (number, port) in zip(counters, wanted, strict=True):
            counter.counterId = number
            counter.inputValue.localPort = port
        asked = structure("c_nvmlPRMCounterList_v1_t")(len(wanted), counters)
        call("nvmlDeviceReadPRMCounters_v1", self._handle(gpu), asked)
        values = [counter.outputValue for counter in counters]
        numbers = [number_of_union(value.outputType, bytes(value.outputValue)) for value in values]
        refused = {i: int(value.status) for i, value in enumerate(values) if value.status}
        return Answers([number or 0 for number in numbers], refused | {i: 3 for i, number in enumerate(numbers) if number is None})

    def fabric(self, gpu: int) -> FabricFacts:
        """The newest layout the driver knows: v4, v3, v2, then the one without a version."""
        handle = self._handle(gpu)
        try:
            newest = structure("c_nvmlGpuFabricInfo_v4_t")()
            call("nvmlDeviceGetGpuFabricInfo_v4", handle, ctypes.byref(newest))
            return _fabric_facts(newest, _clique_of(newest))
        except NvmlError as error:
            if error.code not in _OTHER_LAYOUT:
                raise
        for name in ("c_nvmlGpuFabricInfo_v3_t", "c_nvmlGpuFabricInfo_v2_t"):
            try:
                answer = structure(name)()
                call("nvmlDeviceGetGpuFabricInfoV", handle, ctypes.byref(answer))
            except NvmlError as error:
                if error.code not in _OTHER_LAYOUT:
                    raise
                continue
            return _fabric_facts(answer, int(answer.cliqueId))
        oldest = structure("c_nvmlGpuFabricInfo_t")()
        call("nvmlDeviceGetGpuFabricInfo", handle, ctypes.byref(oldest))
        return _fabric_facts(oldest, int(oldest.cliqueId))

    def platform(self, gpu: int) -> PlatformFacts:
        """Version 2 of the answer; an older driver has none worth showing."""
        answer = structure("c_nvmlPlatformInfo_v2_t")()
        call("nvmlDeviceGetPlatformInfo", self._handle(gpu), ctypes.byref(answer))
        raw = bytes(answer)  # the binding declares numbers and GUIDs as characters: what is no text comes out mangled
        serial = raw[_CHASSIS_AT : _CHASSIS_AT + 16].partition(b"\0")[0].decode("utf-8", "replace")
        slot, tray, host, peer, module = raw[_CHASSIS_AT + 16 : _CHASSIS_AT + 21]
        return PlatformFacts(serial, slot, tray, host, module, peer)

    def firmware(self, gpu: int) -> Sequence[tuple[str, str]]:
        """Each part once; parts without a name are left out."""
        answer = structure("c_nvmlNvLinkInfo_v2_t")()
        call("nvmlDeviceGetNvLinkInfo", self._handle(gpu), ctypes.byref(answer))
        listed = answer.firmwareInfo.firmwareVersion
        entries = listed[: min(answer.firmwareInfo.numValidEntries, len(listed))]
        return [(_FIRMWARE[one.ucodeType], f"{one.major}.{one.minor}.{one.subMinor}") for one in entries if one.ucodeType in _FIRMWARE]

    def node_bandwidth_mode(self) -> int:
        """Root only."""
        return int(call("nvmlSystemGetNvlinkBwMode"))

    def processes(self, gpu: int) -> Sequence[int]:
        """By the layout that came with driver 510; before that, none can be trusted (XuehaiPan/nvitop#88)."""
        return sorted({int(process.pid) for process in call("nvmlDeviceGetComputeRunningProcesses_v3", self._handle(gpu))})

    def occupancy(self, gpu: int) -> Occupancy:
        """Call by call (nvml_occupancy.py)."""
        return occupancy_of(self._handle(gpu))

    def mig_uuids(self, gpu: int) -> Sequence[str]:
        """By index up to the most there can be; an index that has none is passed over."""
        handle = self._handle(gpu)
        found: list[str] = []
        for index in range(int(call("nvmlDeviceGetMaxMigDeviceCount", handle))):
            try:
                found.append(str(call("nvmlDeviceGetUUID", call("nvmlDeviceGetMigDeviceHandleByIndex", handle, index))))
            except NvmlError as error:
                if error.code not in _NO_MIG_DEVICE:
                    raise
        return found

    def watch_xids(self) -> None:
        """A GPU that does not know the event, or does not answer, is not watched; asking it for all events would fail the whole
        registration."""
        if self._events is not None:
            return
        self._events = call("nvmlEventSetCreate")
        self._watched.clear()
        for gpu in range(self.gpu_count()):
            with suppress(NvmlError):
                handle = self._handle(gpu)
                if int(call("nvmlDeviceGetSupportedEventTypes", handle)) & XID_EVENT:
                    call("nvmlDeviceRegisterEvents", handle, XID_EVENT, self._events)
                    self._watched[ctypes.cast(handle, ctypes.c_void_p).value or 0] = gpu

    def xids(self) -> Sequence[tuple[int, int]]:
        """Until the driver says there are no more, or fails: what came before that is told first."""
        found: list[tuple[int, int]] = []
        while self._events is not None and len(found) < EVENTS_MAX:
            try:
                event = call("nvmlEventSetWait_v2", self._events, 0)
            except NvmlError as error:
                if error.code == TIMEOUT or found:
                    break
                raise
            gpu = self._watched.get(ctypes.cast(event.device, ctypes.c_void_p).value or 0)
            if gpu is not None:
                found.append((gpu, int(event.eventData)))
        return found

    def _handle(self, gpu: int) -> Any:
        if gpu not in self._handles:
            self._handles[gpu] = call("nvmlDeviceGetHandleByIndex", gpu)
        return self._handles[gpu]


_NO_MIG_DEVICE = frozenset({INVALID_ARGUMENT, NOT_FOUND})
"""What a driver says of an index without a MIG device, or one that was destroyed meanwhile."""
_OTHER_LAYOUT = frozenset({25, FUNCTION_NOT_FOUND, 2})
"""What a driver says that does not know this version of a structure."""


def _clique_of(answer: Any) -> int:
    """The clique for plain pointers, which is the only one that the older layouts know; 0 if there is none."""
    cliques = answer.cliques[: min(answer.numCliques, len(answer.cliques))]
    return next((int(clique.id) for clique in cliques if clique.type == 0), 0)


def _fabric_facts(answer: Any, clique_id: int) -> FabricFacts:
    raw = bytes(answer.clusterUuid).hex()
    uuid = f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"
    mask, summary = getattr(answer, "healthMask", None), getattr(answer, "healthSummary", None)
    return FabricFacts(int(answer.state), int(answer.status), uuid, clique_id, mask, summary)
