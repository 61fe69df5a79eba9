"""libcuda.so.1 by ctypes: the few calls of the driver that a probe needs, by their meaning. Never waits: no call here synchronises a
stream, and who copies or fills memory has seen to it that the GPU is idle."""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from exporter.probes.reasons import Failure
from exporter.probes.trouble import CudaError, ProbeError

SONAME = "libcuda.so.1"
NO_DEVICE = 100
NOT_READY = 600
PEER_ACCESS_ALREADY_ENABLED = 704
NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING: no order with the default stream."""
WAIT_UNTIL_AT_LEAST = 0
"""CU_STREAM_WAIT_VALUE_GEQ."""
HOST_PORTABLE_AND_MAPPED = 3
UUID_BYTES = 16

_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetUuid": (c_char_p, c_int),
    "cuDeviceCanAccessPeer": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxEnablePeerAccess": (c_void_p, c_uint),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemHostAlloc": (POINTER(c_void_p), c_size_t, c_uint),
    "cuMemFreeHost": (c_void_p,),
    "cuMemsetD32_v2": (c_uint64, c_uint, c_size_t),
    "cuMemcpyHtoD_v2": (c_uint64, c_void_p, c_size_t),
    "cuMemcpyDtoH_v2": (c_void_p, c_uint64, c_size_t),
    "cuMemcpyPeerAsync": (c_uint64, c_void_p, c_uint64, c_void_p, c_size_t, c_void_p),
    "cuStreamCreate": (POINTER(c_void_p), c_uint),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuStreamQuery": (c_void_p,),
    "cuStreamWaitValue32_v2": (c_void_p, c_uint64, c_uint, c_uint),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventDestroy_v2": (c_void_p,),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
}
_OPTIONAL = frozenset({"cuStreamWaitValue32_v2"})
"""Drivers before 11.7 lack it; then every operation is launched while the GPU already works."""


class Cuda:
    """The driver's library, started. Raises ProbeError of NO_LIBCUDA, in other words for each cause, where there is no usable GPU."""

    def __init__(self, path: str = SONAME) -> None:
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise ProbeError(Failure.NO_LIBCUDA, f"cannot load {path}: {error}; the NVIDIA driver's libraries are not here (into a "
                             "container the NVIDIA runtime brings them)") from None  # fmt: skip
        self._calls = {}
        for name, arguments in _PROTOTYPES.items():
            function = getattr(self._library, name, None)
            if function is None:
                if name in _OPTIONAL:
                    continue
                raise ProbeError(Failure.NO_LIBCUDA, f"{path} has no {name}: it is no driver library, or one older than 2016")
            function.argtypes, function.restype = arguments, c_int
            self._calls[name] = function
        self._start(path)

    def _start(self, path: str) -> None:
        code = self._calls["cuInit"](0)
        if code not in {0, NO_DEVICE}:
            raise ProbeError(Failure.NO_LIBCUDA, f"{path} is there but its driver is not: cuInit says {self._name(code)} ({code}); is the "
                             "kernel module loaded, and of the same version?")  # fmt: skip
        count = c_int()
        if code == 0:
            self._do("cuDeviceGetCount", byref(count))
        if count.value < 1:
            raise ProbeError(Failure.NO_LIBCUDA, "the driver works but shows no GPU: this container or user was given none")
        self.gpus = count.value

    def _name(self, code: int) -> str:
        text = c_char_p()
        self._calls["cuGetErrorName"](code, byref(text))
        return (text.value or b"an error without a name").decode("ascii", "replace")

    def _do(self, name: str, *arguments: Any) -> None:
        code = self._calls[name](*arguments)
        if code:
            raise CudaError(name, code, self._name(code))

    @property
    def version(self) -> str:
        """The CUDA version that the driver supports: "12.8"."""
        number = c_int()
        self._do("cuDriverGetVersion", byref(number))
        return f"{number.value // 1000}.{number.value % 1000 // 10}"

    def uuid(self, index: int) -> str:
        """The GPU's UUID as NVML writes it: GPU-46414b45-…"""
        raw = (c_char * UUID_BYTES)()
        self._do("cuDeviceGetUuid", raw, self._device(index))
        text = raw.raw.hex()
        return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def index_of(self, gpu: str) -> int:
        """The index of a GPU that is named by its UUID, or by its index in the order of PCI addresses. ProbeError where there is none."""
        known: Sequence[str] = [str(index) for index in range(self.gpus)] if gpu.isdigit() else [self.uuid(i) for i in range(self.gpus)]
        if gpu not in known:
            raise ProbeError(Failure.INIT_ERROR, f"CUDA shows no GPU {gpu}; it shows {self.gpus}")
        return known.index(gpu)

    def can_reach(self, index: int, peer: int) -> bool:
        """Whether one GPU may read the other's memory directly; if not, a copy goes through the host."""
        answer = c_int()
        self._do("cuDeviceCanAccessPeer", byref(answer), self._device(index), self._device(peer))
        return bool(answer.value)

    def _device(self, index: int) -> int:
        device = c_int()
        self._do("cuDeviceGet", byref(device), index)
        return device.value

    def retain(self, index: int) -> int:
        """The GPU's primary context, which NCCL uses as well; made current."""
        context = c_void_p()
        self._do("cuDevicePrimaryCtxRetain", byref(context), self._device(index))
        self.use(context.value or 0)
        return context.value or 0

    def release(self, index: int) -> None:
        """Give the primary context back."""
        self._do("cuDevicePrimaryCtxRelease_v2", self._device(index))

    def use(self, context: int) -> None:
        """Make a context the current one of this thread."""
        self._do("cuCtxSetCurrent", context)

    def enable_peer(self, context: int) -> None:
        """Let the current context reach that one's memory directly."""
        code = self._calls["cuCtxEnablePeerAccess"](context, 0)
        if code not in {0, PEER_ACCESS_ALREADY_ENABLED}:
            raise CudaError("cuCtxEnablePeerAccess", code, self._name(code))

    def memory(self) -> tuple[int, int]:
        """Free and total bytes of the current GPU, whoever uses them."""
        free, total = c_size_t(), c_size_t()
        self._do("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def allocate(self, size: int) -> int:
        """The address of that many bytes on the current GPU. ProbeError of OOM where there are not so many."""
        address = c_uint64()
        self._do("cuMemAlloc_v2", byref(address), size)
        return address.value

    def free(self, address: int) -> None:
        """Give it back."""
        self._do("cuMemFree_v2", address)

    def allocate_host(self, size: int) -> int:
        """The address of bytes of the host that GPUs may read."""
        address = c_void_p()
        self._do("cuMemHostAlloc", byref(address), size, HOST_PORTABLE_AND_MAPPED)
        return address.value or 0

    def free_host(self, address: int) -> None:
        """Give them back."""
        self._do("cuMemFreeHost", address)

    def fill(self, address: int, word: int, count: int) -> None:
        """`count` words of 32 bits."""
        if count:
            self._do("cuMemsetD32_v2", address, word, count)

    def write(self, address: int, content: bytes | bytearray) -> None:
        """Host to GPU."""
        if content:
            raw = (c_char * len(content)).from_buffer(content) if isinstance(content, bytearray) else content
            self._do("cuMemcpyHtoD_v2", address, raw, len(content))

    def read(self, address: int, size: int) -> bytearray:
        """GPU to host."""
        found = bytearray(size)
        if size:
            self._do("cuMemcpyDtoH_v2", (c_char * size).from_buffer(found), address, size)
        return found

    def copy_to_peer(self, to: tuple[int, int], source: tuple[int, int], size: int, stream: int) -> None:
        """Enqueue a copy between GPUs; both ends as (address, context)."""
        self._do("cuMemcpyPeerAsync", *to, *source, size, stream)

    def new_stream(self) -> int:
        """A stream of the current context."""
        stream = c_void_p()
        self._do("cuStreamCreate", byref(stream), NON_BLOCKING)
        return stream.value or 0

    def end_stream(self, stream: int) -> None:
        """Give it back."""
        self._do("cuStreamDestroy_v2", stream)

    def is_idle(self, stream: int) -> bool:
        """Whether all that was enqueued is done. Raises CudaError where some of it went wrong."""
        code = self._calls["cuStreamQuery"](stream)
        if code not in {0, NOT_READY}:
            raise CudaError("cuStreamQuery", code, self._name(code))
        return bool(code == 0)

    def hold(self, stream: int, address: int) -> bool:
        """Let the stream wait until the host's word at that address is 1 or more. False where this driver cannot."""
        function = self._calls.get("cuStreamWaitValue32_v2")
        return function is not None and function(stream, address, 1, WAIT_UNTIL_AT_LEAST) == 0

    def new_event(self) -> int:
        """An event that keeps time."""
        event = c_void_p()
        self._do("cuEventCreate", byref(event), 0)
        return event.value or 0

    def end_event(self, event: int) -> None:
        """Give it back."""
        self._do("cuEventDestroy_v2", event)

    def record(self, event: int, stream: int) -> None:
        """Mark this place of the stream."""
        self._do("cuEventRecord", event, stream)

    def between_s(self, start: int, end: int) -> float:
        """Seconds between two marks that the stream has passed; the driver counts in steps of about half a microsecond."""
        milliseconds = c_float()
        self._do("cuEventElapsedTime", byref(milliseconds), start, end)
        return milliseconds.value / 1e3
