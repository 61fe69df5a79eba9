"""The units as systemd's own tools judge them: no mistake, and little exposed."""

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from exporter.config.options import OPTIONS
from tests.deploy.unit_files import (
    DROP_INS,
    FOLDER,
    PROGRAM,
    SERVICE,
    SOCKET,
    allowed_system_calls,
    command,
    complaints,
    exposure,
    findings,
    lay_out,
    refused_above,
    settings,
)
from tests.real.daemon import environment

EXPOSURE_MAX = 2.0
"""targets.md: the exporter's unit."""
BY_DROP_IN = {"process-attribution.conf": 2.1}
"""Reads every process's environment and every file: it says so itself."""


@pytest.mark.parametrize("drop_ins", [[], *([one] for one in DROP_INS), DROP_INS], ids=lambda those: "+".join(one.stem for one in those))
def test_systemd_finds_no_mistake(tmp_path: Path, drop_ins: list[Path]) -> None:
    """Alone, with each drop-in and with all."""
    assert complaints(lay_out(tmp_path, drop_ins)) == ""


def test_a_misspelt_line_is_found(tmp_path: Path) -> None:
    """The check is not idle: systemd only warns of a key it does not know, and exits with 0."""
    root = lay_out(tmp_path)
    unit = root / "etc/systemd/system" / SERVICE
    unit.write_text(unit.read_text().replace("ProtectSystem=", "ProtectSystems="))

    assert "ProtectSystems" in complaints(root)


def test_the_unit_is_exposed_no_more_than_promised(tmp_path: Path) -> None:
    """By the figure, and by the threshold that an auditor would set."""
    root = lay_out(tmp_path)

    assert exposure(root) <= EXPOSURE_MAX
    assert not refused_above(root, round(EXPOSURE_MAX * 10))
    assert refused_above(root, 10)


@pytest.mark.parametrize("drop_in", DROP_INS, ids=lambda path: path.stem)
def test_a_drop_in_costs_no_more_than_its_purpose(tmp_path: Path, drop_in: Path) -> None:
    """One stays at the promise, but for the one that says what it opens."""
    assert exposure(lay_out(tmp_path, [drop_in])) <= BY_DROP_IN.get(drop_in.name, EXPOSURE_MAX)


def test_any_device_opens_the_list_whatever_else_is_dropped_in(tmp_path: Path) -> None:
    """An entry that another drop-in or ProtectClock= adds would close it again."""
    found = findings(lay_out(tmp_path, DROP_INS))

    assert found["DeviceAllow="] == "Service has no device ACL"


def test_the_kernel_log_drop_in_opens_the_log_and_nothing_else(tmp_path: Path) -> None:
    """One capability and one device."""
    before = findings(lay_out(tmp_path / "before"))
    after = findings(lay_out(tmp_path / "after", [FOLDER / "drop-ins/kernel-log.conf"]))

    assert set(after) - set(before) == {"AmbientCapabilities=", "ProtectKernelLogs=", "CapabilityBoundingSet=~CAP_SYSLOG"}
    assert "/dev/kmsg:r" in after["DeviceAllow="]


def test_the_socket_and_the_service_speak_of_the_same_port() -> None:
    """The port of the daemon's own default."""
    (port,) = settings(SOCKET, "ListenStream")

    assert OPTIONS["web.listen_addresses"].default == (f":{port}",)


def test_the_directories_are_the_daemon_s_own() -> None:
    """State and control socket lie where the daemon looks for them by default."""
    (state,), (run) = settings(SERVICE, "StateDirectory"), settings(SERVICE, "RuntimeDirectory")

    assert OPTIONS["state.dir"].default == f"/var/lib/{state}"
    assert OPTIONS["control.socket"].default == f"/run/{run[0]}/control.sock"


def test_the_watchdog_is_slower_than_what_makes_the_daemon_unhealthy() -> None:
    """The sampler counts as stopped after five of its shortest intervals, 25 s as shipped: a watchdog below shoots at a slow device."""
    (watchdog_s,) = (float(value) for value in settings(SERVICE, "WatchdogSec"))

    assert watchdog_s >= 2 * 5 * 5.0


@pytest.mark.parametrize("key", ["ExecStart", "ExecReload"])
def test_each_command_of_the_unit_is_ours(key: str) -> None:
    """Its verb and flags: the program's own parser takes them."""
    argv = command(key)

    done = subprocess.run([*argv, "--help"], capture_output=True, text=True, env=environment(), timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert settings(SERVICE, key)[0].startswith(f"{PROGRAM} ")


@pytest.mark.parametrize("name", ["fabric-exporter.default", *(f"drop-ins/{path.name}" for path in DROP_INS)])
def test_each_variable_is_an_option_s(name: str) -> None:
    """In the environment file, comments included, and in the drop-ins."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    named = set(re.findall(r"\bFABRIC_[A-Z_]+", text))

    assert named <= {option.variable for option in OPTIONS.values()} | {"FABRIC_CONFIG"}


def test_the_environment_file_changes_nothing_until_somebody_edits_it() -> None:
    """Comments only, each variable of which a shell and systemd read alike."""
    lines = (FOLDER / "fabric-exporter.default").read_text(encoding="utf-8").splitlines()
    assignments = [line[1:] for line in lines if re.match(r"#[A-Z_]+=", line)]

    assert [line for line in lines if line and not line.startswith("#")] == []
    assert len(assignments) >= 4


@pytest.mark.parametrize("path", [FOLDER / SERVICE, FOLDER / SOCKET, *DROP_INS], ids=lambda path: path.name)
def test_no_key_is_set_twice_by_mistake(path: Path) -> None:
    """Only lists may be."""
    parser = configparser.RawConfigParser(strict=True, interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    lists = re.compile(r"^(DeviceAllow|SystemCallFilter)=", re.MULTILINE)

    parser.read_string("\n".join(line for line in path.read_text().splitlines() if not lists.match(line)))

    assert parser.sections()


def test_the_filter_lets_the_usual_calls_through_and_no_privileged_one() -> None:
    """By this systemd's sets."""
    allowed = allowed_system_calls()

    assert {"read", "openat", "ioctl", "accept4", "prlimit64", "clone3"} <= allowed
    assert allowed & {"mount", "ptrace", "setuid", "init_module", "bpf", "kexec_load", "perf_event_open"} == set()
