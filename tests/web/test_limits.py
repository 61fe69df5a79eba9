"""What a peer may cost: half-open, silent and slow peers are closed, the number of connections is bounded, others notice nothing.

Deadlines are shortened by passing other Limits; the tests assert that a peer was closed, never how soon.
"""

import logging
import socket
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from exporter.web.connection import Limits
from exporter.web.routes import Routes
from tests.web.serving import METRICS, SCRAPE, Served, ask, listening, read_all, routes_with, serving, thread_count

HALF = b"GET /metrics HTTP/1.1\r\nHost: n\r\nX-"
BRIEF = Limits(head_s=0.3, idle_s=0.3, response_s=0.3, stop_s=0.3)


def peers_of(served: Served, count: int, sent: bytes, stack: ExitStack) -> list[socket.socket]:
    peers = [stack.enter_context(served.connect()) for _ in range(count)]
    for peer in peers:
        peer.sendall(sent)
    return peers


def test_four_hundred_half_open_peers_do_not_stop_a_scrape_and_are_closed() -> None:
    """No thread for any of them; each is closed by its deadline."""
    limits = Limits(head_s=2)
    with serving(limits=limits) as served, ExitStack() as stack:
        before = thread_count()
        peers = peers_of(served, 400, HALF, stack)
        status, _, body = ask(served)
        after = thread_count()

        assert (status, body, after) == (200, METRICS, before)
        assert {read_all(peer) for peer in peers} == {b""}


@pytest.mark.parametrize("sent", [b"", HALF, b"\r\n", b"POST / HTTP/1.1\r\nHost: n\r\nContent-Length: 9\r\n\r\n"],
                         ids=["silent", "half a head", "an empty line", "no body"])  # fmt: skip
def test_a_peer_that_does_not_finish_is_closed(sent: bytes) -> None:
    """Whatever it began with."""
    with serving(limits=BRIEF) as served, served.connect() as peer:
        peer.sendall(sent)

        read_all(peer)


def test_bytes_that_trickle_do_not_extend_the_deadline() -> None:
    """The classic slow-headers attack: always one more header line."""
    with serving(limits=BRIEF) as served, served.connect() as peer:
        peer.sendall(HALF)
        peer.settimeout(0.02)
        for _ in range(2000):
            try:
                peer.sendall(b"x: x\r\n")
                if peer.recv(1) == b"":
                    return
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                return
    pytest.fail("the server went on listening")


@pytest.mark.parametrize("rest", [b"", HALF], ids=["idle", "half a second request"])
def test_a_kept_connection_is_closed_if_nothing_more_comes(rest: bytes) -> None:
    """After its answer arrived whole."""
    with serving(limits=BRIEF) as served, served.connect() as peer:
        peer.sendall(SCRAPE.replace(b"Connection: close\r\n", b"") + rest)

        assert read_all(peer).endswith(METRICS)


@pytest.mark.parametrize("connection", [b"close", b"keep-alive"])
def test_a_peer_that_does_not_read_its_answer_loses_its_place(connection: bytes) -> None:
    """Neither a full send buffer nor a pending close keeps its connection: the only place becomes free."""
    limits = replace(BRIEF, connections=1)
    with serving(listening("127.0.0.1:0", routes_with(b"x" * 50_000_000)), limits=limits) as served, served.connect() as peer:
        peer.sendall(SCRAPE.replace(b"close", connection))
        peer.recv(1)

        wait_for_a_place(served)


def wait_for_a_place(served: Served) -> None:
    """Returns once the server answers again; the suite's timeout ends a test where it never does."""
    while ask(served, b"GET /-/healthy HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")[0] != 200:
        time.sleep(0.05)


def test_connections_are_bounded_and_free_places_are_used_again(caplog: pytest.LogCaptureFixture) -> None:
    """Above the bound a peer is closed at once, which the log says once; when places are free all is well again."""
    limits = Limits(connections=8, head_s=3600)
    with caplog.at_level(logging.WARNING, "fabric_exporter.web"), serving(limits=limits) as served:
        with ExitStack() as stack:
            for _ in range(8):
                open_one(served, stack)
            refused = [ask(served)[0] for _ in range(5)]
        wait_for_a_place(served)

    assert refused == [0] * 5
    assert ["refusing" in record.message for record in caplog.records] == [True]


def open_one(served: Served, stack: ExitStack) -> None:
    """A connection of which the server certainly knows: it has answered on it."""
    peer = stack.enter_context(served.connect())
    peer.sendall(SCRAPE.replace(b"Connection: close\r\n", b""))
    received = b""
    while not received.endswith(METRICS):
        received += peer.recv(4096)


def test_a_flood_on_the_metrics_port_leaves_the_health_port_its_places() -> None:
    """Else idle peers would get the pod restarted."""
    health = Routes.health_only(lambda: (True, "healthy"), lambda: (True, "ready"))
    listeners = (listening("127.0.0.1:0"), listening("127.0.0.1:0", health))
    with serving(*listeners, limits=Limits(connections=3)) as served, ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(served.connect(index=0))
        flooded = ask(served, index=0)[0]
        answer = ask(served, SCRAPE.replace(b"/metrics", b"/-/healthy"), index=1)[0]

    assert (flooded, answer) == (0, 200)
