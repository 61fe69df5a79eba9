"""Where to listen: `:29100`, `127.0.0.1:29100`, `[::1]:29100`, `unix:///run/x.sock?mode=0660`. Text to value and back; opens no socket."""

import ipaddress
import re
from dataclasses import dataclass
from typing import TypeAlias

from exporter.model.quoted import shown

UNIX = "unix://"
UNIX_MODE = 0o660
"""Owner and group may scrape a unix socket unless `?mode=` says otherwise."""
PORT_MAX = 65_535
UNIX_PATH_MAX_BYTES = 107
"""sun_path of unix(7) holds 108 bytes with its closing NUL."""

_TCP = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]:]*):(?P<port>[0-9]{1,5})")
_MODE = re.compile(r"mode=(0?[0-7]{3})")
_HOST = re.compile(r"(?=.{0,253}$)(?:[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?)?")


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP address; `host` is empty for all interfaces and carries no brackets; port 0 lets the kernel choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A unix stream socket: its absolute path and the permission bits of its file."""

    path: str
    mode: int = UNIX_MODE

    def __str__(self) -> str:
        return UNIX + self.path


Address: TypeAlias = TcpAddress | UnixAddress


def parse_address(text: str) -> Address:
    """The address. Raises ValueError saying what was expected."""
    if text.startswith(UNIX):
        return _unix(text)
    match = _TCP.fullmatch(text)
    if not match:
        hint = "; an IPv6 address stands in brackets: [::1]:29100" if text.count(":") > 1 else ""
        raise ValueError(f"expected an address such as :29100, 127.0.0.1:29100, [::1]:29100 or unix:///path, got {shown(text)}{hint}")
    port = int(match["port"])
    if port > PORT_MAX:
        raise ValueError(f"expected a port of at most {PORT_MAX}, got {shown(text)}")
    return TcpAddress(_host(match["host"], text), port)


def _unix(text: str) -> UnixAddress:
    path, _, query = text.removeprefix(UNIX).partition("?")
    if not path.startswith("/") or path.endswith("/") or "\0" in path:
        raise ValueError(f"expected an absolute path after unix://, as in unix:///run/fabric-exporter.sock, got {shown(text)}")
    if len(path.encode()) > UNIX_PATH_MAX_BYTES:
        raise ValueError(f"a unix socket's path has at most {UNIX_PATH_MAX_BYTES} bytes, got {shown(text)}")
    mode = _MODE.fullmatch(query)
    if query and not mode:
        raise ValueError(f"the only option of a unix socket is mode, as in ?mode=0660, got {shown(text)}")
    return UnixAddress(path, int(mode[1], 8) if mode else UNIX_MODE)


def _host(host: str, text: str) -> str:
    if host.startswith("["):
        bare = host[1:-1]
        try:
            ipaddress.IPv6Address(bare)
        except ValueError:
            raise ValueError(f"expected an IPv6 address in the brackets, got {shown(text)}") from None
        return bare
    if not _HOST.fullmatch(host):
        raise ValueError(f"expected a host name or an IP address before the port, got {shown(text)}")
    return host
