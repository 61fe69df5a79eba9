"""What a container runtime does, with namespaces of this kernel and util-linux: a root file system of its own, mounts, user, capabilities.

Knows no Kubernetes. The image is this machine's /usr and the program as it is installed for the tests, at the place where the Dockerfile
has it; nothing is downloaded and no path is rewritten. The network is the machine's. No seccomp filter, no limit of memory.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

import exporter
from tests.deploy.dockerfile import pairs
from tests.real.listener import poll
from tests.requires import lacking

PROGRAM = "/opt/fabric-exporter"
"""Where the Dockerfile puts it."""
DEVICES = ("null", "zero", "full", "random", "urandom")
KILLED_BOUND_S = 20.0


class Mount(NamedTuple):
    """`source` of this machine is seen at `target`."""

    source: Path
    target: str
    is_read_only: bool


class Container(NamedTuple):
    """One container: `argv` is found by the PATH of `env`, which is all of its environment. `capabilities` as setpriv names them. Without
    `has_own_pids` it sees the machine's processes."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    uid: int
    gid: int
    groups: tuple[int, ...]
    capabilities: frozenset[str]
    no_new_privileges: bool
    has_read_only_root: bool
    mounts: tuple[Mount, ...]
    has_own_pids: bool = True


class Running(NamedTuple):
    """A started container: `pid` of its first process on this machine, and what it wrote."""

    container: Container
    runtime: "subprocess.Popen[bytes]"
    pid: int
    log: Path

    def exec(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        """Another command in it, as `kubectl exec` runs one: as its user, in its environment."""
        inside = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--ipc", "--root", "--wd"]
        return subprocess.run([*inside, *_as_user(self.container, argv)], capture_output=True, text=True, timeout=60, check=False)

    def stop(self, number: int, grace_s: float) -> int | None:
        """Send it and wait. The exit status; None if it had to be killed after `grace_s`."""
        os.kill(self.pid, number)
        try:
            return self.runtime.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self) -> None:
        """At once, if it still runs; its other processes end with the first one, whose namespace they are in."""
        if self.runtime.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.runtime.wait(KILLED_BOUND_S)


def need_namespaces() -> None:
    """Skip the test where this user may not make them."""
    done = subprocess.run(["unshare", "--mount", "--pid", "--ipc", "--fork", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True,
                          text=True, timeout=60, check=False) if os.geteuid() == 0 and shutil.which("unshare") else None  # fmt: skip
    if done is None or done.returncode:
        lacking(f"no namespaces for a container ({'needs root' if done is None else done.stderr.strip()}): run the tests as root")


def run_to_end(container: Container, folder: Path, name: str) -> None:
    """An init container. Raises AssertionError with what it said if it fails."""
    done = subprocess.run(_argv(container, folder / name), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{name} ended with {done.returncode}: {done.stdout}{done.stderr}"


@contextmanager
def running(container: Container, folder: Path, name: str) -> Iterator[Running]:
    """A container that stays; whatever is left of it in the end is killed. Its log is `folder`/`name`.log."""
    log = folder / f"{name}.log"
    with (
        log.open("wb") as stream,
        subprocess.Popen(_argv(container, folder / name), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream) as runtime,
    ):
        started = Running(container, runtime, poll(lambda: _first_process(runtime), KILLED_BOUND_S, "the container starts"), log)
        try:
            yield started
        finally:
            started.kill()


def _first_process(runtime: "subprocess.Popen[bytes]") -> int | None:
    if runtime.poll() is not None:
        return runtime.pid  # nothing to wait for; whoever asks next sees that it ended
    children = psutil.Process(runtime.pid).children()
    return children[0].pid if children else None


def _argv(container: Container, root: Path) -> list[str]:
    root.mkdir(exist_ok=True)
    spaces = ["--mount", "--ipc", "--uts", "--fork", *(["--pid"] if container.has_own_pids else [])]
    return ["unshare", *spaces, "sh", "-euc", "\n".join(_script(container, str(root)))]


def _script(container: Container, root: str) -> Iterator[str]:
    """Mounts below `root`, in the runtime's own mount namespace, and the command in it."""
    yield "umask 022"
    yield _line("mount", "-t", "tmpfs", "-o", "mode=0755", "image", root)
    yield _line("cd", root)
    yield "mkdir proc sys dev etc tmp run var root opt dev/shm && chmod 1777 tmp"
    for path in (*_image(), Path("/etc/passwd"), Path("/etc/group"), Path("/etc/ld.so.cache")):
        yield from _bind(Mount(path, str(path), is_read_only=True))
    for name in ("bin", "sbin", "lib", "lib64"):
        place = Path("/", name)
        if place.is_symlink():
            yield _line("ln", "-s", os.readlink(place), name)
        elif place.is_dir():
            yield from _bind(Mount(place, str(place), is_read_only=True))
    yield _line("ln", "-s", sys.prefix, PROGRAM.removeprefix("/"))
    yield "mount -t proc proc proc && mount --bind -o ro /sys sys && mount -t tmpfs -o mode=1777,size=64m shm dev/shm"
    for name in DEVICES:
        yield from _bind(Mount(Path("/dev", name), f"/dev/{name}", is_read_only=False))
    for mount in container.mounts:
        yield from _bind(mount)
    if container.has_read_only_root:
        yield "mount -o remount,ro ."
    yield _line("exec", shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin:/bin") or "chroot", ".", *_as_user(container, container.argv))


def _bind(mount: Mount) -> Iterator[str]:
    target = mount.target.lstrip("/")
    if mount.source.is_dir():
        yield _line("mkdir", "-p", target)
    else:
        yield _line("mkdir", "-p", str(Path(target).parent)) + " && " + _line("touch", target)
    yield _line("mount", "--bind", *(["-o", "ro"] if mount.is_read_only else []), str(mount.source), target)


def _image() -> list[Path]:
    """Folders that this Python and the package live in, but for those in others of them. A clone may lie in a folder that only root enters:
    it is not among them."""
    wanted = sorted({Path("/usr"), Path(sys.base_prefix), Path(sys.prefix), Path(exporter.__file__).parent})
    return [path for path in wanted if not any(path.is_relative_to(other) for other in wanted if other != path)]


def _as_user(container: Container, argv: Sequence[str]) -> list[str]:
    kept = ",".join(["-all", *(f"+{name}" for name in sorted(container.capabilities))])
    groups = f"--groups={','.join(map(str, container.groups))}" if container.groups else "--clear-groups"
    privileges = ["--no-new-privs"] if container.no_new_privileges else []
    env = [f"{name}={value}" for name, value in container.env.items()]
    user = [f"--reuid={container.uid}", f"--regid={container.gid}", groups, "--inh-caps=-all", f"--bounding-set={kept}", *privileges]
    return ["/usr/bin/env", "-i", *env, "/usr/bin/setpriv", *user, *argv]


def _line(*words: str) -> str:
    return shlex.join(words)


def image_environment() -> Mapping[str, str]:
    """ENV of the Dockerfile."""
    return pairs("ENV")
