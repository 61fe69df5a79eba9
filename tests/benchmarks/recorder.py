"""R1: what the flight recorder costs of a core, and how large a day of it is, on a simulated HGX H100 node in virtual time.

Counted is all CPU time that recording adds: telling events and handing over in the sampler's thread, packing and writing in the
recorder's. The file is a real one. Between two ticks the simulated node moves on, so caches are cold as on a node that has other work.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from exporter.config.schema import Config
from exporter.recorder.events import EventWatch, Look
from exporter.recorder.recording import open_recording
from exporter.recorder.tick import Event, Json, Tick
from tests.benchmarks.figure import Figure
from tests.recorder.recorded import Tape, play_into

STORY = """\
node: hgx-h100
duration: {minutes}m
seed: {seed}
traffic:
  - {{from: 0s, to: 10h, pattern: training, step: 8s, communication: 1.2s}}
"""
CPU_LIMIT_PERCENT, DAY_LIMIT_MB = 0.3, 512.0
DAY_S, BYTES_PER_MB = 86_400.0, 1e6


class Pace(NamedTuple):
    """How often state and bytes are read, and the rest; for how long it is measured; whether the limits are about it."""

    name: str
    fast_s: float
    normal_s: float
    minutes: int
    is_judged: bool


PACES = (
    Pace("default intervals (5 s, 15 s)", 5.0, 15.0, 15, is_judged=True),
    Pace("all counters each second", 1.0, 1.0, 3, is_judged=False),
)


class MeteredTape(Tape):
    """Counts the CPU time of recording."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.watch = MeteredWatch()
        self.cpu_s = 0.0
        self.ticks = 0

    def take(self, tick: Tick, events: Sequence[Event], memory: Mapping[str, Json] | None) -> None:
        """As a Tape, with the time."""
        began_s = time.thread_time()
        super().take(tick, events, memory)
        self.cpu_s += time.thread_time() - began_s
        self.ticks += 1


class MeteredWatch(EventWatch):
    """Counts the CPU time of looking for events."""

    cpu_s = 0.0

    def look(self, seen: Look) -> list[Event]:
        """As an EventWatch, with the time."""
        began_s = time.thread_time()
        found = super().look(seen)
        self.cpu_s += time.thread_time() - began_s
        return found


class Told(NamedTuple):
    """Of one round: CPU seconds for each second of the node's life, in the recorder's thread and in the sampler's; bytes of a day and of a
    row; rows and ticks."""

    writing: float
    looking: float
    day_bytes: float
    row_bytes: float
    rows: int
    ticks: int


def measure(rounds: int) -> Iterator[Figure]:
    """For each pace the share of a core and the size of a day."""
    for pace in PACES:
        told = [one_round(pace, seed) for seed in range(1, rounds + 1)]
        writing, looking, day, row = (statistics.median([one[place] for one in told]) for place in range(4))
        limits = (CPU_LIMIT_PERCENT, DAY_LIMIT_MB) if pace.is_judged else (None, None)
        yield Figure("R1", f"recorder, hgx-h100, {pace.name}: share of a core", (writing + looking) * 100, limits[0],
                     f"recorder's thread {writing * 100:.3f} %", f"sampler's {looking * 100:.3f} %", "%")  # fmt: skip
        yield Figure("R1", f"recorder, hgx-h100, {pace.name}: a day", day / BYTES_PER_MB, limits[1],
                     f"{told[0].ticks} ticks in {told[0].rows} rows", f"{row / 1e3:.1f} kB a row", "MB")  # fmt: skip


def one_round(pace: Pace, seed: int) -> Told:
    """Record some minutes. Raises RuntimeError if less was recorded than happened."""
    with tempfile.TemporaryDirectory(prefix="fabric-exporter-bench-") as folder:
        path = Path(folder) / "recording.sqlite"
        tape = MeteredTape(path)
        play_into(tape, STORY.format(minutes=pace.minutes, seed=seed), config_of(pace))
        began_s = time.thread_time()
        tape.writer.close()
        tape.cpu_s += time.thread_time() - began_s
        recording = open_recording(str(path))
        (span,) = recording.spans()
        recording.close()
        size_bytes = path.stat().st_size
    seconds = pace.minutes * 60.0
    if span.ticks != tape.ticks or span.lost or span.ticks < 0.9 * seconds / pace.fast_s:
        raise RuntimeError(f"not all was recorded: {span}, {tape.ticks} ticks")
    watch = tape.watch
    looking_s = watch.cpu_s if isinstance(watch, MeteredWatch) else 0.0
    return Told(tape.cpu_s / seconds, looking_s / seconds, size_bytes / seconds * DAY_S, size_bytes / span.rows, span.rows, span.ticks)


def config_of(pace: Pace) -> Config:
    """The defaults at that pace."""
    sources = Config().sources
    nvlink = replace(sources.nvlink, fast_interval_s=pace.fast_s, normal_interval_s=pace.normal_s)
    infiniband = replace(sources.infiniband, fast_interval_s=pace.fast_s, normal_interval_s=pace.normal_s)
    pcie = replace(sources.pcie, normal_interval_s=pace.normal_s)
    return Config(sources=replace(sources, nvlink=nvlink, infiniband=infiniband, pcie=pcie))
