"""Why a rank could not go on: what CUDA or NCCL refused, as a Failure and one line for a person. Loads no library."""

from typing import NamedTuple

from exporter.probes.reasons import Failure

WORDS_MAX = 400
"""Longest line; NCCL's own messages are shorter."""
CUDA_OUT_OF_MEMORY = 2
NCCL_REMOTE_ERROR = 6
"""ncclRemoteError of nccl.h."""

_TOLD_BY = (
    ("out of memory", Failure.OOM),
    ("multiple ranks are using the same gpu", Failure.DUPLICATE_GPU),
    ("duplicate gpu", Failure.DUPLICATE_GPU),
    ("mismatched nccl version", Failure.NCCL_VERSION_MISMATCH),
    ("no socket interface found", Failure.NO_SOCKET_INTERFACE),
    ("no space left on device", Failure.SHM_TOO_SMALL),
    ("error while creating shared memory", Failure.SHM_TOO_SMALL),
    ("got completion", Failure.IB_COMPLETION_ERROR),
)
"""Words of ncclGetLastError that say more than its code, in small letters (NVIDIA/nccl 2.30: src/init.cc, bootstrap.cc, misc/shmutils.cc,
transport/net_ib.cc; "duplicate gpu" before 2.30)."""


class ProbeError(Exception):
    """A probe cannot go on: which Failure that is, and one line that says what, where and what to do."""

    def __init__(self, reason: Failure, words: str) -> None:
        super().__init__(words)
        self.reason = reason
        self.words = " ".join(words.split())[:WORDS_MAX]


class EndAskedError(Exception):
    """Whoever waits is to stop at once: an order to abort came, or nobody gives orders any more."""


class CudaError(ProbeError):
    """A call of libcuda said no. `code` is its CUresult."""

    def __init__(self, call: str, code: int, name: str) -> None:
        reason = Failure.OOM if code == CUDA_OUT_OF_MEMORY else Failure.INIT_ERROR
        super().__init__(reason, f"{call} failed: {name} ({code})")
        self.code = code


def while_running(error: ProbeError) -> Failure:
    """What an error amounts to once the ranks are together, when nothing is initialised any more: to NCCL a peer or the network, to CUDA a
    process that cannot go on, as after an uncorrectable memory error."""
    if error.reason is not Failure.INIT_ERROR:
        return error.reason
    return Failure.REMOTE_ERROR if isinstance(error, NcclError) else Failure.WORKER_CRASH


class NcclText(NamedTuple):
    """What NCCL says of a code, and of the last thing that went wrong."""

    of_code: str
    last: str


class NcclError(ProbeError):
    """A call of libnccl said no, or its asynchronous state did. `code` is its ncclResult_t."""

    def __init__(self, call: str, code: int, text: NcclText) -> None:
        last = f"; it last said: {text.last}" if text.last.strip() else ""
        super().__init__(nccl_failure(code, text.last), f"{call} failed: {text.of_code} ({code}){last}")
        self.code = code


def nccl_failure(code: int, last: str) -> Failure:
    """What a code and the last words of NCCL amount to: the words win where they are known, since most codes say "unhandled"."""
    lowered = last.lower()
    told = next((failure for words, failure in _TOLD_BY if words in lowered), None)
    if told is not None:
        return told
    return Failure.REMOTE_ERROR if code == NCCL_REMOTE_ERROR else Failure.INIT_ERROR
