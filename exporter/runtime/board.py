"""The board: the one current Scene. The sampler writes it once a tick; scrapes, screens and health checks read it, never the hardware."""

import threading
from dataclasses import replace

from exporter.model.snapshot import EMPTY_SCENE, Feed, Reading, Scene, Snapshot, SourceStatus


class Board:
    """Thread-safe. Feeds past their time leave even if nothing is published any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scene = EMPTY_SCENE
        self._expires_s: dict[Feed, float] = {}

    def publish(self, snapshots: dict[Feed, tuple[Snapshot, float]], sources: tuple[SourceStatus, ...], readings: tuple[Reading, ...],
                wall_s: float, monotonic_s: float) -> None:  # fmt: skip
        """Replace the Scene. `snapshots` maps each feed to its Snapshot and the monotonic time at which it leaves the page."""
        live = {feed: (snapshot, expires_s) for feed, (snapshot, expires_s) in snapshots.items() if expires_s > monotonic_s}
        with self._lock:
            self._expires_s = {feed: expires_s for feed, (_, expires_s) in live.items()}
            self._scene = Scene(self._scene.generation + 1, wall_s, monotonic_s, {feed: snapshot for feed, (snapshot, _) in live.items()},
                                sources, readings)  # fmt: skip

    def current(self, monotonic_s: float) -> Scene:
        """The Scene now. If feeds have run out since it was published, a Scene without them, of a generation of its own."""
        with self._lock:
            gone = [feed for feed, expires_s in self._expires_s.items() if expires_s <= monotonic_s]
            if gone:
                for feed in gone:
                    del self._expires_s[feed]
                snapshots = {feed: snapshot for feed, snapshot in self._scene.snapshots.items() if feed in self._expires_s}
                self._scene = replace(self._scene, generation=self._scene.generation + 1, snapshots=snapshots)
            return self._scene
