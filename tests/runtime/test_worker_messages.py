"""How a message is framed on the socket between daemon and child, and what becomes of a torn one."""

import pickle
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.fault import Reason
from exporter.model.metric import Cadence
from exporter.runtime.worker_messages import (
    MESSAGE_MAX_BYTES,
    ClosedError,
    NotScanned,
    Parting,
    ReadRequest,
    ScanAnswer,
    ScanRequest,
    Setup,
    receive,
    receive_object,
    send,
    send_object,
)
from exporter.sources.nvlink import NodeFacts

BOUND_S = 30.0
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Both ends."""
    one, two = socket.socketpair()
    with one, two:
        one.settimeout(BOUND_S)
        two.settimeout(BOUND_S)
        yield one, two


@given(st.lists(st.binary(max_size=2_000), max_size=5), st.integers(1, 7))
def test_messages_keep_their_bounds_however_they_are_cut(messages: list[bytes], size: int) -> None:
    """Several at once, empty ones too, arriving in pieces of any size."""
    assert round_trip(messages, size) == messages


def round_trip(messages: list[bytes], size: int) -> list[bytes]:
    """What comes out at the other end of a socket on which so many bytes arrive at a time."""
    near, far = socket.socketpair()
    with near, far:
        for message in messages:
            send(near, message)
        near.shutdown(socket.SHUT_WR)
        return [receive(Slow(far, size)) for _ in messages]  # type: ignore[arg-type]  # a socket for all that is asked of it


class Slow:
    """A socket that gives so many bytes at a time."""

    def __init__(self, inner: socket.socket, size: int) -> None:
        self._inner = inner
        self._size = size

    def recv(self, size: int) -> bytes:
        """At most so many."""
        return self._inner.recv(min(size, self._size))


def test_a_message_larger_than_the_sockets_buffer_crosses(pair: Pair) -> None:
    """As the first one of a large node."""
    large = bytes(5_000_000)
    thread = threading.Thread(target=send, args=(pair[0], large))
    thread.start()
    found = receive(pair[1])
    thread.join(BOUND_S)

    assert found == large


@pytest.mark.parametrize(
    "value",
    [
        Setup("m:f", ("/lib", 1), ("gpu0",), (), {}, {"GPU-a": frozenset({1})}, full=True, xid_events=False, with_processes=True),
        ScanRequest({"0000:1b:00.0": "gpu0"}),
        ReadRequest(("gpu0",), (Cadence.FAST, Cadence.SLOW)),
        ScanAnswer({"gpu0": tuple(Cadence)}, ("0000:43:00.0",), {}, NodeFacts({"0000:1b:00.0": 2}, {0: "gpu0"}, {"gpu0": (1, 2)})),
        Parting(NotScanned(), Reason.DRIVER, "why"),
    ],
)
def test_every_message_crosses_as_it_is(pair: Pair, value: object) -> None:
    """And as the type it was: that is what the other end goes by."""
    send_object(pair[0], value)
    found = receive_object(pair[1])

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 9, 20])
def test_a_torn_message_is_the_end(pair: Pair, cut: int) -> None:
    """In the length, behind it, in the payload: never half a message."""
    whole = struct.pack("=Q", 13) + b"thirteen byte"
    pair[0].sendall(whole[:cut])
    pair[0].close()

    with pytest.raises(ClosedError):
        receive(pair[1])


@pytest.mark.parametrize("length", [MESSAGE_MAX_BYTES + 1, 2**63, 2**64 - 1])
def test_a_length_that_no_message_has_is_the_end(pair: Pair, length: int) -> None:
    """Not a wait for so many bytes, nor the memory for them."""
    pair[0].sendall(struct.pack("=Q", length))

    with pytest.raises(ClosedError, match=str(length)):
        receive(pair[1])


def test_to_nobody_nothing_can_be_sent(pair: Pair) -> None:
    """The other process is gone."""
    pair[1].close()

    with pytest.raises(ClosedError):
        send(pair[0], b"anybody there")


def test_a_connection_that_was_reset_is_the_end(pair: Pair) -> None:
    """The other end went away with something of ours unread."""
    send(pair[0], b"unread")
    pair[1].close()

    with pytest.raises(ClosedError):
        receive(pair[0])


def test_silence_is_a_timeout(pair: Pair) -> None:
    """Also in the midst of a message; and on an end that takes nothing any more."""
    for sock in pair:
        sock.settimeout(0.01)
    pair[0].sendall(struct.pack("=Q", 13) + b"thirteen")

    with pytest.raises(TimeoutError):
        receive(pair[1])
    with pytest.raises(TimeoutError):
        send(pair[0], bytes(50_000_000))


def test_a_message_is_a_length_and_a_pickle(pair: Pair) -> None:
    """Eight bytes in the machine's own order, then the value."""
    send_object(pair[0], "value")
    pair[0].shutdown(socket.SHUT_WR)
    raw = b"".join(iter(lambda: pair[1].recv(100), b""))

    assert struct.unpack("=Q", raw[:8]) == (len(raw) - 8,)
    assert pickle.loads(raw[8:]) == "value"  # noqa: S301  # made above
