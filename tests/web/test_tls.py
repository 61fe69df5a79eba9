"""TLS on real sockets, with a certificate made for the test: peers that idle before or after the handshake cost others nothing."""

import ssl
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.web.connection import Limits
from tests.requires import need
from tests.web.serving import METRICS, PATIENCE_S, SCRAPE, Served, ask, exchange, listening, read_all, serving, split

BRIEF = Limits(handshake_s=1, head_s=1)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(certificate, key) for localhost, signed by itself."""
    openssl = need("openssl", "apt-get install openssl")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture
def server_tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


@pytest.fixture
def client_tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate[0]))


def scrape(served: Served, tls: ssl.SSLContext) -> tuple[int, bytes]:
    with served.connect() as plain, tls.wrap_socket(plain, server_hostname="localhost") as peer:
        status, _, body = split(exchange(peer, SCRAPE))
    return status, body


def test_tls_is_served(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """With a certificate the client verifies."""
    with serving(listening("127.0.0.1:0", tls=server_tls)) as served:
        assert scrape(served, client_tls) == (200, METRICS)


def test_idle_tls_peers_do_not_stop_a_scrape_and_are_closed(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """Silent before the handshake, and silent after it: prometheus_client's own TLS server hangs on the first of these."""
    with serving(listening("127.0.0.1:0", tls=server_tls), limits=BRIEF) as served, ExitStack() as stack:
        silent = [stack.enter_context(served.connect()) for _ in range(30)]
        shaken = [stack.enter_context(client_tls.wrap_socket(served.connect(), server_hostname="localhost")) for _ in range(10)]

        assert scrape(served, client_tls) == (200, METRICS)
        assert [read_all(peer) for peer in silent] == [b""] * 30
        assert [read_tls(peer) for peer in shaken] == [b""] * 10


def test_peers_in_their_handshake_count_towards_the_bound(server_tls: ssl.SSLContext) -> None:
    """The handshake: asyncio shows a protocol nothing before the handshake is done; the bound must hold all the same."""
    limits = Limits(connections=4, handshake_s=3600, stop_s=0.3)
    with serving(listening("127.0.0.1:0", tls=server_tls), limits=limits) as served, ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(served.connect())

        assert ask(served)[0] == 0


def test_plain_http_on_a_tls_port_is_closed_and_others_are_served(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """A failed handshake gives its place back."""
    with serving(listening("127.0.0.1:0", tls=server_tls), limits=Limits(connections=2)) as served:
        answers = [ask(served)[0] for _ in range(8)]
        last = scrape(served, client_tls)

    assert (answers, last) == ([0] * 8, (200, METRICS))


def test_stopping_cuts_off_peers_in_their_handshake(server_tls: ssl.SSLContext) -> None:
    """They are neither waited for nor left open."""
    with (
        serving(listening("127.0.0.1:0", tls=server_tls), limits=Limits(handshake_s=3600, stop_s=0.3)) as served,
        served.connect() as silent,
    ):
        ask(served)
        served.close()

        assert read_all(silent) == b""


def test_a_plain_health_listener_stands_beside_tls(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """Kubelet probes reach one listener, scrapers the other."""
    with serving(listening("127.0.0.1:0", tls=server_tls), listening("127.0.0.1:0")) as served:
        assert scrape(served, client_tls)[0] == ask(served, index=1)[0] == 200


def read_tls(peer: ssl.SSLSocket) -> bytes:
    """What came before the end; a server that cuts a TLS peer off sends no close_notify."""
    peer.settimeout(PATIENCE_S)
    try:
        return peer.recv(4096)
    except (ssl.SSLEOFError, ConnectionResetError):
        return b""
