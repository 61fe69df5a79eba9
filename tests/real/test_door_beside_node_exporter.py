"""The same web configuration file before our daemon and before node_exporter, which reads it with Prometheus' exporter-toolkit: whoever
knocks, both answer alike."""

import base64
import http.client
from collections.abc import Iterator
from pathlib import Path

import bcrypt
import pytest

from tests.real.listener import FREE_PORT, listener
from tests.real.secured import secured
from tests.requires import need

LONG = b"x" * 80
HASHES = {"ann": b"a:b", "bob": b"", "long": LONG[:72], "münchen": "grün".encode()}
TEXT = (
    "basic_auth_users:\n"
    + "".join(f'  "{name}": {bcrypt.hashpw(word, bcrypt.gensalt(4)).decode()}\n' for name, word in HASHES.items())
    + "http_server_config:\n  headers:\n    X-Frame-Options: sameorigin\n    X-XSS-Protection: 1\n"
    + "    Strict-Transport-Security: max-age=31536000; includeSubDomains\n"
)


def basic(name: str, password: bytes, scheme: str = "Basic") -> str:
    return f"{scheme} " + base64.b64encode(name.encode() + b":" + password).decode()


KNOCKS = {
    "nothing": None,
    "right": basic("ann", b"a:b"),
    "right, again": basic("ann", b"a:b"),
    "scheme in lower case": basic("ann", b"a:b", "basic"),
    "empty password": basic("bob", b""),
    "other letters": basic("münchen", "grün".encode()),
    "72 bytes": basic("long", LONG[:72]),
    "80 bytes, of which 72 count": basic("long", LONG),
    "71 bytes": basic("long", LONG[:71]),
    "wrong password": basic("ann", b"a"),
    "wrong password, again": basic("ann", b"a"),
    "password with NUL": basic("ann", b"a:b\0"),
    "unknown name": basic("nobody", b"fakepassword"),
    "name in another case": basic("Ann", b"a:b"),
    "no name": basic("", b""),
    "no colon": "Basic YW5u",
    "no base64": "Basic a:b",
    "base64 without padding": basic("ann", b"a:b").rstrip("="),
    "another scheme": basic("ann", b"a:b", "Bearer"),
    "scheme alone": "Basic",
    "empty": "",
}
"""Authorization headers by what is special about them."""


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Addresses of our daemon and of node_exporter behind the same file."""
    folder: Path = tmp_path_factory.mktemp("doors")
    theirs = need("prometheus-node-exporter", "apt-get install prometheus-node-exporter")
    with secured(folder, TEXT) as ours:
        argv = [theirs, "--collector.disable-defaults", "--collector.time", f"--web.config.file={folder / 'web.yaml'}", FREE_PORT]
        with listener(argv, folder / "node_exporter.log") as address:
            yield ours.address, address


def answer(address: str, authorization: str | None) -> tuple[int, dict[str, str]]:
    """Status, and the headers that the file or a password asks for; of the challenge its scheme."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request("GET", "/metrics", headers={} if authorization is None else {"Authorization": authorization})
        response = connection.getresponse()
        response.read()
    finally:
        connection.close()
    names = ("x-frame-options", "x-xss-protection", "strict-transport-security", "www-authenticate")
    found = {name: response.headers[name] for name in names if response.headers[name]}
    return response.status, {name: value.partition(" ")[0] if name == "www-authenticate" else value for name, value in found.items()}


@pytest.mark.parametrize("knock", KNOCKS)
def test_both_answer_alike(doors: tuple[str, str], knock: str) -> None:
    """Status, headers of the file, challenge."""
    ours, theirs = (answer(address, KNOCKS[knock]) for address in doors)

    assert ours == theirs
