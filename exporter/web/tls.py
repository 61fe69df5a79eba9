"""TLS settings to a context that serves. Reads certificates for each new connection, as Prometheus' exporter-toolkit does, and builds a
context only when their bytes have changed. Knows OpenSSL's errors; knows no configuration file and no connection.
"""

import hashlib
import ipaddress
import os
import ssl
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from exporter.model.web_security import ClientAuth, Pem, PemFile, PemText, TlsSettings, TlsVersion
from exporter.web.regular_file import read_regular

VERSIONS = {
    TlsVersion.TLS10: ssl.TLSVersion.TLSv1,
    TlsVersion.TLS11: ssl.TLSVersion.TLSv1_1,
    TlsVersion.TLS12: ssl.TLSVersion.TLSv1_2,
    TlsVersion.TLS13: ssl.TLSVersion.TLSv1_3,
}
OLD_DEFAULT = "DEFAULT"
AT_OLD_LEVEL = ":@SECLEVEL=0"
"""OpenSSL 3 speaks TLS 1.0 and 1.1 at this security level only: they sign with SHA-1."""
_MODES = {ClientAuth.NONE: ssl.CERT_NONE, ClientAuth.IF_GIVEN: ssl.CERT_OPTIONAL, ClientAuth.REQUIRED: ssl.CERT_REQUIRED}


class TlsError(Exception):
    """Settings that cannot serve. `option` is the one at fault (`cert_file`), `problem` one line that shows no secret."""

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(option, problem)
        self.option, self.problem = option, problem


class TlsContexts:
    """The context in use. A certificate or key that cannot be used (half of a pair swapped) does not replace the one in use; what says who
    may come in does: while that is wrong, nobody gets a context."""

    def __init__(self) -> None:
        self._in_use: tuple[TlsSettings, bytes, ssl.SSLContext] | None = None
        self._loaded = b""
        self._refused: tuple[TlsSettings, bytes, TlsError] | None = None

    def of(self, settings: TlsSettings) -> tuple[ssl.SSLContext, TlsError | None]:
        """The context, and what is wrong with the files where it is the one of before. Raises TlsError where there is none to be had."""
        try:
            ca = _read(settings.client_ca, "client_ca") if settings.client_ca is not None else b""
        except TlsError:
            self._in_use = None
            raise
        try:
            return self._fresh(settings, ca), None
        except TlsError as error:
            kept = self._in_use
            if error.option.startswith(("cert", "key")) and kept is not None and kept[:2] == (settings, _digest(ca)):
                return kept[2], error
            raise

    def _fresh(self, settings: TlsSettings, ca: bytes) -> ssl.SSLContext:
        """A context of what the files hold now: the one in use if that is the same. Raises TlsError."""
        certificate, key = _read(settings.certificate, "cert"), _read(settings.key, "key")
        loaded = _digest(certificate, key, ca)
        if self._in_use is not None and self._in_use[0] == settings and self._loaded == loaded:
            return self._in_use[2]
        if self._refused is not None and self._refused[:2] == (settings, loaded):
            raise self._refused[2]
        try:
            context = _context(settings, certificate, key, ca)
        except TlsError as error:
            self._refused = (settings, loaded, error)
            raise
        self._in_use, self._loaded, self._refused = (settings, _digest(ca), context), loaded, None
        return context


class NamedClient(ssl.SSLObject):
    """A handshake that ends well only if the client's certificate has one of the names asked for."""

    allowed: ClassVar[frozenset[str]] = frozenset()

    def do_handshake(self) -> None:
        """As SSLObject's. Raises SSLCertVerificationError for a certificate without an allowed name, and for none."""
        super().do_handshake()
        if self.allowed.isdisjoint(names_of(self)):
            raise ssl.SSLCertVerificationError("the client's certificate has no name of client_allowed_sans")


def names_of(peer: ssl.SSLObject) -> set[str]:
    """The alternative names of a verified peer: DNS, e-mail, URI, and IP addresses in their shortest form, as Go writes them."""
    found: set[str] = set()
    certificate: Mapping[str, Any] = peer.getpeercert() or {}
    for kind, value in certificate.get("subjectAltName", ()):
        if kind in ("DNS", "email", "URI"):
            found.add(str(value))
        elif kind == "IP Address":
            try:
                found.add(str(ipaddress.ip_address(str(value).strip())))
            except ValueError:
                continue
    return found


def _read(pem: Pem, name: str) -> bytes:
    """The PEM text. Raises TlsError."""
    if isinstance(pem, PemText):
        return pem.text.encode("utf-8", "replace")
    try:
        return read_regular(pem.path)
    except OSError as error:
        raise TlsError(f"{name}_file", f"cannot read {pem.path}: {error.strerror or error}") from error


def _digest(*parts: bytes) -> bytes:
    whole = hashlib.blake2b(digest_size=32)
    for part in parts:
        whole.update(hashlib.blake2b(part).digest())
    return whole.digest()


def _context(settings: TlsSettings, certificate: bytes, key: bytes, ca: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    _choose(context, settings)
    _take_pair(context, settings, certificate, key)
    if settings.client_auth is not ClientAuth.NONE:
        _ask_clients(context, settings, ca)
    return context


def _choose(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Versions, ciphers, curves. Raises TlsError for what this OpenSSL has not."""
    minimum = TlsVersion.TLS13 if settings.ciphers == () else settings.minimum
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # TLS 1.0 and 1.1: the operator has asked for them by name
        context.minimum_version, context.maximum_version = VERSIONS[minimum], VERSIONS[settings.maximum]
    is_old = minimum in (TlsVersion.TLS10, TlsVersion.TLS11)
    if settings.ciphers or is_old:
        try:
            context.set_ciphers((":".join(settings.ciphers or ()) or OLD_DEFAULT) + (AT_OLD_LEVEL if is_old else ""))
        except ssl.SSLError as error:
            raise TlsError("cipher_suites", "this OpenSSL has none of these suites") from error
    if not settings.prefers_own_ciphers:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if not settings.curves:
        return
    try:
        if len(settings.curves) == 1:
            context.set_ecdh_curve(settings.curves[0])
        else:
            context.set_groups(":".join(settings.curves))  # type: ignore[attr-defined]  # Python 3.15; web_tls.py lets none through before
    except (ssl.SSLError, ValueError) as error:
        raise TlsError("curve_preferences", "this OpenSSL has no such curve") from error


def _take_pair(context: ssl.SSLContext, settings: TlsSettings, certificate: bytes, key: bytes) -> None:
    """Load certificate and key from memory, so that both are what was read and not what a file holds a moment later. Raises TlsError."""
    cert_option, key_option = (name + ("_file" if isinstance(pem, PemFile) else "") for name, pem in
                               (("cert", settings.certificate), ("key", settings.key)))  # fmt: skip
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        raise TlsError(cert_option, f"{_place(settings.certificate)} holds no certificate in PEM form")
    if b"PRIVATE KEY-----" not in key:
        raise TlsError(key_option, f"{_place(settings.key)} holds no private key in PEM form")
    if b"ENCRYPTED" in key:
        raise TlsError(key_option, f"{_place(settings.key)} is encrypted, and nobody is there to be asked; store it without a passphrase")
    with _in_memory(certificate) as certificate_path, _in_memory(key) as key_path:
        try:
            context.load_cert_chain(certificate_path, key_path, password=lambda: b"")
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise TlsError(key_option, f"{_place(settings.key)} is not the key of the certificate") from error
            raise TlsError(cert_option, f"{_place(settings.certificate)} and its key cannot be used: {_reason(error)}") from error


def _ask_clients(context: ssl.SSLContext, settings: TlsSettings, ca: bytes) -> None:
    """Ask for client certificates. Raises TlsError."""
    context.verify_mode = _MODES[settings.client_auth]
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as in Go: what the file holds is trusted, an authority's root or not
    # Else a client whose certificate has run out, or whose authority was taken out of the file, comes back with its old session.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    if settings.client_ca is None:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    else:
        option = "client_ca_file" if isinstance(settings.client_ca, PemFile) else "client_ca"
        with _in_memory(ca) as path:
            try:
                context.load_verify_locations(path)
            except ssl.SSLError as error:
                raise TlsError(option, f"{_place(settings.client_ca)} holds no certificate of an authority in PEM form") from error
    if settings.allowed_sans is not None:
        # SSLContext makes its connections of this class: the documented place to hook into a handshake.
        context.sslobject_class = type("NamedClient", (NamedClient,), {"allowed": frozenset(settings.allowed_sans)})


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """A path that OpenSSL can open, with that content, on no disk."""
    handle = os.memfd_create("pem", os.MFD_CLOEXEC)
    with open(handle, "wb", buffering=0) as file:
        file.write(content)
        yield f"/proc/self/fd/{handle}"


def _place(pem: Pem) -> str:
    return pem.path if isinstance(pem, PemFile) else "the text"


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "unknown reason").replace("_", " ").lower()
