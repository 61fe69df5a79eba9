"""A server that stands for the Kubernetes API server: real TLS on a real socket, with a certificate made for the test, and whatever answer
the test wants. It knows requests as bytes only, because some answers are no HTTP."""

import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from exporter.model.address import TcpAddress
from tests.requires import need
from tests.runtime.fakes import PATIENCE_S

Answering = Callable[[bytes, ssl.SSLSocket], None]
"""Gets the head of a request, and the connection to answer on."""


def certificate(folder: Path, name: str = "IP:127.0.0.1") -> tuple[Path, Path]:
    """(certificate, key) for that subject, signed by itself and so its own authority; without the key identifiers that Python 3.13 asks
    for by default and old clusters lack."""
    openssl = need("openssl", "apt-get install openssl")
    (folder / "openssl.cnf").write_text("[req]\ndistinguished_name=dn\nx509_extensions=v3\n[dn]\n[v3]\n"
                                        f"basicConstraints=critical,CA:TRUE\nsubjectAltName={name}\n"
                                        "subjectKeyIdentifier=none\nauthorityKeyIdentifier=none\n")  # fmt: skip
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj",
         "/CN=kubernetes", "-config", folder / "openssl.cnf", "-keyout", folder / "key.pem", "-out", folder / "ca.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "ca.crt", folder / "key.pem"


def node(*taints: dict[str, str], name: str = "gpu-1") -> bytes:
    """The body of a Node, less what nobody looks at."""
    spec = {"podCIDR": "10.0.0.0/24", **({"taints": list(taints)} if taints else {})}
    return json.dumps({"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}).encode()


def status(code: int, body: bytes) -> Answering:
    """A whole HTTP answer with that status."""

    def answer(_head: bytes, peer: ssl.SSLSocket) -> None:
        peer.sendall(b"HTTP/1.1 %d Whatever\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (code, len(body)) + body)

    return answer


class ApiServer:
    """Answers each connection in turn as `answers` says, with the heads of all requests so far in `requests`."""

    def __init__(self, listener: socket.socket, tls: ssl.SSLContext) -> None:
        self.answers: Answering = status(200, node())
        self.requests: list[bytes] = []
        self.hold = threading.Event()
        """Set at the end: lets go of answers that wait for it."""
        self.address = TcpAddress(*listener.getsockname())
        self._listener, self._tls = listener, tls

    def serve(self) -> None:
        """Until the listener is shut down."""
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            with plain, suppress(OSError):  # a client that does not trust us, or has gone
                plain.settimeout(PATIENCE_S)
                with self._tls.wrap_socket(plain, server_side=True) as peer:
                    head = b""
                    while b"\r\n\r\n" not in head:
                        head += peer.recv(4096) or b"\r\n\r\n"
                    self.requests.append(head)
                    self.answers(head, peer)


@contextmanager
def api_server(cert: tuple[Path, Path]) -> Iterator[ApiServer]:
    """Serving in a thread until the end of the block."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*cert)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = ApiServer(listener, tls)
        thread = threading.Thread(target=server.serve, name="API server of a test")
        thread.start()
        try:
            yield server
        finally:
            server.hold.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
