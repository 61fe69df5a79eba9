"""A simulated fleet as a process of its own, on a free loopback port."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.daemon import environment
from tests.real.listener import listening

ARGV = ("-m", "exporter.cli.fleet")
LISTENING = re.compile(r"listening on (127\.0\.0\.1:\d+)")


@dataclass(frozen=True, slots=True)
class FleetProcess:
    """A running fleet: where it serves, the lists for Prometheus, its process."""

    address: str
    targets: Path
    named_targets: Path
    process: "subprocess.Popen[bytes]"


@contextmanager
def fleet(folder: Path, *, nodes: int, tier: str = "standard", ahead: str | None = None) -> Iterator[FleetProcess]:
    """So many nodes, `ahead` into their stories (None: as far as usual). Stopped by SIGTERM in the end. Raises RealServerError."""
    targets, named = folder / "fleet-targets.json", folder / "fleet-named-targets.json"
    options = ["--nodes", str(nodes), "--tier", tier, "--targets", str(targets), "--named-targets", str(named)]
    options += ["--listen-address", "127.0.0.1:0"]
    options += ["--ahead", ahead] if ahead is not None else []
    with listening([sys.executable, *ARGV, *options], folder / "fleet.log", LISTENING, "the fleet", environment()) as (process, address):
        yield FleetProcess(address, targets, named, process)
