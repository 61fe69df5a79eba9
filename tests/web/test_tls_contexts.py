"""TLS settings as a client meets them: versions, suites, curves, and certificates that change while it runs."""

import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.model.web_security import ClosedError, PemFile, PemText, TlsSettings, TlsVersion
from exporter.web.tls import TlsContexts, TlsError
from tests.certificates import Pair, server_pair
from tests.web.serving import METRICS, Served, ask, listening, serving
from tests.web.tls_house import House, client_tls, scrape, served_by


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("tls"))


def problem_of(settings: TlsSettings) -> TlsError:
    with pytest.raises(TlsError) as caught:
        TlsContexts().of(settings)
    return caught.value


@pytest.mark.parametrize(("minimum", "maximum", "client", "passes"), [
    (TlsVersion.TLS12, TlsVersion.TLS13, ssl.TLSVersion.TLSv1_2, True), (TlsVersion.TLS13, TlsVersion.TLS13, ssl.TLSVersion.TLSv1_2, False),
    (TlsVersion.TLS13, TlsVersion.TLS13, ssl.TLSVersion.TLSv1_3, True), (TlsVersion.TLS12, TlsVersion.TLS12, ssl.TLSVersion.TLSv1_3, False),
    (TlsVersion.TLS12, TlsVersion.TLS12, ssl.TLSVersion.TLSv1_2, True), (TlsVersion.TLS12, TlsVersion.TLS13, ssl.TLSVersion.TLSv1_1, False),
    (TlsVersion.TLS11, TlsVersion.TLS13, ssl.TLSVersion.TLSv1_1, True), (TlsVersion.TLS10, TlsVersion.TLS10, ssl.TLSVersion.TLSv1, True),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_versions_are_kept_to(house: House, minimum: TlsVersion, maximum: TlsVersion, client: ssl.TLSVersion, passes: bool) -> None:  # noqa: FBT001
    """The old ones too, where somebody asks for them by name."""
    tls = client_tls(house)
    tls.set_ciphers("DEFAULT:@SECLEVEL=0")
    tls.minimum_version = tls.maximum_version = client

    with served_by(replace(house.settings, minimum=minimum, maximum=maximum)) as served:
        assert scrape(served, tls) == ((200, METRICS) if passes else (0, b""))


def test_suites_are_kept_to_and_none_means_tls_1_3(house: House) -> None:
    """Those of TLS 1.3 cannot be chosen, as in Go."""
    tls = client_tls(house)
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    tls.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
    answers = []
    for ciphers in (("ECDHE-ECDSA-AES256-GCM-SHA384",), ("ECDHE-ECDSA-CHACHA20-POLY1305",), ()):
        with served_by(replace(house.settings, ciphers=ciphers)) as served:
            answers.append((scrape(served, tls)[0], scrape(served, client_tls(house))[0]))

    assert answers == [(200, 200), (0, 200), (0, 200)]


def test_the_curve_is_kept_to(house: House) -> None:
    """A client that has only another one gets no connection."""
    tls = client_tls(house)
    tls.set_ecdh_curve("secp384r1")
    answers = []
    for curve in ("secp384r1", "secp521r1"):
        with served_by(replace(house.settings, curves=(curve,))) as served:
            answers.append(scrape(served, tls)[0])

    assert answers == [200, 0]


def test_an_unknown_curve_or_suite_of_this_openssl_is_said() -> None:
    """An OpenSSL may be built without some."""
    settings = TlsSettings(PemText(""), PemText(""))

    assert problem_of(replace(settings, curves=("nocurve",))).option == "curve_preferences"
    assert problem_of(replace(settings, ciphers=("NO-SUITE",))).option == "cipher_suites"


def test_pem_text_serves_as_files_do(house: House) -> None:
    """Certificate, key and authority in the web configuration file itself."""
    text = replace(house.asking, certificate=PemText(house.server.certificate.read_text()), key=PemText(house.server.key.read_text()),
                   client_ca=PemText(house.ca.certificate.read_text()))  # fmt: skip

    with served_by(text) as served:
        assert scrape(served, client_tls(house, house.client)) == (200, METRICS)


def test_a_new_certificate_counts_from_the_next_connection_on(house: House, tmp_path: Path) -> None:
    """Without a restart; one context serves as long as the files are the same."""
    settings, contexts = _copied(house, tmp_path), TlsContexts()
    with served_by(settings, contexts) as served:
        before = contexts.of(settings)[0]
        same = contexts.of(settings)[0] is before
        shown = _shown_by(served)
        _swap(tmp_path, server_pair(house.folder, "renewed", house.ca))

        renewed = _shown_by(served)

    assert same
    assert (b"renewed" in renewed, b"renewed" in shown) == (True, False)


def test_half_a_swapped_pair_leaves_the_one_of_before(house: House, tmp_path: Path) -> None:
    """Certificate and key are two files, and somebody copies one after the other."""
    settings, contexts = _copied(house, tmp_path), TlsContexts()
    first, nothing_wrong = contexts.of(settings)
    other = server_pair(house.folder, "half", house.ca)
    (tmp_path / "server.crt").write_bytes(other.certificate.read_bytes())

    kept, problem = contexts.of(settings)
    again = contexts.of(settings)[1]
    (tmp_path / "server.key").write_bytes(other.key.read_bytes())
    swapped, right = contexts.of(settings)

    assert nothing_wrong is None
    assert kept is first
    assert (problem, again) == (again, problem)
    assert problem is not None
    assert (problem.option, problem.problem) == ("key_file", f"{tmp_path}/server.key is not the key of the certificate")
    assert swapped is not first
    assert right is None


def test_a_certificate_that_vanishes_leaves_the_one_of_before_but_new_rules_do_not(house: House, tmp_path: Path) -> None:
    """What says who may come in is never out of date."""
    settings, contexts = _copied(house, tmp_path), TlsContexts()
    first, _ = contexts.of(settings)
    (tmp_path / "server.crt").unlink()

    kept, problem = contexts.of(settings)

    assert kept is first
    assert problem is not None
    assert problem.option == "cert_file"
    with pytest.raises(TlsError):
        contexts.of(replace(settings, minimum=TlsVersion.TLS13))


def test_a_server_whose_certificate_has_run_out_serves_whoever_does_not_mind(house: House) -> None:
    """As in Go: the client decides, and its error says why."""
    late = server_pair(house.folder, "late-server", house.ca, run_out=True)
    settings = TlsSettings(PemFile(str(late.certificate)), PemFile(str(late.key)))
    careless = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    careless.check_hostname, careless.verify_mode = False, ssl.CERT_NONE

    with served_by(settings) as served:
        assert scrape(served, client_tls(house))[0] == 0
        assert scrape(served, careless)[0] == 200


def test_what_cannot_be_used_is_said_with_its_option(house: House, tmp_path: Path) -> None:
    """One line each, and no line of a key."""
    key, cert = str(house.server.key), str(house.server.certificate)
    encrypted = tmp_path / "encrypted.key"
    encrypted.write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n")
    broken = tmp_path / "broken.crt"
    broken.write_text("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    none = str(tmp_path / "none")
    cases = {
        f"cert_file: cannot read {none}: No such file or directory": TlsSettings(PemFile(none), PemFile(key)),
        f"key_file: cannot read {none}: No such file or directory": TlsSettings(PemFile(cert), PemFile(none)),
        f"cert_file: cannot read {tmp_path}: not a regular file": TlsSettings(PemFile(str(tmp_path)), PemFile(key)),
        f"cert_file: {key} holds no certificate in PEM form": TlsSettings(PemFile(key), PemFile(key)),
        f"key_file: {cert} holds no private key in PEM form": TlsSettings(PemFile(cert), PemFile(cert)),
        "key: the text holds no private key in PEM form": TlsSettings(PemFile(cert), PemText("secret")),
        f"key_file: {house.client.key} is not the key of the certificate": TlsSettings(PemFile(cert), PemFile(str(house.client.key))),
        f"key_file: {encrypted} is encrypted, and nobody is there to be asked; store it without a passphrase":
            TlsSettings(PemFile(cert), PemFile(str(encrypted))),
        f"client_ca_file: {key} holds no certificate of an authority in PEM form": replace(house.asking, client_ca=PemFile(key)),
        f"client_ca_file: cannot read {none}: No such file or directory": replace(house.asking, client_ca=PemFile(none)),
    }  # fmt: skip

    said = [f"{error.option}: {error.problem}" for error in map(problem_of, cases.values())]

    assert said == list(cases)
    assert problem_of(TlsSettings(PemFile(str(broken)), PemFile(key))).problem.startswith(f"{broken} and its key cannot be used: ")


def test_a_closed_door_closes_the_connection_and_not_the_server(house: House) -> None:
    """While nobody may come in, everybody is closed at once."""
    shut = [True]

    def context() -> ssl.SSLContext:
        if shut[0]:
            raise ClosedError
        return TlsContexts().of(house.settings)[0]

    with serving(listening("127.0.0.1:0", tls=context)) as served:
        closed = [ask(served)[0] for _ in range(3)]
        shut[0] = False

        assert closed == [0, 0, 0]
        assert scrape(served, client_tls(house)) == (200, METRICS)


def _copied(house: House, folder: Path) -> TlsSettings:
    """Settings of a pair in that folder, which a test may change."""
    _swap(folder, house.server)
    return TlsSettings(PemFile(str(folder / "server.crt")), PemFile(str(folder / "server.key")))


def _swap(folder: Path, pair: Pair) -> None:
    (folder / "server.crt").write_bytes(pair.certificate.read_bytes())
    (folder / "server.key").write_bytes(pair.key.read_bytes())


def _shown_by(served: Served) -> bytes:
    """The certificate that a new connection is shown, in DER."""
    careless = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    careless.check_hostname, careless.verify_mode = False, ssl.CERT_NONE
    with served.connect() as plain, careless.wrap_socket(plain) as peer:
        return peer.getpeercert(binary_form=True) or b""
