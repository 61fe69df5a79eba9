"""TLS, passwords, headers and client certificates of the real daemon, by curl and by a real Prometheus; its file judged beside promtool."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import bcrypt
import pytest

from exporter.cli.web_file import WebFile
from exporter.config.mistake import ConfigError
from tests.certificates import Pair, authority, client_pair, server_pair
from tests.real.daemon import command, environment
from tests.real.listener import fetch
from tests.real.prometheus_server import INSTALL, prometheus_with
from tests.real.secured import TURNED_AWAY, Secured, secured
from tests.requires import need, need_data

PASSWORD = "a long word: with a colon"  # noqa: S105  # invented here
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(8)).decode().replace("$2b$", "$2y$")
USERS = f"basic_auth_users:\n  ann: {HASH}\n"
TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
CLIENTS = TLS + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n"
ANN = ("--user", f"ann:{PASSWORD}")
WEB_FILES = Path(__file__).parents[1] / "config" / "web_files"
NEWER_THAN_PROMTOOL = ("rate_limit", "client_allowed_sans")
"""Keys that the toolkit got after the promtool of Debian 12."""


class House(NamedTuple):
    """An authority, a server's pair, one that has run out, and a client's pair."""

    ca: Pair
    server: Pair
    late: Pair
    client: Pair


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    folder = tmp_path_factory.mktemp("house")
    ca = authority(folder, "ca")
    return House(ca, server_pair(folder, "server", ca), server_pair(folder, "late", ca, run_out=True),
                 client_pair(folder, "client", ca, "DNS:prometheus.example.org"))  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, house: House) -> Path:
    """A folder with server.crt, server.key and ca.crt."""
    put(tmp_path, house.server)
    shutil.copy(house.ca.certificate, tmp_path / "ca.crt")
    return tmp_path


def put(folder: Path, pair: Pair) -> None:
    """Swap the server's pair for that one."""
    shutil.copy(pair.certificate, folder / "server.crt")
    shutil.copy(pair.key, folder / "server.key")


@pytest.fixture
def guarded(folder: Path) -> Iterator[Secured]:
    """A daemon with TLS, a password and a header."""
    with secured(folder, TLS + USERS + "http_server_config: {headers: {X-Frame-Options: deny}}\n") as running:
        yield running


def trust(house: House) -> tuple[str, str]:
    return "--cacert", str(house.ca.certificate)


def test_curl_needs_the_certificate_and_the_password(guarded: Secured, house: House) -> None:
    """Every path asks; plain HTTP on the TLS port is closed; nothing that the daemon says holds a secret."""
    statuses = [guarded.status(*trust(house), *ANN, path=path) for path in ("/metrics", "/", "/-/healthy", "/api/v1/events", "/nowhere")]
    refused = [guarded.status(*trust(house), *user, path=path)
               for path in ("/metrics", "/-/healthy", "/nowhere") for user in ((), ("--user", "ann:no"), ("--user", "bob:no"))]  # fmt: skip
    strangers = [guarded.status(*ANN), guarded.status(*ANN, scheme="http")]
    page = guarded.curl("/", *trust(house), *ANN) + guarded.curl("/metrics", *trust(house), *ANN)

    assert statuses == [200, 200, 200, 200, 404]
    assert refused == [401] * 9
    assert strangers == [TURNED_AWAY, TURNED_AWAY]
    for text in (guarded.log.read_text(), page):
        assert HASH[7:] not in text
        assert PASSWORD not in text


def test_headers_are_on_every_answer(guarded: Secured, house: House) -> None:
    """Also on a 401, which asks for a password."""
    heads = [guarded.curl("/metrics", "--head", *trust(house), *user).lower() for user in (ANN, ())]

    assert ["x-frame-options: deny" in head for head in heads] == [True, True]
    assert ['www-authenticate: basic realm="fabric-exporter"' in head for head in heads] == [False, True]


def test_the_health_address_and_the_control_socket_stay_as_they_are(guarded: Secured) -> None:
    """Kubelet probes and verbs on the node know no password. `healthcheck` asks the health address, where there is one."""
    asked = subprocess.run(command("reload", f"--control-socket={guarded.folder}/control.sock"), capture_output=True, text=True,
                           env=environment(), check=False)  # fmt: skip
    argv = command("healthcheck", f"--web.health-address={guarded.health}", f"--web.config.file={guarded.folder}/web.yaml")
    checked = subprocess.run(argv, capture_output=True, text=True, env=environment(), check=False)

    assert fetch(f"http://{guarded.health}/-/healthy") == "ok\n"
    assert asked.returncode == 0
    assert checked.returncode == 0


def test_healthcheck_speaks_tls_and_says_what_it_lacks(folder: Path) -> None:
    """It asks the listen address where there is no other, and has neither a password nor a certificate."""
    with secured(folder, TLS) as running:
        argv = command("healthcheck", f"--web.listen-address={running.address}", f"--web.config.file={folder}/web.yaml")
        healthy = subprocess.run(argv, capture_output=True, text=True, env=environment(), check=False)
        (folder / "web.yaml").write_text(TLS + USERS)
        asks = subprocess.run(argv, capture_output=True, text=True, env=environment(), check=False)
        (folder / "web.yaml").write_text(CLIENTS + USERS)
        certificate = subprocess.run(argv, capture_output=True, text=True, env=environment(), check=False)

    assert certificate.returncode == 1
    assert "it asks for a client certificate; set web.health_address" in certificate.stdout
    assert (healthy.returncode, healthy.stdout) == (0, f"healthy: {running.address}/-/healthy\n")
    assert asks.returncode == 1
    assert "it asks for a password; set web.health_address" in asks.stdout


def test_certificates_are_swapped_without_a_restart(folder: Path, house: House) -> None:
    """Renewed, run out, half swapped, whole again: each from the next connection on."""
    with secured(folder, TLS) as running:
        good = running.status(*trust(house))
        put(folder, house.late)
        late = [running.status(*trust(house)), running.status("--insecure")]
        shutil.copy(house.server.certificate, folder / "server.crt")
        half = [running.status(*trust(house)), running.status("--insecure")]
        running.logged("is not the key of the certificate")
        put(folder, house.server)
        whole = running.status(*trust(house))
        running.logged("certificate usable again")

    assert (good, late, half, whole) == (200, [TURNED_AWAY, 200], [TURNED_AWAY, 200], 200)


def test_users_change_without_a_restart_and_a_wrong_file_closes_the_door(folder: Path, house: House) -> None:
    """A reload changes nothing about it."""
    with secured(folder, TLS + USERS) as running:
        before = running.status(*trust(house), *ANN)
        (folder / "web.yaml").write_text(TLS + USERS.replace("ann", "eve"))
        renamed = [running.status(*trust(house), *ANN), running.status(*trust(house), "--user", f"eve:{PASSWORD}")]
        (folder / "web.yaml").write_text(TLS)
        emptied = running.status(*trust(house))
        running.logged("basic_auth_users: is gone from")
        (folder / "web.yaml").write_text(TLS + USERS)
        os.kill(running.process.pid, signal.SIGHUP)
        running.logged("configuration reloaded")
        after = [running.status(*trust(house), *ANN), running.status(*trust(house))]
        health = fetch(f"http://{running.health}/-/healthy")

    assert (before, renamed, emptied, after, health) == (200, [401, 200], TURNED_AWAY, [200, 401], "ok\n")


def test_a_client_needs_its_certificate_and_its_name(folder: Path, house: House) -> None:
    """By curl."""
    mine = ("--cert", house.client.certificate, "--key", house.client.key)
    answers = []
    with secured(folder, CLIENTS) as running:
        for sans in ("", "  client_allowed_sans: [prometheus.example.org]\n", "  client_allowed_sans: [other.example.org]\n"):
            (folder / "web.yaml").write_text(CLIENTS + sans)
            answers.append((running.status(*trust(house), *mine), running.status(*trust(house))))

        running.logged("TLS clients are turned away, the last one, 127.0.0.1: ")

    assert answers == [(200, TURNED_AWAY), (200, TURNED_AWAY), (TURNED_AWAY, TURNED_AWAY)]


def test_prometheus_scrapes_with_its_own_tls_config_and_basic_auth(folder: Path, house: House, tmp_path: Path) -> None:
    """Up with the certificate, the password and its own certificate; down, and saying why, without one of them."""
    with_ca = {"ca_file": str(house.ca.certificate), "server_name": "localhost"}
    with_pair = {**with_ca, "cert_file": str(house.client.certificate), "key_file": str(house.client.key)}
    ann = {"username": "ann", "password": PASSWORD}
    with secured(folder, CLIENTS + USERS) as running:
        jobs = [
            _job("right", running.address, tls_config=with_pair, basic_auth=ann),
            _job("wrong_password", running.address, tls_config=with_pair, basic_auth={**ann, "password": "no"}),
            _job("no_password", running.address, tls_config=with_pair),
            _job("no_client_certificate", running.address, tls_config=with_ca, basic_auth=ann),
            _job("no_authority", running.address, tls_config={**with_pair, "ca_file": str(house.client.certificate)}, basic_auth=ann),
        ]
        settings = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": jobs}
        (tmp_path / "prometheus").mkdir()
        with prometheus_with(settings, tmp_path / "prometheus") as server:
            server.query_until('fabric_exporter_simulated{job="right"} == 1')
            server.scraped()
            up = {labels["job"]: value for labels, value in server.query_until("up")}
            errors = {target["labels"]["job"]: target["lastError"] for target in server.document("targets")["data"]["activeTargets"]}

    assert up == {"right": 1, "wrong_password": 0, "no_password": 0, "no_client_certificate": 0, "no_authority": 0}
    assert "401" in errors["wrong_password"]
    assert "401" in errors["no_password"]
    assert "certificate" in errors["no_authority"]


def test_prometheus_says_that_a_certificate_has_run_out(folder: Path, house: House, tmp_path: Path) -> None:
    """A server that was started with one serves; who verifies stays away and says why."""
    put(folder, house.late)
    with secured(folder, TLS) as running:
        job = _job("late", running.address, tls_config={"ca_file": str(house.ca.certificate), "server_name": "localhost"})
        settings = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [job]}
        (tmp_path / "prometheus").mkdir()
        with prometheus_with(settings, tmp_path / "prometheus") as server:
            [target] = server.scraped()

    assert target.health == "down"
    assert "expired" in target.error


@pytest.mark.parametrize("text", ["tls_server_config:\n  cert_file: none.crt\n  key_file: server.key\n", "basic_auth_users:\n  ann: doe\n"])
def test_a_wrong_file_ends_the_start_with_its_line(folder: Path, text: str) -> None:
    """Exit 3, one line with path and line, no traceback."""
    (folder / "web.yaml").write_text(text)
    argv = command("run", "--web.listen-address=127.0.0.1:0", f"--state-dir={folder}/state", f"--web.config.file={folder}/web.yaml")
    done = subprocess.run(argv, capture_output=True, text=True, env=environment(), timeout=60, check=False)

    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert f"({folder}/web.yaml:2)" in done.stderr


def test_nothing_passes_here_that_promtool_refuses(folder: Path) -> None:
    """Our own wrong files and the toolkit's test files, beside `promtool check web-config`, which reads them with the toolkit itself."""
    promtool = need("promtool", INSTALL)
    for name in ("client_selfsigned.pem", "client2_selfsigned.pem"):
        shutil.copy(folder / "ca.crt", folder / name)
    files = [*WEB_FILES.glob("*.yaml"), *(need_data() / "web-config").glob("*.y*ml")]
    passed_here = []
    for file in files:
        copy = Path(shutil.copy(file, folder / file.name))
        refused = subprocess.run([promtool, "check", "web-config", copy], capture_output=True, check=False).returncode
        if refused and not any(key in copy.read_text() for key in NEWER_THAN_PROMTOOL) and _is_right(copy):
            passed_here.append(file.name)

    assert len(files) > 90
    assert passed_here == []


def _is_right(file: Path) -> bool:
    try:
        WebFile(str(file))
    except ConfigError:
        return False
    return True


def _job(name: str, address: str, **more: Mapping[str, Any]) -> dict[str, Any]:
    return {"job_name": name, "scheme": "https", "static_configs": [{"targets": [address]}], **more}
