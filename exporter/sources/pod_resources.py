"""Asks the kubelet which container has which device: one gRPC call over the kubelet's socket, with a deadline. The only place that imports
grpc, and imported only where jobs.pod_resources is set: 17 MB that nobody else holds [M].

Each pass has a channel of its own: 1.3 ms [M], and between passes there is neither a thread of gRPC's, nor a connection to a kubelet that
was restarted meanwhile, nor a pause that gRPC keeps after a refusal. Knows no GPU.
"""

import os
import socket
import stat
from collections.abc import Sequence
from itertools import islice
from urllib.parse import quote

from exporter.catalog.jobs import ALLOCATIONS_MAX, POD_RESOURCES_ANSWER_S, POD_RESOURCES_SIZE_BYTES
from exporter.model.fault import Reason
from exporter.model.quoted import shown
from exporter.sources.kubelet_jobs import Allocation, PodListError
from exporter.sources.sysfs import reason_of

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC writes to stderr by itself; what it has to say comes as a status
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # children of ours are other programs: nothing of gRPC's lives on in them

import grpc  # reads both when it is imported

from exporter.sources.pod_resources_message import allocations_in

METHOD = "/v1.PodResourcesLister/List"
_OPTIONS = (
    ("grpc.max_receive_message_length", POD_RESOURCES_SIZE_BYTES),
    ("grpc.use_local_subchannel_pool", 1),  # what the channel before knew of the socket is of no use
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
)
_NO_ENTRY = "is not there: the kubelet does not run here, or the container does not see the host's; mount its folder, read only"
_DENIED = "permission denied: the socket is root's, and asking takes the right to write to it; run this container as user 0"
_SILENT = "accepts, and the call ended without an answer"


class Kubelet:
    """The kubelet behind the socket at `path`. Nothing is kept open between calls."""

    def __init__(self, path: str, *, answer_s: float = POD_RESOURCES_ANSWER_S) -> None:
        self._path = path
        self._target = f"unix:{quote(os.path.abspath(path))}"
        self._answer_s = answer_s
        self._options = (*_OPTIONS, ("grpc.min_reconnect_backoff_ms", int(2000 * answer_s)))
        """The last is how long gRPC goes on with a connection that nobody greets: else 20 s, with its threads. Longer than we wait, since
        its own end has another status than a deadline."""

    def allocations(self) -> Sequence[Allocation]:
        """What every container of this node has, ALLOCATIONS_MAX + 1 at most; waits until the deadline at most. Raises PodListError."""
        raw = self._list()
        try:
            return list(islice(allocations_in(raw), ALLOCATIONS_MAX + 1))
        except ValueError as error:
            raise PodListError(Reason.PARSE, f"answers with what is no list of pods: {shown(str(error))}") from None

    def _list(self) -> bytes:
        """The answer as it came."""
        try:
            with grpc.insecure_channel(self._target, options=self._options) as channel:
                answer: bytes = channel.unary_unary(METHOD)(b"", timeout=self._answer_s)  # the request has no field
        except grpc.RpcError as error:
            raise self._why(error.code(), error.details() or "") from None
        return answer

    def _why(self, code: grpc.StatusCode, details: str) -> PodListError:
        """Why there is no answer, in the house's words."""
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return PodListError(Reason.TIMEOUT, f"did not answer within {self._answer_s:g} s; see whether the kubelet is well")
        if code is grpc.StatusCode.UNIMPLEMENTED:
            return PodListError(Reason.UNSUPPORTED, "has no pod-resources API v1: the kubelet is older than Kubernetes 1.20")
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return PodListError(Reason.LIMIT, f"the answer is larger than {POD_RESOURCES_SIZE_BYTES >> 20} MiB, or the kubelet is asked "
                                              f"too often: {shown(details)}")  # fmt: skip
        if code is grpc.StatusCode.UNAVAILABLE:
            return self._unavailable(details)
        return PodListError(Reason.IO, f"refuses with {code.name}: {shown(details)}")

    def _unavailable(self, details: str) -> PodListError:
        """That is gRPC's word for whatever is wrong with the connection: try it ourselves, since an errno says which."""
        try:
            if not stat.S_ISSOCK(os.stat(self._path).st_mode):
                return PodListError(Reason.PARSE, "is no socket; jobs.pod_resources names the kubelet's, which is called kubelet.sock")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
                trial.settimeout(self._answer_s)
                trial.connect(self._path)
        except FileNotFoundError:
            return PodListError(Reason.ABSENT, _NO_ENTRY)
        except PermissionError:
            return PodListError(Reason.DENIED, _DENIED)
        except ConnectionRefusedError:
            return PodListError(Reason.LOST, "nobody listens on it: the kubelet is stopped or restarts; it is asked again")
        except OSError as error:
            return PodListError(reason_of(error), error.strerror or str(error))
        return PodListError(Reason.IO, f"{_SILENT}: {shown(details)}")
