"""Ask the running daemon whether it is healthy: for containers without curl. Finds it by the same configuration as the daemon."""

import argparse
import http.client
import socket
from typing import TYPE_CHECKING

from exporter.cli.exits import Exit
from exporter.cli.options import add_options, duration_argument, loaded
from exporter.config.schema import Web
from exporter.model.address import Address, TcpAddress, UnixAddress, parse_address

if TYPE_CHECKING:
    import ssl

    from exporter.model.web_security import TlsSettings

PATH = "/-/healthy"
TIMEOUT_S = 2.0
"""Well below the 3 s and more that container runtimes and kubelets usually give; the answer comes from memory."""
PLAIN_HINT = "set web.health_address to a plain address such as 127.0.0.1:29101"
LOOPBACK = {"": ("127.0.0.1", "::1"), "0.0.0.0": ("127.0.0.1",), "::": ("::1", "127.0.0.1")}  # noqa: S104  # compared, not bound
"""Where a daemon that listens on every interface is asked, in this order."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--timeout and the shared flags."""
    parser.add_argument("--timeout", type=duration_argument, default=TIMEOUT_S, metavar="DURATION",
                        help="give up after this long without an answer. Default: 2s.")  # fmt: skip
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """0 if /-/healthy answers 200, else 1; one line on stdout either way. Raises ConfigError."""
    web = loaded(args).config.web
    address = address_of(web)
    if isinstance(address, TcpAddress) and address.port == 0:
        print(f"not healthy: {address} lets the kernel choose a port, so nobody knows where to ask; set web.health_address")
        return Exit.FINDING
    asked = _tls_settings_of(web)
    if asked is not None and (asked.client_auth.value == "RequireAndVerifyClientCert" or asked.allowed_sans is not None):
        problem: str | None = f"it asks for a client certificate; {PLAIN_HINT}"
    else:
        problem = ask(address, args.timeout, _unverified() if asked is not None else None)
    print(f"not healthy: {address}{PATH}: {problem}" if problem else f"healthy: {address}{PATH}")
    return Exit.FINDING if problem else Exit.OK


def address_of(web: Web) -> Address:
    """Where to ask: the health address, else the first listen address."""
    return parse_address(web.health_address or web.listen_addresses[0])


def _tls_settings_of(web: Web) -> "TlsSettings | None":
    """What the listen address speaks, None for plain HTTP. Raises ConfigError for a web configuration file that is wrong."""
    if web.config_file is None or web.health_address is not None:
        return None
    from exporter.config.web_file import read_web_file  # noqa: PLC0415  # TLS, which most daemons go without
    from exporter.config.yaml_lines import read_file  # noqa: PLC0415  # as above

    return read_web_file(read_file(web.config_file), web.config_file)[0].tls


def _unverified() -> "ssl.SSLContext":
    """Nothing is verified: what this machine's daemon answers is no secret, and its certificate names the node, not loopback."""
    import ssl  # noqa: PLC0415  # as above

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def ask(address: Address, timeout_s: float, tls: "ssl.SSLContext | None" = None) -> str | None:
    """None if the daemon says it is healthy, else why not in a few words."""
    try:
        connection = http.client.HTTPConnection("localhost", timeout=timeout_s)
        connection.sock = connect(address, timeout_s)
        try:
            if tls is not None:
                connection.sock = tls.wrap_socket(connection.sock)
            connection.request("GET", PATH)
            response = connection.getresponse()
        finally:
            connection.close()
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except OSError as error:
        return f"{error.strerror or error}; is the daemon running?"
    except http.client.HTTPException as error:
        return f"the answer is not HTTP ({type(error).__name__}); does something else listen there?"
    if response.status == http.client.UNAUTHORIZED:
        return f"it asks for a password; {PLAIN_HINT}"
    return None if response.status == http.client.OK else f"HTTP {response.status}"


def connect(address: Address, timeout_s: float) -> socket.socket:
    """A connected socket. Raises OSError of the last host tried."""
    if isinstance(address, UnixAddress):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            connection.connect(address.path)
        except OSError:
            connection.close()
            raise
        return connection
    hosts = LOOPBACK.get(address.host, (address.host,))
    for host in hosts[:-1]:
        try:
            return socket.create_connection((host, address.port), timeout_s)
        except OSError:
            continue
    return socket.create_connection((hosts[-1], address.port), timeout_s)
