"""A state directory on the node that belongs to somebody else: what the daemon does with it, and what the init container makes of it."""

import os
from pathlib import Path
from typing import Any

import pytest

from exporter.runtime.learned_ports import FILE as PORTS
from tests.helm.kubelet import Pod, started
from tests.helm.simulated_node import SimulatedNode
from tests.machine import parsed
from tests.real.listener import poll

BOUND_S = 30.0
STATE = "var/lib/fabric-exporter"
OWNER, SOMEBODY = 65532, 1234
WRITABLE = ("fabric_exporter_state_writable", ())


@pytest.fixture
def node(tmp_path: Path) -> SimulatedNode:
    """A node that stands still, with the kubelet's own folder."""
    made = SimulatedNode(tmp_path)
    (made.node.root / "var/lib/kubelet/pod-resources").mkdir(parents=True)
    return made


def belongs_to(folder: Path, owner: int, mode: int) -> None:
    """The folder is there, and is theirs."""
    folder.mkdir(parents=True)
    os.chown(folder, owner, owner)
    folder.chmod(mode)


def learned(pod: Pod) -> str:
    """What the pod has learned of ports, once it has."""
    file = pod.volumes["state"] / PORTS
    return poll(lambda: text if file.exists() and "mlx5_0" in (text := file.read_text()) else None, BOUND_S, "ports are learned")


@pytest.mark.parametrize(("owner", "mode"), [(0, 0o755), (SOMEBODY, 0o700)], ids=["root", "somebody"])
def test_without_the_init_container_it_runs_says_so_and_counts_it(node: SimulatedNode, tmp_path: Path, owner: int, mode: int) -> None:
    """The metrics are there all the same; one line tells where and what to do, and an alert goes by the gauge."""
    belongs_to(node.node.root / STATE, owner, mode)
    with started(node.rendered(), node.node, tmp_path / "pod", without_init=True) as pod:
        samples = parsed(pod.get("/metrics"))
        log = pod.log()

    assert samples[WRITABLE] == 0
    assert samples["fabric_infiniband_state_id", (("device", "mlx5_0"), ("port", "1"))] == 4
    assert "state directory /var/lib/fabric-exporter: Permission denied; what is learned is lost at a restart" in log
    assert list((node.node.root / STATE).iterdir()) == []


@pytest.mark.parametrize(("owner", "mode"), [(0, 0o755), (SOMEBODY, 0o700)], ids=["root", "somebody"])
def test_the_init_container_repairs_it(node: SimulatedNode, tmp_path: Path, owner: int, mode: int) -> None:
    """Whoever had it, with two capabilities and no right to look into it."""
    belongs_to(node.node.root / STATE, owner, mode)
    with started(node.rendered(), node.node, tmp_path / "pod") as pod:
        learned(pod)

        assert parsed(pod.get("/metrics"))[WRITABLE] == 1
        assert (node.node.root / STATE).stat().st_uid == OWNER


@pytest.mark.parametrize("switch", [{"podResources": {"enabled": True}}, {"securityContext": {"runAsUser": 4711, "runAsGroup": 4711}}],
                         ids=["to-root", "to-another"])  # fmt: skip
def test_an_upgrade_to_another_user_and_back_keeps_what_was_learned(node: SimulatedNode, tmp_path: Path, switch: dict[str, Any]) -> None:
    """A switch that needs root is thrown and taken back: no file becomes unreadable, and the recording goes on."""
    logs = []
    for number, values in enumerate(({}, switch, {})):
        with started(node.rendered(**values), node.node, tmp_path / str(number)) as pod:
            learned(pod)
            assert pod.terminate() == 0
            logs.append(pod.log())

    assert [line for log in logs for line in log.splitlines() if "forgotten" in line or "cannot record" in line] == []
