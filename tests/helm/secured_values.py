"""A release behind TLS and a password: its values, and the secrets that its namespace must have for it. Certificates are made anew."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bcrypt

from tests.certificates import Pair, authority, server_pair
from tests.helm.volumes import Files

NAME, PASSWORD = "prometheus", "a long word: with a colon"
TLS_SECRET, LOGIN_SECRET = "fabric-tls", "fabric-login"
SERVER_NAME = "fabric-exporter.monitoring.svc"
"""What the monitor expects in the certificate unless told otherwise."""
COST = 6
"""Of bcrypt: the least that is quick here; `htpasswd -nBC 10` in earnest."""


class Certificates:
    """An authority in `folder`, and certificates for the Service's name that it signs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.authority = authority(folder, "authority")

    def files(self, name: str) -> Files:
        """A new certificate as cert-manager writes its secret; `name` is its common name."""
        pair = server_pair(self.folder, name, self.authority, f"DNS:{SERVER_NAME},DNS:localhost")
        return {
            "tls.crt": pair.certificate.read_bytes(),
            "tls.key": pair.key.read_bytes(),
            "ca.crt": self.authority.certificate.read_bytes(),
        }

    @property
    def ca(self) -> Path:
        """The authority's certificate."""
        return Pair(*self.authority).certificate


def secured_values() -> dict[str, Any]:
    """TLS by a secret of the site, one user, and how the monitor enters."""
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(COST)).decode()
    return {
        "tls": {"enabled": True, "existingSecret": TLS_SECRET},
        "basicAuth": {"enabled": True, "users": {NAME: hashed}, "monitorSecret": {"name": LOGIN_SECRET}},
    }


def secrets(certificates: Certificates) -> Mapping[str, Files]:
    """The namespace's."""
    return {TLS_SECRET: certificates.files("first"), LOGIN_SECRET: {"username": NAME.encode(), "password": PASSWORD.encode()}}
