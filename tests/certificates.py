"""Certificates for tests, made by the openssl program when they are needed; none is kept in the repository."""

import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.requires import need

LONG = ("20200101000000Z", "20491231235959Z")
RUN_OUT = ("20200101000000Z", "20200102000000Z")
CONFIG = """[ca]
default_ca = one
[one]
database = {folder}/index.txt
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = nothing
[nothing]
[authority]
basicConstraints = critical,CA:TRUE
[server]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = serverAuth
{sans}
[client]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = clientAuth
{sans}
"""


class Pair(NamedTuple):
    """PEM files of a certificate and its key."""

    certificate: Path
    key: Path


def authority(folder: Path, name: str) -> Pair:
    """An authority of that name, valid for decades."""
    return _made(folder, name, "authority", None, "", LONG)


def server_pair(folder: Path, name: str, signed_by: Pair, sans: str = "DNS:localhost,IP:127.0.0.1", *, run_out: bool = False) -> Pair:
    """A server's certificate, by default for localhost and 127.0.0.1; `sans` as `client_pair` has them."""
    return _made(folder, name, "server", signed_by, sans, RUN_OUT if run_out else LONG)


def client_pair(folder: Path, name: str, signed_by: Pair, sans: str = "", *, run_out: bool = False) -> Pair:
    """A client's certificate with these alternative names, as openssl spells them: `DNS:prometheus,IP:::1`."""
    return _made(folder, name, "client", signed_by, sans, RUN_OUT if run_out else LONG)


def _made(folder: Path, name: str, usage: str, signed_by: Pair | None, sans: str, valid: tuple[str, str]) -> Pair:
    openssl = need("openssl", "apt-get install openssl")
    pair, request = Pair(folder / f"{name}.crt", folder / f"{name}.key"), folder / f"{name}.csr"
    config = folder / f"{name}.cnf"
    config.write_text(CONFIG.format(folder=folder, sans=f"subjectAltName = {sans}" if sans else ""), encoding="utf-8")
    (folder / "index.txt").write_text("", encoding="utf-8")
    _run(openssl, "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
         "-config", config, "-keyout", pair.key, "-out", request)  # fmt: skip
    signer = ("-selfsign", "-keyfile", pair.key) if signed_by is None else ("-cert", signed_by.certificate, "-keyfile", signed_by.key)
    _run(openssl, "ca", "-batch", "-notext", "-config", config, "-extensions", usage, *signer, "-startdate", valid[0], "-enddate", valid[1],
         "-in", request, "-out", pair.certificate)  # fmt: skip
    return pair


def _run(*argv: str | Path) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
