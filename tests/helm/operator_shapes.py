"""Shapes of the operators' objects, closed: the fields that the chart writes and no other, so that a misplaced key is found.

Written after the operators' published API references (prometheus-operator monitoring.coreos.com/v1, cert-manager.io/v1,
grafana.integreatly.org/v1beta1, autoscaling.k8s.io/v1); what a user passes through is open.
"""

from collections.abc import Mapping
from typing import Any

from helm.kubernetes_shapes import INTEGER, OPEN, STRING, TEXTS, Shape, closed, listed, words

DURATION: Shape = {"type": "string", "minLength": 1,
                   "pattern": "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"}  # fmt: skip
"""The operator's own pattern."""
GO_DURATION: Shape = {"type": "string", "pattern": "^([0-9]+(h|m|s))+$"}
KEY = {**closed(name=STRING, key=STRING, optional={"type": "boolean"}), "required": ["name", "key"]}
TLS = closed(
    serverName=STRING, insecureSkipVerify={"type": "boolean"}, ca=closed(secret=KEY, configMap=KEY), cert=closed(secret=KEY), keySecret=KEY
)
RELABELING = closed(sourceLabels=listed(STRING), targetLabel=STRING, replacement=STRING, regex=STRING, separator=STRING, modulus=INTEGER,
                    action=words("replace", "keep", "drop", "labeldrop", "labelkeep", "labelmap", "hashmod"))  # fmt: skip
ENDPOINT = closed(
    port=STRING, path=STRING, scheme=words("http", "https"), interval=DURATION, scrapeTimeout=DURATION, honorLabels={"type": "boolean"},
    tlsConfig=TLS, basicAuth=closed(username=KEY, password=KEY), authorization=closed(type=STRING, credentials=KEY),
    relabelings=listed(RELABELING), metricRelabelings=listed(RELABELING),
)  # fmt: skip
SELECTION: Mapping[str, Shape] = {
    "namespaceSelector": closed(any={"type": "boolean"}, matchNames=listed(STRING)),
    "selector": closed(matchLabels=TEXTS),
    "sampleLimit": INTEGER,
    "attachMetadata": closed(node={"type": "boolean"}),
    "podTargetLabels": listed(STRING),
    "jobLabel": STRING,
}
STRINGS: Shape = {"type": "object", "additionalProperties": STRING}
RULE = closed(record=STRING, alert=STRING, expr=STRING, **{"for": DURATION}, keep_firing_for=DURATION, labels=STRINGS, annotations=STRINGS)
GROUP: Shape = {**closed(name=STRING, interval=DURATION, rules={**listed(RULE), "minItems": 1}), "required": ["name", "rules"]}
ISSUED = closed(secretName=STRING, issuerRef=closed(name=STRING, kind=STRING, group=STRING), duration=GO_DURATION, renewBefore=GO_DURATION,
                privateKey=closed(rotationPolicy=words("Always", "Never")), usages=listed(STRING), dnsNames=listed(STRING))  # fmt: skip
ENDPOINTS: Shape = {**listed(ENDPOINT), "minItems": 1}
BOARD = closed(
    instanceSelector=OPEN, folder=STRING, resyncPeriod=GO_DURATION, allowCrossNamespaceImport={"type": "boolean"}, configMapRef=KEY
)
SPECS: Mapping[str, Shape] = {
    "ServiceMonitor": {**closed(endpoints=ENDPOINTS, targetLabels=listed(STRING), **SELECTION), "required": ["selector", "endpoints"]},
    "PodMonitor": {**closed(podMetricsEndpoints=ENDPOINTS, **SELECTION), "required": ["selector", "podMetricsEndpoints"]},
    "PrometheusRule": closed(groups=listed(GROUP)),
    "Certificate": {**ISSUED, "required": ["secretName", "issuerRef", "dnsNames"]},
    "GrafanaDashboard": {**BOARD, "required": ["instanceSelector", "configMapRef"]},
    "VerticalPodAutoscaler": closed(targetRef=closed(apiVersion=STRING, kind=STRING, name=STRING), updatePolicy=closed(updateMode=STRING)),
}
"""Kind → the shape of its `spec`."""


def shape_of(kind: str) -> Mapping[str, Any]:
    """The whole object's shape. Raises KeyError for a kind that is none of the operators'."""
    return {"type": "object", "required": ["apiVersion", "kind", "metadata", "spec"], "properties": {"spec": SPECS[kind]}}
