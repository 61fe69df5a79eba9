"""The daemon's parts behind one face: sampler, board and pages for the configuration in force, and how a reload swaps them.

Knows no sockets; run.py connects it to HTTP and signals.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from exporter import __version__
from exporter.cli.compose import ethtool_of, pages_of, sources_of
from exporter.cli.memory import kept, state_path
from exporter.config.load import Loaded
from exporter.config.mistake import ConfigError
from exporter.config.schema import Config
from exporter.exposition.client_library import ProcessNumbers
from exporter.exposition.page import Page
from exporter.model.snapshot import Reading, Scene
from exporter.runtime.board import Board
from exporter.runtime.clock import Clock
from exporter.runtime.crew import Crew
from exporter.runtime.logs import set_up
from exporter.runtime.open_files import raise_limit
from exporter.runtime.sampler import Sampler
from exporter.runtime.state_dir import StateDir, open_state_dir
from exporter.runtime.status import Identity, identity_reading
from exporter.sources.sysfs import RealFiles
from exporter.web.page import landing

log = logging.getLogger("fabric_exporter.daemon")


class Daemon:
    """Everything but HTTP. `read_config` reads the configuration again for a reload; `sysfs_root` overrides the configured one
    (a simulated node's folder)."""

    def __init__(self, first: Loaded, read_config: Callable[[], Loaded], clock: Clock, sysfs_root: str | None = None) -> None:
        self._read_config = read_config
        self._clock = clock
        self._simulated_root = sysfs_root
        self._crew = Crew(clock, caller_reads=True)
        self._board = Board()
        self._keep_files = raise_limit(first.config.web.max_connections)
        self._process_numbers = ProcessNumbers()
        self._bound_web = first.config.web
        self._reloading = threading.Lock()
        self._reload_ok = True
        self._loaded_wall_s = clock.wall_s()
        self._state = StateDir("", "not opened yet")
        self._kept = kept(self._state)
        self._adopt(first.config)

    def _adopt(self, config: Config) -> None:
        """Make sources, sampler and pages for a configuration and start them."""
        self.config = config
        self._remember(config)
        root = self._simulated_root or config.sources.sysfs_root
        files = RealFiles(root, self._keep_files)
        sources = sources_of(config, files, ethtool_of(config, files), self._kept.memory, root)
        self._pages = pages_of(config, self._process_numbers, [source.name for source, _ in sources])
        self._sampler = Sampler(sources, self._clock, self._crew, self._board, self._own_readings)
        self._started_s = self._clock.monotonic_s()
        self._sampler.start()

    def _remember(self, config: Config) -> None:
        """Open the state directory, and what is kept in it unless that is open already: a reload must not rename a GPU."""
        state = open_state_dir(state_path(config))
        if state.problem:
            log.warning("%s", state.problem)
        if state != self._state:
            self._state, self._kept = state, kept(state)

    def stop(self) -> list[str]:
        """Stop sampling; idle threads end. Returns the places whose read still has not come back: their threads end with the process."""
        self._sampler.stop()
        self._crew.stop()
        self._kept.settle()
        return sorted("/".join(place) for place in self._crew.busy())

    def reload(self) -> None:
        """Read the configuration again; adopt it if it is right, else say what is wrong and go on with the old one."""
        with self._reloading:
            self._reload()

    def _reload(self) -> None:
        try:
            loaded = self._read_config()
        except ConfigError as error:
            self._reload_ok = False
            log.error("reload refused, the old configuration stays: %s", "; ".join(str(error).splitlines()))  # noqa: TRY400  # a mistake in a file needs no traceback
            return
        if loaded.config.web != self._bound_web:
            log.warning("reload: web.* takes effect at the next start; the rest of the configuration is in force now")
        self._sampler.stop()
        self._reload_ok, self._loaded_wall_s = True, self._clock.wall_s()
        set_up(loaded.config.logging.level, loaded.config.logging.format)
        self._adopt(loaded.config)
        log.info("configuration reloaded")

    def scene(self) -> Scene:
        """The current Scene."""
        return self._board.current(self._clock.monotonic_s())

    def metrics(self, query: Mapping[str, Sequence[str]], accept: str, accept_encoding: str) -> Page:
        """The answer to one scrape. Raises ValueError (one line) for a query that cannot be answered."""
        return self._pages.answer(self.scene(), query, accept, accept_encoding)

    def healthy(self) -> tuple[bool, str]:
        """Whether the sampler advances. Touches no hardware."""
        now_s = self._clock.monotonic_s()
        if self._sampler.is_alive(now_s) or now_s - self._started_s < 10.0:
            return True, "ok"
        return False, "the sampler has not advanced; restart the daemon and report the log"

    def ready(self) -> tuple[bool, str]:
        """Whether the first pass is done."""
        return (True, "ok") if self._board.current(0.0).generation else (False, "the first pass is not done yet")

    def landing(self) -> bytes:
        """The page at /."""
        return landing(self.scene(), __version__, self._simulated_root is not None, self._clock.wall_s(), self._bound_web.telemetry_path)

    def _own_readings(self) -> tuple[Reading, ...]:
        """Asked for once a tick, by the thread that publishes and may wait for the disk."""
        self._kept.settle()
        identity = Identity(self._simulated_root is not None, self._state.writable, self._reload_ok, self._loaded_wall_s)
        return (identity_reading(identity),)
