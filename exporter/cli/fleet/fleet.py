"""The nodes of a fleet as they are now: the leaders, moved along by a thread, and the pages of all that show what became of them.

Knows real time; HTTP is serving.py's, what a node lives through stories.py's.
"""

import logging
import shutil
import tempfile
import threading
from collections.abc import Sequence
from typing import NamedTuple

from exporter.cli.fleet.leader import PLAIN, Leader
from exporter.cli.fleet.plan import FleetNode
from exporter.cli.fleet.stories import AHEAD_S, STORIES
from exporter.config.schema import Config
from exporter.exposition.choice import Labels
from exporter.runtime.clock import Clock

log = logging.getLogger("fabric_exporter.fleet")
BEAT_S = 0.25
"""How often leaders are brought up to now; their own beats are seconds apart."""
RECENT_S = 45.0
"""Pages are kept from so long before the fleet starts: no copy lags behind more."""
JOB = 4711


class Trouble(NamedTuple):
    """A node that runs the pipeline, and what its story is called."""

    node: FleetNode
    title: str


class Fleet:
    """Starting takes some seconds: each leader lives its first `ahead_s` at once. Raises ConfigError for a story that cannot be read."""

    def __init__(self, nodes: Sequence[FleetNode], config: Config, clock: Clock, *, ahead_s: float = AHEAD_S) -> None:
        self.nodes = {node.name: node for node in nodes}
        self._clock, self._ahead_s = clock, ahead_s
        self._folder = tempfile.mkdtemp(prefix="fabric-exporter-fleet-")
        self._started_s = clock.monotonic_s()
        self._stop = threading.Event()
        wall_s = clock.wall_s()
        try:
            self._leaders = {
                node.story: Leader(STORIES[node.story].text, node.name, config, f"{self._folder}/{node.name}", ahead_s=ahead_s,
                                   wall_s=wall_s, job=str(JOB + node.story))
                for node in nodes if node.is_leader
            }  # fmt: skip
            self._advance()
        except BaseException:
            self.close()
            raise
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)
        self._thread.start()

    def page(self, node: FleetNode, labels: Labels = PLAIN) -> bytes | None:
        """What it shows now, in text format 0.0.4; None while no exporter runs on it. `labels` is PLAIN or NAMED (leader.py)."""
        mould = self._leaders[node.story].mould(node.delay, labels)
        return mould.page(node.number, node.name) if mould is not None else None

    @property
    def troubles(self) -> Sequence[Trouble]:
        """The leaders and their stories."""
        return [Trouble(node, self._leaders[node.story].title) for node in self.nodes.values() if node.is_leader]

    def close(self) -> None:
        """Stop all nodes and remove what they kept."""
        self._stop.set()
        if (thread := getattr(self, "_thread", None)) is not None:
            thread.join(10 * BEAT_S)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _advance(self) -> None:
        for leader in self._leaders.values():
            leader.advance(self._ahead_s + self._clock.monotonic_s() - self._started_s, self._ahead_s - RECENT_S)

    def _run(self) -> None:
        while not self._stop.wait(BEAT_S):
            try:
                self._advance()
            except OSError as error:
                log.warning("the fleet stands still: %s", error)
                return
