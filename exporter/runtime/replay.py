"""A recording played through health again: the same Snapshots at the same times give the same verdicts as live.

That holds for each life of the daemon whose beginning is in the recording. Where that has left, or ticks were lost, health starts from what
it remembered there, as after a restart: rules that look back an hour need that hour first, and `is_whole` is False.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

from exporter.model.maintenance import Maintenance
from exporter.recorder.recording import Chapter, Recording
from exporter.recorder.tick import Life, Tick
from exporter.runtime import kept_verdicts, learned_ports
from exporter.runtime.health import Boot, Health, HealthSettings
from exporter.runtime.kept_verdicts import KeptVerdicts
from exporter.runtime.learned_ports import LearnedPorts
from exporter.runtime.recorded_health import settings_in
from exporter.runtime.state_file import StateFile
from exporter.signals.engine import Change
from exporter.signals.rules import RULES

NOT_KNOWN = Maintenance()
ENDLESS = float("inf")


class Replayed(NamedTuple):
    """One look of health: its times, and which verdicts changed. `is_whole`: nothing is missing between the beginning of this life and
    here. `problem` says what is, where it begins to be missing; a last one without changes says what is missing at the end."""

    wall_s: float
    monotonic_s: float
    changes: tuple[Change, ...]
    is_whole: bool
    problem: str = ""


def replayed(recording: Recording, from_s: float = 0.0, to_s: float = ENDLESS,
             settings_of: Callable[[HealthSettings], HealthSettings] = lambda recorded: recorded) -> Iterator[Replayed]:  # fmt: skip
    """Every look within that time. What came before in the same life is played as well, so that health knows what it
    knew. `settings_of` may change what was configured: what would another threshold have said? Raises
    NoRecordingError, or ValueError for settings that make no sense."""
    health: Health | None = None
    seen: Chapter | None = None
    life, is_whole, untold = (0.0, ""), False, ""
    starts = [chapter.number for chapter in recording.chapters() if chapter.is_start and chapter.wall_s <= from_s]
    for chapter, ticks, lost, problem in recording.parts(to_s=to_s, first_chapter=starts[-1] if starts else 0):
        if health is None or seen is None or chapter.number != seen.number:
            found = recording.life(chapter)
            if health is None or chapter.is_start or (found.began_wall_s, found.boot_id) != life:
                health = _health_of(found, settings_of)
                is_whole = chapter.is_start and not lost and bool(ticks) and ticks[0].monotonic_s == chapter.monotonic_s
                untold = untold or ("" if is_whole else "the beginning of this life is not in the recording")
            seen, life = chapter, (found.began_wall_s, found.boot_id)
        if lost:
            is_whole, untold = False, untold or f"{lost} ticks are missing before this one"
        for tick in ticks:
            changes = _looked(health, tick)
            if from_s <= tick.wall_s <= to_s:
                yield Replayed(tick.wall_s, tick.monotonic_s, changes, is_whole, untold)
                untold = ""
        if problem:
            is_whole, untold = False, untold or problem
    if untold and seen is not None:
        yield Replayed(seen.wall_s, seen.monotonic_s, (), is_whole=False, problem=untold)


def _looked(health: Health, tick: Tick) -> tuple[Change, ...]:
    health.observe({snapshot.feed: (snapshot, ENDLESS) for snapshot in tick.fresh}, tick.statuses, tick.wall_s, tick.monotonic_s)
    return health.changes


def _health_of(life: Life, settings_of: Callable[[HealthSettings], HealthSettings]) -> Health:
    """The health that began so, from a state directory that holds what it found there."""
    with tempfile.TemporaryDirectory(prefix="fabric-exporter-replay-") as folder:
        verdicts = StateFile(os.path.join(folder, kept_verdicts.FILE), kept_verdicts.VERSION)
        ports = StateFile(os.path.join(folder, learned_ports.FILE), learned_ports.VERSION)
        for file, name in ((verdicts, "verdicts"), (ports, "ports")):
            found = life.memory.get(name) if isinstance(life.memory, dict) else None
            if isinstance(found, dict):
                file.save(found)
        boot = Boot(life.boot_id, life.uptime_s, life.uptime_at_s)
        return Health(
            RULES, settings_of(settings_in(life.settings)), LearnedPorts(ports), KeptVerdicts(verdicts), boot, lambda _wall_s: NOT_KNOWN
        )
