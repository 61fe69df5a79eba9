"""The probe's unit and timer: little exposed for what CUDA needs, the daemon's own state, and a command that is ours."""

import shlex
import subprocess
from pathlib import Path

from exporter.catalog.limits import PROBE_INTERVAL_S, PROBE_WALL_S
from tests.deploy.unit_files import HERE, PROBE, PROGRAM, SERVICE, TIMER, exposure, lay_out, settings
from tests.real.daemon import environment

EXPOSURE_MAX = 4.5
"""research/ecosystem.md §5: the probe's unit."""


def only(unit: str, key: str) -> str:
    """The one value of that key."""
    (value,) = settings(unit, key)
    return value


def test_the_unit_is_exposed_no_more_than_promised(tmp_path: Path) -> None:
    """CUDA may write code and RDMA lock memory; nothing else is open that the daemon's unit shuts."""
    assert exposure(lay_out(tmp_path), PROBE) <= EXPOSURE_MAX


def test_it_is_the_daemon_s_user_with_the_daemon_s_state() -> None:
    """Else the daemon could not read what it leaves: a dynamic user is named by its unit unless User= says otherwise."""
    assert only(PROBE, "DynamicUser") == only(SERVICE, "DynamicUser") == "yes"
    assert only(PROBE, "User") == SERVICE.removesuffix(".service")
    assert only(PROBE, "StateDirectory") == only(SERVICE, "StateDirectory")


def test_no_privilege_and_no_other_device_than_cuda_and_rdma_need() -> None:
    """By name, closed to all others."""
    assert only(PROBE, "CapabilityBoundingSet") == ""
    assert only(PROBE, "DevicePolicy") == "closed"
    assert {line.split()[0] for line in settings(PROBE, "DeviceAllow")} == {
        "char-195", "char-nvidia-uvm", "char-nvidia-caps", "char-infiniband_verbs", "char-infiniband_cm",
    }  # fmt: skip


def test_its_command_is_ours_and_a_finding_is_no_failure_of_the_unit(tmp_path: Path) -> None:
    """On a machine without GPUs it is skipped, which is well."""
    words = [HERE if word == PROGRAM else word for word in shlex.split(only(PROBE, "ExecStart")) if word != "$PROBE_ARGS"]
    own = {"FABRIC_STATE_DIR": str(tmp_path / "state"), "FABRIC_SOURCES_NVML_LIBRARY": str(tmp_path / "none.so")}
    done = subprocess.run([*words, "--watch=10ms"], env={**environment(), **own}, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0
    assert done.stdout.startswith("skipped (disabled): the GPUs cannot be asked: ")
    assert only(PROBE, "SuccessExitStatus") == "1"


def test_it_has_time_to_end_and_the_timer_asks_no_more_often_than_the_budget() -> None:
    """Else every second probe would be refused."""
    assert float(only(PROBE, "TimeoutStartSec")) > PROBE_WALL_S + 20
    assert float(only(TIMER, "OnUnitActiveSec").removesuffix("min")) * 60 >= PROBE_INTERVAL_S
    assert only(TIMER, "RandomizedDelaySec").endswith("min")
