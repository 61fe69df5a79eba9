"""One HTTP connection: uvicorn's protocol with the bounds it lacks. Knows deadlines and sizes; knows no path and no listener.

uvicorn parses, keeps connections alive and speaks ASGI; it sets no deadline for a request head, a slow reader or a connection that
sends nothing, and no bound for a head or a pipeline. Each is added here by overriding a parser or transport callback
(docs/decisions/0002-http-server.md).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState


@dataclass(frozen=True, slots=True)
class Limits:
    """What one server grants its peers. Seconds and bytes; each is a bound, none waits for another."""

    connections: int = 512
    """Open connections of all listeners together, those still in their TLS handshake included; one more is closed at once."""
    handshake_s: float = 5
    """For the TLS handshake. With `head_s` it makes 15 s, the longest that a peer who says nothing useful can stay (targets.md P4)."""
    head_s: float = 10
    """From connect, or from the first byte of a later request, to the end of that request's head; more bytes do not extend it."""
    idle_s: float = 65
    """Between a response and the next request: above Prometheus' default scrape interval, so that one connection serves for ever."""
    response_s: float = 30
    """For a peer to take a whole response."""
    head_bytes: int = 16_384
    """Request line and headers, and equally a body, which no path of ours reads."""
    pipelined: int = 32
    """Requests sent ahead of their answers."""
    stop_s: float = 5
    """For open requests once the server was told to stop."""


class HeadTooLargeError(Exception):
    """A request head above `Limits.head_bytes`; raised within the parser, answered with 431."""


class Connection(HttpToolsProtocol):
    """A connection with deadlines. `gone` is called once with the connection when it ends."""

    def __init__(self, config: Config, state: ServerState, limits: Limits, gone: Callable[["Connection"], None]) -> None:
        super().__init__(config, state, {}, asyncio.get_running_loop())
        self.made = False
        """Whether asyncio has shown us the peer; False throughout a TLS handshake, and for ever if that fails."""
        self._limits = limits
        self._gone = gone
        self._due_s: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._message_open = False
        self._unread_bytes = 0
        self._head_bytes = 0
        self._too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A peer is there (for TLS: the handshake is done) and owes us a request head."""
        self.made = True
        super().connection_made(transport)
        self._expect_within(self._limits.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended, by whomever."""
        self._expect_nothing()
        if self._timer is not None:
            self._timer.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)
        self._gone(self)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request. The first of a request start its deadline; later ones do not extend it."""
        if self._due_s is None:
            self._expect_within(self._limits.head_s)
        self._unread_bytes += len(data)
        super().data_received(data)
        if self._unread_bytes > self._limits.head_bytes and not self.transport.is_closing():
            self._too_large = True
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Parser: the first byte of a request."""
        self._message_open = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Parser: a piece of the request target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parser: one header, or one trailer of a chunked body."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Parser: a whole request head; it is answered next, or once those before it are."""
        if len(self.pipeline) >= self._limits.pipelined:
            self.transport.abort()
            return
        self._unread_bytes = 0
        self._expect_within(self._limits.response_s)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Parser: the end of a request."""
        self._message_open = False
        self._unread_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """A response was handed to the transport: wait for the next request, for the rest of one, or for the peer to read and go."""
        super().on_response_complete()
        if self.pipeline or self.transport.is_closing():
            self._expect_within(self._limits.response_s)
        elif self._message_open:
            self._expect_within(self._limits.head_s)
        else:
            self._expect_nothing()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's own words, not ours
        """Refuse what cannot be parsed and close; after the answers to complete requests before it, if any are still open."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
            return
        status, text = (
            ("431 Request Header Fields Too Large", "request too large") if self._too_large else ("400 Bad Request", "not valid HTTP")
        )
        self.transport.write(
            f"HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {len(text) + 1}\r\n"
            f"connection: close\r\n\r\n{text}\n".encode()
        )
        self.transport.close()
        self._expect_within(self._limits.head_s)

    def timeout_keep_alive_handler(self) -> None:
        """No further request in `idle_s`. Not a mere close: that waits for ever for a peer that has not read its response."""
        self.transport.abort()

    def _count(self, size_bytes: int) -> None:
        self._head_bytes += size_bytes
        if self._head_bytes > self._limits.head_bytes:
            self._too_large = True
            raise HeadTooLargeError

    def _expect_within(self, seconds: float) -> None:
        """Move the deadline. A timer that is due sooner stays and looks again when it fires: a timer for each request cost 10 µs [M]."""
        self._due_s = self.loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._due_s:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self.loop.call_at(self._due_s, self._look)

    def _expect_nothing(self) -> None:
        self._due_s = None

    def _look(self) -> None:
        """The timer fired: cut the peer off, or wait on if the deadline has moved since."""
        self._timer = None
        if self._due_s is None:
            return
        if self._due_s <= self.loop.time():
            self.transport.abort()
        else:
            self._timer = self.loop.call_at(self._due_s, self._look)
