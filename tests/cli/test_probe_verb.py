"""`fabric-exporter probe` for a person: the gates, a shut one, and what is wrong with the words."""

import json
import subprocess
from pathlib import Path

import pytest

from exporter.cli.probe_text import gates_text, probe_text
from exporter.probes.baseline_store import Baselines
from exporter.probes.gates import Allocation, Facts, gates
from exporter.probes.judge import judged
from tests.nvml_library import IDLE, FakeDriver, profile
from tests.probes.reports import GOOD
from tests.real.daemon import command, environment


@pytest.fixture
def node(tmp_path: Path) -> dict[str, str]:
    """Variables of a node with two idle GPUs and a state directory of its own."""
    driver = FakeDriver(tmp_path)
    driver.write({**profile("h100-sxm"), "gpus": 2, **{f"g*.{name}": value for name, value in IDLE.items()}})
    options = {"STATE_DIR": "state", "CONTROL_SOCKET": "none", "SOURCES_SYSFS_ROOT": "", "PROBES_KILL_SWITCH": "no-probes"}
    own = {f"FABRIC_{name}": str(tmp_path / place) for name, place in options.items()}
    return {**environment(), **driver.environment(), **own, "FABRIC_PROBES_SCHEDULER": "nobody"}


def said(node: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """The verb with these words."""
    return subprocess.run([*command("probe", *words)], env=node, capture_output=True, text=True, timeout=60, check=False)


def test_a_dry_run_lists_each_gate_in_order(node: dict[str, str]) -> None:
    """All open on an idle node that is nobody's."""
    done = said(node, "--dry-run", "--watch=100ms", "--json")
    listed = json.loads(done.stdout)

    assert done.returncode == 0
    assert [gate["gate"] for gate in listed][:3] == ["disabled", "maintenance", "lock"]
    assert [gate for gate in listed if not gate["open"]] == []


def test_the_kill_switch_is_told_in_one_line_and_is_no_failure(node: dict[str, str]) -> None:
    """Exit 0: the node was not judged."""
    Path(node["FABRIC_PROBES_KILL_SWITCH"]).touch()
    done = said(node, "--watch=100ms")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"skipped (disabled): {node['FABRIC_PROBES_KILL_SWITCH']} is there (option probes.kill_switch)\n"


def test_without_a_scheduler_s_name_the_gate_stays_shut(node: dict[str, str]) -> None:
    """And says what to do; inside an allocation nobody is asked."""
    del node["FABRIC_PROBES_SCHEDULER"]
    shut, inside = said(node, "--dry-run", "--watch=100ms"), said(node, "--dry-run", "--watch=100ms", "--inside-allocation")

    assert "SHUT  allocated" in shut.stdout
    assert "set probes.scheduler, or say --inside-allocation" in shut.stdout
    assert "SHUT" not in inside.stdout


def test_a_missing_library_is_told_apart_and_exits_with_5(node: dict[str, str], tmp_path: Path) -> None:
    """It could not measure; the line says what was not found."""
    done = said({**node, "FABRIC_PROBES_LIBCUDA": str(tmp_path / "libcuda.so.1")}, "--watch=100ms")

    assert done.returncode == 5
    assert done.stdout.startswith("FAILED (no_libcuda): ")


def test_a_simulated_node_is_refused(node: dict[str, str]) -> None:
    """In one line."""
    done = said(node, "--simulate=hgx-h100")

    assert (done.returncode, done.stdout) == (3, "")
    assert "a simulated node has no NCCL" in done.stderr


def test_the_words_of_a_good_probe() -> None:
    """Latency of the short size, bus bandwidth of the long one, what NCCL took; no line wider than a terminal."""
    text = probe_text(judged(GOOD, Baselines())[0])

    assert text.splitlines()[0] == "8 GPUs in 12.0 s"
    assert "all_reduce      256 MiB     358.0 GB/s bus  RING/SIMPLE  (learning)" in text
    assert "latency 20.0 us, bandwidth 206.0 GB/s" in text
    assert "NCCL took CUMEM between GPUs, IB over 8 HCAs with GPUDirect RDMA" in text
    assert max(map(len, text.splitlines())) <= 100


def test_shut_gates_stand_out() -> None:
    """In capitals, with the reason."""
    text = gates_text(tuple(gates(Facts((), Allocation(free=False, words="job 42 runs here")))))

    assert "SHUT  disabled                there is no GPU to probe\n" in text
    assert "SHUT  allocated               job 42 runs here\n" in text
