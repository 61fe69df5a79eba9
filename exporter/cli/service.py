"""What the service manager hears of the daemon, and when: ready after the first pass, a sign of life only while the sampler advances, a
line of status, and that a reload or the end has begun.

It runs on the loop that serves, so a sign of life also says that the loop turns. Knows no protocol: runtime/service_manager.py does.
"""

import asyncio
import contextlib

from exporter.cli.daemon import Daemon
from exporter.model.node_health import gaps_of
from exporter.runtime.clock import Clock
from exporter.runtime.service_manager import FEEDS_A_WATCHDOG, ServiceManager
from exporter.web.control import ControlAnswer

STARTING_BEAT_S = 0.1
"""How often it is looked whether the first pass is done: what waits for this unit need not wait longer."""
BEAT_S = 10.0
"""How often the line of status is made anew, where the watchdog is not fed more often."""
WIDE = 100_000
"""Columns that no headline fills: the status is one line."""


class Service:
    """The daemon under its service manager; without one every method but `reload` does nothing."""

    def __init__(self, daemon: Daemon, manager: ServiceManager, clock: Clock) -> None:
        self._daemon = daemon
        self._manager = manager
        self._clock = clock
        self._beat_s = min(BEAT_S, manager.watchdog_s / FEEDS_A_WATCHDOG) if manager.watchdog_s is not None else BEAT_S
        self._is_ready = False
        self._shown = ""

    async def feed(self, stop: asyncio.Event) -> None:
        """Tell the manager how it goes, until `stop` is set; then that the end has begun."""
        if not self._manager.listens:
            return
        while not stop.is_set():
            self.beat()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._beat_s if self._is_ready else min(self._beat_s, STARTING_BEAT_S))
        self._manager.stopping(self._daemon.failed or "stopping")

    def beat(self) -> None:
        """One look: what has changed is told. No sign of life without a sampler that advances: then the manager starts us anew."""
        is_alive, _ = self._daemon.healthy()
        if is_alive and self._manager.watchdog_s is not None:
            self._manager.alive()
        if not self._is_ready and not self._daemon.ready()[0]:
            return
        headline = self._headline()
        if not self._is_ready:
            self._is_ready = self._manager.ready(headline)
        elif headline != self._shown:
            self._manager.status(headline)
        self._shown = headline

    def reload(self) -> ControlAnswer:
        """Reload the daemon and let the manager know that it does; what happened."""
        self._manager.reloading(self._clock.monotonic_s())
        try:
            return self._daemon.reload()
        finally:
            if self._is_ready:  # else the first pass is what it waits for
                self._manager.ready(self._headline())

    def _headline(self) -> str:
        """Health in a line, and what else a person should know."""
        from exporter.cli.health_text import plain, text_of  # noqa: PLC0415  # for whoever has a service manager

        health = self._daemon.node_health()
        words = [text_of(health, WIDE, plain).partition("\n")[0], *(f"not seen: {gap}" for gap in gaps_of(health))]
        if health.simulated:
            words.insert(0, "SIMULATED NODE")
        if not self._daemon.last_reload_ok:
            words.append("the last reload was refused, see the log")
        return "; ".join(words)
