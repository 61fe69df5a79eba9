"""Our own daemon as a process of its own, on a free loopback port, as an operator would start it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.listener import START_BOUND_S, fetch, listening, poll

LISTENING = re.compile(r"listening on (127\.0\.0\.1:\d+)")
QUICK = """\
signals: {grace: 100ms}
sources:
  infiniband: {fast_interval: 1s}
  ethernet: {enabled: false}
  kernel_log: {enabled: false}
  nvlink: {enabled: false}
"""
"""A configuration: quick; and this machine's own interfaces and kernel log are left alone."""


@dataclass(frozen=True, slots=True)
class DaemonProcess:
    """A running daemon: its address, its log file and its process."""

    address: str
    log: Path
    process: "subprocess.Popen[bytes]"

    def get(self, path: str, accept: str = "*/*") -> str:
        """The body of a page. Raises OSError."""
        return fetch(f"http://{self.address}{path}", accept)

    def wait_ready(self) -> None:
        """Until the first pass is done."""

        def ready() -> bool | None:
            try:
                return bool(self.get("/-/ready"))
            except OSError:
                return None

        poll(ready, START_BOUND_S, "the daemon is ready")

    def logged(self, text: str) -> None:
        """Wait until the log holds that text."""
        poll(lambda: True if text in self.log.read_text(errors="replace") else None, START_BOUND_S, f"the log says {text!r}")

    def hang_up(self) -> None:
        """Ask for a reload."""
        self.process.send_signal(signal.SIGHUP)


def command(*arguments: str) -> list[str]:
    """The command line of `fabric-exporter ARGUMENTS` under this Python."""
    return [sys.executable, "-m", "exporter", *arguments]


def environment() -> dict[str, str]:
    """The process's environment without our own settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FABRIC_")}


@contextmanager
def daemon(folder: Path, arguments: Sequence[str]) -> Iterator[DaemonProcess]:
    """`fabric-exporter run` with these arguments, its state below `folder`, stopped in the end by SIGTERM. Raises RealServerError."""
    log = folder / "daemon.log"
    own = (f"--state-dir={folder / 'state'}", f"--control-socket={folder / 'control.sock'}")
    argv = command("run", "--web.listen-address=127.0.0.1:0", *own, *arguments)
    with listening(argv, log, LISTENING, "the daemon", environment()) as (process, address):
        running = DaemonProcess(address, log, process)
        running.wait_ready()
        yield running
