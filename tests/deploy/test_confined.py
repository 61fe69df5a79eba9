"""The unit's command in what the kernel does of its confinement without systemd: no capability, no new privileges, no memory that is both
writable and executable. With the C stand-in of the driver's library, which the unmodified pynvml loads by ctypes."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

from exporter.simulator.archive import read_archive, unpack
from tests.deploy.notify_socket import notify_socket, says
from tests.deploy.unit_files import command, settings
from tests.machine import MACHINES, parsed
from tests.nvml_library import BOARDS, FakeDriver, profile
from tests.real.daemon import environment
from tests.real.listener import fetch, poll

BOARD = "h100-nvl"
STARTER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS"
libc.prctl(65, 1, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""PR_SET_MDWE is refused by kernels before 6.3; the rest holds there too."""
DENIES = """
import ctypes
print(ctypes.CDLL(None).prctl(66, 0, 0, 0, 0))
"""


def confined(argv: list[str]) -> list[str]:
    """The same under the starter, and without capabilities if we are root, who alone has them."""
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 and shutil.which("setpriv") else []
    return [*drop, sys.executable, "-c", STARTER, *argv]


def test_everything_is_read_without_any_privilege(tmp_path: Path) -> None:
    """Ports, NVLinks, health and state: nothing is lost to the confinement but what the page says."""
    unpack(read_archive(MACHINES / "h100-8x-ndr400.tree"), tmp_path / "sys")
    driver = FakeDriver(tmp_path / "driver").write(profile(BOARD))
    own = f"--sysfs-root={tmp_path}/sys --state-dir={tmp_path}/state --control-socket={tmp_path}/run/control.sock"
    argv = confined(command("ExecStart", f"{own} --nvml-library={driver.library} --web.listen-address=127.0.0.1:0"))
    log = tmp_path / "journal"
    with notify_socket(str(tmp_path / "notify")) as manager, log.open("wb") as stream:
        env = {**environment(), **driver.environment(), "NOTIFY_SOCKET": manager.address}
        with subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, umask=0o077) as process:
            manager.until(says("READY"))
            port = log.read_text().partition("listening on ")[2].split()[0].strip('"')
            page = poll(
                lambda: text if "fabric_nvlink_state_id" in (text := fetch(f"http://{port}/metrics")) else None, 60, "GPUs are shown"
            )
            status = Path(f"/proc/{process.pid}/status").read_text()
            process.terminate()
            process.wait(40)

    samples = parsed(page)
    links = sum(name == "fabric_nvlink_state_id" for name, _ in samples)
    assert links == BOARDS[BOARD].gpus * BOARDS[BOARD].ports
    assert samples["fabric_infiniband_state_id", (("device", "mlx5_0"), ("port", "1"))] == 4
    assert samples["fabric_exporter_state_writable", ()] == 1
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert settings("fabric-exporter.service", "MemoryDenyWriteExecute") == ["yes"]


def test_the_starter_denies_what_it_says() -> None:
    """PR_GET_MDWE within it, where the kernel knows it."""
    done = subprocess.run(confined([sys.executable, "-c", DENIES]), capture_output=True, text=True, timeout=60, check=True)
    known = ctypes.CDLL(None).prctl(66, 0, 0, 0, 0) >= 0

    assert done.stdout.strip() == ("1" if known else "-1")
