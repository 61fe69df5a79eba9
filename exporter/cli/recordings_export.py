"""Ticks and events of a recording as lines of text, in metric names and base units."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from exporter import __version__
from exporter.model.entity import Entity
from exporter.model.moment import format_moment
from exporter.model.snapshot import Snapshot
from exporter.recorder.counters import series_of
from exporter.recorder.recording import Recording
from exporter.recorder.schema import VERSION
from exporter.recorder.tick import Tick, document_of

JSONL, CSV = "jsonl", "csv"
FORMATS = (JSONL, CSV)
COLUMNS = ("time", "source", "fabric", "device", "port", "series", "value")
MOMENT_ALL_S = 1e11


@dataclass(slots=True)
class Export:
    """What is wanted (Unix seconds), and what became of it."""

    from_s: float
    to_s: float
    shape: str = JSONL
    ticks: int = 0
    events: int = 0
    problems: list[str] = field(default_factory=list)


def exported(recording: Recording, made: Export) -> Iterator[str]:
    """Lines, each with its end: a header first, then the ticks as they were recorded, then the events."""
    yield _header(made)
    for chapter, ticks, lost, problem in recording.parts(made.from_s, made.to_s):
        for number, tick in enumerate(ticks):
            if made.from_s <= tick.wall_s <= made.to_s:
                made.ticks += 1
                yield from _csv(tick) if made.shape == CSV else (_json(tick, chapter.boot_id, lost if number == 0 else 0),)
        if problem:
            made.problems.append(f"the row of {format_moment(chapter.wall_s)} or later: {problem}")
    for boot_id, event in recording.events(made.from_s, made.to_s) if made.shape == JSONL else ():
        made.events += 1
        yield _line({"event": document_of(event, boot_id)})


def _header(made: Export) -> str:
    if made.shape == CSV:
        return _row(COLUMNS)
    return _line({"recording": "fabric-exporter", "schema": VERSION, "version": __version__, "from": made.from_s or None,
                  "to": made.to_s if made.to_s < MOMENT_ALL_S else None})  # fmt: skip


def _json(tick: Tick, boot_id: str, lost: int) -> str:
    """One tick. `lost` ticks are missing before it."""
    document: dict[str, object] = {"time": tick.wall_s, "monotonic": tick.monotonic_s, "boot_id": boot_id}
    if lost:
        document["lost"] = lost
    document["sources"] = [
        {"source": one.source, "up": one.up, "devices": one.devices, "hung": one.hung,
         "faults": {reason.value: count for reason, count in one.faults.items()}}
        for one in tick.statuses
    ]  # fmt: skip
    document["passes"] = [_pass(snapshot) for snapshot in tick.fresh]
    return _line({"tick": document})


def _pass(snapshot: Snapshot) -> dict[str, object]:
    feed, wall_s, monotonic_s, readings, faults = snapshot
    shown: dict[str, object] = {"source": feed.source, "subject": feed.subject, "cadence": feed.cadence.value, "time": wall_s,
                                "monotonic": monotonic_s}  # fmt: skip
    shown["readings"] = [{**_labels(entity), "values": {series_of(key): number for key, number in values.items()}}
                         for entity, values in readings]  # fmt: skip
    if faults:
        shown["faults"] = [{"subject": fault.subject, "reason": fault.reason.value, "detail": fault.detail} for fault in faults]
    return shown


def _labels(entity: Entity) -> dict[str, str]:
    """Of the entity; none for the node."""
    return {name: value for name in ("fabric", "device", "port") if (value := entity.label(name)) is not None}


def _csv(tick: Tick) -> Iterator[str]:
    for feed, wall_s, _, readings, _ in tick.fresh:
        for entity, values in readings:
            labels = [entity.label(name) or "" for name in ("fabric", "device", "port")]
            for key, number in values.items():
                yield _row((format_moment(wall_s), feed.source, *labels, series_of(key), repr(number)))


def _row(cells: tuple[str, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _line(document: object) -> str:
    return json.dumps(document, separators=(",", ":")) + "\n"
