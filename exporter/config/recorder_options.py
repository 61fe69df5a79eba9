"""Options of the flight recorder: how much it keeps and in how large pieces."""

from dataclasses import dataclass

from exporter.config.kinds import BOOLEAN, duration, size
from exporter.config.option import option


@dataclass(frozen=True, slots=True)
class Recorder:
    """What the node saw and said, kept for whoever asks tomorrow: docs/recorder.md."""

    enabled: bool = option(
        default=True,
        kind=BOOLEAN,
        doc="Keep a recording in state.dir.",
        reason="On: the night that somebody asks about is over by then. It costs less than 0.1 % of a core and some 50 MB a day.",
    )
    interval_s: float = option(
        10.0,
        duration(1.0, 600.0),
        "How many seconds one row holds: all that was read in them. A killed daemon loses at most one row.",
        "Longer rows compress better: 60 s save a quarter, and lose more.",
    )
    keep_s: float = option(
        86_400.0,
        duration(60.0, 31_536_000.0),
        "How long rows and events are kept.",
        "A day: who asks about last night asks this morning.",
    )
    size_max_bytes: int = option(
        512_000_000,
        size(16_000_000, 1_000_000_000_000),
        "Size of the recording with its log, at most; the oldest leaves first.",
        "Room for a day of an eight-GPU node at ten times the default pace.",
    )
