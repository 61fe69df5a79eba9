"""Scenarios played in virtual time with the recorder attached, without its thread: what was recorded is compared with what was live."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from exporter.cli.health import health_of
from exporter.cli.memory import Memory
from exporter.cli.scenario_file import scenario_of
from exporter.cli.virtual_run import played
from exporter.config.schema import Config
from exporter.model.health import Verdict
from exporter.model.snapshot import Feed, Snapshot, SourceStatus
from exporter.recorder.events import EventWatch
from exporter.recorder.recording import Recording, open_recording
from exporter.recorder.store import Bounds
from exporter.recorder.tick import Event, Json, Tick
from exporter.recorder.writer import Options, Writer
from exporter.runtime.health import Boot, Health
from exporter.runtime.recorded_health import RecordedHealth, life_of

OPTIONS = Options(10.0, Bounds(512_000_000, 86_400.0))
Transition = tuple[float, str, str, str, tuple[str, ...]]
"""Monotonic time, link, before, after, evidence."""


class Tape:
    """Writes at once what it is told, as the recorder's thread does in the end."""

    def __init__(self, path: Path, options: Options = OPTIONS) -> None:
        self.writer = Writer(str(path), options)
        self.watch = EventWatch()
        self.events: list[Event] = []
        self.live: list[Transition] = []

    def take(self, tick: Tick, events: Sequence[Event], memory: Mapping[str, Json] | None) -> None:
        """As a Witness."""
        self.events += events
        self.writer.take(tick, events, memory=memory)


class RecordedLife:
    """Health of one life in a scenario, recorded (virtual_daemon.py's HealthEngine)."""

    def __init__(self, tape: Tape, health: Health, memory: Memory, wall_s: float) -> None:
        self._tape = tape
        self._health = health
        self._observed = RecordedHealth(health, memory.ports, tape.watch, tape)
        tape.writer.begin(life_of(health, memory.ports, wall_s))

    @property
    def changes(self) -> Sequence[tuple[Verdict, Verdict]]:
        """Health's own."""
        return self._health.changes

    @property
    def notes(self) -> Sequence[str]:
        """Health's own."""
        return self._health.notes

    def observe(self, newest: Mapping[Feed, tuple[Snapshot, float]], statuses: Sequence[SourceStatus], wall_s: float,
                now_s: float) -> Snapshot:  # fmt: skip
        """Health's own, with a witness."""
        shown = self._observed.observe(newest, statuses, wall_s, now_s)
        self._tape.live += [transition(now_s, *change) for change in self._health.changes]
        return shown


def transition(now_s: float, before: Verdict, after: Verdict) -> Transition:
    """A change with all that decides about it."""
    return now_s, str(after.link), f"{before.level} {before.unknown}", f"{after.level} {after.unknown}", tuple(
        f"{one.why} {one.since_wall_s!r} {one.evidence}" for one in after.active
    )  # fmt: skip


def record(text: str, path: Path, config: Config | None = None, options: Options = OPTIONS) -> Tape:
    """Play that scenario and record it there."""
    tape = Tape(path, options)
    play_into(tape, text, config or Config())
    tape.writer.close()
    return tape


def play_into(tape: Tape, text: str, config: Config) -> None:
    """Play that scenario, with the tape running."""
    lives = count()

    def life(config: Config, memory: Memory, boot: Boot) -> RecordedLife:
        return RecordedLife(tape, health_of(config, memory, boot), memory, float(next(lives)))

    for _ in played(scenario_of(text, "story.yaml"), config, life):
        pass


def opened(path: Path) -> Recording:
    """The recording, to be read."""
    return open_recording(str(path))
