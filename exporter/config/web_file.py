"""A web configuration file in the format of Prometheus' exporter-toolkit (docs/web-configuration.md there): text to WebSecurity, or every
mistake with its line. Knows the format; opens no certificate. What differs from the toolkit is in docs/security.md.
"""

import os
from collections.abc import Mapping

from exporter.config.mistake import Mistake, error_of
from exporter.config.web_nodes import Section
from exporter.config.web_tls import read_tls
from exporter.config.web_users import read_users
from exporter.config.yaml_lines import parse
from exporter.model.quoted import shown
from exporter.model.web_security import OPEN, Pace, TlsSettings, WebSecurity

TLS, HTTP, USERS, PACE = "tls_server_config", "http_server_config", "basic_auth_users", "rate_limit"
ALLOWED_HEADERS: Mapping[str, tuple[str, ...]] = {
    "Strict-Transport-Security": (),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": (),
    "Content-Security-Policy": (),
}
"""The headers that may be set, and their values where these are few: extraHTTPHeaders of the toolkit's web/handler.go."""
HTTP2_CIPHERS = ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256")
"""One of them must be there for HTTP/2 (RFC 7540, 9.2.2). We speak none, but a file that Go refuses for it is refused here too."""


def read_web_file(text: str, name: str) -> tuple[WebSecurity, Mapping[str, str]]:
    """What the file asks for, and where each option stands (`tls_server_config.cert_file` is at `web.yaml:3`). An empty file is legal.

    Relative names of files start at the file's own folder. Raises ConfigError with every mistake. Secrets are in none of them.
    """
    root = parse(text, name)
    if root is None:
        return OPEN, {}
    mistakes: list[Mistake] = []
    places: dict[str, str] = {}
    top = Section.top(root, name, (TLS, HTTP, USERS, PACE), mistakes, places)
    http = top.section(HTTP, ("http2", "headers"))
    speaks_http2 = http.boolean("http2", default=True)
    tls_section = top.section(TLS, None)
    tls = read_tls(tls_section, os.path.dirname(name))
    if tls is not None and speaks_http2:
        _check_http2(tls, tls_section)
    found = WebSecurity(tls, read_users(top.section(USERS, None)), _headers(http), _pace(top.section(PACE, ("interval", "burst"))))
    if mistakes:
        raise error_of(tuple(mistakes))
    return found, places


def _check_http2(tls: TlsSettings, section: Section) -> None:
    if tls.ciphers is not None and tls.minimum.value < "TLS13" and not set(HTTP2_CIPHERS) & set(tls.ciphers):
        section.complain("cipher_suites", "HTTP/2 needs TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256; "
                                          f"add it, or set {HTTP}.http2 to false")  # fmt: skip


def _headers(http: Section) -> tuple[tuple[str, str], ...]:
    """Those that may be set, in the order of the file; one without a value is not sent."""
    section = http.section("headers", tuple(ALLOWED_HEADERS))
    found = []
    for name, allowed in ALLOWED_HEADERS.items():
        if not section.has(name):
            continue
        value = section.text(name)
        if allowed and value not in allowed:
            section.complain(name, f"expected {' or '.join(allowed)}, got {shown(value)}")
        elif not (value.isascii() and value.isprintable()):
            section.complain(name, f"expected printable ASCII on one line, got {shown(value)}")
        elif value.strip():
            found.append((name, value.strip()))
    return tuple(found)


def _pace(section: Section) -> Pace | None:
    """None where the interval is 0 or absent, as the toolkit has it."""
    interval_s, burst = section.go_duration("interval"), section.whole("burst")
    return Pace(interval_s, burst) if interval_s else None
