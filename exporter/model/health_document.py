"""A node's health as a document of JSON's types, and back: what the control socket's `/health` and `check --json` show.

Pure. A document comes from another process, perhaps of another version: whatever it holds, reading it gives a value or one ValueError.
"""

from collections.abc import Mapping
from typing import Any

from exporter.model.entity import Fabric, Link
from exporter.model.health import Active, Level, Unknown, Verdict, Why
from exporter.model.maintenance import Maintenance
from exporter.model.node_health import NodeHealth, SourceLook, gaps_of, status_of

TIME_MAX_S = 1e11
"""Unix time of the year 5138: what is later is no time."""
_LEVELS = {level.word: level for level in Level}


def document_of(health: NodeHealth) -> dict[str, object]:
    """The document. `level` and `partial` follow from the rest; times are Unix seconds."""
    maintenance = health.maintenance
    return {
        "time": health.wall_s,
        "level": health.level.word if health.level is not None else None,
        "simulated": health.simulated,
        "grace": health.grace,
        "maintenance": {"active": maintenance.is_active, "reason": maintenance.reason, "until": maintenance.until_wall_s},
        "partial": list(gaps_of(health)),
        "notes": list(health.notes),
        "sources": [look._asdict() | {"hung": list(look.hung)} for look in health.sources],
        "links": [_link_document(verdict) for verdict in health.links],
    }


def health_in(document: object) -> NodeHealth:
    """What such a document says. Raises ValueError, a few words, for any other."""
    try:
        return _health(document)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError("it is no health of a node, or another version's") from error


def _link_document(verdict: Verdict) -> dict[str, object]:
    link = verdict.link
    return {
        "link": str(link), "fabric": link.fabric.value, "device": link.device, "port": link.port, "status": status_of(verdict),
        "unknown": verdict.unknown.value if verdict.unknown is not None else None, "since": verdict.since_wall_s,
        "reasons": [
            {"reason": active.why.value, "level": active.level.word, "since": active.since_wall_s, "evidence": active.evidence}
            for active in verdict.active
        ],
    }  # fmt: skip


def _health(found: Any) -> NodeHealth:
    maintenance = found["maintenance"]
    return NodeHealth(
        _time(found["time"]),
        tuple([_verdict(link) for link in _list(found["links"])]),
        tuple([_look(source) for source in _list(found["sources"])]),
        _text(found["grace"]),
        Maintenance(_flag(maintenance["active"]), _text(maintenance["reason"]), _time_or_none(maintenance["until"])),
        _flag(found["simulated"]),
        tuple([_text(note) for note in _list(found["notes"])]),
    )


def _verdict(found: Mapping[str, Any]) -> Verdict:
    level = _LEVELS.get(found["status"])
    unknown = Unknown(found["unknown"]) if found["unknown"] is not None else None
    if (level is None) != (unknown is not None):
        raise ValueError("a link is known or unknown")
    link = Link(Fabric(found["fabric"]), _text(found["device"]), _text(found["port"]))
    return Verdict(link, level, unknown, _time(found["since"]), tuple([_active(reason) for reason in _list(found["reasons"])]))


def _active(found: Mapping[str, Any]) -> Active:
    return Active(Why(found["reason"]), _LEVELS[found["level"]], _time(found["since"]), _text(found["evidence"]))


def _look(found: Mapping[str, Any]) -> SourceLook:
    devices, up = found["devices"], found["up"]
    if devices is not None and (type(devices) is not int or devices < 0):
        raise ValueError("devices are counted")
    hung = tuple([_text(device) for device in _list(found["hung"])])
    return SourceLook(_text(found["name"]), None if up is None else _flag(up), devices, hung, _text(found["looked_for"]))


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("expected a list")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected a text")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _time(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= TIME_MAX_S:
        raise ValueError("expected a time")
    return float(value)


def _time_or_none(value: object) -> float | None:
    return None if value is None else _time(value)
