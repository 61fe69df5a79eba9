"""A house with an authority, a server and clients, and a real server behind TLS settings, for tests of TLS."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from exporter.model.web_security import ClientAuth, ClosedError, PemFile, TlsSettings
from exporter.web.tls import TlsContexts, TlsError
from tests.certificates import Pair, authority, client_pair, server_pair
from tests.web.serving import SCRAPE, Served, exchange, listening, serving, split


class House:
    """An authority with a server's and some clients' certificates, and another authority that nobody trusts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca, self.stranger_ca = authority(folder, "house"), authority(folder, "stranger")
        self.server = server_pair(folder, "server", self.ca)
        self.client = client_pair(folder, "client", self.ca, "DNS:prometheus,email:a@example.org,IP:2001:db8::1,URI:spiffe://x/y")
        self.nameless = client_pair(folder, "nameless", self.ca)
        self.late = client_pair(folder, "late", self.ca, "DNS:prometheus", run_out=True)
        self.stranger = client_pair(folder, "stranger-client", self.stranger_ca, "DNS:prometheus")
        self.settings = TlsSettings(PemFile(str(self.server.certificate)), PemFile(str(self.server.key)))
        self.asking = replace(self.settings, client_auth=ClientAuth.REQUIRED, client_ca=PemFile(str(self.ca.certificate)))


def client_tls(house: House, pair: Pair | None = None) -> ssl.SSLContext:
    """A client that trusts the house, and shows that certificate."""
    context = ssl.create_default_context(cafile=str(house.ca.certificate))
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    return context


@contextmanager
def served_by(settings: TlsSettings, contexts: TlsContexts | None = None) -> Iterator[Served]:
    """A real server on loopback with these settings."""
    kept = contexts or TlsContexts()

    def context() -> ssl.SSLContext:
        try:
            return kept.of(settings)[0]
        except TlsError as error:
            raise ClosedError from error

    with serving(listening("127.0.0.1:0", tls=context)) as served:
        yield served


def scrape(served: Served, tls: ssl.SSLContext) -> tuple[int, bytes]:
    """Status and body; status 0 where the handshake failed or the server turned us away after it."""
    try:
        with served.connect() as plain, tls.wrap_socket(plain, server_hostname="localhost") as peer:
            status, _, body = split(exchange(peer, SCRAPE))
    except (ssl.SSLError, ConnectionResetError, BrokenPipeError):
        return 0, b""
    return status, body
