"""A prometheus.yml from the rendered monitor, as the Prometheus operator makes one in essence, and the rule file from the PrometheusRule.

Kubernetes' discovery is played by static targets with the meta labels that it would give; whom a monitor or a Service does not select is no
target. Secrets become files.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.helm.chart import Object, Release
from tests.helm.kubelet import Node, secret_of

Settings = dict[str, Any]
POD_LABEL, SERVICE_LABEL, NODE_LABEL = (f"__meta_kubernetes_{kind}_label_" for kind in ("pod", "service", "node"))
_RENAMED = {"sourceLabels": "source_labels", "targetLabel": "target_label"}


def scrape_config(release: Release, node: Node, folder: Path, *, address: str, node_labels: Mapping[str, str]) -> Settings:
    """One entry of scrape_configs for the release's only monitor, with its pod on `node` as the target. Secrets go below `folder`."""
    (monitor,) = (*release.of("ServiceMonitor"), *release.of("PodMonitor"))
    is_of_service = monitor["kind"] == "ServiceMonitor"
    (endpoint,) = monitor["spec"]["endpoints" if is_of_service else "podMetricsEndpoints"]
    metadata = monitor["metadata"]
    labels = _of_service(release) if is_of_service else {}
    labels |= _of_pod(
        release, node, node_labels if monitor["spec"].get("attachMetadata", {}).get("node") else {}, is_of_service=is_of_service
    )
    made: Settings = {
        "job_name": f"{'serviceMonitor' if is_of_service else 'podMonitor'}/{metadata['namespace']}/{metadata['name']}/0",
        "honor_labels": endpoint.get("honorLabels", False),
        "metrics_path": endpoint.get("path", "/metrics"),
        "scheme": endpoint.get("scheme", "http"),
        "static_configs": [{"targets": [address], "labels": labels}],
        "relabel_configs": [*_of_operator(monitor, endpoint, is_of_service=is_of_service), *map(_rule, endpoint.get("relabelings", []))],
        "metric_relabel_configs": list(map(_rule, endpoint.get("metricRelabelings", []))),
    }
    made |= {name: endpoint[key] for name, key in (("scrape_interval", "interval"), ("scrape_timeout", "scrapeTimeout")) if key in endpoint}
    made |= {"sample_limit": monitor["spec"]["sampleLimit"]} if "sampleLimit" in monitor["spec"] else {}

    def secret(reference: Mapping[str, str]) -> bytes:
        return secret_of(release, node, reference["name"])[reference["key"]]

    if "tlsConfig" in endpoint:
        made["tls_config"] = _tls(endpoint["tlsConfig"], {name: secret(one) for name, one in _files_of(endpoint["tlsConfig"])}, folder)
    if "basicAuth" in endpoint:
        made["basic_auth"] = {key: secret(one).decode() for key, one in endpoint["basicAuth"].items()}
    return made


def rule_file(release: Release, path: Path) -> Path:
    """The PrometheusRule's groups as a file that Prometheus loads."""
    path.write_text(yaml.safe_dump({"groups": release.one("PrometheusRule")["spec"]["groups"]}), encoding="utf-8")
    return path


def label(name: str) -> str:
    """A label's name in Prometheus' discovery."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)


def _of_operator(monitor: Object, endpoint: Object, *, is_of_service: bool) -> Iterator[Settings]:
    """What it writes before the monitor's own rules: whom to keep, and the labels of a target."""
    prefix = SERVICE_LABEL if is_of_service else POD_LABEL
    for name, value in monitor["spec"]["selector"]["matchLabels"].items():
        yield {"source_labels": [prefix + label(name)], "regex": value, "action": "keep"}
    port = "endpoint_port_name" if is_of_service else "pod_container_port_name"
    yield {"source_labels": [f"__meta_kubernetes_{port}"], "regex": endpoint["port"], "action": "keep"}
    yield {"source_labels": ["__meta_kubernetes_namespace"], "regex": "|".join(monitor["spec"]["namespaceSelector"]["matchNames"]),
           "action": "keep"}  # fmt: skip
    for source, target in (("namespace", "namespace"), ("pod_name", "pod"), ("pod_container_name", "container")):
        yield {"source_labels": [f"__meta_kubernetes_{source}"], "target_label": target}
    if is_of_service:
        yield {"source_labels": ["__meta_kubernetes_service_name"], "target_label": "service"}
        yield {"source_labels": ["__meta_kubernetes_service_name"], "target_label": "job"}
    for name in monitor["spec"].get("podTargetLabels", []):
        yield {"source_labels": [POD_LABEL + label(name)], "target_label": label(name), "regex": "(.+)"}
    for name in monitor["spec"].get("targetLabels", []):
        yield {"source_labels": [SERVICE_LABEL + label(name)], "target_label": label(name), "regex": "(.+)"}
    yield {"target_label": "endpoint", "replacement": endpoint["port"]}


def _of_service(release: Release) -> dict[str, str]:
    """Meta labels of the Service's endpoint. AssertionError if the Service would not find the pod."""
    service = release.one("Service")
    labels = release.one("DaemonSet")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items(), "the Service selects no pod of the DaemonSet"
    (port,) = service["spec"]["ports"]
    assert port["targetPort"] in {one["name"] for one in release.container["ports"]}, "the Service's port leads to none of the container"
    found = {"__meta_kubernetes_endpoint_port_name": port["name"], "__meta_kubernetes_service_name": service["metadata"]["name"]}
    return found | {SERVICE_LABEL + label(name): value for name, value in service["metadata"]["labels"].items()}


def _of_pod(release: Release, node: Node, node_labels: Mapping[str, str], *, is_of_service: bool) -> dict[str, str]:
    template = release.one("DaemonSet")
    found = {
        "__meta_kubernetes_namespace": template["metadata"]["namespace"],
        "__meta_kubernetes_pod_name": f"{template['metadata']['name']}-{node.name}",
        "__meta_kubernetes_pod_node_name": node.name,
        "__meta_kubernetes_pod_container_name": release.container["name"],
    }
    found |= {} if is_of_service else {"__meta_kubernetes_pod_container_port_name": "metrics"}
    found |= {POD_LABEL + label(name): value for name, value in template["spec"]["template"]["metadata"]["labels"].items()}
    return found | {NODE_LABEL + label(name): value for name, value in node_labels.items()}


def _rule(one: Mapping[str, Any]) -> Settings:
    return {_RENAMED.get(key, key): value for key, value in one.items()}


def _files_of(tls: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for key, name in (("ca", "ca_file"), ("cert", "cert_file")):
        if key in tls:
            yield name, tls[key]["secret"]
    if "keySecret" in tls:
        yield "key_file", tls["keySecret"]


def _tls(tls: Mapping[str, Any], contents: Mapping[str, bytes], folder: Path) -> Settings:
    made: Settings = {"insecure_skip_verify": tls.get("insecureSkipVerify", False)}
    made |= {"server_name": tls["serverName"]} if "serverName" in tls else {}
    for name, content in contents.items():
        path = folder / name
        path.write_bytes(content)
        made[name] = str(path)
    return made
