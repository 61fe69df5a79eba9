"""The Kubernetes node as an origin of maintenance: its taints, by one GET of the API server with the pod's service account.

Knows how the API server is asked, and nothing of other objects; what a taint means model/maintenance.py knows. The standard library alone:
no proxy is used and no redirect followed, so that the token goes to nobody else.
"""

import io
import json
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from typing import cast
from urllib.parse import quote

from exporter import __version__
from exporter.model.address import TcpAddress
from exporter.model.fault import Reason
from exporter.model.maintenance import KUBERNETES, Claim, of_taints
from exporter.model.quoted import shown
from exporter.runtime.clock import Clock
from exporter.runtime.origin import OriginError

TOKEN_MAX_BYTES = 65_536
ANSWER_MAX_BYTES = 8 << 20
"""etcd takes objects of up to 1.5 MiB; a node with its list of images has some 50 kB [B]."""
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
"""RFC 6750 section 2.1: nothing that could end a header's line."""
_REFUSED: Mapping[int, tuple[Reason, str]] = {
    HTTPStatus.UNAUTHORIZED: (Reason.DENIED, "the token is not accepted"),
    HTTPStatus.FORBIDDEN: (Reason.DENIED, "the service account may not get nodes (docs/health.md has the ClusterRole)"),
    HTTPStatus.NOT_FOUND: (Reason.ABSENT, "the cluster knows no such node"),
}


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """Files that the kubelet puts into a pod: the token, which it replaces within the hour, and who signs the API server's certificate."""

    token_file: str
    ca_file: str


class KubernetesNode:
    """An Origin (origin.py). `server` or `node` None: nobody said which, and each question fails with how to say it."""

    name = KUBERNETES

    def __init__(self, server: TcpAddress | None, node: str | None, taints: Sequence[str], account: ServiceAccount, interval_s: float,
                 timeout_s: float, clock: Clock) -> None:  # fmt: skip
        self.interval_s = interval_s
        self._server = server
        self._node = node
        self._taints = taints
        self._account = account
        self._timeout_s = timeout_s
        self._clock = clock

    def ask(self) -> Claim | None:
        """None unless the node bears one of the taints. Raises OriginError."""
        if self._server is None:
            hint = "no pod's environment (KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT): set maintenance.kubernetes.server"
            raise OriginError(Reason.ABSENT, hint)
        if self._node is None:
            raise OriginError(Reason.ABSENT, "NODE_NAME is not set: fill it from spec.nodeName, or set maintenance.kubernetes.node")
        return of_taints(_taints_in(self._answer(self._server, self._node)), self._taints)

    def close(self) -> None:
        """The question under way ends by its deadline; nobody is kept by it."""

    def _answer(self, server: TcpAddress, node: str) -> bytes:
        """The node as the API server writes it. All of connecting, asking and reading within one deadline; a name that takes the resolver
        long is not bounded by it."""
        try:
            token, trust = self._token(), self._trust()
            until_s = self._clock.monotonic_s() + self._timeout_s
            with socket.create_connection((server.host, server.port), self._timeout_s) as plain:
                plain.settimeout(_left_s(self._clock, until_s))
                with trust.wrap_socket(plain, server_hostname=server.host) as peer:
                    peer.settimeout(_left_s(self._clock, until_s))
                    peer.sendall(_request(server, node, token))
                    status, body = _response(_Hurried(peer, self._clock, until_s))
        except TimeoutError:
            raise OriginError(Reason.TIMEOUT, f"{server} has not answered within {self._timeout_s:g} s") from None
        except ssl.SSLCertVerificationError as error:
            why = f"the certificate of {server} is not signed by {self._account.ca_file} for this address: {error.verify_message}"
            raise OriginError(Reason.DENIED, why) from None
        except (HTTPException, ValueError) as error:
            raise OriginError(Reason.PARSE, f"{server} does not speak HTTP: {shown(repr(error))}") from None
        except OSError as error:
            raise OriginError(Reason.IO, f"cannot ask {server}: {error.strerror or error}") from None
        if status != HTTPStatus.OK:
            reason, why = _REFUSED.get(status, (Reason.IO, "expected 200"))
            raise OriginError(reason, f"{server} answered {status} for node {shown(node)}: {why}")
        return body

    def _token(self) -> str:
        """Read each time: the kubelet puts another into its place."""
        place = self._account.token_file
        try:
            with open(place, "rb") as file:
                token = file.read(TOKEN_MAX_BYTES).decode("latin-1").strip()
        except OSError as error:
            reason = Reason.DENIED if isinstance(error, PermissionError) else Reason.ABSENT
            raise OriginError(reason, f"no token of a service account in {place}: {error.strerror}") from None
        if not _TOKEN.fullmatch(token):
            raise OriginError(Reason.PARSE, f"{place} holds no token")
        return token

    def _trust(self) -> ssl.SSLContext:
        """Whom to believe; read each time as well. Not by the letter of RFC 5280, which Python 3.13 asks for and authorities of clusters
        do not keep (kubernetes-client/python#2394)."""
        place = self._account.ca_file
        try:
            trust = ssl.create_default_context(cafile=place)
        except OSError as error:  # SSLError is one
            reason = Reason.PARSE if isinstance(error, ssl.SSLError) else Reason.ABSENT
            raise OriginError(reason, f"no certificate of an authority in {place}: {error.strerror or error}") from None
        trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return trust


class _Hurried(io.RawIOBase):
    """What a socket receives, until a moment (monotonic seconds): a server that sends a byte now and then gains no time."""

    def __init__(self, peer: socket.socket, clock: Clock, until_s: float) -> None:
        self._peer, self._clock, self._until_s = peer, clock, until_s

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: object) -> int:
        """As many bytes as are there. Raises TimeoutError."""
        self._peer.settimeout(_left_s(self._clock, self._until_s))
        return self._peer.recv_into(cast("memoryview", buffer))

    def makefile(self, _mode: str) -> io.BufferedReader:
        """As http.client asks a socket for its file."""
        return io.BufferedReader(self)


def _left_s(clock: Clock, until_s: float) -> float:
    left_s = until_s - clock.monotonic_s()
    if left_s <= 0.0:
        raise TimeoutError
    return left_s


def _request(server: TcpAddress, node: str, token: str) -> bytes:
    lines = (f"GET /api/v1/nodes/{quote(node, safe='')} HTTP/1.1", f"Host: {server}", f"Authorization: Bearer {token}",
             "Accept: application/json", f"User-Agent: fabric-exporter/{__version__}", "Connection: close")  # fmt: skip
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _response(received: _Hurried) -> tuple[int, bytes]:
    """Status and body; at most a little more than is allowed of it."""
    response = HTTPResponse(cast("socket.socket", received), method="GET")
    try:
        response.begin()
        return response.status, response.read(ANSWER_MAX_BYTES + 1)
    finally:
        response.close()


def _taints_in(body: bytes) -> Sequence[Mapping[str, object]]:
    """The taints of a Node (v1), each with its key. Raises OriginError for anything that is no Node."""
    if len(body) > ANSWER_MAX_BYTES:
        raise OriginError(Reason.LIMIT, f"the API server answers more than {ANSWER_MAX_BYTES >> 20} MiB")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    spec = document.get("spec") if isinstance(document, dict) and document.get("kind") == "Node" else None
    taints = spec.get("taints") or () if isinstance(spec, dict) else None
    if not isinstance(taints, list | tuple) or not all(isinstance(taint, dict) for taint in taints):
        raise OriginError(Reason.PARSE, f"the API server answers no Node, but {shown(body[:200].decode('utf-8', 'replace'))}")
    return taints
