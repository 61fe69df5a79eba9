"""The web configuration file in force. Read again for each request and each new connection, so that a new certificate, a new user or a new
rule counts at once; what it asks for may grow while the daemon runs, and never quietly vanish. Lives on the daemon's loop.
"""

import hashlib
import logging
import ssl

from exporter.config.mistake import ConfigError, Mistake, error_of
from exporter.config.web_file import TLS, read_web_file
from exporter.config.yaml_lines import SIZE_MAX_BYTES
from exporter.model.web_security import OPEN, ClosedError, WebSecurity
from exporter.web.regular_file import read_regular
from exporter.web.tls import TlsContexts, TlsError

log = logging.getLogger("fabric_exporter.web")

OPTION = "web.config_file"


class WebFile:
    """What a web configuration file says now. Raises ConfigError at first if it, or a certificate that it names, cannot be used."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._contexts = TlsContexts()
        self._in_use: ssl.SSLContext | None = None
        self._places: dict[str, str] = {}
        self._problem = ""
        self._pair_problem = ""
        self._security = OPEN
        content = self._content()
        self._seen = hashlib.sha256(content).digest()
        self._look_into(content)
        if self._security.tls is not None:
            try:
                self._in_use, _ = self._contexts.of(self._security.tls)
            except TlsError as error:
                raise error_of((self._mistake(error),)) from None

    @property
    def summary(self) -> str:
        """What the door asks for, for the log; no secret, no name."""
        words = "TLS" if self._security.tls is not None else "plain HTTP"
        return f"{words}, {'passwords' if self._security.users else 'no passwords'}"

    @property
    def has_tls(self) -> bool:
        """Whether it speaks TLS, by what was read last."""
        return self._security.tls is not None

    def security(self) -> WebSecurity:
        """What is asked for now. Raises ClosedError while the file is wrong, or asks for less than it did."""
        try:
            content = self._content()
            digest = hashlib.sha256(content).digest()
            if digest != self._seen:
                self._seen = digest
                self._look_into(content)
                self._said("")
        except ConfigError as error:
            self._said("; ".join(str(error).splitlines()))
        if self._problem:
            raise ClosedError
        return self._security

    def context(self) -> ssl.SSLContext | None:
        """TLS for a new connection, None for plain HTTP. Raises ClosedError as `security`, and for certificates that cannot be used."""
        tls = self.security().tls
        if tls is None:
            return None
        try:
            context, kept = self._contexts.of(tls)
        except TlsError as error:
            self._pair_said(f"{self._mistake(error)}; nobody can connect until that is mended")
            raise ClosedError from None
        self._pair_said(f"{self._mistake(kept)}; the certificate of before stays in use" if kept is not None else "")
        if context is not self._in_use:
            self._in_use = context
            log.info("new certificate or TLS settings in use")
        return context

    def _content(self) -> bytes:
        """The file. Raises ConfigError; what was seen before is then to be judged anew."""
        try:
            content = read_regular(self._path)
        except OSError as error:
            self._seen = b""
            raise ConfigError(OPTION, f"cannot read {self._path}: {error.strerror or error}") from error
        if len(content) > SIZE_MAX_BYTES:
            self._seen = b""
            raise ConfigError(OPTION, f"{self._path} is larger than {SIZE_MAX_BYTES // 1024} KiB; is this the right file?")
        return content

    def _look_into(self, content: bytes) -> None:
        """Adopt it. Raises ConfigError where it is wrong, or asks for less than what is in force."""
        try:
            found, places = read_web_file(content.decode("utf-8-sig"), self._path)
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise ConfigError(self._path, "not UTF-8 text; save the file as UTF-8", f"{self._path}:{line}") from error
        again = "the daemon was started with it; put it back, or start the daemon anew"
        if self._security.tls is not None and found.tls is None:
            raise ConfigError(TLS, f"is gone from {self._path}, and {again}")
        if self._security.users and not found.users:
            raise ConfigError("basic_auth_users", f"is gone from {self._path}, and {again}")
        self._security, self._places = found, dict(places)

    def _mistake(self, error: TlsError) -> Mistake:
        path = f"{TLS}.{error.option}"
        return Mistake(path, error.problem, self._places.get(path, self._path))

    def _said(self, problem: str) -> None:
        """Log a change between right and wrong, once."""
        if problem and problem != self._problem:
            log.error("every request is refused, the web configuration is wrong: %s", problem)
        elif not problem:
            log.info("web configuration read again: %s", self.summary)
        self._problem = problem

    def _pair_said(self, problem: str) -> None:
        if problem and problem != self._pair_problem:
            log.error("certificate not usable: %s", problem)
        elif self._pair_problem and not problem:
            log.info("certificate usable again")
        self._pair_problem = problem
