"""The server on real sockets: several addresses, HTTP as clients really send it, and stopping."""

import re
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from exporter.web.connection import Limits
from exporter.web.routes import Routes
from tests.requires import lacking
from tests.web.serving import METRICS, SCRAPE, Body, ask, exchange, listening, read_all, routes_with, serving, split, thread_count

QUERY = (
    b"GET /metrics?collect[]=a&x=%41 HTTP/1.1\r\nHost: n\r\nConnection: close\r\n"
    b"Accept: a/b\r\naccept: c/d\r\nACCEPT-Encoding: gzip\r\n\r\n"
)


def test_a_scrape_gets_the_page() -> None:
    """200, the type of the page, its bytes."""
    with serving() as served:
        status, head, body = ask(served)

    assert (status, body) == (200, METRICS)
    assert b"content-type: text/plain; version=0.0.4; charset=utf-8" in head


def test_query_and_headers_reach_the_routes() -> None:
    """Names in any case; a header that stands twice is joined as RFC 9110 5.3 says."""
    seen: list[object] = []

    def noting(query: Mapping[str, Sequence[str]], accept: str, encoding: str) -> Body:
        seen.append((dict(query), accept, encoding))
        return Body()

    routes = Routes.of(metrics=noting, healthy=lambda: (True, ""), ready=lambda: (True, ""), landing=lambda: b"")
    with serving(listening("127.0.0.1:0", routes)) as served:
        ask(served, QUERY)

    assert seen == [({"collect[]": ["a"], "x": ["A"]}, "a/b, c/d", "gzip")]


def test_head_has_the_length_and_no_body() -> None:
    """Over the wire as in the routes."""
    with serving() as served:
        status, head, body = ask(served, SCRAPE.replace(b"GET", b"HEAD"))

    assert (status, body) == (200, b"")
    assert b"content-length: %d" % len(METRICS) in head


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /nothing HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", 405),
        (b"DELETE / HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 405),
        (b"OPTIONS * HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 404),
        (b"GET /metrics HTTP/1.0\r\n\r\n", 200),
        (b"GET /%2D/healthy HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 200),
        (b"GET http://n/metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\nHost: n\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", 200),
    ],
)
def test_a_valid_request_gets_its_status(sent: bytes, status: int) -> None:
    """Including HTTP/1.0, an absolute target and an upgrade that nobody offers (which does not close)."""
    with serving(limits=Limits(idle_s=1)) as served:
        assert ask(served, sent)[0] == status


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon here\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: n\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: n\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"NONSENSE / HTTP/1.1\r\n\r\n",
        b"CONNECT n:443 HTTP/1.1\r\nHost: n\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: n\x00\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_malformed_http_is_refused_and_others_are_served(sent: bytes) -> None:
    """400 and close for TLS on a plain port, bad versions, smuggling attempts, …; the next scrape works."""
    with serving() as served:
        assert ask(served, sent)[0] == 400
        assert ask(served)[0] == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nX: " + b"x" * 17_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: x\r\n" * 3_000 + b"\r\n",
        b"GET /" + b"x" * 17_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"x" * 60_000,
    ],
    ids=["one header", "many headers", "target", "unfinished"],
)
def test_an_oversized_head_is_refused_and_others_are_served(sent: bytes) -> None:
    """431, or closed where the peer was still sending; the memory of a head is bounded."""
    with serving() as served:
        assert ask(served, sent)[0] in (431, 0)
        assert ask(served)[0] == 200


def test_an_oversized_body_is_not_read_to_its_end() -> None:
    """No path takes a body: it is answered, then cut off at the bound of a head."""
    sent = b"POST /metrics HTTP/1.1\r\nHost: n\r\nContent-Length: 999999999\r\n\r\n" + b"x" * 200_000
    with serving() as served:
        assert ask(served, sent)[0] in (405, 431, 0)
        assert ask(served)[0] == 200


def test_pipelined_requests_are_answered_in_order() -> None:
    """Each once, on one connection."""
    sent = b"GET /-/healthy HTTP/1.1\r\nHost: n\r\n\r\nGET /nothing HTTP/1.1\r\nHost: n\r\n\r\n" + SCRAPE
    with serving() as served, served.connect() as peer:
        received = exchange(peer, sent)

    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"404", b"200"]
    assert received.endswith(METRICS)


def test_requests_before_a_malformed_one_are_answered() -> None:
    """Then the connection is closed."""
    with serving() as served, served.connect() as peer:
        received = exchange(peer, b"GET /-/healthy HTTP/1.1\r\nHost: n\r\n\r\nnonsense\r\n\r\n")

    assert received.startswith(b"HTTP/1.1 200 ")
    assert received.count(b"HTTP/1.1 200 ") == 1


def test_a_flood_of_pipelined_requests_is_cut_off() -> None:
    """Beyond the bound nothing is queued for a peer that does not read."""
    with serving(limits=Limits(pipelined=4)) as served:
        with served.connect() as peer:
            received = exchange(peer, b"GET /-/healthy HTTP/1.1\r\nHost: n\r\n\r\n" * 500)

        assert received.count(b"HTTP/1.1 200 ") < 500
        assert ask(served)[0] == 200


def test_one_connection_serves_scrape_after_scrape() -> None:
    """As Prometheus uses it."""
    with serving() as served, served.connect() as peer, peer.makefile("rb") as lines:
        for _ in range(5):
            peer.sendall(SCRAPE.replace(b"Connection: close\r\n", b""))
            while lines.readline() != b"\r\n":
                pass
            assert lines.read(len(METRICS)) == METRICS


def test_a_request_in_pieces_is_understood() -> None:
    """TCP knows no messages."""
    with serving() as served, served.connect() as peer:
        for byte in SCRAPE:
            peer.sendall(bytes([byte]))
        assert read_all(peer).endswith(METRICS)


def test_a_large_page_arrives_whole() -> None:
    """Many times what a socket buffer holds."""
    large = bytes(range(256)) * 40_000
    with serving(listening("127.0.0.1:0", routes_with(large))) as served:
        assert ask(served)[2] == large


def test_every_listener_has_its_own_routes(tmp_path: Path) -> None:
    """Two ports, a unix socket and a health port, all by one server."""
    health = Routes.health_only(lambda: (True, "healthy"), lambda: (True, "ready"))
    listeners = (
        listening("127.0.0.1:0", routes_with(b"first\n")),
        listening("127.0.0.1:0", routes_with(b"second\n")),
        listening(f"unix://{tmp_path}/f.sock", routes_with(b"third\n")),
        listening("127.0.0.1:0", health),
    )
    with serving(*listeners) as served:
        answers = [ask(served, index=index) for index in range(4)]

    assert [body for _, _, body in answers[:3]] == [b"first\n", b"second\n", b"third\n"]
    assert answers[3][0] == 404


def test_ipv6_is_served() -> None:
    """On loopback."""
    if not socket.has_dualstack_ipv6():
        lacking("this kernel has no IPv6")
    with serving(listening("[::1]:0")) as served:
        assert ask(served)[0] == 200


def test_serving_starts_no_thread() -> None:
    """However many scrape at once."""
    with serving() as served:
        before = thread_count()
        peers = [served.connect() for _ in range(64)]
        for peer in peers:
            peer.sendall(SCRAPE)
        answers = [split(read_all(peer))[0] for peer in peers]
        after = thread_count()
        for peer in peers:
            peer.close()

    assert (answers, after) == ([200] * 64, before)


def test_stopping_closes_idle_connections_and_listeners() -> None:
    """A kept connection of Prometheus does not hold up a stop."""
    with serving() as served, served.connect() as idle, served.connect() as half_open:
        half_open.sendall(b"GET / HT")
        ask(served)
        served.close()

        assert (read_all(idle), read_all(half_open)) == (b"", b"")
        with pytest.raises(ConnectionRefusedError):
            served.connect()


def test_stopping_does_not_wait_for_a_peer_that_never_reads() -> None:
    """It is cut off when `stop_s` is over; serving() fails the test if the server does not end."""
    routes = routes_with(b"x" * 50_000_000)
    with serving(listening("127.0.0.1:0", routes), limits=Limits(stop_s=0.1)) as served, served.connect() as peer:
        peer.sendall(SCRAPE)
        peer.recv(1)
        served.close()

        assert not served.thread.is_alive()


def test_a_signal_to_stop_before_anyone_came_is_obeyed() -> None:
    """Start, stop, no connection ever."""
    with serving() as served:
        served.close()

        assert threading.current_thread().is_alive()


def test_an_upgrade_is_not_granted_and_costs_one_answer() -> None:
    """Curl --http2 offers one over plain HTTP: a second answer on that connection would belong to nobody."""
    with serving() as served, served.connect() as peer:
        offer = b"GET /-/healthy HTTP/1.1\r\nHost: n\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: A\r\n\r\n"
        received = exchange(peer, offer)

    assert received.count(b"HTTP/1.1 ") == 1
    assert received.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in received
