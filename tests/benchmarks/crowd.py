"""P4: 64 scrapers at once on fresh connections, alone and beside 400 half-open connections. Plain HTTP; tls_crowd.py has TLS."""

import selectors
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.benchmarks.figure import Figure, ms
from tests.benchmarks.meter import percentile, status_of
from tests.benchmarks.peers import Peer, daemon, node_exporter
from tests.benchmarks.trees import tree_of

SCRAPERS = 64
HALF_OPEN = 400
BURSTS = 8
REQUEST = b"GET /metrics HTTP/1.1\r\nHost: bench\r\nAccept: text/plain\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
HALF_REQUEST = b"GET /metrics HTTP/1.1\r\nHost: bench\r\nX-"
CLOSED_WITHIN_S = 15.0
LIMIT, LIMIT_BESIDE = 0.20, 1.25


def measure(rounds: int) -> Iterator[Figure]:
    """p99 against node_exporter, p99 beside half-open connections against p99 alone, and what those connections cost."""
    with tree_of(10) as root, ExitStack() as running:
        base, ours = running.enter_context(node_exporter(root)), running.enter_context(daemon(root))
        for peer in (base, ours):
            burst(peer.port)
        threads = status_of(ours.pid, "Threads")
        alone: dict[str, list[float]] = {"base": [], "ours": [], "beside": []}
        failures, threads_more, closed_s = 0, 0, 0.0
        for _ in range(rounds):
            for name, peer in (("base", base), ("ours", ours)):
                p99_s, failed = _p99(peer)
                alone[name].append(p99_s)
                failures += failed if peer is ours else 0
            with _half_open(ours.port) as sockets:
                p99_s, failed = _p99(ours)
                alone["beside"].append(p99_s)
                failures += failed
                threads_more = max(threads_more, status_of(ours.pid, "Threads") - threads)
                if not closed_s:
                    closed_s = closed_after_s(sockets)
    base_s, ours_s, beside_s = (statistics.median(alone[name]) for name in ("base", "ours", "beside"))
    yield Figure("P4", f"{SCRAPERS} scrapers at once, p99", ours_s / base_s, LIMIT, f"node_exporter {ms(base_s)}", ms(ours_s))
    yield Figure("P4", f"the same beside {HALF_OPEN} half-open connections, p99", beside_s / ours_s, LIMIT_BESIDE, f"alone {ms(ours_s)}",
                 ms(beside_s))  # fmt: skip
    yield Figure("P4", "scrapes that failed", failures, 0, "–", f"{failures} of {2 * rounds * BURSTS * SCRAPERS}", "")
    yield Figure("P4", "threads more beside them", threads_more, 0, "–", f"{threads_more}", "")
    yield Figure("P4", "until all of them are closed", closed_s, CLOSED_WITHIN_S, "–", f"{closed_s:.1f} s", "s")


def burst(port: int) -> tuple[list[float], int]:
    """Seconds from the common start to the end of each answer, and how many scrapes failed."""
    selector, failed, left = selectors.DefaultSelector(), 0, SCRAPERS
    times: list[float] = []
    started_s = time.perf_counter()
    for _ in range(SCRAPERS):
        connection = socket.socket()
        connection.settimeout(0)
        connection.connect_ex(("127.0.0.1", port))
        selector.register(connection, selectors.EVENT_WRITE, bytearray())
    while left:
        ready = selector.select(CLOSED_WITHIN_S)
        if not ready:
            return times, failed + left
        for key, events in ready:
            outcome = _step(selector, key, events)
            if outcome is None:
                continue
            left -= 1
            if outcome:
                times.append(time.perf_counter() - started_s)
            else:
                failed += 1
    return times, failed


def _step(selector: selectors.BaseSelector, key: selectors.SelectorKey, events: int) -> bool | None:
    """Move one scraper on. None while it goes on, else whether it got a whole answer of status 200."""
    connection, answer = key.fileobj, key.data
    assert isinstance(connection, socket.socket)
    assert isinstance(answer, bytearray)
    try:
        if events & selectors.EVENT_WRITE:
            connection.sendall(REQUEST)
            selector.modify(connection, selectors.EVENT_READ, answer)
            return None
        data = connection.recv(1 << 20)
    except OSError:
        data = b""
        answer.clear()
    answer += data
    if data:
        return None
    selector.unregister(connection)
    connection.close()
    return answer.startswith(b"HTTP/1.1 200 ")


def _p99(peer: Peer) -> tuple[float, int]:
    times: list[float] = []
    failures = 0
    for _ in range(BURSTS):
        more, failed = burst(peer.port)
        times += more
        failures += failed
        time.sleep(0.02)
    return percentile(times, 0.99), failures


@contextmanager
def _half_open(port: int) -> Iterator[list[tuple[socket.socket, float]]]:
    """Connections that began a request and say no more, each with the time at which it was opened."""
    sockets = []
    try:
        for _ in range(HALF_OPEN):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(HALF_REQUEST)
            sockets.append((connection, time.monotonic()))
        time.sleep(0.3)
        yield sockets
    finally:
        for connection, _ in sockets:
            connection.close()


def closed_after_s(sockets: list[tuple[socket.socket, float]]) -> float:
    """Seconds that the longest of them was let stay; twice the limit if one still is."""
    longest_s = 0.0
    for connection, opened_s in sockets:
        connection.settimeout(max(0.01, opened_s + 2 * CLOSED_WITHIN_S - time.monotonic()))
        try:
            while connection.recv(1024):
                pass
        except TimeoutError:
            return 2 * CLOSED_WITHIN_S
        except OSError:
            pass
        longest_s = max(longest_s, time.monotonic() - opened_s)
    return longest_s
