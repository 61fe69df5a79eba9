"""Web configuration files: what is read, and one file per mistake, whose first comment lines are the complaint, word for word."""

import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.config.mistake import ConfigError
from exporter.config.web_file import read_web_file
from exporter.model.web_security import OPEN, ClientAuth, Pace, PemFile, PemText, TlsSettings, TlsVersion
from tests.config.test_invalid_files import expected_message
from tests.requires import need_data

FOLDER = Path(__file__).parent / "web_files"
HASH = "$2y$04$mgBQgTBJ7/OX1JTT/McayeaE4tGwSCegPbE0N5LCv.POYVQW1KXMS"
PAIR = "tls_server_config:\n  cert_file: server.crt\n  key_file: /keys/server.key\n"
REFUSED_BY_US = {
    "tls_config_noAuth.requireanyclientcert.good.yml": "tls_server_config.client_auth_type",
    "web_config_noAuth_allCurves.good.yml": "tls_server_config.curve_preferences",
}
"""Good files of the toolkit that ask for what Python's ssl cannot do, and the option that is refused."""
WRONG_WHEN_LOADED = {
    "web_config_noAuth_certPath_invalid.bad.yml",
    "web_config_noAuth_certPath_keyPath_invalid.bad.yml",
    "web_config_noAuth_keyPath_invalid.bad.yml",
    "web_config_auth_clientCAs_missing.bad.yml",
    "web_config_auth_client_san.bad.yaml",
}
"""Bad files of the toolkit whose text is right: files that they name are not there, or a client is turned away."""


def complaint_about(text: str, name: str = "web.yaml") -> str:
    with pytest.raises(ConfigError) as caught:
        read_web_file(text, name)
    return str(caught.value)


def tls_of(text: str, name: str = "/etc/fabric/web.yaml") -> TlsSettings:
    tls = read_web_file(text, name)[0].tls
    assert tls is not None
    return tls


@pytest.mark.parametrize("name", sorted(file.name for file in FOLDER.glob("invalid-*.yaml")))
def test_each_mistake_is_named_with_its_path_and_line(name: str) -> None:
    """The complaint is exactly the file's head."""
    text = (FOLDER / name).read_text(encoding="utf-8")

    assert complaint_about(text, name) == expected_message(FOLDER / name)


@pytest.mark.parametrize("name", sorted(file.name for file in FOLDER.glob("invalid-password-*.yaml")))
def test_no_complaint_repeats_a_password_or_a_hash(name: str) -> None:
    """Complaints end in logs and on screens."""
    said = complaint_about((FOLDER / name).read_text(encoding="utf-8"), name)

    assert not any(secret in said for secret in ("secret-word", HASH[7:20], HASH[35:50], "abcdefgh"))


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "tls_server_config:\nbasic_auth_users: {}\nhttp_server_config:\n",
                                  'tls_server_config: {cert_file: "", key_file: ""}\n', "rate_limit: {interval: 0}\n"])  # fmt: skip
def test_a_file_that_asks_for_nothing_is_legal(text: str) -> None:
    """As in the toolkit: no TLS, no password."""
    assert read_web_file(text, "web.yaml")[0] == OPEN


def test_files_are_relative_to_the_folder_of_the_file() -> None:
    """And not to where the daemon was started; the defaults are the toolkit's."""
    expected = TlsSettings(PemFile("/etc/fabric/server.crt"), PemFile("/keys/server.key"))

    assert tls_of(PAIR) == expected


def test_pem_text_may_stand_in_the_file_and_a_named_file_wins() -> None:
    """As in the toolkit."""
    found = tls_of("tls_server_config:\n  cert: |\n    PEM\n  key: KEY\n  key_file: k.pem\n")

    assert (found.certificate, found.key) == (PemText("PEM\n"), PemFile("/etc/fabric/k.pem"))


def test_every_tls_option_is_read() -> None:
    """Suites become OpenSSL's names, in the order of the file; those of TLS 1.3 choose nothing."""
    found = tls_of(PAIR + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n  client_allowed_sans: [a, '::1']\n"
                   "  min_version: TLS12\n  max_version: TLS13\n  prefer_server_cipher_suites: no\n  curve_preferences: [X25519]\n"
                   "  cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "
                   "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]\n")  # fmt: skip

    ciphers = ("ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-GCM-SHA256")
    expected = TlsSettings(PemFile("/etc/fabric/server.crt"), PemFile("/keys/server.key"), ClientAuth.REQUIRED,
                           PemFile("/etc/fabric/ca.crt"), ("a", "::1"), TlsVersion.TLS12, TlsVersion.TLS13, ciphers,
                           prefers_own_ciphers=False, curves=("X25519",))  # fmt: skip

    assert found == expected


def test_users_headers_and_pace_are_read() -> None:
    """A header without a value is not sent; a number is text."""
    text = (f"basic_auth_users:\n  ann: {HASH}\nrate_limit: {{interval: 1m0.5s, burst: 3}}\nhttp_server_config:\n  http2: off\n  headers:\n"
            "    X-XSS-Protection: 1\n    Content-Security-Policy: ''\n    X-Frame-Options: sameorigin\n")  # fmt: skip

    found = read_web_file(text, "web.yaml")[0]

    assert (found.tls, found.users, found.pace) == (None, {"ann": HASH}, Pace(60.5, 3))
    assert dict(found.headers) == {"X-XSS-Protection": "1", "X-Frame-Options": "sameorigin"}


def test_secrets_are_in_no_repr() -> None:
    """A traceback or a debug line shows reprs."""
    text = f"tls_server_config: {{cert: c, key: topsecret}}\nbasic_auth_users: {{ann: {HASH}}}\n"

    shown = repr(read_web_file(text, "web.yaml")[0])

    assert "topsecret" not in shown
    assert HASH not in shown


def test_places_of_options_are_told() -> None:
    """For what only shows when certificates are loaded."""
    _, places = read_web_file(PAIR, "web.yaml")

    assert places["tls_server_config.key_file"] == "web.yaml:3"


def test_passwords_without_bcrypt_are_refused_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """At start, and not when the first scraper is turned away."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)

    said = complaint_about(f"basic_auth_users:\n  ann: {HASH}\n")

    assert said == "basic_auth_users: passwords need the package bcrypt: pip install 'fabric-exporter[auth]' (web.yaml:1)"


def test_each_file_of_the_toolkit_has_its_outcome() -> None:
    """Its own test files, good and bad, as far as the text decides."""
    files = sorted((need_data() / "web-config").glob("*.y*ml"))
    outcomes = {}
    for file in files:
        try:
            read_web_file(file.read_text(encoding="utf-8"), file.name)
            outcomes[file.name] = ""
        except ConfigError as error:
            outcomes[file.name] = error.mistakes[0].path
    refused = {name for name, path in outcomes.items() if path}
    bad = {name for name in outcomes if ".bad." in name or "junk" in name}

    assert len(files) > 35
    assert refused == (bad - WRONG_WHEN_LOADED) | set(REFUSED_BY_US)
    assert {name: outcomes[name] for name in REFUSED_BY_US} == REFUSED_BY_US


NAMES = ["tls_server_config", "http_server_config", "basic_auth_users", "rate_limit", "headers", "cert", "key_file", "client_auth_type",
         "cipher_suites", "curve_preferences", "min_version", "http2", "X-Frame-Options", "interval", "burst"]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["1s", "TLS12", "deny", HASH])
TREES = st.recursive(
    SCALARS,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), children, max_size=4),
    max_leaves=20,
)


@given(TREES.map(json.dumps) | st.text() | st.lists(st.sampled_from([*NAMES, ": ", "\n", "  ", "- ", "[", "{", "~", HASH])).map("".join))
def test_any_text_is_read_or_refused_in_printable_lines(text: str) -> None:
    """Never another exception, and no control character on a screen."""
    said = ""
    try:
        read_web_file(text, "web.yaml")
    except ConfigError as error:
        said = str(error)

    assert all(line.isprintable() for line in said.split("\n"))
