"""The driver asked through pynvml's own wrappers, one thing at a time: an independent reading to hold ours against, with types and times.

Knows pynvml and what to ask; judges nothing. Calls nothing that sets, clears or resets. An answer is a dict for JSON: `value` (with the
`type` that the driver states) or `ret`, its nvmlReturn_t; `took_us` is what the call took here, `latency_us` what the driver says it took.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pynvml

from exporter.catalog.nvlink_fields import (
    C2C_BANDWIDTH,
    C2C_COUNT,
    C2C_ERRORS,
    C2C_POWER,
    C2C_STATUS,
    CONNECTED_COUNT,
    FAMILIES,
    FULL_REGISTERS,
    LINK_COUNT,
    PEER_LINK,
    RECOVERY_ACTION,
    REGISTERS,
    UNSHIFTED_PORT,
    VERSION,
)
from exporter.sources.nvml_fields import number_of_union

Answer = dict[str, Any]
"""See the module."""
EVERY_LINK = 0xFFFFFFFF
GPU_FIELDS = (LINK_COUNT, CONNECTED_COUNT, RECOVERY_ACTION, C2C_COUNT)
LINK_FIELDS = tuple(dict.fromkeys([*(field.number for family in FAMILIES for field in family.fields), PEER_LINK, VERSION]))
C2C_FIELDS = (C2C_STATUS, C2C_BANDWIDTH, C2C_POWER, *C2C_ERRORS)
PORT_COUNTERS = tuple(number for number, _ in (*REGISTERS, *FULL_REGISTERS))
ERROR_COUNTERS = range(5)
LINKS_MAX = 36
"""nvml.h, NVML_NVLINK_MAX_LINKS."""
FABRICS = ("v4", "v3", "v2", "v1")
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
_UNDEFINED = 13
"""What a call that this pynvml or library lacks counts as: FunctionNotFound."""


def asked(call: Callable[[], Any]) -> Answer:
    """One call, timed."""
    began_s = time.perf_counter()
    try:
        found: Answer = {"value": call()}
    except pynvml.NVMLError as error:
        found = {"ret": int(error.value)}
    except AttributeError:
        found = {"ret": _UNDEFINED}
    return {**found, "took_us": round((time.perf_counter() - began_s) * 1e6, 1)}


def code_of(answer: Answer) -> int:
    """Its nvmlReturn_t; 0 for a value."""
    return int(answer.get("ret", 0))


class RawDriver:
    """Of an NVML that somebody else has opened."""

    def __init__(self) -> None:
        self.handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]

    def system(self) -> dict[str, Answer]:
        """Versions, and the bandwidth mode of the node."""
        return {
            "driver": asked(pynvml.nvmlSystemGetDriverVersion),
            "nvml": asked(pynvml.nvmlSystemGetNVMLVersion),
            "cuda": asked(pynvml.nvmlSystemGetCudaDriverVersion),
            "bw_mode": asked(lambda: pynvml.nvmlSystemGetNvlinkBwMode()),  # noqa: PLW0108  # an older pynvml lacks it
        }

    def identity(self, gpu: int) -> dict[str, Answer]:
        """Who the GPU is, each answer by the word that the fake driver has for it."""
        handle = self.handles[gpu]
        return {
            "uuid": asked(lambda: pynvml.nvmlDeviceGetUUID(handle)),
            "name": asked(lambda: pynvml.nvmlDeviceGetName(handle)),
            "serial": asked(lambda: pynvml.nvmlDeviceGetSerial(handle)),
            "pci": asked(lambda: _text(pynvml.nvmlDeviceGetPciInfo(handle).busId)),
            "minor": asked(lambda: pynvml.nvmlDeviceGetMinorNumber(handle)),
            "module": asked(lambda: pynvml.nvmlDeviceGetModuleId(handle)),
            "mig": asked(lambda: pynvml.nvmlDeviceGetMigMode(handle)[0]),
            "event_types": asked(lambda: pynvml.nvmlDeviceGetSupportedEventTypes(handle)),
            "processes": asked(lambda: len(pynvml.nvmlDeviceGetComputeRunningProcesses_v3(handle))),
        }

    def link(self, gpu: int, link: int) -> dict[str, Answer]:
        """What the calls about one link say."""
        handle = self.handles[gpu]
        found = {
            "state": asked(lambda: pynvml.nvmlDeviceGetNvLinkState(handle, link)),
            "version": asked(lambda: pynvml.nvmlDeviceGetNvLinkVersion(handle, link)),
            "remote_type": asked(lambda: pynvml.nvmlDeviceGetNvLinkRemoteDeviceType(handle, link)),
            "remote_pci": asked(lambda: _text(pynvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link).busId)),
        }
        counters = {f"counter{kind}": partial(pynvml.nvmlDeviceGetNvLinkErrorCounter, handle, link, kind) for kind in ERROR_COUNTERS}
        return {**found, **{word: asked(call) for word, call in counters.items()}}

    def field(self, gpu: int, number: int, scope: int) -> Answer:
        """One field, alone in its call."""
        return self.fields(gpu, [(number, scope)])[0]

    def fields(self, gpu: int, pairs: Sequence[tuple[int, int]]) -> list[Answer]:
        """Fields in one call; `whole` marks answers of a call that failed as a whole."""
        answer = asked(lambda: pynvml.nvmlDeviceGetFieldValues(self.handles[gpu], list(pairs)))
        if "ret" in answer:
            return [{**answer, "whole": True} for _ in pairs]
        return [_of_field(value, answer["took_us"]) for value in answer["value"]]

    def port_counter(self, gpu: int, number: int, port: int) -> Answer:
        """One counter of a port's registers, alone in its call."""

        def read() -> Any:
            counters = (pynvml.c_nvmlPRMCounter_v1_t * 1)()
            counters[0].counterId = number
            counters[0].inputValue.localPort = port
            pynvml.nvmlDeviceReadPRMCounters_v1(self.handles[gpu], pynvml.c_nvmlPRMCounterList_v1_t(1, counters))
            return counters[0].outputValue

        answer = asked(read)
        if "ret" in answer:
            return {**answer, "whole": True}
        output = answer.pop("value")
        if output.status:
            return {"ret": int(output.status), **answer}
        return {"type": int(output.outputType), "value": number_of_union(output.outputType, bytes(output.outputValue)), **answer}

    def fabric(self, gpu: int, version: str) -> Answer:
        """The place in an NVLink domain by one version of the structure: text and numbers of what it holds."""
        return asked(lambda: _fabric(self.handles[gpu], version))

    def bandwidth_mode(self, gpu: int) -> Answer:
        """Which of its modes NVLink is set to."""

        def read() -> int:
            mode = pynvml.c_nvmlNvlinkGetBwMode_v1_t()
            pynvml.nvmlDeviceGetNvlinkBwMode(self.handles[gpu], pynvml.byref(mode))
            return int(mode.bwMode)

        return asked(read)


def local_port(number: int, link: int) -> int:
    """The port that a register of this link is asked for at (NVIDIA/DCGM DcgmCacheManager.cpp)."""
    return link if number in UNSHIFTED_PORT else link + 1


def _of_field(value: Any, took_us: float) -> Answer:
    """One c_nvmlFieldValue_t, by the type that it states."""
    rest = {"took_us": took_us, "latency_us": int(value.latencyUsec)}
    kind = int(value.valueType)
    if value.nvmlReturn:
        return {"ret": int(value.nvmlReturn), **rest}
    return {"type": kind, "value": getattr(value.value, _MEMBERS[kind]) if kind < len(_MEMBERS) else None, **rest}


def _fabric(handle: Any, version: str) -> dict[str, Any]:
    names = {"v1": "c_nvmlGpuFabricInfo_t"}
    answer = getattr(pynvml, names.get(version, f"c_nvmlGpuFabricInfo_{version}_t"))()
    call = {"v4": "nvmlDeviceGetGpuFabricInfo_v4", "v1": "nvmlDeviceGetGpuFabricInfo"}.get(version, "nvmlDeviceGetGpuFabricInfoV")
    getattr(pynvml, call)(handle, pynvml.byref(answer))
    found: dict[str, Any] = {"state": int(answer.state), "status": int(answer.status), "cluster_uuid": bytes(answer.clusterUuid).hex()}
    for word, member in (("clique", "cliqueId"), ("health_mask", "healthMask"), ("summary", "healthSummary")):
        if hasattr(answer, member):
            found[word] = int(getattr(answer, member))
    if version == "v4":
        found["clique_entry"] = [[int(one.type), int(one.id)] for one in answer.cliques[: min(answer.numCliques, len(answer.cliques))]]
    return found


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
