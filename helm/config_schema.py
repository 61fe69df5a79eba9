"""The exporter's configuration as JSON Schema, so that Helm refuses a mistyped option before any pod starts. Pure.

The daemon judges bounds and patterns itself; here stand the names and the shapes of the values.
"""

from typing import Any

from exporter.config.options import OPTIONS, Option
from helm.kubernetes_shapes import Shape

THE_CHART_S = frozenset({"web.listen_addresses", "web.telemetry_path", "web.health_address", "web.systemd_socket", "web.config_file",
                         "control.enabled", "control.socket", "state.dir", "sources.sysfs_root"})  # fmt: skip
"""What the chart sets by values of its own, because probes, mounts and monitors go by it."""
_DURATION = {"type": "string", "pattern": "^([0-9]+(ms|s|m|h|d))+$"}
_SIZE = {"type": "string", "pattern": "^[0-9]{1,9}(kB|MB|GB|TB)$"}


def config_schema() -> Shape:
    """Closed at every level; without the options that are the chart's, and those that are given as flags only."""
    root = _section()
    for option in OPTIONS.values():
        if option.path in THE_CHART_S or option.spelling.flag_only:
            continue
        *sections, name = option.path.split(".")
        place = root
        for section in sections:
            place = place["properties"].setdefault(section, _section())
        place["properties"][name] = {"description": option.doc, **_shape(option)}
    return root


def _section() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _shape(option: Option) -> Shape:
    one = _scalar(option.kind.name.removeprefix("list of "))
    return {"type": "array", "items": one} if option.kind.many else one


def _scalar(kind: str) -> Shape:
    if " | " in kind:
        return {"type": "string", "enum": kind.split(" | ")}
    if kind.startswith("number"):
        return {"type": "number"}
    return {"boolean": {"type": "boolean"}, "duration": _DURATION, "durations": _DURATION, "size": _SIZE}.get(kind, {"type": "string"})
