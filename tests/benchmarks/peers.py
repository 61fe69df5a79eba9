"""Starts the programs that are compared, each a process on a free port of 127.0.0.1, and ends them. Knows flags; measures nothing."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.meter import free_port

NODE_EXPORTER = "prometheus-node-exporter"
START_WITHIN_S = 15.0
STOP_WITHIN_S = 10.0
REPOSITORY = Path(__file__).parents[2]
NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Peer:
    """A running server: process id and port. `process` is the handle for what needs more."""

    pid: int
    port: int
    process: subprocess.Popen[bytes]


@contextmanager
def started(command: Sequence[str], port: int, variables: Mapping[str, str] = NONE) -> Iterator[Peer]:
    """Run a server until it accepts on `port`, and end it afterwards. `variables` are added to its environment. Raises RuntimeError if it
    does not come up."""
    environment = {**os.environ, **variables}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=REPOSITORY, env=environment)
    try:
        until_s = time.monotonic() + START_WITHIN_S
        while not _accepts(port):
            if process.poll() is not None or time.monotonic() > until_s:
                raise RuntimeError(f"does not come up (exit status {process.poll()}): {' '.join(command)}")
            time.sleep(0.05)
        yield Peer(process.pid, port, process)
    finally:
        process.terminate()
        try:
            process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def node_exporter_command(root: str, port: int) -> list[str]:
    """node_exporter with its infiniband collector alone and without series about itself."""
    return [NODE_EXPORTER, f"--path.sysfs={root}", "--collector.disable-defaults", "--collector.infiniband",
            "--web.disable-exporter-metrics", f"--web.listen-address=127.0.0.1:{port}"]  # fmt: skip


@contextmanager
def node_exporter(root: str) -> Iterator[Peer]:
    """node_exporter on that tree."""
    port = free_port()
    with started(node_exporter_command(root, port), port) as peer:
        yield peer


@contextmanager
def per_pass_server(root: str, cadences: str, *, hw_counters: bool) -> Iterator[Peer]:
    """Our own parts, one pass of these cadences (`fast,normal`) for each scrape (serve.py)."""
    with _served(["pass", root, "--cadences", cadences, *(["--hw-counters"] if hw_counters else [])]) as peer:
        yield peer


@contextmanager
def still_server(root: str) -> Iterator[Peer]:
    """Our own parts after one pass, sampling no more: what one more scraper costs (serve.py)."""
    with _served(["still", root, "--hw-counters"]) as peer:
        yield peer


@contextmanager
def live_server(root: str, interval_s: float, hung_device: str = "") -> Iterator[Peer]:
    """Our own parts sampling in time; after the first passes a read of `hung_device` never returns (serve.py)."""
    hang = ["--hang", hung_device] if hung_device else []
    with _served(["live", root, "--hw-counters", "--interval", str(interval_s), *hang]) as peer:
        yield peer


@contextmanager
def live_server_with_gpus(root: str, interval_s: float, variables: Mapping[str, str]) -> Iterator[Peer]:
    """As live_server, with the GPUs of the driver that these variables name (driver.py)."""
    with _served(["live", root, "--hw-counters", "--interval", str(interval_s), "--gpus"], variables) as peer:
        yield peer


@contextmanager
def library_server(body_file: str) -> Iterator[Peer]:
    """prometheus_client's WSGI server and handler, sending the bytes of a file as gzip (library_server.py)."""
    port = free_port()
    with started([sys.executable, "-m", "tests.benchmarks.library_server", body_file, str(port)], port) as peer:
        yield peer


@contextmanager
def daemon_command(root: str, port: int, intervals: tuple[str, str, str]) -> Iterator[list[str]]:
    """How to run the real daemon on that tree; `intervals` are fast, normal and slow (`5s`). Its configuration ends with the context."""
    with tempfile.TemporaryDirectory(prefix="fabric-bench-") as folder:
        config = Path(folder, "config.yaml")
        fast, normal, slow = intervals
        config.write_text(f"""web: {{listen_addresses: ["127.0.0.1:{port}"]}}
state: {{dir: {folder}}}
sources:
  sysfs_root: {root}
  infiniband: {{fast_interval: {fast}, normal_interval: {normal}, slow_interval: {slow}}}
  nvlink: {{fast_interval: {fast}, normal_interval: {normal}, slow_interval: {slow}}}
""")
        yield [sys.executable, "-m", "exporter", "run", f"--config={config}"]


@contextmanager
def daemon(root: str, intervals: tuple[str, str, str] = ("5s", "15s", "5m"), variables: Mapping[str, str] = NONE) -> Iterator[Peer]:
    """The real daemon, `fabric-exporter run`, after its first pass."""
    port = free_port()
    with daemon_command(root, port, intervals) as command, started(command, port, variables) as peer:
        yield peer


def version_of_node_exporter() -> str:
    """`1.5.0`; "" where it is not installed."""
    if shutil.which(NODE_EXPORTER) is None:
        return ""
    words = subprocess.run([NODE_EXPORTER, "--version"], capture_output=True, text=True, check=True)
    return (words.stdout or words.stderr).split("version ")[1].split()[0]


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def _served(arguments: Sequence[str], variables: Mapping[str, str] = NONE) -> Iterator[Peer]:
    port = free_port()
    with started([sys.executable, "-m", "tests.benchmarks.serve", *arguments, "--port", str(port)], port, variables) as peer:
        yield peer
