"""One HTTP connection: httptools parses, this class bounds and answers. Knows deadlines and sizes; knows no path and no listener.

Borrowed servers were measured first (docs/decisions/0002-http-server.md): their way through a task and an ASGI call for each request costs
twice as much as this one, and each needs its bounds added from outside.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, TypeAlias
from urllib.parse import unquote_to_bytes

import httptools

from exporter.web.routes import Request, Response

JOINED_MAX_BYTES = 65_536
"""Up to here head and body go out in one write: copying them costs less than a second call."""
_RECEIVED = memoryview(bytearray(65_536))
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}

Answer: TypeAlias = "Response | asyncio.Future[Response]"
"""A response, or one that a thread is still making. Such a future ends with a response, never with an exception."""


class Answering(Protocol):
    """What a listener is answered with: `Routes` at once, the control socket's routes when an action has ended."""

    def answer(self, request: Request) -> Answer:
        """The answer to any request; called on the loop, never raises and never waits."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What one server grants its peers. Seconds and bytes; each is a bound, none waits for another."""

    connections: int = 512
    """Open connections of all listeners with the same routes, those still in their TLS handshake included; one more is closed at once.
    The health address and the control socket, which have routes of their own, have as many places of their own."""
    handshake_s: float = 5
    """For the TLS handshake. With `head_s` it makes 15 s, the longest that a peer who says nothing useful can stay (targets.md P4)."""
    head_s: float = 10
    """From connect, or from the first byte of a later request, to the end of that request; more bytes do not extend it."""
    idle_s: float = 65
    """Between a response and the next request: above Prometheus' default scrape interval, so that one connection serves for ever."""
    answer_s: float = 60
    """For an answer that a thread makes. Stopping the reads of a slow device may take seconds; after a minute a person should look."""
    response_s: float = 30
    """For a peer to take a whole response."""
    head_bytes: int = 16_384
    """Request line and headers, and equally a body, which no path of ours reads."""
    pipelined: int = 32
    """Requests sent ahead of their answers."""
    stop_s: float = 5
    """For open requests once the server was told to stop."""


class TooLargeError(Exception):
    """A request above `Limits.head_bytes`; raised within the parser, answered with 431."""


class Connection(asyncio.BufferedProtocol):
    """A connection with deadlines. `gone` is called once with the connection when it ends."""

    def __init__(self, routes: Answering, limits: Limits, gone: Callable[["Connection"], None]) -> None:
        self.transport: asyncio.Transport | None = None
        self.routes = routes
        self._limits = limits
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._until_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._in_request = False
        self._size_bytes = 0
        self._head_bytes = 0
        self._url = b""
        self._accept: list[bytes] = []
        self._accept_encoding: list[bytes] = []
        self._authorization = b""
        self._unsent = False
        self._awaited: asyncio.Future[Response] | None = None
        self._answered = False
        self._answered_at_once = 0
        self._held: deque[tuple[Request, bool]] = deque()
        self._stopping = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A peer is there (for TLS: the handshake is done) and owes us a request."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # for the type checker: listeners make stream transports only
        self.transport = transport
        # So that pause_writing tells whether the peer has taken everything. Not 0: asyncio's TLS transport would pause at once.
        transport.set_write_buffer_limits(high=1)
        self._grant(self._limits.head_s)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # whoever ended it
        """The connection has ended."""
        if self._timer is not None:
            self._timer.cancel()
        self._gone(self)

    def shutdown(self) -> None:
        """The server stops: close now, or after the response that is still going out or being made."""
        self._stopping = True
        if self.transport is not None and not self._busy():
            self.transport.close()

    def pause_writing(self) -> None:
        """The peer has not taken all of a response yet."""
        self._unsent = True
        if self._answered:  # else it is a TLS session ticket that waits, and the first request is still owed
            self._grant(self._limits.response_s)

    def resume_writing(self) -> None:
        """It has now: answer what it asked ahead, then wait for more."""
        self._unsent = False
        if self._answered:
            self._grant(self._limits.idle_s)
        self._go_on()

    def _go_on(self) -> None:
        """Answer what was asked ahead, as far as nothing has to be waited for; then, in a server that stops, close."""
        while self._held and not self._busy():
            self._answer(*self._held.popleft())
        if self._stopping and not self._busy() and self.transport is not None:
            self.transport.close()

    def _busy(self) -> bool:
        """Whether a response is still going out or being made; the next one has to wait for it."""
        return self._unsent or self._awaited is not None

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # requests are small
        """Where the next bytes go: one place for all connections, as each empties it at once."""
        return _RECEIVED

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes of requests. The first of a request start its deadline; later ones do not extend it."""
        data = bytes(_RECEIVED[:nbytes])
        was_in_request = self._in_request
        self._size_bytes += nbytes
        self._answered_at_once = 0
        try:
            self._parser.feed_data(data)
            self._check_size()
        except httptools.HttpParserUpgrade:
            self._refuse(HTTPStatus.BAD_REQUEST, "no upgrade here")
        except httptools.HttpParserCallbackError as error:
            too_large = isinstance(error.__context__, TooLargeError) or isinstance(error.__cause__, TooLargeError)
            self._refuse(*((HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "request too large") if too_large else
                           (HTTPStatus.BAD_REQUEST, "not valid HTTP")))  # fmt: skip
        except TooLargeError:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "request too large")
        except httptools.HttpParserError:
            self._refuse(HTTPStatus.BAD_REQUEST, "not valid HTTP")
        if self._in_request and not was_in_request and not self._busy():
            self._grant(self._limits.head_s)

    def _count(self, size_bytes: int) -> None:
        self._head_bytes += size_bytes
        if self._head_bytes > self._limits.head_bytes:
            raise TooLargeError

    def _check_size(self) -> None:
        if self._in_request and self._size_bytes > self._limits.head_bytes:
            raise TooLargeError

    def on_message_begin(self) -> None:
        """Parser: the first byte of a request."""
        self._in_request = True
        self._url, self._accept, self._accept_encoding, self._authorization = b"", [], [], b""
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Parser: a piece of the request target."""
        self._url += url
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parser: one header, or one trailer of a chunked body. Three concern us; of several authorizations the first, as in Go."""
        self._count(len(name) + len(value) + 4)
        if len(name) == len("accept") and name.lower() == b"accept":
            self._accept.append(value)
        elif len(name) == len("accept-encoding") and name.lower() == b"accept-encoding":
            self._accept_encoding.append(value)
        elif len(name) == len("authorization") and name.lower() == b"authorization" and not self._authorization:
            self._authorization = value

    def on_message_complete(self) -> None:
        """Parser: the end of a request."""
        self._in_request = False
        self._size_bytes = 0
        url = httptools.parse_url(self._url)
        request = Request(
            self._parser.get_method().decode("latin-1"),
            (unquote_to_bytes(url.path) if b"%" in url.path else url.path).decode("utf-8", "replace"),
            (url.query or b"").decode("latin-1"),
            b", ".join(self._accept).decode("latin-1"),
            b", ".join(self._accept_encoding).decode("latin-1"),
            self._authorization.decode("latin-1"),
        )
        self._answer(request, self._parser.should_keep_alive() and not self._parser.should_upgrade())

    def _answer(self, request: Request, keep_alive: bool) -> None:  # noqa: FBT001  # as the parser says it
        """Answer now or when the answer is made, or hold the request while its predecessor's is still being made or going out."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        self._answered_at_once += 1
        if max(self._answered_at_once, len(self._held)) > self._limits.pipelined:
            transport.abort()
            return
        if self._busy():
            self._held.append((request, keep_alive))
            return
        answer = self.routes.answer(request)
        if isinstance(answer, Response):
            self._until_s = self._loop.time() + self._limits.idle_s
            self._reply(transport, answer, keep_alive=keep_alive)
            return
        self._awaited = answer
        self._grant(self._limits.answer_s)
        answer.add_done_callback(lambda made: self._made(made.result(), keep_alive=keep_alive))

    def _made(self, response: Response, *, keep_alive: bool) -> None:
        """A thread has made the answer: send it, if the peer is still there."""
        self._awaited = None
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        self._grant(self._limits.idle_s)
        self._reply(transport, response, keep_alive=keep_alive)
        self._go_on()

    def _reply(self, transport: asyncio.Transport, response: Response, *, keep_alive: bool) -> None:
        self._answered = True
        _send(transport, response, keep_alive=keep_alive and not self._stopping)
        if not keep_alive or self._stopping:
            self._close()

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        """Say why in one line and close: after such bytes the peer and we no longer mean the same by the next ones."""
        self._in_request = False
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        if self._busy():
            transport.close()
            return
        body = f"{text}\n".encode()
        _send(transport, Response(status.value, (("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(body)))), body),
              keep_alive=False)  # fmt: skip
        self._close()

    def _close(self) -> None:
        """Close once the peer has taken the response, and in any case by the deadline of a response."""
        if self.transport is not None:
            self.transport.close()
            self._grant(self._limits.response_s)

    def _grant(self, seconds: float) -> None:
        """The peer has so long. One timer a connection, which looks again when it fires: a new one for each request costs 10 µs [M]."""
        self._until_s = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._until_s:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._until_s, self._look)

    def _look(self) -> None:
        """Abort, and not close: closing waits for a peer that never reads, for ever. Who waits for an answer is told why none came."""
        if self._loop.time() < self._until_s:
            self._timer = self._loop.call_at(self._until_s, self._look)
        elif self._awaited is not None:
            self._awaited = None
            waited = f"not done after {self._limits.answer_s:g} s; it goes on, and the daemon's log says how it ends"
            self._refuse(HTTPStatus.GATEWAY_TIMEOUT, waited)
        elif self.transport is not None:
            self.transport.abort()


def _send(transport: asyncio.Transport, response: Response, *, keep_alive: bool) -> None:
    lines = "".join([f"{name}: {value}\r\n" for name, value in response.headers])
    end = b"\r\n" if keep_alive else b"connection: close\r\n\r\n"
    head = _STATUS_LINES[response.status] + lines.encode("latin-1", "replace") + end
    if len(response.body) <= JOINED_MAX_BYTES:
        transport.write(head + response.body)
    else:
        transport.write(head)
        transport.write(response.body)
