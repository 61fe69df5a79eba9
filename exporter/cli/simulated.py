"""`run --simulate`: a simulated node as real files in a temporary folder, moved forward once a second by a thread."""

import logging
import shutil
import tempfile
import threading

from exporter.cli.gpus import Simulation
from exporter.config.mistake import Mistake, error_of
from exporter.runtime.clock import Clock
from exporter.simulator.node import DiskNode
from exporter.simulator.profiles import Profile, profile_named

log = logging.getLogger("fabric_exporter.simulator")
STEP_S = 1.0
HEAD_START_S = 600.0
"""Virtual age of the node at start, so that its counters are not all zero."""
SEED = 1


def profile_of(name: str) -> Profile:
    """The profile of that name. Raises ConfigError."""
    try:
        return profile_named(name)
    except ValueError as error:
        raise error_of((Mistake("--simulate", str(error)),)) from None


class SimulatedMachine:
    """The node's files and the thread that moves them; `gpus` is what their reader needs to know of it. `folder` stands for /sys. Raises
    ConfigError for an unknown profile."""

    def __init__(self, profile_name: str, clock: Clock) -> None:
        profile = profile_of(profile_name)
        self._clock = clock
        self._parent = tempfile.mkdtemp(prefix="fabric-exporter-simulated-")
        self.folder = f"{self._parent}/sys"
        self._node = DiskNode(profile, SEED, self.folder)
        self._node.advance(HEAD_START_S)
        self._started_s = clock.monotonic_s()
        self.gpus = Simulation(profile_name, SEED, self._started_s, HEAD_START_S)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="simulated-node", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the node and remove its files."""
        self._stop.set()
        self._thread.join(2 * STEP_S)
        shutil.rmtree(self._parent, ignore_errors=True)

    def _run(self) -> None:
        while not self._stop.wait(STEP_S):
            try:
                self._node.advance(HEAD_START_S + self._clock.monotonic_s() - self._started_s)
            except OSError as error:
                log.warning("the simulated node stands still: %s", error)
                return
