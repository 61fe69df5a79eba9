"""A rollout as one node sees it: the pod of one rendering is ended, the pod of the next one starts on the same folders of the node."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from exporter.runtime.kept_verdicts import FILE as VERDICTS
from exporter.runtime.learned_links import FILE as LINKS
from exporter.runtime.learned_ports import FILE as PORTS
from tests.helm.chart import Release, release
from tests.helm.kubelet import Pod, started
from tests.helm.simulated_node import QUICK, SimulatedNode
from tests.machine import parsed
from tests.real.listener import poll

BOUND_S = 60.0
FAILED, REPAIRED, DOWN_LATER, WELL = (f"mlx5_{number}" for number in range(4))
DOWN, UP = {"state": "1: DOWN", "phys_state": "2: Polling"}, {"state": "4: ACTIVE", "phys_state": "5: LinkUp"}
CHANGE = re.compile(r"health changed link=(\S+) from=(\w+) to=(\w+)")
LEVELS = ("ok", "suspect", "degraded", "failed")
CONFIG = {**QUICK, "sources": {**QUICK["sources"], "infiniband": {"fast_interval": "200ms", "normal_interval": "400ms"}}}
BEFORE: Mapping[str, Any] = {"config": CONFIG}
NEXT: Mapping[str, Any] = {"image": {"tag": "9.9.9"}, "config": {**CONFIG, "exposition": {"tier": "full"}}}
"""What the upgrade brings: another image, and a configuration that has changed."""


@pytest.fixture
def node(tmp_path: Path) -> SimulatedNode:
    """One whose links are all up."""
    return SimulatedNode(tmp_path)


@contextmanager
def pod_of(made: Release, node: SimulatedNode, folder: Path) -> Iterator[Pod]:
    """Its pod on the node, ended as a rollout ends it: within its time."""
    with started(made, node.node, folder) as pod:
        yield pod
        assert pod.terminate() == 0


def status(pod: Pod, device: str) -> str | None:
    """What the page says of the port; None if nothing."""
    value = parsed(pod.get("/metrics")).get(("fabric_link_health_status", (("device", device), ("fabric", "infiniband"), ("port", "1"))))
    return None if value is None else LEVELS[int(value)]


def kept(node: SimulatedNode) -> str:
    """What the node keeps of learned links."""
    return (node.node.root / "var/lib/fabric-exporter" / LINKS).read_text()


def wait_for(pod: Pod, device: str, wanted: str) -> None:
    """Until the page shows it."""
    poll(lambda: True if status(pod, device) == wanted else None, BOUND_S, f"{device} is {wanted}")


def with_failed_links(made: Release, node: SimulatedNode, folder: Path) -> None:
    """The first pod: it learns all links, and two of them go down before its eyes."""
    with pod_of(made, node, folder) as pod:
        state = pod.volumes["state"]
        until_kept(state / LINKS, "0000:")
        until_kept(state / PORTS, FAILED, REPAIRED, DOWN_LATER, WELL)
        for device in (FAILED, REPAIRED):
            node.write(device, **DOWN)
        for device in (FAILED, REPAIRED):
            wait_for(pod, device, "failed")
        until_kept(state / VERDICTS, FAILED, REPAIRED)


def until_kept(file: Path, *words: str) -> None:
    """Until the file holds them all."""
    poll(lambda: (file.exists() and all(word in file.read_text() for word in words)) or None, BOUND_S, f"{file.name} holds {words}")


def test_an_upgrade_keeps_verdicts_and_learned_links_and_raises_no_false_alarm(node: SimulatedNode, tmp_path: Path) -> None:
    """The failed link is failed in the new pod's first page, and so is one that was repaired while no pod ran: it comes back by its own
    rule. One that was cut meanwhile is found, because it was learned. The others are well, and nothing is said of them."""
    with_failed_links(node.rendered(**BEFORE), node, tmp_path / "one")
    learned = kept(node)
    node.write(REPAIRED, **UP)
    node.write(DOWN_LATER, **DOWN)

    with pod_of(node.rendered(is_upgrade=True, **NEXT), node, tmp_path / "two") as pod:
        at_first = poll(lambda: status(pod, FAILED), BOUND_S, "the link is shown"), status(pod, REPAIRED)
        wait_for(pod, DOWN_LATER, "failed")
        at_last = [status(pod, device) for device in (FAILED, REPAIRED, WELL)]
        log = pod.log()

    assert at_first == ("failed", "failed")
    assert at_last == ["failed", "failed", "ok"]
    assert [link for link, _, _ in CHANGE.findall(log)] == [f"infiniband/{DOWN_LATER}/1"]
    assert "forgotten" not in log
    assert kept(node) == learned


def test_what_a_rollout_replaces_and_what_it_must_not(node: SimulatedNode) -> None:
    """A change of configuration or image changes the pod's template, so that Kubernetes replaces pods; the selector and the folders of the
    node stay; the same values again change nothing."""
    first, second = node.rendered(**BEFORE), node.rendered(is_upgrade=True, **NEXT)
    before, after = (made.one("DaemonSet")["spec"] for made in (first, second))
    folders = [{volume["name"]: volume.get("hostPath") for volume in made.pod["volumes"]} for made in (first, second)]
    checksums = [spec["template"]["metadata"]["annotations"]["checksum/config"] for spec in (before, after)]

    assert before["selector"] == after["selector"]
    assert after["selector"]["matchLabels"].items() <= after["template"]["metadata"]["labels"].items()
    assert folders[0] == folders[1]
    assert checksums[0] != checksums[1]
    assert second.container["image"].endswith(":9.9.9")
    assert release(BEFORE).one("DaemonSet") == release(BEFORE, is_upgrade=True).one("DaemonSet")


def test_with_an_empty_dir_the_next_pod_knows_nothing(node: SimulatedNode, tmp_path: Path) -> None:
    """As values.yaml says of `state.type`: what was learned ends with the pod, so a port that is down was perhaps never meant to be up."""
    forgetful: dict[str, Any] = {"state": {"type": "emptyDir"}}
    with_failed_links(node.rendered(**BEFORE, **forgetful), node, tmp_path / "one")

    with pod_of(node.rendered(is_upgrade=True, **NEXT, **forgetful), node, tmp_path / "two") as pod:
        wait_for(pod, WELL, "ok")

        assert [status(pod, device) for device in (FAILED, REPAIRED)].count("failed") == 0
