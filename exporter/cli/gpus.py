"""Who reads the GPUs: the NVML child of this machine or of a simulated node, or the same source in this process where time is virtual.

Knows what the child must be told; how it is watched is runtime's, what it reads sources'.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from exporter.cli.memory import Memory
from exporter.config.schema import Config
from exporter.model.expected_links import expected_links
from exporter.model.fault import Reason
from exporter.runtime.child_source import ChildSource
from exporter.runtime.clock import Clock
from exporter.runtime.collect import Source
from exporter.runtime.worker import Patience, Worker
from exporter.runtime.worker_messages import Setup
from exporter.sources.device_filter import DeviceFilter
from exporter.sources.gpus_on_bus import GpusOnBus
from exporter.sources.jobs import PidsUnknownError
from exporter.sources.nvlink import NodeFacts, NvlinkSource
from exporter.sources.nvml_session import Nvml
from exporter.sources.sysfs import Files

REAL = "exporter.sources.nvml:open_library"
SIMULATED = "exporter.simulator.fake_session:open_simulated"


class Gpus(Protocol):
    """Makes the source, and answers what others ask about GPUs."""

    def source(self, config: Config, files: Files, memory: Memory, xid_events: Callable[[], bool]) -> Source:
        """The NVLink source by that configuration. `xid_events` tells whether Xids must come from the driver's events."""
        ...

    def facts(self) -> NodeFacts:
        """What is known of the GPUs by now."""
        ...

    def pids(self) -> Mapping[str, Sequence[int]]:
        """Processes on each GPU. Raises PidsUnknownError."""
        ...


class GpuHold(Gpus, Protocol):
    """Gpus that are held open by a process of their own, as long as the daemon lives."""

    def drop(self) -> None:
        """The configuration in force reads no GPUs: hold none. Does not wait."""
        ...

    def release(self) -> tuple[bool, str]:
        """Close every GPU and open none until `resume`; may take seconds. (Is none held by us now, one line for the person who asked)."""
        ...

    def resume(self) -> tuple[bool, str]:
        """Let the GPUs be read again. (Are they, one line for the person who asked)."""
        ...

    @property
    def is_released(self) -> bool:
        """Whether the GPUs were let go and not taken back. Answered from memory, as all that follows."""
        ...

    @property
    def is_stuck(self) -> bool:
        """True while that process cannot be ended."""
        ...

    def unknown_error_since_s(self) -> float | None:
        """Monotonic time since which the driver has said nothing but Unknown Error; None if it does not."""
        ...

    def close(self) -> None:
        """The daemon ends."""
        ...


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulated node's GPUs in real time: at monotonic `started_s` it was `head_start_s` old."""

    profile: str
    seed: int
    started_s: float
    head_start_s: float
    scenario: object = None
    """What happens to the node (exporter.simulator.scenario), for the process that shows its GPUs."""


class ChildGpus:
    """The child of this daemon or command, through reloads."""

    def __init__(self, clock: Clock, simulation: Simulation | None = None, patience: Patience | None = None) -> None:
        self._simulation = simulation
        self._worker = Worker(self._setup, clock, patience)
        self._config: Config | None = None
        self._memory: Memory | None = None
        self._xid_events: Callable[[], bool] = bool
        self._source: ChildSource | None = None
        self._told: Setup | None = None
        """What the newest child was told, but for what was learned."""

    def source(self, config: Config, files: Files, memory: Memory, xid_events: Callable[[], bool]) -> Source:
        """See Gpus. A configuration that tells the child something else ends the one there is."""
        self._config, self._memory, self._xid_events = config, memory, xid_events
        if self._told is not None and self._told != self._now():
            self._worker.restart()
        on_bus = GpusOnBus(files, memory.names)
        source = self._source = ChildSource(self._worker, on_bus.names, memory.names, memory.nvlinks, config.sources.nvml.library)
        return source

    def drop(self) -> None:
        """See GpuHold."""
        self._source = None
        self._worker.restart()

    def facts(self) -> NodeFacts:
        """See Gpus."""
        return self._source.facts if self._source is not None else NodeFacts()

    def pids(self) -> Mapping[str, Sequence[int]]:
        """See Gpus."""
        source = self._source
        if source is None:
            raise PidsUnknownError(Reason.ABSENT, "GPUs are not read (sources.nvlink.enabled: false)")
        if source.trouble is not None:
            raise PidsUnknownError(source.trouble.reason, source.trouble.detail)
        return _listed(source.facts)

    def release(self) -> tuple[bool, str]:
        """See GpuHold."""
        return self._worker.release()

    def resume(self) -> tuple[bool, str]:
        """See GpuHold."""
        return self._worker.resume()

    @property
    def is_released(self) -> bool:
        """See GpuHold."""
        return self._worker.is_released

    @property
    def is_stuck(self) -> bool:
        """See GpuHold."""
        return self._worker.is_stuck

    def unknown_error_since_s(self) -> float | None:
        """See GpuHold."""
        return self._worker.unknown_since_s

    def close(self) -> None:
        """End the child."""
        self._worker.close()

    def _setup(self) -> Setup:
        assert self._memory is not None  # noqa: S101  # a child is started by its source's scan
        told = self._told = self._now()
        return told._replace(learned=self._memory.nvlinks.everything)

    def _now(self) -> Setup:
        """What a child would be told now, but for what was learned."""
        assert self._config is not None  # noqa: S101  # as above
        told = _told(self._config)
        if self._simulation is not None:
            told = told._replace(opener=SIMULATED, arguments=_words(self._simulation))
        return told._replace(xid_events=self._xid_events())


class VirtualGpus:
    """The source in this process, over an Nvml that cannot hang: virtual time."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml
        self._source: NvlinkSource | None = None

    def source(self, config: Config, files: Files, memory: Memory, xid_events: Callable[[], bool]) -> Source:
        """See Gpus."""
        told = _told(config)
        self._source = NvlinkSource(
            self._nvml, DeviceFilter(told.include, told.exclude).wants,
            slots=lambda present: memory.names([*GpusOnBus(files, memory.names).names(), *present]), learned=memory.nvlinks,
            configured=told.configured, full=told.full, xid_events=xid_events(), with_processes=told.with_processes,
            with_device_ids=told.with_device_ids,
        )  # fmt: skip
        return self._source

    def facts(self) -> NodeFacts:
        """See Gpus."""
        return self._source.facts if self._source is not None else NodeFacts()

    def pids(self) -> Mapping[str, Sequence[int]]:
        """See Gpus."""
        return _listed(self.facts())


def _listed(facts: NodeFacts) -> Mapping[str, Sequence[int]]:
    if facts.processes is None:
        raise PidsUnknownError(Reason.ABSENT, "the driver has not been asked for its processes yet")
    return facts.processes


def _told(config: Config) -> Setup:
    """What the configuration tells a child."""
    nvlink = config.sources.nvlink
    return Setup(
        opener=REAL, arguments=(config.sources.nvml.library,), include=nvlink.include, exclude=nvlink.exclude,
        configured=dict(expected_links(text) for text in config.expect.nvlink), learned={}, full=config.exposition.tier == "full",
        xid_events=False, with_processes=config.jobs.enabled and config.jobs.processes,
        with_device_ids=config.jobs.enabled and config.jobs.pod_resources is not None,
    )  # fmt: skip


def _words(simulation: Simulation) -> tuple[object, ...]:
    return simulation.profile, simulation.seed, simulation.started_s, simulation.head_start_s, simulation.scenario
