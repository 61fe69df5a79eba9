"""What went wrong in other charts, one test each (research/ecosystem.md §4.3): here it does not."""

from typing import Any

import pytest
import yaml

from tests.helm.chart import Release, release
from tests.helm.test_matrix import values_of

TLS = {"enabled": True, "existingSecret": "certificate"}
HASH = "$2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze"
AUTH = {"enabled": True, "users": {"prometheus": HASH}, "monitorSecret": {"name": "password"}}


def endpoint(made: Release) -> dict[str, Any]:
    """The one endpoint of the one monitor."""
    (monitor,) = made.of("ServiceMonitor") + made.of("PodMonitor")
    (found,) = monitor["spec"].get("endpoints") or monitor["spec"]["podMetricsEndpoints"]
    assert isinstance(found, dict)
    return found


def test_a_list_of_tolerations_replaces_and_a_second_one_adds() -> None:
    """dcgm-exporter#733: a user's list took the default away, and with it every GPU node."""
    own = [{"key": "team", "operator": "Exists"}]

    assert release({"tolerations": own}).pod["tolerations"] == own
    assert release({"extraTolerations": own}).pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}, *own]


def test_a_runtime_class_reaches_the_pod() -> None:
    """dcgm-exporter#102."""
    assert release({"runtimeClassName": "nvidia"}).pod["runtimeClassName"] == "nvidia"


@pytest.mark.parametrize("monitor", ["serviceMonitor", "podMonitor"])
def test_tls_and_password_reach_the_monitor(monitor: str) -> None:
    """dcgm-exporter's chart 4.8.2 left the target down: no scheme, no tlsConfig, no basicAuth."""
    found = endpoint(release({monitor: {"enabled": True}, "tls": TLS, "basicAuth": AUTH}))

    assert found["scheme"] == "https"
    assert found["tlsConfig"] == {
        "serverName": "fabric-exporter.monitoring.svc",
        "ca": {"secret": {"name": "certificate", "key": "ca.crt"}},
    }
    assert found["basicAuth"] == {"username": {"name": "password", "key": "username"}, "password": {"name": "password", "key": "password"}}


def test_probes_stay_plain_whatever_guards_the_metrics() -> None:
    """elasticsearch_exporter#825: probes over plain HTTP at a TLS port crash the pods in a loop."""
    guarded, plain = release({"tls": TLS, "basicAuth": AUTH}).container, release().container

    assert [guarded[probe] for probe in ("livenessProbe", "readinessProbe", "startupProbe")] == [
        plain[probe] for probe in ("livenessProbe", "readinessProbe", "startupProbe")
    ]
    assert {"name": "FABRIC_WEB_HEALTH_ADDRESS", "value": ":29101"} in guarded["env"]


def test_hashes_are_kept_as_they_are_in_a_secret() -> None:
    """That chart hashed anew with each render, hashed hashes again, and put them into a ConfigMap."""
    made = release({"tls": TLS, "basicAuth": AUTH})
    web = yaml.safe_load(made.one("Secret")["stringData"]["web.yaml"])

    assert web["basic_auth_users"] == {"prometheus": HASH}
    assert HASH not in "".join(str(one) for one in made.of("ConfigMap"))


def test_the_port_can_listen_on_the_node_s_own_address_alone() -> None:
    """helm-charts#6250; the probes go where it listens."""
    env = {one["name"]: one.get("value") for one in release({"hostNetwork": True, "listenHost": "$(POD_IP)"}).container["env"]}
    names = [one["name"] for one in release({"listenHost": "$(POD_IP)"}).container["env"]]

    assert env["FABRIC_WEB_LISTEN_ADDRESS"] == "$(POD_IP):29100"
    assert env["FABRIC_WEB_HEALTH_ADDRESS"] == "$(POD_IP):29101"
    assert names.index("POD_IP") < names.index("FABRIC_WEB_LISTEN_ADDRESS")


@pytest.mark.parametrize(("monitor", "kind"), [("serviceMonitor", "ServiceMonitor"), ("podMonitor", "PodMonitor")])
def test_a_monitor_that_is_switched_on_is_there_with_an_endpoint_and_its_labels(monitor: str, kind: str) -> None:
    """helm-charts#1638 (silently off), gpu-operator#363 (labels missing), kubescape#390 (no endpoints)."""
    made = release({monitor: {"enabled": True, "additionalLabels": {"release": "prometheus"}, "namespace": "elsewhere"}})
    found = made.one(kind)

    assert found["metadata"]["labels"]["release"] == "prometheus"
    assert found["metadata"]["namespace"] == "elsewhere"
    assert found["spec"]["namespaceSelector"] == {"matchNames": ["monitoring"]}
    assert found["spec"]["selector"]["matchLabels"] == made.one("DaemonSet")["spec"]["selector"]["matchLabels"]
    assert endpoint(made)["port"] in {port["name"] for port in made.container["ports"]}


def test_the_service_monitor_s_port_is_the_service_s() -> None:
    """By name, also under another."""
    made = release({"serviceMonitor": {"enabled": True}, "service": {"portName": "http-fabric", "port": 80}})
    (port,) = made.one("Service")["spec"]["ports"]

    assert endpoint(made)["port"] == port["name"] == "http-fabric"
    assert (port["port"], port["targetPort"]) == (80, "metrics")


@pytest.mark.parametrize("monitor", ["serviceMonitor", "podMonitor"])
def test_node_and_job_are_set_and_the_user_s_rules_come_after(monitor: str) -> None:
    """gpu-operator#537: relabelings were not applied. Boards go by node, alerts by a job with this name."""
    own = [{"sourceLabels": ["a"], "targetLabel": "b"}]
    rules = {"poolNodeLabel": "cloud.google.com/gke-nodepool", "relabelings": own, "metricRelabelings": own}
    made = release({monitor: {"enabled": True, **rules}}, name="x")
    found = endpoint(made)

    assert found["relabelings"] == [
        {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"},
        {"targetLabel": "job", "replacement": "fabric-exporter"},
        {"sourceLabels": ["__meta_kubernetes_node_label_cloud_google_com_gke_nodepool"], "targetLabel": "pool"},
        *own,
    ]
    assert found["metricRelabelings"] == own
    (monitor_object,) = made.of("ServiceMonitor") + made.of("PodMonitor")
    assert monitor_object["spec"]["attachMetadata"] == {"node": True}


def test_numbers_in_the_environment_are_texts() -> None:
    """dcgm-exporter's chart: a number was an invalid manifest; and 12345678 must not become 1.2345678e+07."""
    env = {one["name"]: one.get("value") for one in release(values_of("every-extra")).container["env"]}

    assert (env["RETRIES"], env["BIG"], env["FLAG"]) == ("3", "12345678", "true")


def test_great_numbers_stay_whole() -> None:
    """Helm reads numbers as floats, and a uid of 1e+09 or a count of 1e+06 is refused."""
    made = release(values_of("every-extra"))
    (config,) = [one["data"]["config.yaml"] for one in release(values_of("every-switch")).of("ConfigMap")]

    assert made.pod["securityContext"]["runAsUser"] == 1_000_000_000
    assert isinstance(made.pod["securityContext"]["runAsUser"], int)
    assert "1000000000:1000000000" in made.pod["initContainers"][0]["command"][2]
    assert yaml.safe_load(config)["exposition"]["series_cap"] == 1_000_000


@pytest.mark.parametrize("name", ["with.dots.in.it", "1st", "a" * 53, "fabric-exporter", "x"])
def test_every_release_name_gives_legal_names(name: str) -> None:
    """A Service's name has no dots, begins with a letter and has at most 63 characters."""
    made = release(
        {"serviceMonitor": {"enabled": True}, "dashboards": {"enabled": True}, "tls": TLS, "webHeaders": {"X-Frame-Options": "deny"}},
        name=name,
    )

    for one in made.objects:
        label = one["metadata"]["name"]
        assert label[0].isalpha()
        assert "." not in label
        assert len(label) <= 63
    assert len({(one["kind"], one["metadata"]["name"]) for one in made.objects}) == len(made.objects)


def test_a_name_of_eighty_letters_is_cut_and_endings_stay() -> None:
    """Else nine boards would have one name."""
    made = release({"fullnameOverride": "n" * 80, "dashboards": {"enabled": True}})
    names = [one["metadata"]["name"] for one in made.of("ConfigMap")]

    assert made.one("Service")["metadata"]["name"] == "n" * 63
    assert len(set(names)) == len(names) == 10
    assert max(map(len, names)) <= 63


def test_an_exporter_of_a_chart_of_charts_takes_the_global_registry() -> None:
    """And its pull secrets beside its own, each once."""
    made = release(values_of("every-extra"))

    assert made.container["image"].startswith("mirror.example/site/fabric@sha256:")
    assert made.pod["imagePullSecrets"] == [{"name": "global-pull"}, {"name": "own-pull"}]


def test_ipv6_addresses_stand_in_brackets() -> None:
    """The Service is of that family alone."""
    made = release(values_of("ipv6"))
    env = {one["name"]: one.get("value") for one in made.container["env"]}

    assert env["FABRIC_WEB_LISTEN_ADDRESS"] == "[$(POD_IP)]:29100"
    assert made.one("Service")["spec"]["ipFamilies"] == ["IPv6"]
    assert made.one("Service")["spec"]["clusterIP"] == "None"
