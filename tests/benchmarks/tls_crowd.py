"""P4 with TLS: 64 scrapers at once on fresh connections, alone and beside 400 idle TLS peers, half of them silent before their handshake.

The scrapers' own handshakes cost about as much as the daemon's and run beside it, in both cases alike.
"""

import selectors
import socket
import ssl
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.crowd import BURSTS, CLOSED_WITHIN_S, HALF_OPEN, LIMIT_BESIDE, REQUEST, SCRAPERS, closed_after_s
from tests.benchmarks.figure import Figure, ms
from tests.benchmarks.meter import percentile, status_of
from tests.benchmarks.peers import daemon
from tests.benchmarks.trees import tree_of


def measure(rounds: int) -> Iterator[Figure]:
    """p99 beside idle peers against p99 alone, scrapes that failed, threads, and when the last idle peer was closed. Raises RuntimeError
    without openssl."""
    with tree_of(10) as root, _web_file() as file, daemon(root, variables={"FABRIC_WEB_CONFIG_FILE": str(file)}) as ours:
        tls = ssl.create_default_context(cafile=str(file.parent / "server.crt"))
        burst(ours.port, tls)
        threads, threads_more, failures, closed_s = status_of(ours.pid, "Threads"), 0, 0, 0.0
        alone: list[float] = []
        beside: list[float] = []
        for number in range(rounds):
            p99_s, failed = _p99(ours.port, tls)
            alone.append(p99_s)
            with _idle(ours.port, tls) as peers:
                beside_s, failed_beside = _p99(ours.port, tls)
                beside.append(beside_s)
                threads_more = max(threads_more, status_of(ours.pid, "Threads") - threads)
                if number == 0:
                    closed_s = closed_after_s(peers)
            failures += failed + failed_beside
    alone_s, both_s = statistics.median(alone), statistics.median(beside)
    yield Figure("P4", f"{SCRAPERS} TLS scrapers at once beside {HALF_OPEN} idle TLS peers, p99", both_s / alone_s, LIMIT_BESIDE,
                 f"alone {ms(alone_s)}", ms(both_s))  # fmt: skip
    yield Figure("P4", "TLS scrapes that failed", failures, 0, "–", f"{failures} of {2 * rounds * BURSTS * SCRAPERS}", "")
    yield Figure("P4", "threads more beside idle TLS peers", threads_more, 0, "–", f"{threads_more}", "")
    yield Figure("P4", "until all idle TLS peers are closed", closed_s, CLOSED_WITHIN_S, "–", f"{closed_s:.1f} s", "s")


@contextmanager
def _web_file() -> Iterator[Path]:
    """A web configuration file with a certificate made for the occasion."""
    with tempfile.TemporaryDirectory(prefix="fabric-bench-") as folder:
        made = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", f"{folder}/server.key", "-out", f"{folder}/server.crt"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode:
            raise RuntimeError(f"openssl made no certificate: {made.stderr[-200:]}")
        file = Path(folder, "web.yaml")
        file.write_text("tls_server_config: {cert_file: server.crt, key_file: server.key}\n")
        yield file


class _Scraper:
    """One scrape over TLS that never waits."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        plain = socket.socket()
        plain.settimeout(0)
        plain.connect_ex(("127.0.0.1", port))
        self.socket = tls.wrap_socket(plain, server_hostname="localhost", do_handshake_on_connect=False)
        self._shaken = False
        self._answer = bytearray()

    def step(self) -> bool | int:
        """Go on: the events to wait for, or whether it got a whole answer of status 200."""
        try:
            if not self._shaken:
                self.socket.do_handshake()
                self._shaken = True
                self.socket.sendall(REQUEST)
            while piece := self.socket.recv(1 << 20):
                self._answer += piece
        except ssl.SSLWantReadError:
            return selectors.EVENT_READ
        except ssl.SSLWantWriteError:
            return selectors.EVENT_WRITE
        except OSError:
            self._answer.clear()
        self.socket.close()
        return self._answer.startswith(b"HTTP/1.1 200 ")


def burst(port: int, tls: ssl.SSLContext) -> tuple[list[float], int]:
    """Seconds from the common start to the end of each answer, and how many scrapes failed."""
    selector, times, left = selectors.DefaultSelector(), [], SCRAPERS
    started_s = time.perf_counter()
    for _ in range(SCRAPERS):
        scraper = _Scraper(port, tls)
        selector.register(scraper.socket, selectors.EVENT_WRITE, scraper)
    while left:
        ready = selector.select(CLOSED_WITHIN_S)
        if not ready:
            break
        for key, _ in ready:
            selector.unregister(key.fileobj)
            outcome = key.data.step()
            if not isinstance(outcome, bool):
                selector.register(key.fileobj, outcome, key.data)
                continue
            left -= 1
            if outcome:
                times.append(time.perf_counter() - started_s)
    selector.close()
    return times, SCRAPERS - len(times)


def _p99(port: int, tls: ssl.SSLContext) -> tuple[float, int]:
    times: list[float] = []
    failures = 0
    for _ in range(BURSTS):
        more, failed = burst(port, tls)
        times += more
        failures += failed
        time.sleep(0.02)
    return percentile(times, 0.99), failures


@contextmanager
def _idle(port: int, tls: ssl.SSLContext) -> Iterator[list[tuple[socket.socket, float]]]:
    """Peers that say nothing, each with the time at which it was opened: those after their handshake first, as they may stay longer."""
    peers: list[tuple[socket.socket, float]] = []
    try:
        for number in range(HALF_OPEN):
            opened_s = time.monotonic()
            plain = socket.create_connection(("127.0.0.1", port))
            peers.append((tls.wrap_socket(plain, server_hostname="localhost") if number < HALF_OPEN // 2 else plain, opened_s))
        time.sleep(0.3)
        yield peers
    finally:
        for peer, _ in peers:
            peer.close()
