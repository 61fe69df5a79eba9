"""Client certificates on real sockets: whose is verified, which names they need, and what an authority that changes does."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.model.web_security import ClientAuth, PemFile
from exporter.web.tls import TlsContexts
from tests.web.serving import SCRAPE, exchange
from tests.web.tls_house import House, client_tls, scrape, served_by


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize(("pair", "required", "if_given"), [("client", 200, 200), (None, 0, 200), ("late", 0, 0), ("stranger", 0, 0)])
def test_client_certificates_are_verified(house: House, pair: str | None, required: int, if_given: int) -> None:
    """Of the house, none, run out, of a stranger: where one must be shown, and where one may."""
    tls = client_tls(house, getattr(house, pair) if pair else None)
    answers = []
    for policy in (ClientAuth.REQUIRED, ClientAuth.IF_GIVEN):
        with served_by(replace(house.asking, client_auth=policy)) as served:
            answers.append(scrape(served, tls)[0])

    assert answers == [required, if_given]


def test_a_server_without_an_authority_trusts_the_systems(house: House) -> None:
    """Where none is named, as in Go: our own client is a stranger to them."""
    with served_by(replace(house.asking, client_ca=None)) as served:
        assert scrape(served, client_tls(house, house.client))[0] == 0


def test_a_trusted_certificate_need_be_no_authority(house: House) -> None:
    """A client's own certificate in client_ca_file lets that client in, as in Go."""
    with served_by(replace(house.asking, client_ca=PemFile(str(house.client.certificate)))) as served:
        assert scrape(served, client_tls(house, house.client))[0] == 200
        assert scrape(served, client_tls(house, house.nameless))[0] == 0


@pytest.mark.parametrize(("sans", "client", "nameless"), [
    (("prometheus",), 200, 0), (("other", "a@example.org"), 200, 0), (("2001:db8::1",), 200, 0), (("spiffe://x/y",), 200, 0),
    (("Prometheus", "prometheus."), 0, 0), ((), 0, 0), (None, 200, 200),
])  # fmt: skip
def test_a_client_needs_one_of_the_names(house: House, sans: tuple[str, ...] | None, client: int, nameless: int) -> None:
    """Word for word, of any kind; an empty list lets nobody in."""
    with served_by(replace(house.asking, allowed_sans=sans)) as served:
        assert scrape(served, client_tls(house, house.client))[0] == client
        assert scrape(served, client_tls(house, house.nameless))[0] == nameless


def test_names_ask_for_a_certificate_also_where_one_may_be_left_out(house: House) -> None:
    """As in Go; a rule on names that a client passes by showing none would be none."""
    with served_by(replace(house.asking, client_auth=ClientAuth.IF_GIVEN, allowed_sans=("prometheus",))) as served:
        assert scrape(served, client_tls(house))[0] == 0


def test_an_authority_that_cannot_be_read_lets_nobody_in(house: House, tmp_path: Path) -> None:
    """Somebody may just have been taken out of it."""
    ca = tmp_path / "ca.crt"
    ca.write_bytes(house.ca.certificate.read_bytes())
    settings, contexts = replace(house.asking, client_ca=PemFile(str(ca))), TlsContexts()
    with served_by(settings, contexts) as served:
        before = scrape(served, client_tls(house, house.client))[0]
        ca.write_bytes(house.stranger_ca.certificate.read_bytes())
        swapped = scrape(served, client_tls(house, house.client))[0]
        ca.write_text("")
        emptied = [scrape(served, client_tls(house, pair))[0] for pair in (house.client, house.stranger)]
        ca.write_bytes(house.ca.certificate.read_bytes())
        after = scrape(served, client_tls(house, house.client))[0]

    assert (before, swapped, emptied, after) == (200, 0, [0, 0], 200)


def test_an_old_session_is_no_way_in(house: House) -> None:
    """Where clients show certificates no session is resumed: it would outlive the certificate."""
    tls = client_tls(house, house.client)
    with served_by(house.asking) as served:
        with served.connect() as plain, tls.wrap_socket(plain, server_hostname="localhost") as peer:
            exchange(peer, SCRAPE)
            session = peer.session
        with served.connect() as plain, tls.wrap_socket(plain, server_hostname="localhost", session=session) as peer:
            reused = peer.session_reused

    assert reused is False


@pytest.mark.parametrize(("pair", "why"), [
    ("stranger", "unable to get local issuer certificate"), ("late", "certificate has expired"),
    (None, "peer did not return a certificate"), ("nameless", "the client's certificate has no name of client_allowed_sans"),
])  # fmt: skip
def test_the_log_says_why_a_client_is_turned_away(house: House, pair: str | None, why: str, caplog: pytest.LogCaptureFixture) -> None:
    """The client sees a connection that ends. Once a minute, whoever knocks how often."""
    with served_by(replace(house.asking, allowed_sans=("prometheus",))) as served:
        for _ in range(3):
            scrape(served, client_tls(house, getattr(house, pair) if pair else None))

    (said,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert said.startswith("TLS clients are turned away, the last one, 127.0.0.1: ")
    assert why in said
