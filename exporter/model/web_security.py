"""How the door of the daemon is guarded: TLS, users, headers and pace, as a web configuration file asks for them. Values only.

Secrets are in no `repr`, so that no log line and no traceback shows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias


class ClosedError(Exception):
    """Nobody may come in now: what the door asks for is not known. The log says why."""


class ClientAuth(Enum):
    """What is asked of a client's certificate, by the name that a web configuration file gives it."""

    NONE = "NoClientCert"
    IF_GIVEN = "VerifyClientCertIfGiven"
    REQUIRED = "RequireAndVerifyClientCert"


class TlsVersion(Enum):
    """A version of TLS by the name that a web configuration file gives it, oldest first."""

    TLS10 = "TLS10"
    TLS11 = "TLS11"
    TLS12 = "TLS12"
    TLS13 = "TLS13"


@dataclass(frozen=True, slots=True)
class PemFile:
    """PEM text that is read from a file for each new connection."""

    path: str


@dataclass(frozen=True, slots=True)
class PemText:
    """PEM text that stands in the web configuration file itself."""

    text: str = field(repr=False)


Pem: TypeAlias = PemFile | PemText


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """One TLS listener. `client_ca` None: the system's authorities. `ciphers` (up to TLS 1.2) and `curves`, both by OpenSSL's names, None:
    OpenSSL's choice; no cipher at all: TLS 1.3 only. `allowed_sans` None: any certificate that verifies."""

    certificate: Pem
    key: Pem
    client_auth: ClientAuth = ClientAuth.NONE
    client_ca: Pem | None = None
    allowed_sans: tuple[str, ...] | None = None
    minimum: TlsVersion = TlsVersion.TLS12
    maximum: TlsVersion = TlsVersion.TLS13
    ciphers: tuple[str, ...] | None = None
    prefers_own_ciphers: bool = True
    curves: tuple[str, ...] | None = None


class Pace(NamedTuple):
    """A token bucket for all requests together: one more may come each `interval_s`, `burst` of them at once. A burst of 0 lets none in."""

    interval_s: float
    burst: int


@dataclass(frozen=True, slots=True)
class WebSecurity:
    """All that a web configuration file says. `tls` None: plain HTTP. `users`: bcrypt hash by name; none: no password is asked for.
    `headers`: on every answer, names as the file spells them."""

    tls: TlsSettings | None = None
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: tuple[tuple[str, str], ...] = ()
    pace: Pace | None = None


OPEN = WebSecurity()
"""What an empty file says, and no file at all."""
