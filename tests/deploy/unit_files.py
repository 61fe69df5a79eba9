"""The files of systemd/ as systemd would find them: read by us, and laid out below a root of its own for systemd-analyze."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.requires import lacking, need

FOLDER = Path(__file__).parents[2] / "systemd"
SERVICE, SOCKET = "fabric-exporter.service", "fabric-exporter.socket"
PROBE, TIMER = "fabric-exporter-probe.service", "fabric-exporter-probe.timer"
DROP_INS = sorted((FOLDER / "drop-ins").glob("*.conf"))
PROGRAM = "/opt/fabric-exporter/bin/fabric-exporter"
"""Where the unit, the Slurm scripts and the page expect it."""
HERE = str(Path(sys.executable).parent / "fabric-exporter")
"""The same program as it is installed for the tests."""
_INSTALL = "apt-get install systemd"


def settings(name: str, key: str) -> list[str]:
    """Values of a key of a unit, in order."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line.partition("=")[2] for line in lines if line.startswith(f"{key}=")]


def command(key: str, arguments: str = "") -> list[str]:
    """The unit's own command line with this machine's program for the installed one, and $ARGS as systemd splits it."""
    (line,) = settings(SERVICE, key)
    words = [HERE if word == PROGRAM else word for word in shlex.split(line)]
    at = words.index("$ARGS") if "$ARGS" in words else len(words)
    return [*words[:at], *shlex.split(arguments), *words[at + 1 :]]


def lay_out(root: Path, drop_ins: Sequence[Path] = ()) -> Path:
    """A root with the units, these drop-ins, the program's place and the distribution's own units, which ours are ordered by."""
    units = next((place for place in (Path("/usr/lib/systemd/system"), Path("/lib/systemd/system")) if place.is_dir()), None)
    if units is None:
        lacking(f"systemd's own units are not installed: {_INSTALL}")
    shutil.copytree(units, root / "usr/lib/systemd/system", symlinks=True)
    ours = root / "etc/systemd/system"
    (ours / f"{SERVICE}.d").mkdir(parents=True)
    for name in (SERVICE, SOCKET, PROBE, TIMER):
        shutil.copy(FOLDER / name, ours)
    for drop_in in drop_ins:
        shutil.copy(drop_in, ours / f"{SERVICE}.d")
    program = root / PROGRAM[1:]
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return root


def complaints(root: Path) -> str:
    """What `systemd-analyze verify` has to say; it exits with 0 also where it says something."""
    return _analyze("verify", "--man=no", f"--root={root}", SERVICE, SOCKET, PROBE, TIMER)


def exposure(root: Path, unit: str = SERVICE) -> float:
    """The exposure of a service: 0 nothing, 10 everything. `--threshold` must agree, as CI of a site would use it."""
    said = _analyze("security", "--offline=true", f"--root={root}", "--threshold=100", unit)
    return float(said.partition("Overall exposure level")[2].partition(":")[2].split()[0])


def refused_above(root: Path, threshold: int) -> bool:
    """Whether `--threshold` (tenths) fails the unit."""
    argv = [need("systemd-analyze", _INSTALL), "security", "--offline=true", f"--root={root}", f"--threshold={threshold}", SERVICE]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False).returncode != 0


def findings(root: Path) -> Mapping[str, str]:
    """What the assessment found not set, by its name, with its description."""
    rows = json.loads(_analyze("security", "--offline=true", f"--root={root}", "--json=short", "--threshold=100", SERVICE))
    return {row["name"]: row["description"] for row in rows if not row["set"] and row["exposure"]}


def allowed_system_calls() -> frozenset[str]:
    """Names that the unit's SystemCallFilter= lets through, by this systemd's own sets."""
    allowed: set[str] = set()
    for line in settings(SERVICE, "SystemCallFilter"):
        names = {call for name in line.removeprefix("~").split() for call in _expanded(name)}
        allowed = allowed - names if line.startswith("~") else allowed | names
    return frozenset(allowed | _expanded("@default"))


def _expanded(name: str) -> frozenset[str]:
    if not name.startswith("@"):
        return frozenset({name})
    words = [line.strip() for line in _analyze("syscall-filter", name).splitlines()[1:]]
    return frozenset(call for word in words if word and not word.startswith("#") for call in _expanded(word))


def _analyze(*words: str) -> str:
    """Everything that it prints. Raises CalledProcessError."""
    argv = [need("systemd-analyze", _INSTALL), "--no-pager", *words]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=True)
    return done.stdout
