"""The daemon's parts behind one face: sampler, board and pages for the configuration in force, how a reload swaps them, and letting go of
the GPUs.

Knows no sockets; run.py connects it to HTTP, the control socket and signals.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from exporter import __version__
from exporter.cli.compose import Machine, bursts_of, pages_of, probes_of, sources_of, this_machine
from exporter.cli.gpus import GpuHold
from exporter.cli.health import health_of, maintenance_of
from exporter.cli.maintenance_switch import switched_off, switched_on
from exporter.cli.memory import kept, state_path
from exporter.cli.recording import DaemonRecording
from exporter.cli.scheduler_origins import origins_of
from exporter.config.load import Loaded
from exporter.config.mistake import ConfigError, Mistake, error_of
from exporter.config.schema import Config
from exporter.exposition.client_library import ProcessNumbers
from exporter.exposition.page import Page
from exporter.model.health_document import document_of
from exporter.model.node_health import NodeHealth
from exporter.model.snapshot import Reading, Scene
from exporter.runtime.board import Board
from exporter.runtime.clock import Clock
from exporter.runtime.crew import Crew
from exporter.runtime.logs import set_up
from exporter.runtime.maintenance_file import MaintenanceFile
from exporter.runtime.open_files import raise_limit
from exporter.runtime.sampler import Sampler
from exporter.runtime.state_dir import StateDir, StateInUseError, StateLock, lock_state_dir, open_state_dir
from exporter.runtime.status import Identity, identity_reading
from exporter.signals.engine import SIGNALS
from exporter.sources.kmsg import KernelLog
from exporter.sources.sysfs import RealFiles
from exporter.web.control import ControlAnswer, Query
from exporter.web.page import landing

log = logging.getLogger("fabric_exporter.daemon")


class SimulatedFolders(Protocol):
    """A simulated node that stands in for the machine: folders for /sys and /proc, and its kernel log."""

    @property
    def folder(self) -> str:
        """Stands for /sys."""
        ...

    @property
    def proc(self) -> str:
        """Stands for /proc."""
        ...

    @property
    def log(self) -> KernelLog:
        """Its kernel log."""
        ...


class Daemon:
    """Everything but HTTP. `read_config` reads the configuration again for a reload; `simulated` stands in for
    the machine. `gpus` keeps the GPUs open as long as the daemon lives: a reload must not take back what a person had let
    go."""

    def __init__(self, first: Loaded, read_config: Callable[[], Loaded], clock: Clock, gpus: GpuHold,
                 simulated: SimulatedFolders | None = None) -> None:  # fmt: skip
        self.failed = ""
        """Why the daemon ends itself; "" while it does not."""
        self._read_config = read_config
        self._clock = clock
        self._simulated = simulated
        self._crew = Crew(clock, caller_reads=True)
        self._board = Board()
        self._keep_files = raise_limit(first.config.web.max_connections)
        self._process_numbers = ProcessNumbers()
        self._bound_web, self._bound_control = first.config.web, first.config.control
        self._reloading = threading.Lock()
        self._reload_ok = True
        self._loaded_wall_s = clock.wall_s()
        self._gpus = gpus
        self._gpus_since_wall_s = self._loaded_wall_s
        self._state = StateDir("", "not opened yet")
        self._kept = kept(self._state)
        self._lock: StateLock | None = None
        self._take_directory(first.config)
        self._recording = DaemonRecording(clock)
        self._origins = origins_of(first.config, clock)
        self._origins.start()
        self._adopt(first.config)

    def _adopt(self, config: Config) -> None:
        """Make sources, sampler and pages for a configuration and start them."""
        self.config = config
        self._remember(config)
        root = self._simulated.folder if self._simulated is not None else config.sources.sysfs_root
        files = RealFiles(root, self._keep_files)
        now_s = self._clock.monotonic_s()
        machine = this_machine(config, files, self._gpus, now_s) if self._simulated is None else self._simulated_machine(files, root)
        if not config.sources.nvlink.enabled:
            self._gpus.drop()
        self._bursts = bursts_of(config, self._clock)
        sources = sources_of(config, machine, self._kept.memory, self._bursts)
        sources += probes_of(config, state_path(config), self._loaded_wall_s)
        self._pages = pages_of(config, self._process_numbers, [*(source.name for source, _ in sources), SIGNALS])
        self._kept.settle()  # a health that begins anew reads what the one before has kept
        self._health = health_of(config, self._kept.memory, machine.boot, others=self._origins.claims)
        self._sampler = Sampler(sources, self._clock, self._crew, self._board, self._own_readings,
                                self._recording.adopt(config, self._state, self._health, self._kept.ports))  # fmt: skip
        self._started_s = self._clock.monotonic_s()
        self._sampler.start()
        if self._bursts is not None:
            self._bursts.start()

    def _simulated_machine(self, files: RealFiles, root: str) -> Machine:
        from exporter.cli.simulated_machine import simulated_machine  # noqa: PLC0415  # 2 MB that a daemon on hardware need not hold

        assert self._simulated is not None  # noqa: S101  # who asks has looked
        return simulated_machine(files, RealFiles(self._simulated.proc, 4), self._gpus, root, self._simulated.log)

    def _take_directory(self, config: Config) -> None:
        """Take the state directory for this process. Raises ConfigError if another daemon has it."""
        folder = state_path(config)
        if self._lock is not None and self._lock.folder == folder:
            return
        open_state_dir(folder)
        try:
            lock = lock_state_dir(folder)
        except StateInUseError as error:
            raise error_of((Mistake("state.dir", str(error)),)) from None
        if self._lock is not None:
            self._lock.release()
        self._lock = lock

    def _remember(self, config: Config) -> None:
        """Open the state directory, and what is kept in it unless that is open already: a reload must not rename a GPU."""
        state = open_state_dir(state_path(config))
        if state.problem:
            log.warning("%s", state.problem)
        if state != self._state:
            self._state, self._kept = state, kept(state)

    def stop(self) -> list[str]:
        """Stop sampling; idle threads end. Returns the places whose read still has not come back: their threads end with the process."""
        self._origins.stop()
        self._stop_sampling()
        self._crew.stop()
        self._gpus.close()
        self._kept.settle()
        self._recording.stop()
        if self._lock is not None:
            self._lock.release()
        return sorted("/".join(place) for place in self._crew.busy())

    def _stop_sampling(self) -> None:
        if self._bursts is not None:
            self._bursts.stop()
        self._sampler.stop()

    def release(self) -> ControlAnswer:
        """Let go of the GPUs, before a GPU reset or a driver reload; what happened."""
        return self._turned(self._gpus.release)

    def resume(self) -> ControlAnswer:
        """Take the GPUs back; what happened."""
        return self._turned(self._gpus.resume)

    def maintenance_on(self, query: Query) -> ControlAnswer:
        """Somebody begins to work on the node, by the words `for` and `reason`; what happened."""
        return self._maintained(lambda file, wall_s: switched_on(file, query, wall_s))

    def maintenance_off(self) -> ControlAnswer:
        """Nobody works on the node any more; what happened."""
        return self._maintained(switched_off)

    def _maintained(self, act: Callable[[MaintenanceFile, float], ControlAnswer]) -> ControlAnswer:
        """Do it, so that the next question finds it so."""
        file, wall_s = maintenance_of(self.config, self._origins.claims), self._clock.wall_s()
        answer = act(file, wall_s)
        self._health.maintenance = file.at(wall_s)
        log.log(logging.INFO if answer.ok else logging.WARNING, "%s", answer.text)
        return answer

    def _turned(self, act: Callable[[], tuple[bool, str]]) -> ControlAnswer:
        """Do it, remember since when it is so, and say it in the log as well."""
        before = self._gpus.is_released
        answer = ControlAnswer(*act())
        if self._gpus.is_released != before:
            self._gpus_since_wall_s = self._clock.wall_s()
        log.log(logging.INFO if answer.ok else logging.WARNING, "%s", answer.text)
        return answer

    def status(self) -> Mapping[str, object]:
        """What the control socket shows: who has the GPUs, and the configuration in force. Times are Unix seconds."""
        return {
            "version": __version__,
            "gpus": {"released": self._gpus.is_released, "since_s": self._gpus_since_wall_s},
            "configuration": {"loaded_s": self._loaded_wall_s, "last_reload_ok": self._reload_ok},
        }

    def health(self) -> Mapping[str, object]:
        """What `check` asks for, as JSON takes it."""
        return document_of(self.node_health())

    def node_health(self) -> NodeHealth:
        """The verdict of every link, and why that may not be the whole picture. From memory."""
        is_alive, why = self.healthy()
        notes = [] if is_alive else [why]
        if self._gpus.is_released:
            notes.append("the GPUs are released: fabric-exporter resume takes them back")
        return self._health.now()._replace(simulated=self._simulated is not None, notes=tuple(notes))

    @property
    def last_reload_ok(self) -> bool:
        """False once a reload was refused, until one is not."""
        return self._reload_ok

    def reload(self) -> ControlAnswer:
        """Read the configuration again; adopt it if it is right, else say what is wrong and go on with the old one. What happened."""
        with self._reloading:
            return self._reload()

    def _reload(self) -> ControlAnswer:
        try:
            loaded = self._read_config()
            self._take_directory(loaded.config)
        except ConfigError as error:
            self._reload_ok = False
            refused = f"reload refused, the old configuration stays: {'; '.join(str(error).splitlines())}"
            log.error("%s", refused)  # noqa: TRY400  # a mistake in a file needs no traceback
            return ControlAnswer(ok=False, text=refused)
        text = "configuration reloaded"
        if (loaded.config.web, loaded.config.control) != (self._bound_web, self._bound_control):
            log.warning("reload: web.* and control.* take effect at the next start; the rest of the configuration is in force now")
            text += "; web.* and control.* take effect at the next start"
        self._stop_sampling()
        self._reload_ok, self._loaded_wall_s = True, self._clock.wall_s()
        set_up(loaded.config.logging.level, loaded.config.logging.format)
        if loaded.config.maintenance != self.config.maintenance:  # else what they said still counts, and they are asked on
            self._origins.stop()
            self._origins = origins_of(loaded.config, self._clock)
            self._origins.start()
        self._adopt(loaded.config)
        log.info("configuration reloaded")
        return ControlAnswer(ok=True, text=text)

    def scene(self) -> Scene:
        """The current Scene."""
        return self._board.current(self._clock.monotonic_s())

    def metrics(self, query: Mapping[str, Sequence[str]], accept: str, accept_encoding: str) -> Page:
        """The answer to one scrape. Raises ValueError (one line) for a query that cannot be answered."""
        return self._pages.answer(self.scene(), query, accept, accept_encoding)

    def events(self, query: Mapping[str, Sequence[str]]) -> bytes:
        """What happened lately, as JSON. Raises ValueError (one line) for a query that cannot be answered."""
        return self._recording.events(query)

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
        return landing(self.scene(), __version__, self._simulated is not None, self._clock.wall_s(), self._bound_web.telemetry_path)

    def _own_readings(self) -> tuple[Reading, ...]:
        """Asked for once a tick, by the thread that publishes and may wait for the disk."""
        self._kept.settle()
        self._end_if_devices_are_lost()
        identity = Identity(self._simulated is not None, self._state.writable, self._reload_ok, self._loaded_wall_s,
                            gpus_released=self._gpus.is_released, gpu_process_stuck=self._gpus.is_stuck)  # fmt: skip
        return (identity_reading(identity), *self._origins.readings(), *self._recording.readings())

    def _end_if_devices_are_lost(self) -> None:
        """A container whose devices were taken away gets them back only with a restart, which the kubelet does after a failure
        (NVIDIA/nvidia-container-toolkit#48)."""
        patience_s, since_s = self.config.sources.nvml.exit_on_unknown_error_after_s, self._gpus.unknown_error_since_s()
        if patience_s is None or since_s is None or self._clock.monotonic_s() - since_s < patience_s or self.failed:
            return
        self.failed = f"the NVIDIA driver has said Unknown Error for {patience_s:g} s (sources.nvml.exit_on_unknown_error_after)"
        log.error("ending: %s", self.failed)
        os.kill(os.getpid(), signal.SIGTERM)
