"""libnccl.so.2 by ctypes: communicators that never block, and the collectives of a probe on them. A call may come back "in progress"; who
called asks `state` until it is not. Knows no deadline."""

import ctypes
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any, ClassVar

from exporter.probes.reasons import Failure
from exporter.probes.trouble import NcclError, NcclText, ProbeError

SONAME = "libnccl.so.2"
OLDEST = 21400
"""ncclCommInitRankConfig, and with it communicators that do not block, came with 2.14 (NVIDIA/nccl, src/nccl.h.in)."""
WITH_CHANNEL_LIMIT = 21700
"""maxCTAs of the configuration came with 2.17."""
UNIQUE_ID_BYTES = 128
IN_PROGRESS = 7
FLOAT32, SUM = 7, 0
_MAGIC, _UNDEFINED = 0xCAFEBEEF, -(2**31)


class _UniqueId(Structure):
    _fields_: ClassVar = [("internal", c_char * UNIQUE_ID_BYTES)]


class _OldConfig(Structure):
    """ncclConfig_v21400."""

    _fields_: ClassVar = [("size", c_size_t), ("magic", c_uint), ("version", c_uint), ("blocking", c_int)]


class _Config(Structure):
    """ncclConfig_v21700. Newer libraries take it: they copy what `size` covers and set what is newer than `version` to its default."""

    _fields_: ClassVar = [
        *_OldConfig._fields_,
        ("cga_cluster_size", c_int),
        ("min_ctas", c_int),
        ("max_ctas", c_int),
        ("net_name", c_char_p),
    ]


_HANDLE, _STREAM, _BUFFER = c_void_p, c_void_p, c_void_p
_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "ncclGetVersion": (POINTER(c_int),),
    "ncclGetUniqueId": (POINTER(_UniqueId),),
    "ncclCommInitRankConfig": (POINTER(_HANDLE), c_int, _UniqueId, c_int, c_void_p),
    "ncclCommGetAsyncError": (_HANDLE, POINTER(c_int)),
    "ncclCommFinalize": (_HANDLE,),
    "ncclCommDestroy": (_HANDLE,),
    "ncclCommAbort": (_HANDLE,),
    "ncclGroupStart": (),
    "ncclGroupEnd": (),
    "ncclAllReduce": (_BUFFER, _BUFFER, c_size_t, c_int, c_int, _HANDLE, _STREAM),
    "ncclAllGather": (_BUFFER, _BUFFER, c_size_t, c_int, _HANDLE, _STREAM),
    "ncclReduceScatter": (_BUFFER, _BUFFER, c_size_t, c_int, c_int, _HANDLE, _STREAM),
    "ncclBroadcast": (_BUFFER, _BUFFER, c_size_t, c_int, c_int, _HANDLE, _STREAM),
    "ncclSend": (_BUFFER, c_size_t, c_int, c_int, _HANDLE, _STREAM),
    "ncclRecv": (_BUFFER, c_size_t, c_int, c_int, _HANDLE, _STREAM),
}


class Nccl:
    """The library, loaded and new enough. Raises ProbeError of NO_LIBNCCL or NCCL_TOO_OLD."""

    def __init__(self, path: str = SONAME) -> None:
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise ProbeError(
                Failure.NO_LIBNCCL, f"cannot load {path}: {error}; name the node's own libnccl.so.2 in the configuration"
            ) from None
        self._calls: dict[str, Any] = {}
        self._take("ncclGetVersion", path)
        number = c_int()
        self._do("ncclGetVersion", byref(number))
        self.number = number.value
        if self.number < OLDEST:
            raise ProbeError(
                Failure.NCCL_TOO_OLD, f"{path} is NCCL {self.version}: a probe needs 2.14, whose communicators can be given up on"
            )
        for name in _PROTOTYPES:
            self._take(name, path)
        for name, arguments in (("ncclGetErrorString", (c_int,)), ("ncclGetLastError", (_HANDLE,))):
            function = getattr(self._library, name, None)
            if function is not None:  # ncclGetLastError came with 2.13
                function.argtypes, function.restype = arguments, c_char_p
                self._calls[name] = function

    def _take(self, name: str, path: str) -> None:
        function = getattr(self._library, name, None)
        if function is None:
            raise ProbeError(Failure.NCCL_TOO_OLD, f"{path} has no {name}: a probe needs NCCL 2.14 or newer")
        function.argtypes, function.restype = _PROTOTYPES[name], c_int
        self._calls[name] = function

    @property
    def version(self) -> str:
        """As NCCL writes it: "2.27.3". Before 2.9 the number was made of other digits."""
        if self.number < 10_000:
            return f"{self.number // 1000}.{self.number % 1000 // 100}.{self.number % 100}"
        return f"{self.number // 10_000}.{self.number // 100 % 100}.{self.number % 100}"

    @property
    def address(self) -> int:
        """Of one of its functions: where this process has it mapped."""
        return ctypes.cast(self._calls["ncclGetVersion"], c_void_p).value or 0

    def _text(self, code: int, communicator: int | None) -> NcclText:
        texts = []
        for name, argument in (("ncclGetErrorString", code), ("ncclGetLastError", communicator)):
            found = self._calls[name](argument) if name in self._calls else b""
            texts.append((found or b"").decode("utf-8", "replace"))
        return NcclText(*texts)

    def _do(self, name: str, *arguments: Any, communicator: int | None = None) -> bool:
        """True if it is done, False if it is in progress."""
        code = self._calls[name](*arguments)
        if code not in {0, IN_PROGRESS}:
            raise NcclError(name, code, self._text(code, communicator))
        return bool(code == 0)

    def new_unique_id(self) -> bytes:
        """What every rank needs to find the others; made by one of them, which then waits for the others at a port of its own."""
        made = _UniqueId()
        self._do("ncclGetUniqueId", byref(made))
        return bytes(memoryview(made))

    def join(self, unique_id: bytes, rank: int, ranks: int, channels_max: int) -> int:
        """Begin to come together with the others: the communicator, still in progress. `channels_max` bounds the thread blocks that it
        takes on the GPU; before 2.17 only NCCL_MAX_NCHANNELS does."""
        config: Structure
        if self.number < WITH_CHANNEL_LIMIT:
            config = _OldConfig(ctypes.sizeof(_OldConfig), _MAGIC, OLDEST, 0)
        else:
            config = _Config(ctypes.sizeof(_Config), _MAGIC, WITH_CHANNEL_LIMIT, 0, _UNDEFINED, _UNDEFINED, channels_max, None)
        communicator = c_void_p()
        self._do("ncclCommInitRankConfig", byref(communicator), ranks, _UniqueId.from_buffer_copy(unique_id), rank, byref(config))
        return communicator.value or 0

    def settled(self, communicator: int, call: str) -> bool:
        """Whether nothing is in progress. Raises NcclError in the name of `call` for what went wrong meanwhile, here or elsewhere."""
        state = c_int()
        self._do("ncclCommGetAsyncError", communicator, byref(state), communicator=communicator)
        if state.value not in {0, IN_PROGRESS}:
            raise NcclError(call, state.value, self._text(state.value, communicator))
        return state.value == 0

    def all_reduce(self, send: int, receive: int, count: int, communicator: int, stream: int) -> None:
        """Sum of float32."""
        self._do("ncclAllReduce", send, receive, count, FLOAT32, SUM, communicator, stream, communicator=communicator)

    def all_gather(self, send: int, receive: int, count: int, communicator: int, stream: int) -> None:
        """`count` is that of one rank."""
        self._do("ncclAllGather", send, receive, count, FLOAT32, communicator, stream, communicator=communicator)

    def reduce_scatter(self, send: int, receive: int, count: int, communicator: int, stream: int) -> None:
        """`count` is that of one rank."""
        self._do("ncclReduceScatter", send, receive, count, FLOAT32, SUM, communicator, stream, communicator=communicator)

    def broadcast(self, send: int, receive: int, count: int, communicator: int, stream: int) -> None:
        """From rank 0."""
        self._do("ncclBroadcast", send, receive, count, FLOAT32, 0, communicator, stream, communicator=communicator)

    def begin_group(self) -> None:
        """What follows is one operation."""
        self._do("ncclGroupStart")

    def end_group(self) -> None:
        """Until here."""
        self._do("ncclGroupEnd")

    def send(self, buffer: int, count: int, peer: int, communicator: int, stream: int) -> None:
        """Within a group."""
        self._do("ncclSend", buffer, count, FLOAT32, peer, communicator, stream, communicator=communicator)

    def receive(self, buffer: int, count: int, peer: int, communicator: int, stream: int) -> None:
        """Within a group."""
        self._do("ncclRecv", buffer, count, FLOAT32, peer, communicator, stream, communicator=communicator)

    def finalize(self, communicator: int) -> None:
        """Begin to part from the others in peace; `settled` tells when that is done."""
        self._do("ncclCommFinalize", communicator)

    def destroy(self, communicator: int) -> None:
        """After `finalize`."""
        self._do("ncclCommDestroy", communicator)

    def abort(self, communicator: int) -> None:
        """Stop whatever runs, without the others. May itself hang (NVIDIA/nccl#992, #1013, #1777): only where a process may be killed."""
        self._do("ncclCommAbort", communicator)
