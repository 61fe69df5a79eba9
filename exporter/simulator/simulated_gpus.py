"""The GPUs and NVLinks of a simulated node: what each number is now, and what can go wrong. Knows no session, no index and no call.

GPUs go by their number in the profile, in PCI order. As long as nobody meddles, every number is a function of profile, seed and time, so
two processes with the same clock show the same. Methods that meddle may be called from another thread than the reader's.
"""

import threading
import uuid
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

from exporter.model.expected_links import BYTES_PER_S_PER_MB
from exporter.model.gpu_fabric import STATE_COMPLETED
from exporter.simulator.gpu_models import GpuModel
from exporter.simulator.nvlink_counters import COUNTERS, Counter, LinkMoment, counter_of
from exporter.simulator.nvlink_loads import NvlinkLoads
from exporter.simulator.nvlink_traffic import far_place
from exporter.simulator.nvlink_wiring import Place
from exporter.simulator.profiles import Profile
from exporter.simulator.traffic import NS_PER_S, TRAINING, Flow, nanoseconds
from exporter.sources.nvml_session import FabricFacts, GpuFacts, PlatformFacts

INACTIVE, ACTIVE, SLEEP, TRAFFIC_DISABLED = 0, 1, 2, 3
"""States of a link (nvml.h: NVML_NVLINK_STATE_…)."""
MIG_DEVICES = 7
"""Of a partitioned GPU, as many as there can be [D]."""
_UUIDS = uuid.UUID("0d5cf6a1-5a52-4f4b-9c88-3f3c3a5f8e21")


class _Ramp(NamedTuple):
    """Errors that somebody adds: so many until a moment, so many a second since."""

    until_then: int
    per_second: float
    since_ns: int

    def at(self, elapsed_ns: int) -> int:
        return self.until_then + int(self.per_second * (elapsed_ns - self.since_ns) / NS_PER_S)


class GpuMoment:
    """One GPU at one moment, so that all numbers of one call are of the same time."""

    def __init__(self, loads: NvlinkLoads, gpu: int, elapsed_s: float) -> None:
        self.gpu = gpu
        self.elapsed_ns = nanoseconds(elapsed_s)
        self._loads = loads
        self._elapsed_s = elapsed_s

    @cached_property
    def sent(self) -> Mapping[int, int]:
        """Bytes by link."""
        return self._loads.sent(self.gpu, self._elapsed_s)

    @cached_property
    def received(self) -> Mapping[int, int]:
        """Bytes by link."""
        return self._loads.received(self.gpu, self._elapsed_s)


class SimulatedGpus:
    """`now_s` says how far virtual time has come, in seconds since the node started. `fabric`, `processes`, `lost` and `absent` may be
    changed at will: a lost GPU answers nothing, an absent one is not there at all."""

    def __init__(self, profile: Profile, seed: int, now_s: Callable[[], float], flows: tuple[Flow, ...] = TRAINING) -> None:
        self.profile = profile
        self.seed = seed
        self.version = 0
        """Another one after each change by those who meddle with links and numbers: what stood still until then may say something else."""
        self.lost: set[int] = set()
        self.absent: set[int] = set()
        self.processes: dict[int, tuple[int, ...]] = {}
        self.fabric = {number: facts for number in range(len(profile.gpus)) if (facts := _fabric(profile, number)) is not None}
        self._now_s = now_s
        self._lock = threading.RLock()
        self._loads = NvlinkLoads(profile, seed, flows)
        self._states = dict.fromkeys(profile.nvlinks, ACTIVE)
        self._partitioned: set[int] = set()
        self._ramps: dict[tuple[int, int, Counter], _Ramp] = {}
        self._zeros: dict[tuple[int, int, Counter], int] = {}
        self._shown: dict[tuple[int, int | None, int], int] = {}
        self._xids: list[tuple[int, int]] = []

    # What a session asks.

    def model(self, gpu: int) -> GpuModel:
        """Its product."""
        return self.profile.gpus[gpu].model

    def rate_bytes_per_s(self, gpu: int) -> int:
        """Of the symbols of its links."""
        return self.model(gpu).rate_mb_per_s * BYTES_PER_S_PER_MB

    def facts(self, gpu: int) -> GpuFacts:
        """Who it is: the UUID depends on profile, number and seed."""
        one = self.profile.gpus[gpu]
        name = uuid.uuid5(_UUIDS, f"{self.profile.name}/{self.seed}/{gpu}")
        return GpuFacts(f"GPU-{name}", one.pci, one.model.product, one.module_id)

    def mig_uuids(self, gpu: int) -> tuple[str, ...]:
        """Of a partitioned GPU's MIG devices, as many as there can be; of another none."""
        parts = range(MIG_DEVICES) if gpu in self._partitioned else ()
        return tuple(f"MIG-{uuid.uuid5(_UUIDS, f'{self.profile.name}/{self.seed}/{gpu}/{part}')}" for part in parts)

    def platform(self, gpu: int) -> PlatformFacts | None:
        """Its place in a rack; None outside of one."""
        rack = self.profile.rack
        if rack is None:
            return None
        return PlatformFacts(rack.chassis_serial, rack.slot, rack.tray, 1, self.profile.gpus[gpu].module_id or 0, 1)

    def moment(self, gpu: int) -> GpuMoment:
        """The GPU now. Raises ValueError if virtual time is negative."""
        return GpuMoment(self._loads, gpu, self._now_s())

    def state(self, gpu: int, link: int) -> int:
        """INACTIVE also for a port that leads nowhere, and for all of a partitioned GPU (NVIDIA bug 200682374)."""
        return INACTIVE if gpu in self._partitioned else self._states.get(Place(gpu, link), INACTIVE)

    def is_partitioned(self, gpu: int) -> bool:
        """Whether MIG is on."""
        return gpu in self._partitioned

    def counter(self, moment: GpuMoment, link: int, counter: Counter) -> int | None:
        """What a counter of a link says; None if there is no such counter."""
        if counter not in COUNTERS:
            return None
        with self._lock:
            zero = self._zeros.get((moment.gpu, link, counter), 0) if self._zeros else 0
            return max(0, self._raw(moment, link, counter) - zero)  # a moment may be from before the reset

    def shown(self, gpu: int, number: int, link: int | None) -> int | None:
        """What somebody wants a field to say, of that link or of all; None if nobody does."""
        if not self._shown:
            return None
        return self._shown.get((gpu, link, number), self._shown.get((gpu, None, number)))

    def is_meddled_with(self, gpu: int, link: int, counter: Counter) -> bool:
        """Whether anybody has added to the counter or reset it."""
        return (gpu, link, counter) in self._ramps or (gpu, link, counter) in self._zeros

    def take_xids(self) -> list[tuple[int, int]]:
        """(GPU, Xid) of the events since the last call."""
        with self._lock:
            taken, self._xids = self._xids, []
            return taken

    # What a test or a scenario does.

    def set_link(self, gpu: int, link: int, state: int) -> None:
        """Put a wired link, and its far end where that is a GPU, into a state. Only an active link carries traffic: the GPU's others take
        over. Raises KeyError for a port that leads nowhere."""
        with self._lock:
            self.version += 1
            near = Place(gpu, link)
            if near not in self._states:
                raise KeyError(near)
            far = far_place(self.profile, near)
            for place in (near,) if far is None else (near, far):
                self._states[place] = state
                self._carry_over(place.gpu)

    def set_partitioned(self, gpu: int, *, on: bool) -> None:
        """Turn MIG on or off: the GPU's links are then reported as inactive, those of the others stay. Traffic goes on where it can."""
        with self._lock:
            self.version += 1
            (self._partitioned.add if on else self._partitioned.discard)(gpu)
            self._carry_over(gpu)

    def add_errors(self, gpu: int, link: int, counter: Counter, *, per_second: float = 0, at_once: int = 0) -> None:
        """From now on the counter (a field id will do) grows by so many a second more than on a healthy link, `at_once` immediately; 0 ends
        it and what was counted stays. Raises KeyError for a counter that is none."""
        one = counter_of(counter) if isinstance(counter, int) else counter
        if one not in COUNTERS:
            raise KeyError(counter)
        with self._lock:
            elapsed_ns = self.moment(gpu).elapsed_ns
            key = (gpu, link, one)
            before = self._ramps[key].at(elapsed_ns) if key in self._ramps else 0
            self._ramps[key] = _Ramp(before + at_once, per_second, elapsed_ns)
            self.version += 1

    def set_counter(self, gpu: int, link: int, counter: Counter, value: int) -> None:
        """Make it say this now; it goes on counting from there. Raises KeyError for a counter that is none."""
        one = counter_of(counter) if isinstance(counter, int) else counter
        if one not in COUNTERS:
            raise KeyError(counter)
        with self._lock:
            self._zeros[gpu, link, one] = self._raw(self.moment(gpu), link, one) - value
            self.version += 1

    def reset_link(self, gpu: int, link: int) -> None:
        """All counters of one link start anew."""
        with self._lock:
            moment = self.moment(gpu)
            self._zeros |= {(gpu, link, counter): self._raw(moment, link, counter) for counter in COUNTERS}
            self.version += 1

    def reset_counters(self, gpu: int) -> None:
        """All its counters start anew, as after a GPU reset."""
        with self._lock:
            for link in range(self.model(gpu).ports):
                self.reset_link(gpu, link)

    def show(self, gpu: int, number: int, value: int | None, link: int | None = None) -> None:
        """Make a field say `value` and nothing else, on one link or all; None ends it."""
        with self._lock:
            self.version += 1
            if value is None:
                self._shown.pop((gpu, link, number), None)
            else:
                self._shown[gpu, link, number] = value

    def set_fabric(self, gpu: int, **changes: object) -> None:
        """Change what the GPU says of its NVLink domain: `state`, `status`, `health_mask` and so on. Raises KeyError for a GPU without."""
        self.fabric[gpu] = self.fabric[gpu]._replace(**changes)  # type: ignore[arg-type]

    def raise_xid(self, gpu: int, xid: int) -> None:
        """Let an Xid happen; whoever watches by then sees it."""
        with self._lock:
            self._xids.append((gpu, xid))

    def _carry_over(self, gpu: int) -> None:
        carrying = [place.link for place in self.profile.nvlinks if place.gpu == gpu and self.state(gpu, place.link) == ACTIVE]
        self._loads.carry_over(gpu, carrying, self._now_s())

    def _raw(self, moment: GpuMoment, link: int, counter: Counter) -> int:
        """Healthy counts and added errors, never reset."""
        at = LinkMoment(self.seed, moment.gpu, link, moment.elapsed_ns, self.rate_bytes_per_s(moment.gpu), moment)
        ramp = self._ramps.get((moment.gpu, link, counter)) if self._ramps else None
        return COUNTERS[counter](at) + (ramp.at(moment.elapsed_ns) if ramp is not None else 0)


def _fabric(profile: Profile, gpu: int) -> FabricFacts | None:
    facts = profile.gpus[gpu].model.fabric
    if facts is None or profile.rack is None or facts.state != STATE_COMPLETED:
        return facts
    return facts._replace(cluster_uuid=profile.rack.cluster_uuid, clique_id=profile.rack.clique_id)
