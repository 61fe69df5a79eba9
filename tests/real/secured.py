"""Our own daemon behind a web configuration file, as a process of its own, with a plain health address; and curl to knock at its door."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.daemon import LISTENING, command, environment
from tests.real.listener import START_BOUND_S, fetch, listening, poll
from tests.requires import need

TURNED_AWAY = 0
"""What `status` says of a connection that ended without an answer."""


@dataclass(frozen=True, slots=True)
class Secured:
    """A running daemon: where it serves, its plain health address, its log and its folder."""

    address: str
    health: str
    log: Path
    folder: Path
    process: "subprocess.Popen[bytes]"

    def curl(self, path: str, *arguments: str | Path, scheme: str = "https") -> str:
        """What curl prints on stdout with these arguments; nothing is judged."""
        curl = need("curl", "apt-get install curl")
        url = f"{scheme}://localhost:{self.address.rpartition(':')[2]}{path}"
        argv = [curl, "--silent", "--max-time", "30", "--ipv4", "--noproxy", "*", *map(str, arguments), url]
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout

    def status(self, *arguments: str | Path, path: str = "/metrics", scheme: str = "https") -> int:
        """The HTTP status that curl gets; 0 where there is no connection."""
        return int(self.curl(path, "--output", "/dev/null", "--write-out", "%{http_code}", *arguments, scheme=scheme))

    def logged(self, text: str) -> None:
        """Wait until the log holds that text."""
        poll(lambda: True if text in self.log.read_text(errors="replace") else None, START_BOUND_S, f"the log says {text!r}")


@contextmanager
def secured(folder: Path, text: str, arguments: Sequence[str] = ("--simulate=no-gpu-ib",)) -> Iterator[Secured]:
    """`fabric-exporter run` behind a web configuration file of that text in `folder`, ready, stopped in the end. Raises RealServerError."""
    (folder / "web.yaml").write_text(text, encoding="utf-8")
    log = folder / "daemon.log"
    own = (f"--state-dir={folder / 'state'}", f"--control-socket={folder / 'control.sock'}", f"--web.config.file={folder / 'web.yaml'}")
    argv = command("run", "--web.listen-address=127.0.0.1:0", "--web.health-address=127.0.0.2:0", *own, *arguments)
    both = re.compile(rf"{LISTENING.pattern}.*?listening on (127\.0\.0\.2:\d+)", re.DOTALL)
    with listening(argv, log, both, "the daemon", environment()) as (process, address):
        found = both.search(log.read_text(errors="replace"))
        assert found is not None
        running = Secured(address, found[2], log, folder, process)
        poll(lambda: _ready(running.health), START_BOUND_S, "the daemon is ready")
        yield running


def _ready(health: str) -> bool | None:
    try:
        return bool(fetch(f"http://{health}/-/ready"))
    except OSError:
        return None
