"""Listeners and their connections on one asyncio loop: accept, bound, hand on, stop. Starts no thread.

Connections are accepted here and not by `loop.create_server`, because only so can those still in their TLS handshake be counted and
closed: asyncio shows a protocol nothing before the handshake is done. Knows no path and no page.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from exporter.model.web_security import ClosedError
from exporter.web.connection import Answering, Connection, Limits

log = logging.getLogger("fabric_exporter.web")

Tls: TypeAlias = Callable[[], ssl.SSLContext | None]
"""Asked for each connection, on the loop: its TLS context, None for plain HTTP. Raises ClosedError where it is to be closed."""

Listener: TypeAlias = tuple[socket.socket, Answering, Tls | None]
"""A listening, non-blocking socket, what it answers, and its TLS (None: plain HTTP for ever)."""

ACCEPT_PAUSE_S = 1.0
"""Rest after accept() failed for want of files or memory: the cause does not go away at once, and trying is a busy loop."""
SAY_AGAIN_S = 60.0
"""How long the log stays quiet about what comes and goes with every connection: a want of files, a client without a certificate."""
ACCEPTS_A_TURN = 32
"""Connections accepted before others get their turn: a flood of them must not starve those already open."""
TLS_CLOSE_S = 2.0
"""How long a closing TLS peer may take for its close_notify; asyncio's own 30 s would keep idle peers past every deadline."""
NO_CERTIFICATE = "PEER_DID_NOT_RETURN_A_CERTIFICATE"

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PEER_FAILED = (errno.ECONNABORTED, errno.EPROTO, errno.EPERM, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH,
                errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.ENONET)  # fmt: skip
"""Errors of the new connection that accept(2) of Linux reports in its own name."""


async def serve(listeners: Sequence[Listener], limits: Limits, stop: asyncio.Event) -> None:
    """Serve until `stop` is set, then finish open requests within `limits.stop_s`. Closes the listening sockets in any case.

    Raises only for a bug in accepting; a peer's misbehaviour costs that peer its connection.
    """
    server = _Server(limits)
    accepting = [asyncio.create_task(server.accept(*listener)) for listener in listeners]
    stopped = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([stopped, *accepting], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await _cancelled([stopped, *accepting])
        for listener, _, _ in listeners:
            listener.close()
        await server.drain()


class _Server:
    """The open connections of all listeners and their bound."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: set[Connection] = set()
        self._connecting: set[asyncio.Task[None]] = set()
        self._taken: dict[Answering, int] = {}
        """Open connections by what they are answered with: the health address keeps places of its own, whoever floods the others."""
        self._none_open = asyncio.Event()
        self._none_open.set()
        self._refusing = False
        self._quiet_until_s = 0.0
        self._turned_away_quiet_until_s = 0.0

    async def accept(self, listener: socket.socket, routes: Answering, tls: Tls | None) -> None:
        """Accept for ever; returns by cancellation only."""
        if listener.family != socket.AF_UNIX:
            # Accepted sockets inherit it. asyncio sets it too, but only where the listener was made with IPPROTO_TCP as its third
            # argument; without it, head and body in two writes meet delayed ACKs: 44 ms a scrape [M].
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            for _ in range(ACCEPTS_A_TURN):
                peer = await self._next_peer(listener)
                if self._is_full(routes):
                    peer.close()
                    continue
                connection = Connection(routes, self._limits, self._forget)
                self._open.add(connection)
                self._taken[routes] = self._taken.get(routes, 0) + 1
                self._none_open.clear()
                task = asyncio.create_task(self._connect(peer, connection, tls))
                self._connecting.add(task)
                task.add_done_callback(partial(self._connected, peer, connection))
            await asyncio.sleep(0)

    async def drain(self) -> None:
        """Close idle connections, wait `stop_s` for the others, then cut them off."""
        await _cancelled(list(self._connecting))
        for connection in list(self._open):
            connection.shutdown()
        try:
            await asyncio.wait_for(self._none_open.wait(), self._limits.stop_s)
        except TimeoutError:
            for connection in list(self._open):
                if connection.transport is not None:
                    connection.transport.abort()
            await asyncio.sleep(0)  # lets the transports run their last callbacks

    async def _next_peer(self, listener: socket.socket) -> socket.socket:
        """The next connection; waits where the process is short of files or memory. Raises OSError for a listener that is broken."""
        while True:
            try:
                peer, _ = await asyncio.get_running_loop().sock_accept(listener)
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    now_s = asyncio.get_running_loop().time()
                    if now_s >= self._quiet_until_s:
                        self._quiet_until_s = now_s + SAY_AGAIN_S
                        _warn("cannot accept connections reason=exhausted: %s", error)
                    await asyncio.sleep(ACCEPT_PAUSE_S)
                elif error.errno not in _PEER_FAILED:
                    raise
            else:
                return peer

    async def _connect(self, peer: socket.socket, connection: Connection, tls: Tls | None) -> None:
        """Turn a socket into a running connection."""
        try:
            context = tls() if tls is not None else None
            who = str(peer.getpeername()[0]) if context is not None and peer.family != socket.AF_UNIX else ""
            timeouts = {"ssl_handshake_timeout": self._limits.handshake_s, "ssl_shutdown_timeout": TLS_CLOSE_S} if context else {}
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, peer, ssl=context, **timeouts)
        except ClosedError:
            return
        except OSError as error:
            log.debug("connection failed: %s", error)
            if isinstance(error, ssl.SSLError) and (isinstance(error, ssl.SSLCertVerificationError) or error.reason == NO_CERTIFICATE):
                self._say_turned_away(who, error)

    def _say_turned_away(self, who: str, error: ssl.SSLError) -> None:
        """Asyncio ends the connection without TLS' alert, so the client cannot tell why; the log does, at most once a minute."""
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._turned_away_quiet_until_s:
            self._turned_away_quiet_until_s = now_s + SAY_AGAIN_S
            why = getattr(error, "verify_message", None) or error.strerror or error
            log.warning("TLS clients are turned away, the last one, %s: %s", who or "unix", why)

    def _connected(self, peer: socket.socket, connection: Connection, task: asyncio.Task[None]) -> None:
        """The end of _connect, even if it never began: a peer that never became a connection gives its place back."""
        self._connecting.discard(task)
        if connection.transport is None:
            peer.close()
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        if connection in self._open:
            self._open.discard(connection)
            self._taken[connection.routes] -= 1
        if not self._open:
            self._none_open.set()
        if self._refusing and len(self._open) <= self._limits.connections // 2:
            self._refusing = False

    def _is_full(self, routes: Answering) -> bool:
        """Whether the bound is reached for what these routes answer; says so in the log when it begins."""
        taken = self._taken.get(routes, 0)
        if taken < self._limits.connections:
            return False
        self._refusing = self._refusing or _warn("refusing connections reason=limit: %d are open", taken)
        return True


def _warn(text: str, what: object) -> bool:
    """Say it in the log; True, so that a flag can keep that it was said: a change of state is logged, not each case."""
    log.warning(text, what)
    return True


async def _cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
