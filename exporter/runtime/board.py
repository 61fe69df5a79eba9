"""The board: the one current Scene. The sampler writes it once a tick; scrapes, screens and health checks read it, never the hardware."""

import math
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from exporter.model.snapshot import EMPTY_SCENE, Feed, Reading, Scene, Snapshot, SourceStatus

Kept: TypeAlias = Mapping[Feed, tuple[Snapshot, float]]
"""Each feed's Snapshot and the monotonic time at which it leaves the page."""


class Board:
    """Thread-safe. Feeds past their time leave even if nothing is published any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scene = EMPTY_SCENE
        self._kept: Kept = {}
        self._next_expiry_s = math.inf

    def publish(self, snapshots: Kept, sources: tuple[SourceStatus, ...], readings: tuple[Reading, ...], wall_s: float,
                monotonic_s: float) -> None:  # fmt: skip
        """Replace the Scene."""
        live, next_expiry_s = _live(snapshots, monotonic_s)
        with self._lock:
            self._kept, self._next_expiry_s = snapshots, next_expiry_s
            self._scene = Scene(self._scene.generation + 1, wall_s, monotonic_s, live, sources, readings)

    def current(self, monotonic_s: float) -> Scene:
        """The Scene now. If feeds have run out since it was published, a Scene without them, of a generation of its own."""
        with self._lock:
            if self._next_expiry_s <= monotonic_s:
                live, self._next_expiry_s = _live(self._kept, monotonic_s)
                self._scene = replace(self._scene, generation=self._scene.generation + 1, snapshots=live)
            return self._scene


def _live(kept: Kept, now_s: float) -> tuple[dict[Feed, Snapshot], float]:
    """What has not run out, and when the first of it will."""
    live: dict[Feed, Snapshot] = {}
    next_s = math.inf
    for feed, (snapshot, expires_s) in kept.items():
        if expires_s > now_s:
            live[feed] = snapshot
            if expires_s < next_s:  # noqa: PLR1730  # a call of min for each feed costs as much as the rest
                next_s = expires_s
    return live, next_s
