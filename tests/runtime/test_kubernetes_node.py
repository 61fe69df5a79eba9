"""What Kubernetes says of the node, by a server on a real socket with real TLS."""

import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.model.address import TcpAddress
from exporter.model.fault import Reason
from exporter.model.maintenance import Claim
from exporter.runtime.clock import SystemClock
from exporter.runtime.kubernetes_node import KubernetesNode, ServiceAccount
from exporter.runtime.origin import OriginError
from tests.runtime.api_server import ApiServer, api_server, certificate, node, status
from tests.runtime.fakes import PATIENCE_S

TAINT = {"key": "fabric-exporter/maintenance", "value": "optics", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
TAINTS = ("fabric-exporter/maintenance", "medik8s.io/drain")


@pytest.fixture(scope="module")
def cert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of the server at 127.0.0.1."""
    return certificate(tmp_path_factory.mktemp("api-server"))


@pytest.fixture
def server(cert: tuple[Path, Path]) -> Iterator[ApiServer]:
    """Shows a node without taints until told otherwise."""
    with api_server(cert) as serving:
        yield serving


@pytest.fixture
def account(tmp_path: Path, cert: tuple[Path, Path]) -> ServiceAccount:
    """As the kubelet puts it into a pod."""
    (tmp_path / "token").write_text("first.token\n")
    return ServiceAccount(str(tmp_path / "token"), str(cert[0]))


@pytest.fixture
def kubernetes(server: ApiServer, account: ServiceAccount) -> KubernetesNode:
    """Patient."""
    return origin(server.address, account)


def origin(server: TcpAddress | None, account: ServiceAccount, name: str | None = "gpu-1", taints: tuple[str, ...] = TAINTS,
           timeout_s: float = PATIENCE_S) -> KubernetesNode:  # fmt: skip
    """Of that server."""
    return KubernetesNode(server, name, taints, account, 60.0, timeout_s, SystemClock())


def failure(kubernetes: KubernetesNode) -> OriginError:
    """Why it claims nothing."""
    with pytest.raises(OriginError) as caught:
        kubernetes.ask()
    assert "\n" not in caught.value.detail
    return caught.value


def test_a_node_without_taints_is_not_in_maintenance(kubernetes: KubernetesNode, server: ApiServer) -> None:
    """One GET of this node alone, with the token and nothing kept open."""
    assert kubernetes.ask() is None
    lines = server.requests[0].decode().split("\r\n")
    assert lines[0] == "GET /api/v1/nodes/gpu-1 HTTP/1.1"
    assert {"Authorization: Bearer first.token", f"Host: {server.address}", "Connection: close"} <= set(lines)


def test_a_taint_of_the_wanted_is_a_claim(kubernetes: KubernetesNode, server: ApiServer) -> None:
    """Told with its value."""
    server.answers = status(200, node(CORDON, TAINT))

    assert kubernetes.ask() == Claim("kubernetes", "fabric-exporter/maintenance=optics")


def test_a_cordon_counts_only_if_asked_for(server: ApiServer, account: ServiceAccount) -> None:
    """Programs that find a fault cordon as well."""
    server.answers = status(200, node(CORDON))

    assert origin(server.address, account).ask() is None
    assert origin(server.address, account, taints=(CORDON["key"],)).ask() == Claim("kubernetes", "node.kubernetes.io/unschedulable")


def test_the_token_is_read_each_time(kubernetes: KubernetesNode, server: ApiServer, account: ServiceAccount) -> None:
    """The kubelet puts another in its place within the hour."""
    kubernetes.ask()
    Path(account.token_file).write_text("second.token")
    kubernetes.ask()

    assert [b"Bearer first.token" in head for head in server.requests] == [True, False]
    assert b"Bearer second.token\r\n" in server.requests[1]


@pytest.mark.parametrize(
    ("code", "reason", "said"),
    [
        (401, Reason.DENIED, "answered 401 for node \"gpu-1\": the token is not accepted"),
        (403, Reason.DENIED, "the service account may not get nodes (docs/health.md has the ClusterRole)"),
        (404, Reason.ABSENT, "the cluster knows no such node"),
        (302, Reason.IO, "answered 302"),
        (500, Reason.IO, "answered 500"),
        (999, Reason.IO, "answered 999"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_with_what_to_do(code: int, reason: Reason, said: str, kubernetes: KubernetesNode, server: ApiServer) -> None:
    """Whatever its body says; no redirect is followed."""
    server.answers = status(code, node(TAINT))
    error = failure(kubernetes)

    assert error.reason is reason
    assert said in error.detail
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"garbage", b"{}", b"[]", b'{"kind": "Status"}', b'{"kind": "Node"}', b'{"kind": "Node", "spec": {"taints": 7}}',
     b'{"kind": "Node", "spec": {"taints": ["x"]}}', b"[" * 100_000, b"\xff\xfe"],
)  # fmt: skip
def test_an_answer_that_is_no_node_is_a_failure(body: bytes, kubernetes: KubernetesNode, server: ApiServer) -> None:
    """Not the news that nobody works on it."""
    server.answers = status(200, body)

    assert failure(kubernetes).reason is Reason.PARSE


@pytest.mark.parametrize("raw", [b"SSH-2.0-OpenSSH_9.2\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{}",
                                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}"])  # fmt: skip
def test_what_is_no_http_is_a_failure(raw: bytes, kubernetes: KubernetesNode, server: ApiServer) -> None:
    """Or breaks off."""
    server.answers = lambda _head, peer: peer.sendall(raw)

    assert failure(kubernetes).reason in (Reason.PARSE, Reason.IO)


def test_an_answer_in_chunks_is_read(kubernetes: KubernetesNode, server: ApiServer) -> None:
    """As Go's server sends what is long."""
    body = node(TAINT)
    server.answers = lambda _head, peer: peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
                                                      % (len(body), body))  # fmt: skip

    assert kubernetes.ask() == Claim("kubernetes", "fabric-exporter/maintenance=optics")


def test_a_server_that_keeps_the_connection_open_is_not_waited_for(server: ApiServer, account: ServiceAccount) -> None:
    """The length tells where the answer ends."""

    def keeping(head: bytes, peer: ssl.SSLSocket) -> None:
        status(200, node(TAINT))(head, peer)
        server.hold.wait(PATIENCE_S)

    server.answers = keeping
    assert origin(server.address, account).ask() is not None


def hanging(server: ApiServer) -> None:
    """Take the question and say nothing."""

    def hang(_head: bytes, _peer: ssl.SSLSocket) -> None:
        server.hold.wait(PATIENCE_S)

    server.answers = hang


def dripping(server: ApiServer) -> None:
    """A byte of a header now and then."""

    def drip(_head: bytes, peer: ssl.SSLSocket) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not server.hold.wait(0.02):
            peer.sendall(b"x")

    server.answers = drip


@pytest.mark.parametrize("behave", [hanging, dripping])
def test_a_server_that_does_not_answer_in_time_is_left(behave: object, server: ApiServer, account: ServiceAccount) -> None:
    """The deadline is for all of it."""
    behave(server)  # type: ignore[operator]
    began_s = time.monotonic()
    error = failure(origin(server.address, account, timeout_s=0.5))

    assert (error.reason, error.detail) == (Reason.TIMEOUT, f"{server.address} has not answered within 0.5 s")
    assert time.monotonic() - began_s < PATIENCE_S


def test_a_peer_that_never_shakes_hands_is_left(account: ServiceAccount) -> None:
    """It accepts, and speaks no TLS."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert failure(origin(TcpAddress(*silent.getsockname()), account, timeout_s=0.5)).reason is Reason.TIMEOUT


def test_nobody_there_is_a_failure(account: ServiceAccount) -> None:
    """With the address."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = TcpAddress(*gone.getsockname())
    error = failure(origin(address, account))

    assert (error.reason, error.detail) == (Reason.IO, f"cannot ask {address}: Connection refused")


def test_the_token_is_shown_to_nobody_else(server: ApiServer, account: ServiceAccount, tmp_path: Path) -> None:
    """A certificate of another authority, or for another address, ends it before a word is said."""
    for name, subject in (("other", "IP:127.0.0.1"), ("elsewhere", "IP:127.0.0.9")):
        (tmp_path / name).mkdir()
        cert = certificate(tmp_path / name, subject)
        trusted = replace(account, ca_file=str(cert[0]))
        with api_server(cert) as elsewhere:
            asked = origin(server.address, trusted) if name == "other" else origin(elsewhere.address, trusted)
            assert failure(asked).reason is Reason.DENIED
            assert elsewhere.requests == server.requests == []


def test_what_is_missing_is_named(server: ApiServer, account: ServiceAccount, tmp_path: Path) -> None:
    """Each in its own words, and nobody is asked."""
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "broken").write_text("two\r\nlines: of a header")
    told = [
        failure(each).detail
        for each in (
            origin(None, account), origin(server.address, account, name=None),
            *(origin(server.address, replace(account, token_file=str(tmp_path / name))) for name in ("none", "empty", "broken")),
            *(origin(server.address, replace(account, ca_file=str(tmp_path / name))) for name in ("none", "empty")),
        )
    ]  # fmt: skip

    assert told[0].endswith("set maintenance.kubernetes.server")
    assert told[1].startswith("NODE_NAME is not set")
    assert told[2].endswith("none: No such file or directory")
    assert [line.endswith("holds no token") for line in told[3:5]] == [True, True]
    assert all(line.startswith("no certificate of an authority in ") for line in told[5:])
    assert server.requests == []


def test_a_name_cannot_lead_elsewhere(server: ApiServer, account: ServiceAccount) -> None:
    """It is one part of the path."""
    origin(server.address, account, name="../../pods?x").ask()

    assert server.requests[0].startswith(b"GET /api/v1/nodes/..%2F..%2Fpods%3Fx HTTP/1.1\r\n")
