"""The daemon's recorder by its configuration: the thread that writes, the events in memory, and what is shown of both.

Knows how they fit together and outlive a reload; what is recorded is recorder/'s, when runtime's.
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence

from exporter import __version__
from exporter.catalog import internals
from exporter.config.schema import Config
from exporter.model.entity import NODE
from exporter.model.moment import parse_moment
from exporter.model.quoted import shown
from exporter.model.snapshot import Reading
from exporter.recorder.events import EventWatch
from exporter.recorder.newest import KEPT_MAX, NewestEvents
from exporter.recorder.schema import FILE
from exporter.recorder.store import Bounds
from exporter.recorder.tick import Event, EventKind, Json, Tick, document_of
from exporter.recorder.writer import Options, Writer
from exporter.runtime.clock import Clock
from exporter.runtime.health import Health
from exporter.runtime.learned_ports import LearnedPorts
from exporter.runtime.recorded_health import RecordedHealth, life_of
from exporter.runtime.recorder_thread import RecorderThread
from exporter.runtime.sampler import Observe
from exporter.runtime.state_dir import StateDir

log = logging.getLogger("fabric_exporter.recorder")
LIMIT = 100
"""Events of one answer unless more are asked for."""
SINCE, LIMIT_WORD, KIND = "since", "limit", "kind"


class DaemonRecording:
    """Lives as long as the daemon. Events are known whether or not anything can be written."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._watch = EventWatch()
        self._newest = NewestEvents()
        self._thread: RecorderThread | None = None
        self._place: tuple[str, Options] | None = None
        self._said = self._has_begun = False

    def adopt(self, config: Config, state: StateDir, health: Health, ports: LearnedPorts) -> Observe:
        """Record this health from now on, by this configuration; what the sampler is to call in its place."""
        place = _place_of(config, state)
        if place != self._place and self._thread is not None:
            self._thread.stop()
            self._thread = None
        if place is not None and self._thread is None:
            self._thread = RecorderThread(Writer(*place), None if self._has_begun else self._newest)
        if place is None and config.recorder.enabled and not self._said:
            self._said = True
            log.warning("nothing is recorded: %s cannot be written (option state.dir)", state.path)
        is_first, self._place, self._has_begun = not self._has_begun, place, True
        if self._thread is not None:
            self._thread.begin(life_of(health, ports, self._clock.wall_s()))
        self.note(
            f"fabric-exporter {__version__} started" if is_first else "configuration reloaded", what="start" if is_first else "reload"
        )
        return RecordedHealth(health, ports, self._watch, self).observe

    def take(self, tick: Tick, events: Sequence[Event], memory: Mapping[str, Json] | None) -> None:
        """As a Witness."""
        self._newest.add(events)
        if self._thread is not None:
            self._thread.take(tick, events, memory)

    def note(self, text: str, **facts: Json) -> None:
        """Something about the daemon itself happened."""
        event = Event(EventKind.DAEMON, self._clock.wall_s(), self._clock.monotonic_s(), "", text, facts)
        self._newest.add([event])
        if self._thread is not None:
            self._thread.tell([event])

    def readings(self) -> tuple[Reading, ...]:
        """How the recorder is doing; nothing where nothing is recorded."""
        if self._thread is None:
            return ()
        figures = self._thread.figures
        return (Reading(NODE, {internals.RECORDER_ROWS.key: figures.rows, internals.RECORDER_DROPPED.key: figures.lost_ticks,
                               internals.RECORDER_BYTES.key: figures.size_bytes}),)  # fmt: skip

    def events(self, query: Mapping[str, Sequence[str]]) -> bytes:
        """The answer of `/api/v1/events`: a JSON object, from memory. Raises ValueError for a query that cannot be answered."""
        unknown = [word for word in query if word not in (SINCE, LIMIT_WORD, KIND)]
        if unknown:
            raise ValueError(f"unknown field {shown(unknown[0])}; known: {SINCE}, {LIMIT_WORD}, {KIND}")
        since_s = parse_moment(query[SINCE][-1], self._clock.wall_s()) if SINCE in query else 0.0
        kinds = [_kind(word) for text in query.get(KIND, ()) for word in text.split(",")]
        events, is_cut = self._newest.since(since_s, kinds, _limit(query.get(LIMIT_WORD, (str(LIMIT),))[-1]))
        return json.dumps({"events": [document_of(event) for event in events], "more": is_cut}).encode() + b"\n"

    def stop(self) -> None:
        """The daemon ends: write what waits."""
        self.note("fabric-exporter stopped", what="stop")
        if self._thread is not None and not self._thread.stop():
            log.warning(
                "the recorder still waits for the disk of %s: what it has not written is lost", self._place[0] if self._place else ""
            )


def _place_of(config: Config, state: StateDir) -> tuple[str, Options] | None:
    """File and bounds; None where nothing is to be recorded, or cannot be."""
    if not (config.recorder.enabled and state.writable):
        return None
    bounds = Bounds(config.recorder.size_max_bytes, config.recorder.keep_s)
    return os.path.join(state.path, FILE), Options(config.recorder.interval_s, bounds)


def _kind(word: str) -> str:
    try:
        return EventKind(word).value
    except ValueError:
        raise ValueError(f"there is no kind {shown(word)} of event; known: {', '.join(EventKind)}") from None


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= KEPT_MAX):
        raise ValueError(f"{LIMIT_WORD}: expected a whole number from 1 to {KEPT_MAX}, got {shown(text)}")
    return int(text[:9])
