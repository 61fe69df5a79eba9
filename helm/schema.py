"""values.schema.json, from values.yaml: every key that stands there and no other, with the type of its default. Pure.

SHAPES says where the default does not tell the type: maps and lists of the user's, words, numbers within bounds. `null` takes a value away
before Helm looks at the schema, so nothing is required.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from helm.config_schema import config_schema
from helm.kubernetes_shapes import (
    BCRYPT_HASH,
    DURATION,
    ENVIRONMENT,
    HOST_VOLUMES,
    INTEGER,
    OPEN,
    PATH,
    PATH_OR_NONE,
    PORT,
    PORT_OR_NONE,
    PULL_SECRETS,
    RESOURCES,
    STRING,
    TEXTS,
    TOLERATIONS,
    UPDATE_STRATEGY,
    Shape,
    closed,
    listed,
    words,
)  # fmt: skip
from helm.values_file import Value

_HEADERS = ("Content-Security-Policy", "Strict-Transport-Security", "X-Content-Type-Options", "X-Frame-Options", "X-XSS-Protection")
_MONITOR: Mapping[str, Shape] = {
    "additionalLabels": TEXTS, "annotations": TEXTS, "interval": DURATION, "scrapeTimeout": DURATION, "scheme": words("", "http", "https"),
    "tlsConfig": OPEN, "basicAuth": OPEN, "authorization": OPEN, "relabelings": listed(OPEN), "metricRelabelings": listed(OPEN),
    "podTargetLabels": listed(STRING),
}  # fmt: skip
SHAPES: Mapping[str, Shape] = {
    **dict.fromkeys(("commonLabels", "commonAnnotations", "nodeSelector", "podLabels", "podAnnotations", "daemonsetAnnotations"), TEXTS),
    **dict.fromkeys(("serviceAccount.annotations", "service.annotations", "service.labels", "networkPolicy.annotations"), TEXTS),
    **dict.fromkeys(("prometheusRule.additionalLabels", "prometheusRule.annotations", "dashboards.annotations"), TEXTS),
    **dict.fromkeys(("affinity", "securityContext", "containerSecurityContext", "dashboards.grafanaOperator.instanceSelector"), OPEN),
    **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), OPEN),
    **{key: listed(OPEN) for key in ("envFrom", "extraVolumes", "extraVolumeMounts", "initContainers", "sidecars", "networkPolicy.from")},
    **{f"{monitor}.{key}": shape for monitor in ("serviceMonitor", "podMonitor") for key, shape in _MONITOR.items()},
    "serviceMonitor.targetLabels": listed(STRING),
    "global.imagePullSecrets": PULL_SECRETS,
    "imagePullSecrets": PULL_SECRETS,
    "image.digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
    "image.pullPolicy": words("Always", "IfNotPresent", "Never"),
    "config": config_schema(),
    "port": PORT,
    "healthPort": PORT,
    "extraArgs": listed(STRING),
    "extraEnv": ENVIRONMENT,
    "hostUsers": {"type": ["boolean", "null"]},
    "podResources.kubeletPath": PATH,
    "processAttribution.podLogsPath": PATH,
    "jobDirectory.path": PATH,
    "nvidia.restartOnUnknownErrorAfter": DURATION,
    "sysfsPath": PATH,
    "state.type": words("hostPath", "emptyDir"),
    "state.hostPath": PATH_OR_NONE,
    "controlSocket.hostPath": PATH_OR_NONE,
    "tls.certManager.issuerRef": closed(name=STRING, kind=STRING, group=STRING),
    "tls.certManager.dnsNames": listed(STRING),
    "basicAuth.users": {"type": "object", "additionalProperties": BCRYPT_HASH},
    "webHeaders": closed(**dict.fromkeys(_HEADERS, STRING)),
    "updateStrategy": UPDATE_STRATEGY,
    "dnsPolicy": words("", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "tolerations": TOLERATIONS,
    "extraTolerations": TOLERATIONS,
    "resources": RESOURCES,
    "extraHostVolumes": HOST_VOLUMES,
    "verticalPodAutoscaler.updateMode": words("Off", "Initial", "Recreate", "Auto", "InPlaceOrRecreate"),
    "service.type": words("ClusterIP", "NodePort", "LoadBalancer"),
    "service.port": PORT_OR_NONE,
    "service.nodePort": PORT_OR_NONE,
    "service.portName": {"type": "string", "pattern": "^[a-z]([a-z0-9-]{0,13}[a-z0-9])?$"},
    "service.internalTrafficPolicy": words("", "Cluster", "Local"),
    "service.ipFamilyPolicy": words("", "SingleStack", "PreferDualStack", "RequireDualStack"),
    "service.ipFamilies": listed(words("IPv4", "IPv6")),
    "prometheusRule.disabled": listed(STRING),
    "prometheusRule.overrides": {
        "type": "object",
        "additionalProperties": closed(
            **{"for": DURATION}, keep_firing_for=DURATION, severity=words("info", "warning", "critical"), labels=TEXTS, annotations=TEXTS,
        ),
    },
    "dashboards.only": listed(STRING),
    "extraManifests": listed({"type": ["object", "string"]}),
}  # fmt: skip
"""Path of a value → its JSON Schema."""
OPEN_LEVELS = frozenset({"global"})
"""Maps that a parent chart shares with others: their further keys are not ours to refuse."""


def schema_text(values: Sequence[Value]) -> str:
    """The file, ending in a newline. Raises ValueError for a shape whose value is gone, and for a value without a type."""
    paths = {".".join(value.path) for value in values}
    if gone := sorted(set(SHAPES) - paths):
        raise ValueError(f"helm/schema.py has shapes of values that are not in values.yaml: {', '.join(gone)}")
    root: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart fabric-exporter",
        "$comment": "Written by `python -m helm.assets` from values.yaml and helm/schema.py; do not edit.",
        **_object(is_closed=True),
    }
    below: dict[tuple[str, ...], dict[str, Any]] = {(): root}
    for value in values:
        parent = below.get(value.path[:-1])
        if parent is None:  # part of a value that has a shape of its own
            continue
        shape = _shape(value)
        parent["properties"][value.path[-1]] = {**({"description": value.description} if value.description else {}), **shape}
        if "properties" in shape and ".".join(value.path) not in SHAPES:
            below[value.path] = parent["properties"][value.path[-1]]
    return json.dumps(root, indent=2, ensure_ascii=False) + "\n"


def _object(*, is_closed: bool) -> dict[str, Any]:
    return {"type": "object", "properties": {}, **({"additionalProperties": False} if is_closed else {})}


def _shape(value: Value) -> Shape:
    path = ".".join(value.path)
    if path in SHAPES:
        return SHAPES[path]
    match value.default:
        case bool():
            return {"type": "boolean"}
        case int():
            return {**INTEGER, "minimum": 0}
        case str():
            return STRING
        case dict() if value.default:
            return _object(is_closed=path not in OPEN_LEVELS)
        case _:
            raise ValueError(f"values.yaml: {path}: its default does not tell its type: say it in helm/schema.py")
