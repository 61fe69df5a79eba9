"""Health with a witness: after each look the events are told and the tick is handed to the recorder. Never waits for a disk.

Knows what makes the same health again from a recording (`life_of`, `settings_in`): replay.py is the other end.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Protocol

from exporter import __version__
from exporter.model.expected_ports import ExpectedPort, LinkLayer, PortSpeed
from exporter.model.snapshot import Feed, Snapshot, SourceStatus
from exporter.model.thresholds import Thresholds
from exporter.recorder.events import EventWatch, Look
from exporter.recorder.tick import Event, Json, Life, Tick
from exporter.runtime.health import Health, HealthSettings
from exporter.runtime.kept_verdicts import document_of
from exporter.runtime.learned_ports import LearnedPorts

CHAPTER_S = 3600.0
"""Length of a chapter: layouts are written anew each hour (0.1 MB of a node with 230 links [M]), and what health remembers with them, for
a replay whose beginning has left the recording."""


class Witness(Protocol):
    """Who is told: the recorder, the events in memory."""

    def take(self, tick: Tick, events: Sequence[Event], memory: Mapping[str, Json] | None) -> None:
        """One tick, what happened by it, and now and then what health remembers after it. Does not wait."""
        ...


class RecordedHealth:
    """One life of health. `watch` outlives it."""

    def __init__(self, health: Health, ports: LearnedPorts, watch: EventWatch, witness: Witness) -> None:
        self._health = health
        self._ports = ports
        self._watch = watch
        self._witness = witness
        self._chapter_s: float | None = None

    def observe(self, newest: Mapping[Feed, tuple[Snapshot, float]], statuses: Sequence[SourceStatus], wall_s: float,
                now_s: float) -> Snapshot:  # fmt: skip
        """As health's own."""
        health = self._health
        shown = health.observe(newest, statuses, wall_s, now_s)
        fresh = health.fresh
        look = Look(wall_s, now_s, fresh, statuses, health.changes, shown.readings, health.grace, health.maintenance)
        memory = None
        if self._chapter_s is None:
            self._chapter_s = now_s
        elif not 0.0 <= now_s - self._chapter_s < CHAPTER_S:
            self._chapter_s, memory = now_s, memory_of(health, self._ports)
        self._witness.take(Tick(wall_s, now_s, fresh, statuses), self._watch.look(look), memory)
        return shown


def life_of(health: Health, ports: LearnedPorts, wall_s: float) -> Life:
    """What makes this health again, as it is now: call it before its first look."""
    boot, settings = health.boot, health.settings
    words: dict[str, Any] = {
        "thresholds": asdict(settings.thresholds), "ports": {pattern: asdict(port) for pattern, port in settings.ports.items()},
        "tick_bytes": settings.tick_bytes, "left_out": sorted(settings.left_out),
    }  # fmt: skip
    return Life(boot.boot_id, boot.uptime_s, boot.at_s, words, memory_of(health, ports), __version__, wall_s)


def memory_of(health: Health, ports: LearnedPorts) -> dict[str, Json]:
    """What it remembers of links and ports that a restart would keep."""
    found: dict[str, Any] = {"verdicts": document_of(health.boot.boot_id, health.states()), "ports": dict(ports.document())}
    return found


def settings_in(words: Mapping[str, Any]) -> HealthSettings:
    """Settings of a recording, perhaps another version's: a threshold that it does not name has our default. Raises ValueError."""
    try:
        known = {item.name for item in fields(Thresholds)}
        thresholds = Thresholds(**{name: float(value) for name, value in words["thresholds"].items() if name in known})
        ports = {re.compile(pattern).pattern: _port_in(port) for pattern, port in words["ports"].items()}
        tick_bytes = words["tick_bytes"]
        return HealthSettings(thresholds, ports, None if tick_bytes is None else int(tick_bytes), [str(name) for name in words["left_out"]])
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError, re.error) as error:
        raise ValueError("the settings of a chapter make no sense") from error


def _port_in(words: Any) -> ExpectedPort:
    speed, layer = words["speed"], words.get("layer")
    figures = [None if speed.get(name) is None else int(speed[name]) for name in PortSpeed.__dataclass_fields__]
    is_up = words["is_up"]
    return ExpectedPort(None if is_up is None else bool(is_up), PortSpeed(*figures), None if layer is None else LinkLayer(layer))
