"""A real server on real sockets for a test: its loop runs in a thread of the test, its clients are blocking sockets.

`exchange` speaks raw bytes, because much of what is tested no HTTP client would send.
"""

import asyncio
import logging
import os
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from exporter.model.address import parse_address
from exporter.web.bind import bind
from exporter.web.connection import Answering, Limits
from exporter.web.routes import Routes
from exporter.web.server import Listener, Tls, serve

PATIENCE_S = 20.0
"""How long a test waits for something that should happen; never a measure of how soon it did."""
METRICS = b"fabric_exporter_series 1\n"
SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Body:
    """A page for Routes."""

    body: bytes = METRICS
    content_type: str = "text/plain; version=0.0.4; charset=utf-8"
    content_encoding: str | None = None


def routes_with(body: bytes = METRICS) -> Routes:
    """Routes that work, with this text as metrics."""
    return Routes.of(
        metrics=lambda _query, _accept, _encoding: Body(body),
        healthy=lambda: (True, "healthy"),
        ready=lambda: (True, "ready"),
        landing=lambda: b"<!DOCTYPE html>",
    )


def listening(text: str, routes: Answering | None = None, tls: ssl.SSLContext | Tls | None = None) -> Listener:
    """The one listener of an address; with one TLS context for ever, or one for each connection."""
    (listener,) = bind(parse_address(text))
    return listener, routes or routes_with(), (lambda: tls) if isinstance(tls, ssl.SSLContext) else tls


@dataclass(slots=True)
class Served:
    """A running server: where its listeners are, and how to stop it."""

    addresses: list[str | tuple[str, int]]
    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event
    thread: threading.Thread
    failed: list[BaseException] = field(default_factory=list)

    def connect(self, index: int = 0) -> socket.socket:
        """A connected client."""
        address = self.addresses[index]
        if isinstance(address, str):
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(PATIENCE_S)
            peer.connect(address)
            return peer
        return socket.create_connection(address, PATIENCE_S)

    def close(self) -> None:
        """Stop and wait until it has stopped."""
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


@contextmanager
def serving(*listeners: Listener, limits: Limits | None = None) -> Iterator[Served]:
    """Serve the listeners (one on a free port of loopback if none) until the end of the block."""
    wanted: Sequence[Listener] = listeners or (listening("127.0.0.1:0"),)
    addresses = [_address(listener) for listener, _, _ in wanted]
    started = threading.Event()
    served = Served(addresses, asyncio.new_event_loop(), asyncio.Event(), threading.Thread(target=lambda: None))

    async def run() -> None:
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        started.set()
        await serve(wanted, limits or Limits(), served.stop)

    def main() -> None:
        try:
            served.loop.run_until_complete(run())
        except BaseException as error:  # noqa: BLE001  # shown to the test in its own thread, below
            served.failed.append(error)
        finally:
            served.loop.close()

    served.thread = threading.Thread(target=main, name="server under test")
    served.thread.start()
    started.wait(PATIENCE_S)
    try:
        yield served
    finally:
        if served.thread.is_alive():
            served.close()
    for error in served.failed:
        raise error


def exchange(peer: socket.socket, sent: bytes) -> bytes:
    """Send, then read until the server closes."""
    try:
        peer.sendall(sent)
    except (BrokenPipeError, ConnectionResetError):
        return b""
    return read_all(peer)


def read_all(peer: socket.socket) -> bytes:
    """Everything until the server closes (or resets); raises TimeoutError if it does not."""
    received = bytearray()
    while True:
        try:
            piece = peer.recv(1 << 16)
        except ConnectionResetError:
            piece = b""
        if not piece:
            return bytes(received)
        received += piece


def ask(served: Served, sent: bytes = SCRAPE, index: int = 0) -> tuple[int, bytes, bytes]:
    """(status, head, body) of one exchange on a fresh connection; status 0 if it was closed without an answer."""
    with served.connect(index) as peer:
        received = exchange(peer, sent)
    return split(received)


def split(received: bytes) -> tuple[int, bytes, bytes]:
    """(status, head, body) of a response, the head in lower case."""
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]) if head else 0, head.lower(), body


def thread_count() -> int:
    """Threads of this process as the kernel counts them."""
    return len(os.listdir("/proc/self/task"))


def _address(listener: socket.socket) -> str | tuple[str, int]:
    name = listener.getsockname()
    if isinstance(name, str):
        return name
    return ("::1" if name[0] == "::" else name[0], name[1])
