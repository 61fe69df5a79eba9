"""A kubelet of our own: a real gRPC server on a unix socket, with answers written byte by byte.

    with Kubelet(tmp_path / "kubelet.sock", listed(pod("batch", "worker-0", container("trainer", devices("nvidia.com/gpu", "GPU-…"))))):
        …

The numbers of fields stand here a second time, as text of the wire, so that a wrong one in exporter/ is seen.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import grpc

SERVICE, CALL = "v1.PodResourcesLister", "List"
PROCESSOR_IDS, MEMORY, TOPOLOGY = b"\x1a\x02\x04\x05", b"\x22\x08\x0a\x06memory", b"\x1a\x04\x0a\x02\x08\x01"
"""What a container and its devices have besides: packed cpu_ids (3), memory (4), topology (3) of a NUMA node 1."""


def _field(number: int, payload: bytes) -> bytes:
    """A length-delimited field: tag, length, payload."""
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(number: int) -> bytes:
    low = number & 0x7F
    return bytes([low]) if number < 0x80 else bytes([low | 0x80]) + _varint(number >> 7)


def devices(resource: str, *ids: str) -> bytes:
    """ContainerDevices of a container: resource_name 1, device_ids 2, and a topology."""
    return _field(2, _field(1, resource.encode()) + b"".join(_field(2, one.encode()) for one in ids) + TOPOLOGY)


def claim(driver: str, *names: str, cdi: str = "") -> bytes:
    """DynamicResource of a container: class_name 1, claim_name 2, claim_namespace 3, claim_resources 4, each with CDI devices 1, driver 2,
    pool 3, device 4. Without a driver only CDI devices, as older kubelets tell them."""
    claimed = b"".join(
        _field(4, _field(1, _field(1, (cdi or f"k8s.{driver}/claim=x").encode()))
               + (_field(2, driver.encode()) + _field(3, b"node-1") + _field(4, name.encode()) if driver else b""))
        for name in names
    )  # fmt: skip
    return _field(5, _field(2, b"my-claim") + _field(3, b"batch") + claimed)


def container(name: str, *of_it: bytes) -> bytes:
    """ContainerResources: name 1; devices and claims as above; processors and memory, which nobody here wants."""
    return _field(3, _field(1, name.encode()) + PROCESSOR_IDS + MEMORY + b"".join(of_it))


def pod(namespace: str, name: str, *containers: bytes) -> bytes:
    """PodResources: name 1, namespace 2, containers 3; cpu_ids 4 and memory 5 of the pod since Kubernetes 1.34; and a field of tomorrow."""
    newer = b"\x22\x02\x04\x05" + _field(5, b"\x0a\x06memory") + _field(77, b"of tomorrow") + b"\xf0\x04\x01"
    return _field(1, _field(1, name.encode()) + _field(2, namespace.encode()) + b"".join(containers) + newer)


def listed(*pods: bytes) -> bytes:
    """ListPodResourcesResponse: pods 1."""
    return b"".join(pods)


class Kubelet:
    """Answers `answer` on a socket at `path` while entered. `hangs` makes it keep each caller waiting until the end; `refuses` is the code
    with which it refuses. `asked` counts calls."""

    def __init__(self, path: Path, answer: bytes = b"", *, service: str = SERVICE) -> None:
        self.path = path
        self.answer = answer
        self.hangs = False
        self.refuses: grpc.StatusCode | None = None
        self.asked = 0
        self._ended = threading.Event()
        self._threads = ThreadPoolExecutor(4)
        self._server = grpc.server(self._threads, options=[("grpc.max_send_message_length", -1)])
        handler = grpc.unary_unary_rpc_method_handler(self._list)
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {CALL: handler}),))
        self._server.add_insecure_port(f"unix:{quote(str(path))}")

    def _list(self, request: bytes, context: Any) -> bytes:  # grpc's own, which has no types
        assert request == b"", "the request has no field"
        self.asked += 1
        if self.hangs:
            self._ended.wait(30)
        if self.refuses is not None:
            context.abort(self.refuses, "as told")
        return self.answer

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._server.stop(grace=None).wait()
        self._threads.shutdown()


@contextmanager
def answering(path: Path, answer: bytes) -> Iterator[Kubelet]:
    """One that is there for a moment."""
    with Kubelet(path, answer) as kubelet:
        yield kubelet
