"""The rendered pod, run: its init container and its container with the DaemonSet's own command, environment, user and mounts, on a node
whose sysfs is simulated."""

import json
import re
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.dockerfile import final, only
from tests.deploy.unit_files import HERE
from tests.helm.kubelet import Pod, secret_of, started
from tests.helm.secured_values import NAME, PASSWORD, SERVER_NAME, TLS_SECRET, Certificates, secrets, secured_values
from tests.helm.simulated_node import GpuNode, SimulatedNode
from tests.machine import parsed
from tests.real.daemon import environment
from tests.real.listener import poll
from tests.real.secured import TURNED_AWAY, Secured

BOUND_S = 30.0
OWNER = 65532
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
ANN = ("--user", f"{NAME}:{PASSWORD}")
WRITABLE_PLACES = "find / -xdev -path '/dev/*' -prune -o -writable ! -type l -print; find /etc/fabric-exporter /host -writable ! -type l"
"""Devices aside: every container has those and a /dev/shm."""


def written(root: Path) -> set[tuple[str, int, int]]:
    """Every file of the node with its size and time."""
    return {(str(path), stat.st_size, stat.st_mtime_ns) for path in root.rglob("*") if path.is_file() and (stat := path.lstat())}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> GpuNode:
    """A node that stands still."""
    return GpuNode(tmp_path_factory.mktemp("node"))


@pytest.fixture
def other(tmp_path: Path) -> SimulatedNode:
    """Another one: two pods on one node would fight over its folders."""
    return SimulatedNode(tmp_path)


@pytest.fixture(scope="module")
def before(node: GpuNode) -> set[tuple[str, int, int]]:
    """What is on it before the pod comes."""
    return written(node.node.root)


@pytest.fixture(scope="module")
def pod(node: GpuNode, before: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pod]:
    """The chart with its defaults, as far as ports and the driver's folder let it."""
    with started(node.rendered(), node.node, tmp_path_factory.mktemp("kubelet") / "pod") as running:
        yield running


def test_it_runs_as_the_rendered_user_without_any_privilege(pod: Pod) -> None:
    """User and group of the DaemonSet, no capability, no way to a new one."""
    status = Path(f"/proc/{pod.running.pid}/status").read_text()

    assert re.findall(r"^[UG]id:\t(.*)$", status, re.MULTILINE) == ["\t".join([str(OWNER)] * 4)] * 2
    assert re.findall(r"^Cap(?:Eff|Prm|Bnd|Amb):\t0+$", status, re.MULTILINE).__len__() == 4
    assert "NoNewPrivs:\t1" in status


def test_the_init_container_gave_it_the_folders(pod: Pod, node: GpuNode) -> None:
    """Of the node, where a kubelet makes them for root: the exporter's user has them, others do not look in."""
    for name in ("var/lib/fabric-exporter", "run/fabric-exporter"):
        stat = (node.node.root / name).stat()
        assert (stat.st_uid, stat.st_gid, stat.st_mode & 0o777) == (OWNER, OWNER, 0o750)


@pytest.mark.parametrize("name", PROBES)
def test_each_probe_is_answered(pod: Pod, name: str) -> None:
    """On the health port, by the path of the probe."""
    assert pod.release.container[name]["httpGet"]["port"] == "health"
    assert pod.probe(name)


def test_the_image_s_healthcheck_is_well_in_it(pod: Pod) -> None:
    """It finds the daemon by the container's environment."""
    done = pod.running.exec(*json.loads(only("HEALTHCHECK", final()).partition("CMD ")[2]))

    assert (done.returncode, done.stdout) == (0, f"healthy: {pod.address('health')}/-/healthy\n")


def test_the_node_s_hardware_is_on_the_page(pod: Pod) -> None:
    """Ports from the node's sysfs, which is not where this machine's is, and GPUs from the driver's library."""
    page = poll(lambda: text if "fabric_nvlink_state_id" in (text := pod.get("/metrics")) else None, BOUND_S, "GPUs are shown")
    samples = parsed(page)

    assert sum(name == "fabric_infiniband_state_id" for name, _ in samples) == 10
    assert sum(name == "fabric_nvlink_state_id" for name, _ in samples) == 8 * 18
    assert samples["fabric_exporter_state_writable", ()] == 1


def test_it_can_write_to_state_and_run_alone(pod: Pod, node: GpuNode, before: set[tuple[str, int, int]]) -> None:
    """Not to its own root, its configuration or the node's sysfs; and so nothing else of the node has changed."""
    places = set(pod.running.exec("sh", "-c", WRITABLE_PLACES).stdout.split())
    changed = {path.removeprefix(f"{node.node.root}/") for path, _, _ in written(node.node.root) - before}

    mounted = [line.split() for line in pod.running.exec("cat", "/proc/mounts").stdout.splitlines()]
    own = {mount["mountPath"] for mount in pod.release.container["volumeMounts"]} | {"/"}
    writable = {place for _, place, _, options, *_ in mounted if place in own and "rw" in options.split(",")}

    assert places == writable == {"/var/lib/fabric-exporter", "/run/fabric-exporter"}
    assert changed
    assert [
        path for path in changed if not path.startswith(("var/lib/fabric-exporter/", "run/fabric-exporter/", "opt/driver/nvml.calls"))
    ] == []


@pytest.mark.parametrize("place", ["pod", "node"])
def test_check_reaches_the_daemon(pod: Pod, node: GpuNode, place: str) -> None:
    """By `kubectl exec`, and for root on the node by the control socket in the node's folder."""
    if place == "pod":
        done = pod.running.exec("fabric-exporter", "check")
    else:
        env = {**environment(), "FABRIC_CONTROL_SOCKET": str(node.node.root / "run/fabric-exporter/control.sock")}
        done = subprocess.run([HERE, "check"], env=env, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_it_ends_in_time_and_well(other: SimulatedNode, tmp_path: Path) -> None:
    """Long before a kubelet would kill it, also as process 1."""
    with started(other.rendered(), other.node, tmp_path / "pod") as running:
        assert running.terminate() == 0
        assert "msg=stopped" in running.log()


@pytest.mark.parametrize("has_socket", [True, False], ids=["socket", "no-socket"])
def test_an_empty_dir_holds_state_too(other: SimulatedNode, tmp_path: Path, has_socket: bool) -> None:  # noqa: FBT001
    """The group of the pod makes it the exporter's; without the socket nothing at all runs as root."""
    made = other.rendered(state={"type": "emptyDir"}, controlSocket={"enabled": has_socket})
    with started(made, other.node, tmp_path / "pod") as running:
        kept = poll(lambda: list(running.volumes["state"].glob("learned-ports.json")) or None, BOUND_S, "something is learned")
        samples = parsed(running.get("/metrics"))

    assert kept[0].stat().st_uid == OWNER
    assert samples["fabric_exporter_state_writable", ()] == 1
    assert ("initContainers" in made.pod) is has_socket


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Of the site."""
    return Certificates(tmp_path_factory.mktemp("site") / "certificates")


@pytest.fixture
def secured(certificates: Certificates, other: SimulatedNode, tmp_path: Path) -> Iterator[Pod]:
    """The pod behind TLS and a password."""
    closed = other.node._replace(secrets=secrets(certificates))
    with started(other.rendered(**secured_values()), closed, tmp_path / "pod") as running:
        yield running


def shown_name(pod: Pod, certificates: Certificates) -> str:
    """The common name in the certificate that a new connection is shown. Raises OSError if it is not to be trusted."""
    context = ssl.create_default_context(cafile=str(certificates.ca))
    with (
        socket.create_connection(("127.0.0.1", pod.port("metrics")), BOUND_S) as plain,
        context.wrap_socket(plain, server_hostname=SERVER_NAME) as connection,
    ):
        shown = connection.getpeercert()
    assert shown is not None
    return next(str(pair[1]) for part in shown["subject"] for pair in part if pair[0] == "commonName")


def test_behind_tls_and_a_password_only_the_probes_are_plain(secured: Pod, certificates: Certificates) -> None:
    """Metrics want both; the kubelet wants neither, and neither does the image's health check."""
    asked = Secured(secured.address(), secured.address("health"), secured.running.log, secured.folder, secured.running.runtime)
    trusting = ("--cacert", certificates.ca)

    assert [secured.probe(name) for name in PROBES] == [True] * 3
    assert asked.status(*trusting, *ANN) == 200
    assert asked.status(*trusting) == 401
    assert asked.status(*ANN) == TURNED_AWAY
    assert asked.status(*ANN, scheme="http") != 200
    assert secured.running.exec("fabric-exporter", "healthcheck").returncode == 0


def test_a_renewed_certificate_is_shown_without_a_restart(secured: Pod, certificates: Certificates) -> None:
    """The kubelet swaps all files of a secret at once by a link; the daemon looks through it."""
    assert shown_name(secured, certificates) == "first"

    secured.publish("tls", certificates.files("second"))
    poll(lambda: True if shown_name(secured, certificates) == "second" else None, BOUND_S, "the new certificate is shown")

    assert secured.running.runtime.poll() is None


def test_a_user_who_is_taken_away_stays_out_without_a_restart(secured: Pod, certificates: Certificates) -> None:
    """The web file is a secret as well."""
    asked = Secured(secured.address(), secured.address("health"), secured.running.log, secured.folder, secured.running.runtime)
    name = secured.release.one("Secret")["metadata"]["name"]
    web = secret_of(secured.release, secured.node, name)["web.yaml"]
    secured.publish("web", {"web.yaml": web.replace(NAME.encode(), b"somebody-else")})

    poll(lambda: True if asked.status("--cacert", certificates.ca, *ANN) == 401 else None, BOUND_S, "the old user stays out")


def test_a_missing_certificate_says_so(other: SimulatedNode, tmp_path: Path) -> None:
    """A pod whose secret lacks the key does not run open: it ends with one line that names the file."""
    bare = other.node._replace(secrets={TLS_SECRET: {"tls.crt": b"", "ca.crt": b""}})
    said = r"cannot read /etc/fabric-exporter/tls/tls\.key: .*/etc/fabric-exporter/web/web\.yaml:3"
    with pytest.raises(AssertionError, match=said), started(other.rendered(**secured_values()), bare, tmp_path / "pod"):
        pass


def test_the_kubelet_kills_what_does_not_end(other: SimulatedNode, tmp_path: Path) -> None:
    """The harness: a container that is stopped from outside is killed with all it has."""
    with started(other.rendered(), other.node, tmp_path / "pod") as running:
        running.running.stop(signal.SIGSTOP, 0.1)

    assert running.running.runtime.returncode not in {0, None}
