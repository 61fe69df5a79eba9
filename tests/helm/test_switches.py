"""Each switch gives what it says and nothing besides."""

from typing import Any

import pytest
import yaml

from tests.helm.chart import Release, release


def config(made: Release) -> dict[str, Any]:
    """The exporter's configuration."""
    (text,) = [one["data"]["config.yaml"] for one in made.of("ConfigMap") if "config.yaml" in one["data"]]
    return yaml.safe_load(text)


def folders(made: Release) -> dict[str, str]:
    """Name of a volume → folder of the node."""
    return {volume["name"]: volume["hostPath"]["path"] for volume in made.pod["volumes"] if "hostPath" in volume}


def changed(values: dict[str, object]) -> set[str]:
    """Which of the pod's fields differ from the defaults'."""
    before, after = release().pod, release(values).pod
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def test_host_network_brings_the_cluster_s_names_along() -> None:
    """Else a pod on the node's network cannot resolve Services; ports are taken on the node."""
    made = release({"hostNetwork": True})

    assert made.pod["hostNetwork"] is True
    assert made.pod["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert {port["hostPort"] for port in made.container["ports"]} == {29100, 29101}
    assert changed({"hostNetwork": True}) == {"hostNetwork", "dnsPolicy", "containers"}
    assert release({"hostNetwork": True, "dnsPolicy": "Default"}).pod["dnsPolicy"] == "Default"


def test_the_kernel_log_makes_the_container_privileged_and_only_then_it_is_read() -> None:
    """Kubernetes gives /dev/kmsg to no other."""
    made = release({"kernelLog": {"enabled": True}})

    assert made.container["securityContext"] == {"privileged": True, "allowPrivilegeEscalation": True, "readOnlyRootFilesystem": True}
    assert made.pod["securityContext"]["runAsUser"] == 0
    assert made.pod["securityContext"]["runAsNonRoot"] is False
    assert folders(made)["kernel-log"] == "/dev/kmsg"
    assert config(made)["sources"]["kernel_log"]["enabled"] is True
    assert config(release())["sources"]["kernel_log"]["enabled"] is False


def test_pod_resources_needs_root_without_any_capability() -> None:
    """The kubelet's socket is root's; nothing else is opened by it."""
    made = release({"podResources": {"enabled": True, "kubeletPath": "/data/kubelet/"}})

    assert made.pod["securityContext"]["runAsUser"] == 0
    assert made.container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert made.container["securityContext"]["privileged"] is False
    assert folders(made)["pod-resources"] == "/data/kubelet/pod-resources"
    assert config(made)["jobs"] == {"enabled": True, "processes": False, "pod_resources": "/host/kubelet/pod-resources/kubelet.sock"}
    assert "chown --recursive --no-dereference 0:0" in made.pod["initContainers"][0]["command"][2]


def test_process_attribution_brings_the_node_s_processes() -> None:
    """And the folder whose names tell names of pods."""
    made = release({"processAttribution": {"enabled": True}})

    assert made.pod["hostPID"] is True
    assert folders(made)["pod-logs"] == "/var/log"
    assert config(made)["jobs"] == {"enabled": True, "processes": True, "pod_logs_dir": "/host/var/log"}
    assert made.pod["securityContext"]["runAsUser"] == 65532


def test_a_job_directory_is_the_node_s() -> None:
    """Read only; it may be made after the pod."""
    made = release({"jobDirectory": {"enabled": True, "path": "/run/jobs"}})

    assert folders(made)["job-directory"] == "/run/jobs"
    assert config(made)["jobs"] == {"enabled": True, "processes": False, "directory": "/host/gpu-jobs"}


def test_without_a_way_to_find_jobs_none_are_looked_for() -> None:
    """A source that must fail would be a fault on every node."""
    assert config(release())["jobs"] == {"enabled": False, "processes": False}


def test_taints_need_one_verb_on_one_resource() -> None:
    """And the token of the service account, which nothing else mounts."""
    made = release({"maintenance": {"taints": True}})

    assert made.one("ClusterRole")["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]
    assert made.one("ClusterRoleBinding")["subjects"] == [{"kind": "ServiceAccount", "name": "fabric-exporter", "namespace": "monitoring"}]
    assert made.pod["automountServiceAccountToken"] is True
    assert config(made)["maintenance"] == {"kubernetes": {"enabled": True}}
    assert {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}} in made.container["env"]
    assert release({"maintenance": {"taints": True}, "rbac": {"create": False}}).of("ClusterRole") == ()


def test_the_user_s_configuration_wins_over_what_switches_set() -> None:
    """Else a switch would silently undo it."""
    made = release({"config": {"jobs": {"enabled": True, "processes": True}, "sources": {"kernel_log": {"path": "/dev/other"}}}})

    assert config(made)["jobs"] == {"enabled": True, "processes": True}
    assert config(made)["sources"]["kernel_log"] == {"enabled": False, "path": "/dev/other"}
    assert config(made)["sources"]["sysfs_root"] == "/host/sys"


def test_state_in_the_pod_needs_no_folder_of_the_node() -> None:
    """With the control socket off no container is root, not even for an instant."""
    made = release({"state": {"type": "emptyDir"}, "controlSocket": {"enabled": False}})

    assert "initContainers" not in made.pod
    assert folders(made) == {"sys": "/sys"}
    assert {"name": "state", "emptyDir": {"sizeLimit": "1Gi"}} in made.pod["volumes"]
    assert config(made)["control"] == {"enabled": False}


def test_a_changed_configuration_rolls_the_pods() -> None:
    """And an unchanged one does not; a web configuration is read anew by itself."""

    def checksum(values: dict[str, object]) -> str:
        return str(release(values).one("DaemonSet")["spec"]["template"]["metadata"]["annotations"]["checksum/config"])

    assert checksum({}) == checksum({"podAnnotations": {"a": "b"}})
    assert checksum({}) != checksum({"config": {"exposition": {"tier": "basic"}}})


@pytest.mark.parametrize("probe", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_each_probe_can_be_replaced_field_by_field_and_taken_away(probe: str) -> None:
    """Every field of Kubernetes' own, not only those that somebody thought of (dcgm-exporter#679)."""
    own = {"httpGet": None, "tcpSocket": {"port": "metrics"}, "terminationGracePeriodSeconds": 5, "successThreshold": 1}
    settings = release({probe: own}).container[probe]

    assert settings["tcpSocket"] == {"port": "metrics"}
    assert settings["terminationGracePeriodSeconds"] == 5
    assert "httpGet" not in settings
    assert probe not in release({probe: None}).container


def test_the_network_policy_lets_in_whom_it_names_and_the_kubelet() -> None:
    """The health port stays open: probes come from the node."""
    peers = [{"namespaceSelector": {"matchLabels": {"name": "prometheus"}}}]
    made = release({"networkPolicy": {"enabled": True, "from": peers}})
    ingress = made.one("NetworkPolicy")["spec"]["ingress"]

    assert ingress == [
        {"ports": [{"port": "metrics", "protocol": "TCP"}], "from": peers},
        {"ports": [{"port": "health", "protocol": "TCP"}]},
    ]
    assert made.one("NetworkPolicy")["spec"]["policyTypes"] == ["Ingress"]
