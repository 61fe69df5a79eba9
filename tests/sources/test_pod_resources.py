"""The kubelet's list over a real socket: what is in an answer, and what becomes of a kubelet that gives none."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.catalog.jobs import ALLOCATIONS_MAX, POD_RESOURCES_SIZE_BYTES
from exporter.model.fault import Reason
from exporter.sources.kubelet_jobs import DRA_DRIVER, Allocation, PodListError
from exporter.sources.pod_resources import Kubelet
from exporter.sources.pod_resources_message import allocations_in
from tests.sources import kubelet as ours
from tests.sources.kubelet import answering, claim, container, devices, listed, pod

GPU = "GPU-1b0a0000-0000-0000-0000-000000000001"
WORKER = pod("batch", "worker-0", container("trainer", devices("nvidia.com/gpu", GPU)))
SEEN = Allocation("batch", "worker-0", "trainer", "nvidia.com/gpu", GPU)
SHORT_S, PATIENT_S = 0.3, 30.0
"""A deadline that a test waits for, and one that a healthy server keeps on the busiest machine."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the kubelet's socket is."""
    return tmp_path / "kubelet.sock"


def patient(path: Path) -> Kubelet:
    """One that waits for a busy machine."""
    return Kubelet(str(path), answer_s=PATIENT_S)


def refusal(path: Path, answer_s: float = PATIENT_S) -> tuple[Reason, str]:
    """Why there is no list."""
    with pytest.raises(PodListError) as caught:
        Kubelet(str(path), answer_s=answer_s).allocations()
    return caught.value.reason, caught.value.detail


def test_every_device_of_every_container_is_told_in_order(path: Path) -> None:
    """Two containers, several devices, a pod without any, and fields of every other kind that the API has or may get."""
    answer = listed(
        pod("batch", "worker-0", container("trainer", devices("nvidia.com/gpu", "a", "b"), devices("rdma/hca", "c")), container("proxy")),
        pod("kube-system", "dns"),
        pod("web", "llm", container("server", devices("nvidia.com/mig-1g.10gb", "MIG-d"))),
    )
    with answering(path, answer):
        told = patient(path).allocations()

    trainer, server = ("batch", "worker-0", "trainer"), ("web", "llm", "server")
    assert told == [Allocation(*trainer, "nvidia.com/gpu", "a"), Allocation(*trainer, "nvidia.com/gpu", "b"),
                    Allocation(*trainer, "rdma/hca", "c"), Allocation(*server, "nvidia.com/mig-1g.10gb", "MIG-d")]  # fmt: skip


def test_devices_of_claims_are_told_by_driver_and_name(path: Path) -> None:
    """Dynamic Resource Allocation; a claim may hold several."""
    answer = listed(pod("batch", "worker-0", container("trainer", claim(DRA_DRIVER, "gpu-0", "gpu-3-mig-1g.10gb-19-0"))))
    with answering(path, answer):
        told = patient(path).allocations()

    assert [(one.resource, one.device) for one in told] == [(DRA_DRIVER, "gpu-0"), (DRA_DRIVER, "gpu-3-mig-1g.10gb-19-0")]


@pytest.mark.parametrize(
    ("cdi", "devices_told"),
    [
        ("k8s.gpu.nvidia.com/claim=6f1d2c3b-0a9e-4d5f-8b7c-112233445566-gpu-2", ["gpu-2"]),
        ("k8s.gpu.nvidia.com/device=gpu-2", ["gpu-2"]),
        ("k8s.compute-domain.nvidia.com/claim=6f1d2c3b-0a9e-4d5f-8b7c-112233445566-channel-0", []),
        ("vendor.example/net=eth1", []),
    ],
)
def test_an_older_kubelet_tells_claims_by_their_cdi_names(cdi: str, devices_told: list[str]) -> None:
    """Neither driver nor device in the answer."""
    told = allocations_in(listed(pod("batch", "w", container("c", claim("", "x", cdi=cdi)))))

    assert [(one.resource, one.device) for one in told] == [(DRA_DRIVER, name) for name in devices_told]


def test_a_node_without_pods_has_an_empty_list(path: Path) -> None:
    """An answer of no bytes is one."""
    with answering(path, b""):
        assert patient(path).allocations() == []


@pytest.mark.parametrize("folder", ["pod resources", "50%", "a?b#c"])
def test_a_path_is_taken_as_it_is_written(tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though gRPC reads its targets as URIs; a relative one counts from where we are."""
    (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    with answering(tmp_path / folder / "kubelet.sock", WORKER):
        assert patient(Path(f"{folder}/kubelet.sock")).allocations() == [SEEN]


def test_a_kubelet_that_hangs_is_given_up_at_the_deadline(path: Path) -> None:
    """It takes the call and never answers; the next call is a new one."""
    with answering(path, WORKER) as kubelet:
        kubelet.hangs = True
        started_s = time.monotonic()
        reason, detail = refusal(path, SHORT_S)
        took_s = time.monotonic() - started_s
        kubelet.hangs = False

        assert patient(path).allocations() == [SEEN]
    assert (reason, detail) == (Reason.TIMEOUT, "did not answer within 0.3 s; see whether the kubelet is well")
    assert SHORT_S <= took_s < SHORT_S + 5.0


def test_a_kubelet_that_restarts_is_asked_anew(path: Path) -> None:
    """Its socket is another one under the same name; in between nobody listens, or there is no socket at all."""
    asks = patient(path)
    with answering(path, WORKER):
        before = asks.allocations()
    path.unlink(missing_ok=True)
    gone = refusal(path)[0]
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    refused = refusal(path)[0]
    path.unlink()
    with answering(path, listed(WORKER, WORKER)):
        after = asks.allocations()

    assert [before, gone, refused, after] == [[SEEN], Reason.ABSENT, Reason.LOST, [SEEN, SEEN]]


def test_the_socket_is_there_before_its_kubelet_answers(path: Path) -> None:
    """It listens and its queue is full: nobody takes calls yet, and a connection is not even refused."""
    with socket.socket(socket.AF_UNIX) as slow:
        slow.bind(str(path))
        slow.listen(0)
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(str(path))

            assert refusal(path, SHORT_S)[0] in {Reason.TIMEOUT, Reason.IO}


@contextmanager
def peer(path: Path, says: bytes, *, and_ends: bool) -> Iterator[None]:
    """Somebody who takes connections and says that, whatever he is asked; he ends the connection, or holds it."""
    held: list[socket.socket] = []
    server = socket.create_server(str(path), family=socket.AF_UNIX)

    def serve() -> None:
        while True:
            try:
                taken, _ = server.accept()
            except OSError:
                return
            with suppress(OSError):  # who asks may be gone before he has heard it all
                taken.sendall(says)
            if and_ends:
                taken.close()
            else:
                held.append(taken)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(5)
        for one in held:
            one.close()


@pytest.mark.parametrize("and_ends", [True, False])
@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 4096, os.urandom(9000)])
def test_a_peer_that_is_no_kubelet_is_one_line(path: Path, says: bytes, *, and_ends: bool) -> None:
    """Another program's socket: never an exception of another kind, never longer than the deadline."""
    with peer(path, says, and_ends=and_ends):
        reason, detail = refusal(path, SHORT_S)

    assert reason in {Reason.TIMEOUT, Reason.IO}
    assert "\n" not in detail


@pytest.mark.parametrize("answer", [b"\xff", b"\x0a\x7f", b"\x0a\x05\x0a\x03\xff\xfe\xfd", b"\x0b" * 200])
def test_an_answer_that_is_no_list_is_a_parse_fault(path: Path, answer: bytes) -> None:
    """A torn tag, a length beyond the end, text that is not UTF-8, groups within groups."""
    with answering(path, answer):
        reason, detail = refusal(path)

    assert reason is Reason.PARSE
    assert detail.startswith("answers with what is no list of pods: ")


def test_an_answer_beyond_the_bound_is_refused(path: Path) -> None:
    """Before it is held in memory as a whole."""
    with answering(path, b"\x0a\x00" * (POD_RESOURCES_SIZE_BYTES // 2 + 1)):
        reason, detail = refusal(path)

    assert reason is Reason.LIMIT
    assert detail.startswith("the answer is larger than 4 MiB, or the kubelet is asked too often: ")


def test_a_list_of_very_many_devices_is_cut(path: Path) -> None:
    """One more than the bound, so that it shows."""
    with answering(path, listed(pod("a", "b", container("c", devices("x/y", *map(str, range(100_000))))))):
        assert len(patient(path).allocations()) == ALLOCATIONS_MAX + 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (grpc.StatusCode.UNIMPLEMENTED, Reason.UNSUPPORTED),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, Reason.LIMIT),
        (grpc.StatusCode.INTERNAL, Reason.IO),
        (grpc.StatusCode.PERMISSION_DENIED, Reason.IO),
        (grpc.StatusCode.UNAVAILABLE, Reason.IO),
    ],
)
def test_a_kubelet_that_refuses_says_why(path: Path, code: grpc.StatusCode, reason: Reason) -> None:
    """By the status; the rest of its words are shown."""
    with answering(path, WORKER) as kubelet:
        kubelet.refuses = code
        told = refusal(path)

    assert told[0] is reason
    assert reason is Reason.UNSUPPORTED or "as told" in told[1]


def test_a_kubelet_without_this_api_is_told_apart(path: Path) -> None:
    """v1alpha1 alone, before Kubernetes 1.20."""
    with ours.Kubelet(path, service="v1alpha1.PodResourcesLister"):
        assert refusal(path) == (Reason.UNSUPPORTED, "has no pod-resources API v1: the kubelet is older than Kubernetes 1.20")


def test_what_is_not_there_or_no_socket_is_told_apart(tmp_path: Path) -> None:
    """The kubelet's folder is not mounted; the folder is named in place of the socket; a plain file; a name that no socket can have."""
    (tmp_path / "file").write_bytes(b"")

    assert [refusal(tmp_path / name)[0] for name in ("none", "none/kubelet.sock", "", "file")] == [
        Reason.ABSENT, Reason.ABSENT, Reason.PARSE, Reason.PARSE,
    ]  # fmt: skip
    assert refusal(tmp_path / ("x" * 200))[0] is Reason.IO


ASK = """
import os, sys
from exporter.sources.kubelet_jobs import PodListError
from exporter.sources.pod_resources import Kubelet
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(*3 * [65534])
    os.setresuid(*3 * [65534])
try:
    print(Kubelet(sys.argv[1]).allocations())
except PodListError as error:
    print(error.reason, error.detail)
"""


@pytest.mark.parametrize(
    ("folder_mode", "socket_mode", "said"), [(0o755, 0o755, "denied"), (0o750, 0o777, "denied"), (0o755, 0o777, "[All")]
)
def test_another_user_needs_the_folder_and_the_right_to_write_to_the_socket(folder_mode: int, socket_mode: int, said: str) -> None:
    """A kubelet makes its folder 0750 and its socket 0755, both root's (kubernetes/kubernetes pkg/kubelet/util): only user 0 may ask. Where
    the tests do not run as root, their user takes the others' part."""
    by_whom = 0 if os.geteuid() == 0 else 6
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # tmp_path lies below a folder that only its user may enter
    try:
        with answering(folder / "kubelet.sock", WORKER):
            (folder / "kubelet.sock").chmod(socket_mode << by_whom & 0o777)
            folder.chmod(folder_mode << by_whom & 0o777)
            done = run_alone(ASK, folder / "kubelet.sock")
            folder.chmod(0o700)
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)

    assert done.stdout.startswith(said)
    assert said != "denied" or "run this container as user 0" in done.stdout


def run_alone(script: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """A script of ours in a process of its own, which must end well."""
    argv = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True, cwd=Path(__file__).parents[2])


QUIET = """
import os, subprocess, sys, threading, time
from exporter.sources.kubelet_jobs import PodListError
from exporter.sources.pod_resources import Kubelet
def tasks(): return len(os.listdir("/proc/self/task"))
def handles(): return len(os.listdir("/proc/self/fd"))
def ask(path):
    try:
        return len(Kubelet(path).allocations())
    except PodListError as error:
        return error.reason.value
before = tasks(), handles()
kubelet, none, hangs = sys.argv[1:]
said = [ask(path) for path in (kubelet, none, kubelet, none)]
waits = threading.Thread(target=lambda: said.append(ask(hangs)))
waits.start()
children = 0
while waits.is_alive():
    subprocess.run(["true"], check=True)
    children += 1
give_up_s = time.monotonic() + 10  # less than the 20 s that gRPC takes for a greeting by itself
while (tasks(), handles()) != before and time.monotonic() < give_up_s:
    time.sleep(0.05)
print(said, children > 1, (tasks(), handles()) == before)
"""


def test_between_calls_no_thread_no_handle_and_no_word_is_left(path: Path, tmp_path: Path) -> None:
    """Nothing on stderr, not even of a kubelet that is away; children are started while a call waits, and neither is the worse for it."""
    with answering(path, WORKER), peer(tmp_path / "hangs", b"", and_ends=False):
        done = run_alone(QUIET, path, tmp_path / "none", tmp_path / "hangs")

    assert (done.stdout, done.stderr) == ("[1, 'absent', 1, 'absent', 'timeout'] True True\n", "")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_list_or_none(raw: bytes) -> None:
    """Never another exception, never a name that is no text."""
    try:
        told: Sequence[Allocation] = list(allocations_in(raw))
    except ValueError:
        return
    assert all(isinstance(name, str) for one in told for name in one)


@given(st.lists(st.integers(0, 10_000), max_size=6), st.data())
def test_a_true_list_with_bytes_broken_is_a_list_or_none(cuts: list[int], data: st.DataObject) -> None:
    """Closer to the real thing than noise is."""
    whole = bytearray(listed(WORKER, pod("web", "llm", container("server", claim(DRA_DRIVER, "gpu-0"), devices("nvidia.com/gpu", "a::1")))))
    for cut in cuts:
        whole[cut % len(whole)] = data.draw(st.integers(0, 255))
    try:
        told = list(allocations_in(bytes(whole)))
    except ValueError:
        return
    assert all(isinstance(name, str) for one in told for name in one)


def test_any_answer_over_the_wire_is_a_list_or_a_fault(tmp_path: Path) -> None:
    """Through the whole of gRPC, both ends."""
    with answering(tmp_path / "kubelet.sock", b"") as kubelet:

        @settings(max_examples=40, deadline=None)
        @given(st.binary(max_size=5000))
        def ask(raw: bytes) -> None:
            kubelet.answer = raw
            with suppress(PodListError):
                patient(kubelet.path).allocations()

        ask()
