"""What the daemon and its NVML child say to each other, and how a message is framed on their socket. No process, no driver."""

import pickle
import socket
import struct
from collections.abc import Mapping
from typing import NamedTuple

from exporter.model.expected_links import Expected
from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.sources.nvlink import NodeFacts

_LENGTH = struct.Struct("=Q")
MESSAGE_MAX_BYTES = 64 << 20


class Setup(NamedTuple):
    """The first message: everything the child needs, in plain values. `opener` names the function (`package.module:function`) that makes
    the Nvml session out of a monotonic clock and `arguments`."""

    opener: str
    arguments: tuple[object, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    configured: Mapping[str, Expected]
    learned: Mapping[str, frozenset[int]]
    full: bool
    xid_events: bool
    with_processes: bool
    with_device_ids: bool = False


class ScanRequest(NamedTuple):
    """Which GPUs are there? `names` are those of all GPUs by PCI address that the daemon knows."""

    names: Mapping[str, str]


class ReadRequest(NamedTuple):
    """Read these GPUs at these cadences."""

    subjects: tuple[str, ...]
    cadences: tuple[Cadence, ...]


class ScanAnswer(NamedTuple):
    """Beside the scan's Snapshot: who can be read at which cadences, addresses without a name, what was learned of links, and what others
    want to know of the GPUs."""

    subjects: Mapping[str, tuple[Cadence, ...]]
    unnamed: tuple[str, ...]
    learned: Mapping[str, frozenset[int]]
    facts: NodeFacts


class NotScanned(NamedTuple):
    """Answer to a ReadRequest: this process is new and has not looked yet which GPUs there are."""


class Parting(NamedTuple):
    """`extra` of a last message: the child ends itself, since only a fresh process may get an answer; why."""

    last: object
    reason: Reason
    detail: str


class ClosedError(Exception):
    """The other end is gone, or does not keep to the framing."""


def send(sock: socket.socket, payload: bytes) -> None:
    """One message. Raises ClosedError; TimeoutError as the socket is set."""
    try:
        sock.sendall(_LENGTH.pack(len(payload)) + payload)
    except TimeoutError:
        raise
    except OSError as error:
        raise ClosedError(str(error)) from None


def send_object(sock: socket.socket, value: object) -> None:
    """A pickled message."""
    send(sock, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))


def receive(sock: socket.socket) -> bytes:
    """The next message whole. Raises ClosedError at the end; TimeoutError as the socket is set."""
    (length,) = _LENGTH.unpack(_exactly(sock, _LENGTH.size))
    if length > MESSAGE_MAX_BYTES:
        raise ClosedError(f"a message of {length} bytes")
    return _exactly(sock, length)


def receive_object(sock: socket.socket) -> object:
    """A pickled message."""
    return pickle.loads(receive(sock))  # noqa: S301  # between a process and its own child, over a socket that nobody else holds


def _exactly(sock: socket.socket, size: int) -> bytes:
    parts: list[bytes] = []
    missing = size
    while missing:
        try:
            part = sock.recv(min(missing, 1 << 20))
        except TimeoutError:
            raise
        except OSError as error:
            raise ClosedError(str(error)) from None
        if not part:
            raise ClosedError("the other end is gone")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
