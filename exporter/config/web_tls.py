"""`tls_server_config` of a web configuration file: names of the format to OpenSSL's, and what is refused because Python's ssl cannot do it.

Opens no file: whether certificates fit is found when they are loaded.
"""

import os
import ssl

from exporter.config.web_nodes import Section
from exporter.model.quoted import shown
from exporter.model.web_security import ClientAuth, Pem, PemFile, PemText, TlsSettings, TlsVersion

KEYS = ("cert", "key", "client_ca", "cert_file", "key_file", "client_auth_type", "client_ca_file", "cipher_suites", "curve_preferences",
        "min_version", "max_version", "prefer_server_cipher_suites", "client_allowed_sans")  # fmt: skip
SWITCH_ON = ("cert", "key", "client_ca", "cert_file", "key_file", "client_auth_type", "client_ca_file")
"""Any of them, not empty, means TLS: TLSConfig.IsEnabled of the toolkit."""
TLS13_SUITES = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Legal names that choose nothing: neither Go nor Python's ssl (before 3.15) lets anybody choose among those of TLS 1.3."""
SUITES = {
    f"TLS_ECDHE_{key}_WITH_{go}": f"ECDHE-{key}-{openssl}"
    for key in ("RSA", "ECDSA")
    for go, openssl in (
        ("AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
        ("CHACHA20_POLY1305", "CHACHA20-POLY1305"),
        ("AES_128_CBC_SHA", "AES128-SHA"),
        ("AES_256_CBC_SHA", "AES256-SHA"),
    )
}
"""Go's tls.CipherSuites() (1.22 and later) to OpenSSL's names; those that Go calls insecure are unknown there too."""
CURVES = {"CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1", "X25519": "X25519"}
LISTED_MAX = 5
"""Unknown names repeated in one complaint."""
UNVERIFIED = ("RequestClientCert", "RequireAnyClientCert", "RequireClientCert")
BUILT_IN = {
    TlsVersion.TLS10: ssl.HAS_TLSv1,
    TlsVersion.TLS11: ssl.HAS_TLSv1_1,
    TlsVersion.TLS12: ssl.HAS_TLSv1_2,
    TlsVersion.TLS13: ssl.HAS_TLSv1_3,
}
SEVERAL_CURVES = hasattr(ssl.SSLContext, "set_groups")
"""Python 3.15 and later."""


def read_tls(section: Section, folder: str) -> TlsSettings | None:
    """What the section asks for; None for no TLS. Mistakes go to the section's list, and what is returned then is of no use."""
    section.only(KEYS)
    if not any(section.text(name) for name in SWITCH_ON):
        for name in section.nodes:
            if name not in SWITCH_ON and name in KEYS:
                section.complain(name, "is given without a certificate, so there would be no TLS; add cert_file and key_file")
                break
        return None
    certificate, key = _pem(section, "cert", folder), _pem(section, "key", folder)
    for name, found in (("cert", certificate), ("key", key)):
        if found is None:
            option = name if name in section.nodes else f"{name}_file"
            section.complain(option, f"missing: TLS needs {name}_file, or {name} with the PEM text")
    auth, ca, sans = _client_auth(section), _pem(section, "client_ca", folder), section.texts("client_allowed_sans")
    if auth is ClientAuth.NONE:
        _refuse_idle(section, has_ca=ca is not None, has_sans=sans is not None)
    minimum, maximum = _version(section, "min_version", TlsVersion.TLS12), _version(section, "max_version", TlsVersion.TLS13)
    if minimum.value > maximum.value:
        section.complain("min_version", f"{minimum.value} is above max_version, {maximum.value}")
    ciphers = _ciphers(section)
    if ciphers == () and maximum is not TlsVersion.TLS13:
        section.complain("cipher_suites", f"names only suites of TLS 1.3, but max_version is {maximum.value}")
    absent = PemText("")
    return TlsSettings(certificate or absent, key or absent, auth, ca, sans, minimum, maximum, ciphers,
                       section.boolean("prefer_server_cipher_suites", default=True), _curves(section))  # fmt: skip


def _pem(section: Section, name: str, folder: str) -> Pem | None:
    """The file where one is named, as in the toolkit; else the text; None for neither."""
    path, text = section.text(f"{name}_file"), section.text(name)
    if "\0" in path:
        section.complain(f"{name}_file", "expected the name of a file, got a NUL character")
        return PemText("")
    if path:
        return PemFile(os.path.join(folder, path))
    return PemText(text) if text else None


def _client_auth(section: Section) -> ClientAuth:
    text = section.text("client_auth_type") or ClientAuth.NONE.value
    names = [policy.value for policy in ClientAuth]
    if text in names:
        return ClientAuth(text)
    if text in UNVERIFIED:
        section.complain("client_auth_type", f"{text} is not supported: Python's ssl verifies every certificate that it asks for; use "
                                             "VerifyClientCertIfGiven or RequireAndVerifyClientCert")  # fmt: skip
    else:
        section.complain("client_auth_type", f"expected {', '.join(names[:-1])} or {names[-1]}, got {shown(text)}")
    return ClientAuth.REQUIRED


def _refuse_idle(section: Section, *, has_ca: bool, has_sans: bool) -> None:
    """Rules for client certificates that nobody is asked for: an open door that looks shut."""
    needs = "needs client_auth_type: VerifyClientCertIfGiven or RequireAndVerifyClientCert"
    if has_ca:
        section.complain("client_ca_file" if section.text("client_ca_file") else "client_ca", needs)
    if has_sans:
        section.complain("client_allowed_sans", needs)


def _version(section: Section, name: str, default: TlsVersion) -> TlsVersion:
    text = section.text(name)
    if not text:
        if section.has(name):
            section.complain(name, "expected TLS10, TLS11, TLS12 or TLS13, got nothing")
        return default
    if text not in TlsVersion.__members__:
        section.complain(name, f"expected TLS10, TLS11, TLS12 or TLS13, got {shown(text)}")
        return default
    if not BUILT_IN[TlsVersion(text)]:
        section.complain(name, f"{text} is not built into this Python's OpenSSL; choose another")
    return TlsVersion(text)


def _ciphers(section: Section) -> tuple[str, ...] | None:
    """OpenSSL's names, those of TLS 1.3 left out; None for an absent or empty list, which leaves OpenSSL's choice."""
    names = section.texts("cipher_suites")
    if not names:
        return None
    unknown = [shown(name) for name in names if name not in SUITES and name not in TLS13_SUITES]
    if unknown:
        section.complain("cipher_suites", f"unknown or insecure: {', '.join(unknown[:LISTED_MAX])}; known are Go's tls.CipherSuites(), as "
                                          "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")  # fmt: skip
    return tuple(dict.fromkeys(SUITES[name] for name in names if name in SUITES))


def _curves(section: Section) -> tuple[str, ...] | None:
    names = section.texts("curve_preferences")
    if not names:
        return None
    unknown = [shown(name) for name in names if name not in CURVES]
    if unknown:
        section.complain("curve_preferences", f"unknown: {', '.join(unknown[:LISTED_MAX])}; known are {', '.join(CURVES)}")
    if len(set(names)) > 1 and not SEVERAL_CURVES:
        section.complain("curve_preferences", "this Python's ssl can be told one curve only (several from 3.15 on); keep one, or none for "
                                              "OpenSSL's own list, which has all of them")  # fmt: skip
    return tuple(dict.fromkeys(CURVES[name] for name in names if name in CURVES))
