"""What `helm install` without a word gives: a pod on every GPU node that may do as little as it can."""

from typing import Any

import pytest

from exporter.config.options import OPTIONS
from tests.deploy.dockerfile import final, only
from tests.helm.chart import Release, release


@pytest.fixture(scope="module")
def made() -> Release:
    """By the defaults."""
    return release()


def test_the_pod_may_do_nothing_that_it_need_not(made: Release) -> None:
    """Not root, nothing of the host's but named folders, no way to get more."""
    assert made.pod["securityContext"] == {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                                           "seccompProfile": {"type": "RuntimeDefault"}}  # fmt: skip
    assert made.container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "privileged": False,
                                                 "capabilities": {"drop": ["ALL"]}}  # fmt: skip
    assert (made.pod["hostNetwork"], made.pod["hostPID"], made.pod["hostIPC"]) == (False, False, False)
    assert made.pod["automountServiceAccountToken"] is False
    assert made.one("ServiceAccount")["automountServiceAccountToken"] is False
    assert made.of("ClusterRole") == made.of("Role") == ()


def test_the_user_is_the_image_s(made: Release) -> None:
    """Folders in the image belong to it."""
    assert only("USER", final()) == f"{made.pod['securityContext']['runAsUser']}:{made.pod['securityContext']['runAsGroup']}"


def test_no_gpu_is_asked_for(made: Release) -> None:
    """A device plugin would take it from a job."""
    assert "nvidia.com/gpu" not in str(made.container["resources"])
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"} in made.container["env"]


def test_gpu_nodes_are_tolerated_and_none_is_selected(made: Release) -> None:
    """The taint of GPU nodes keeps it off no more (dcgm-exporter#731); a selector would need labels that not every cluster has."""
    assert made.pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    assert "nodeSelector" not in made.pod
    assert "affinity" not in made.pod


def test_the_node_s_sysfs_is_read_and_nothing_but_state_and_socket_written(made: Release) -> None:
    """Every mount that may be written to is a folder of its own."""
    mounts = {mount["name"]: mount for mount in made.container["volumeMounts"]}
    folders = {volume["name"]: volume["hostPath"]["path"] for volume in made.pod["volumes"] if "hostPath" in volume}

    assert {name for name, mount in mounts.items() if not mount.get("readOnly")} == {"state", "run"}
    assert folders == {"sys": "/sys", "state": "/var/lib/fabric-exporter", "run": "/run/fabric-exporter"}
    assert mounts["state"]["mountPath"] == OPTIONS["state.dir"].default
    assert str(OPTIONS["control.socket"].default).startswith(mounts["run"]["mountPath"] + "/")


def test_the_first_container_only_gives_the_folders_away(made: Release) -> None:
    """It is root with two capabilities for an instant; it sees nothing else of the node."""
    (first,) = made.pod["initContainers"]

    assert first["command"][:2] == ["sh", "-euc"]
    assert 'chown --recursive --no-dereference 65532:65532 "$folder"' in first["command"][2]
    assert first["command"][3:] == ["own-folders", "/var/lib/fabric-exporter", "/run/fabric-exporter"]
    assert first["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN", "FOWNER"]}
    assert first["securityContext"]["allowPrivilegeEscalation"] is False
    assert [mount["name"] for mount in first["volumeMounts"]] == ["state", "run"]


def test_memory_is_limited_and_cpu_is_not(made: Release) -> None:
    """A throttled reader reads late and takes the delay for a hang."""
    assert made.container["resources"]["limits"] == {"memory": "512Mi"}
    assert set(made.container["resources"]["requests"]) == {"cpu", "memory"}


@pytest.mark.parametrize("probe", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_probes_are_patient_and_ask_the_health_port(made: Release, probe: str) -> None:
    """Kubernetes' own second is too short for a node full of work (dcgm-exporter#679)."""
    settings: dict[str, Any] = made.container[probe]

    assert settings["timeoutSeconds"] >= 5
    assert settings["failureThreshold"] * settings["periodSeconds"] >= 60
    assert settings["httpGet"]["port"] == "health"
    assert settings["httpGet"]["path"] in {"/-/healthy", "/-/ready"}
    assert {port["name"]: port["containerPort"] for port in made.container["ports"]} == {"metrics": 29100, "health": 29101}


def test_a_stop_is_waited_for(made: Release) -> None:
    """A process stuck in the driver takes the daemon up to 45 s (docs/deploy-systemd.md)."""
    assert made.pod["terminationGracePeriodSeconds"] > 45


def test_the_image_is_this_version_by_its_tag(made: Release) -> None:
    """The chart's appVersion, which is the package's."""
    from exporter import __version__

    assert made.container["image"] == f"fabric-exporter:{__version__}"


def test_there_are_four_objects(made: Release) -> None:
    """Nothing that needs an operator's definitions, so that it installs on any cluster."""
    assert sorted(one["kind"] for one in made.objects) == ["ConfigMap", "DaemonSet", "Service", "ServiceAccount"]
