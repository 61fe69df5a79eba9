"""A kubelet for one pod: takes the rendered DaemonSet's pod as it stands and runs it on this machine, on a simulated node's folders.

What the DaemonSet says is taken from it alone: command, arguments, environment, user, capabilities, mounts, probes, time to end.
"""

import base64
import re
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.deploy.dockerfile import argv as image_argv
from tests.deploy.dockerfile import final, only
from tests.helm.chart import Object, Release
from tests.helm.container import Container, Mount, Running, image_environment, need_namespaces, run_to_end, running
from tests.helm.volumes import DEFAULT_MODE, Files, empty_folder, files_of, node_folder, publish
from tests.real.listener import fetch, poll

POD_IP = "127.0.0.1"
DEFAULT_CAPABILITIES = frozenset({
    *("audit_write", "chown", "dac_override", "fowner", "fsetid", "kill", "mknod", "net_bind_service", "net_raw"),
    *("setfcap", "setgid", "setpcap", "setuid", "sys_chroot"),
})  # fmt: skip
"""What containerd leaves to a container that says nothing."""
_REFERENCE = re.compile(r"\$\$|\$\(([^)]+)\)")


class Node(NamedTuple):
    """A node: its name and the folder that stands for its root. `secrets` are those of the namespace that the release does not make."""

    name: str
    root: Path
    secrets: Mapping[str, Files] = {}


@dataclass(frozen=True, slots=True)
class Pod:
    """A running pod of a release; `volumes` are their folders by name."""

    release: Release
    node: Node
    volumes: Mapping[str, Path]
    running: Running
    folder: Path = field(repr=False)

    def port(self, name: str) -> int:
        """A port of the container by its name."""
        (found,) = [port["containerPort"] for port in self.release.container["ports"] if port["name"] == name]
        return int(found)

    def address(self, port: str = "metrics") -> str:
        """Where that port is reached."""
        return f"{POD_IP}:{self.port(port)}"

    def get(self, path: str, port: str = "metrics") -> str:
        """A page over plain HTTP. Raises OSError."""
        return fetch(f"http://{self.address(port)}{path}")

    def probe(self, name: str) -> bool:
        """Ask as the probe of that name does."""
        asked = self.release.container[name]["httpGet"]
        assert asked.get("scheme", "HTTP") == "HTTP"
        try:
            self.get(asked["path"], asked["port"])
        except OSError:
            return False
        return True

    def wait_ready(self) -> None:
        """Until it has started and is ready, no longer than the probes have patience."""
        for name in ("startupProbe", "readinessProbe"):
            probe = self.release.container[name]
            poll(lambda name=name: self._answers(name), probe["periodSeconds"] * probe["failureThreshold"], name)  # type: ignore[misc]

    def _answers(self, probe: str) -> bool | None:
        status = self.running.runtime.poll()
        assert status is None, f"the container ended with {status}:\n{self.log()}"
        return self.probe(probe) or None

    def log(self) -> str:
        """What it has logged so far."""
        return self.running.log.read_text(errors="replace")

    def terminate(self) -> int | None:
        """As a rollout ends it. The exit status; None if it was killed because its time was over."""
        stop = getattr(signal, only("STOPSIGNAL", final()))
        return self.running.stop(stop, self.release.pod["terminationGracePeriodSeconds"])

    def publish(self, volume: str, data: Files) -> None:
        """The ConfigMap or Secret of that volume has other data now, and the kubelet sees it."""
        _publish(_volume(self.release, volume), self.volumes[volume], data, _group(self.release))


@contextmanager
def started(release: Release, node: Node, folder: Path, *, without_init: bool = False) -> Iterator[Pod]:
    """The pod on that node once it is ready; killed in the end if it still runs. `folder` is the kubelet's own, one for each pod.

    Skips where no container can be made. Raises AssertionError where a kubelet would refuse, or the container ends.
    """
    need_namespaces()
    folder.mkdir()
    volumes = {volume["name"]: _made(release, node, volume, folder / f"volume-{volume['name']}") for volume in release.pod["volumes"]}
    for init in [] if without_init else release.pod.get("initContainers", []):
        run_to_end(_container(release, node, init, volumes), folder, init["name"])
    with running(_container(release, node, release.container, volumes), folder, release.container["name"]) as container:
        pod = Pod(release, node, volumes, container, folder)
        pod.wait_ready()
        yield pod


def free_ports(count: int) -> list[int]:
    """So many ports of the pod's address that nobody listens on."""
    with ExitStack() as stack:
        doors = [stack.enter_context(socket.create_server((POD_IP, 0))) for _ in range(count)]
        return [door.getsockname()[1] for door in doors]


def secret_of(release: Release, node: Node, name: str) -> Files:
    """The data of a Secret, whoever made it. KeyError if nobody did."""
    for one in release.of("Secret"):
        if one["metadata"]["name"] == name:
            plain = {key: text.encode() for key, text in one.get("stringData", {}).items()}
            return plain | {key: base64.b64decode(text) for key, text in one.get("data", {}).items()}
    return node.secrets[name]


def _config_map_of(release: Release, name: str) -> Files:
    (found,) = [one for one in release.of("ConfigMap") if one["metadata"]["name"] == name]
    return {key: text.encode() for key, text in found["data"].items()}


def _made(release: Release, node: Node, volume: Object, folder: Path) -> Path:
    if "hostPath" in volume:
        return node_folder(node.root, volume["hostPath"])
    if "emptyDir" in volume:
        return empty_folder(folder, _group(release))
    data = (secret_of(release, node, volume["secret"]["secretName"]) if "secret" in volume else
            _config_map_of(release, volume["configMap"]["name"]))  # fmt: skip
    _publish(volume, folder, data, _group(release))
    return folder


def _publish(volume: Object, folder: Path, data: Files, group: int | None) -> None:
    source = volume["secret"] if "secret" in volume else volume["configMap"]
    publish(folder, files_of(source, data), source.get("defaultMode", DEFAULT_MODE), group)


def _volume(release: Release, name: str) -> Object:
    (found,) = [volume for volume in release.pod["volumes"] if volume["name"] == name]
    assert isinstance(found, dict)
    return found


def _group(release: Release) -> int | None:
    found = release.pod.get("securityContext", {}).get("fsGroup")
    return None if found is None else int(found)


def _container(release: Release, node: Node, spec: Object, volumes: Mapping[str, Path]) -> Container:
    security = {**release.pod.get("securityContext", {}), **spec.get("securityContext", {})}
    uid, gid = (int(number) for number in only("USER", final()).split(":"))
    uid, gid = int(security.get("runAsUser", uid)), int(security.get("runAsGroup", gid))
    assert not (security.get("runAsNonRoot") and uid == 0), f"{spec['name']}: runAsNonRoot, and the image or runAsUser is root"
    env = _environment(spec, node, release)
    words = (*spec.get("command", image_argv("ENTRYPOINT")), *spec.get("args", () if "command" in spec else image_argv("CMD")))
    group = _group(release)
    return Container(
        argv=tuple(_expanded(word, env) for word in words),
        env={**image_environment(), **env},
        uid=uid,
        gid=gid,
        groups=() if group is None else (group,),
        capabilities=_capabilities(security),
        no_new_privileges=security.get("allowPrivilegeEscalation") is False,
        has_read_only_root=security.get("readOnlyRootFilesystem", False),
        mounts=tuple(_mount(release, mount, volumes) for mount in spec.get("volumeMounts", [])),
        has_own_pids=not release.pod.get("hostPID"),
    )


def _mount(release: Release, mount: Object, volumes: Mapping[str, Path]) -> Mount:
    """Of a ConfigMap or Secret nobody writes, whatever the mount says."""
    volume = _volume(release, mount["name"])
    return Mount(volumes[mount["name"]], mount["mountPath"], mount.get("readOnly", False) or bool(volume.keys() & {"secret", "configMap"}))


def _environment(spec: Object, node: Node, release: Release) -> Mapping[str, str]:
    """What the container adds to the image's. A `$(NAME)` stands for what an earlier line says."""
    namespace = release.one("DaemonSet")["metadata"]["namespace"]
    fields = {"status.podIP": POD_IP, "spec.nodeName": node.name, "metadata.namespace": namespace}
    found: dict[str, str] = {}
    for line in spec.get("env", []):
        found[line["name"]] = fields[line["valueFrom"]["fieldRef"]["fieldPath"]] if "valueFrom" in line else _expanded(line["value"], found)
    return found


def _expanded(text: str, env: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda match: "$" if match[1] is None else env.get(match[1], match[0]), text)


def _capabilities(security: Mapping[str, Any]) -> frozenset[str]:
    told = security.get("capabilities", {})
    dropped = {name.lower() for name in told.get("drop", [])}
    kept = frozenset() if "all" in dropped else DEFAULT_CAPABILITIES - dropped
    return kept | {name.lower() for name in told.get("add", [])}
