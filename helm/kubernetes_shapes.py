"""JSON Schema of what values hold that Kubernetes or an operator defines: as closed as we know it, open where the cluster's version
decides. Data, no behaviour."""

from collections.abc import Mapping
from typing import Any, TypeAlias

Shape: TypeAlias = Mapping[str, Any]
"""A JSON Schema (draft 7)."""


def closed(**properties: Shape) -> Shape:
    """An object with these keys and no other."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


def words(*allowed: str) -> Shape:
    """One of some words."""
    return {"type": "string", "enum": list(allowed)}


def listed(item: Shape) -> Shape:
    """A list of such."""
    return {"type": "array", "items": item}


SCALAR: Shape = {"type": ["string", "number", "boolean"]}
STRING: Shape = {"type": "string"}
INTEGER: Shape = {"type": "integer"}
OPEN: Shape = {"type": "object"}
TEXTS: Shape = {"type": "object", "additionalProperties": SCALAR}
PORT: Shape = {"type": "integer", "minimum": 1, "maximum": 65535}
PORT_OR_NONE: Shape = {"type": "integer", "minimum": 0, "maximum": 65535}
PATH: Shape = {"type": "string", "pattern": "^/"}
PATH_OR_NONE: Shape = {"type": "string", "pattern": "^(/.*)?$"}
DURATION: Shape = {"type": "string", "pattern": "^(([0-9]+(ms|s|m|h|d|w|y))+)?$"}
"""As Prometheus writes them; empty: not given."""
BCRYPT_HASH: Shape = {"type": "string", "pattern": r"^\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}$"}

PULL_SECRETS = listed({"oneOf": [STRING, {**closed(name=STRING), "required": ["name"]}]})
TOLERATIONS = listed(
    closed(
        key=STRING,
        operator=words("Exists", "Equal", "Lt", "Gt"),
        value=STRING,
        effect=words("NoSchedule", "PreferNoSchedule", "NoExecute"),
        tolerationSeconds=INTEGER,
    )
)
ENVIRONMENT = listed({**closed(name=STRING, value=SCALAR, valueFrom=OPEN), "required": ["name"]})
RESOURCES = closed(requests=TEXTS, limits=TEXTS, claims=listed(OPEN))
UPDATE_STRATEGY = closed(
    type=words("RollingUpdate", "OnDelete"),
    rollingUpdate=closed(maxUnavailable={"type": ["integer", "string"]}, maxSurge={"type": ["integer", "string"]}),
)
HOST_VOLUMES = listed(
    {
        **closed(
            name=STRING,
            hostPath=PATH,
            mountPath=PATH,
            readOnly={"type": "boolean"},
            type=words("", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket", "CharDevice", "BlockDevice"),
        ),
        "required": ["name", "hostPath", "mountPath"],
    }
)
