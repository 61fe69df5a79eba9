"""NVML of a simulated node, of the shape of `exporter.sources.nvml_session.Nvml`: the session, indices, and who answers which call.

What the GPUs say and what goes wrong with them is simulated_gpus.py's, what goes wrong with calls nvml_troubles.py's. Read by one thread;
another one may meddle.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from exporter.simulator.field_plan import FieldPlan
from exporter.simulator.gpu_fields import Refused, answers_of
from exporter.simulator.nvlink_counters import Register
from exporter.simulator.nvlink_wiring import PEER_SWITCH, FarEnd, Place
from exporter.simulator.nvml_troubles import NvmlTroubles
from exporter.simulator.profiles import Profile
from exporter.simulator.simulated_gpus import INACTIVE, SimulatedGpus
from exporter.simulator.traffic import TRAINING, Flow
from exporter.sources.nvml_session import (
    GPU_IS_LOST,
    INVALID_ARGUMENT,
    LIBRARY_NOT_FOUND,
    NOT_SUPPORTED,
    Answers,
    DeviceQuestion,
    FabricFacts,
    FieldBatch,
    GpuFacts,
    LinkQuestion,
    NvmlError,
    Occupancy,
    PlatformFacts,
)

NOT_OPEN = 1
NO_PEER = "ffffffff:ff:ff.0"
"""PCI address of a switch that is no function of this node (NVIDIA/k8s-test-infra)."""
_SHIFTED_FROM = 1
"""The first local port of a GPU's port registers; transmit wait alone counts from 0 (NVIDIA/DCGM DcgmCacheManager.cpp)."""
_TRANSMIT_WAIT = 201
_FIRMWARE = (("MSE", "1.2.0"), ("NETIR", "1.4.17"), ("NETIR_UPHY", "1.4.3"), ("NETIR_CLN", "1.4.2"), ("NETIR_DLN", "1.4.2"))
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Batch:
    """Fields that are asked for again and again."""

    pairs: tuple[tuple[int, int], ...]
    read: Callable[[], Answers]


class FakeNvml:
    """`gpus` and `troubles` are for those who meddle. `order` lists the GPUs (their numbers) by index, as the next `open` finds them."""

    def __init__(self, profile: Profile, seed: int, now_s: Callable[[], float], flows: tuple[Flow, ...] = TRAINING) -> None:
        self.gpus = SimulatedGpus(profile, seed, now_s, flows)
        self.troubles = NvmlTroubles()
        self.order = list(range(len(profile.gpus)))
        self.is_open = False
        self._profile = profile
        self._attached: tuple[int, ...] = ()
        self._session = 0
        self._is_watching = False

    @property
    def calls(self) -> Counter[str]:
        """How often each method was called."""
        return self.troubles.calls

    def open(self) -> None:
        """Attach. Raises NvmlError while that fails, and always on a node without GPUs, which has no driver."""
        self.troubles.announce("open", None)
        if not self._profile.gpus:
            raise NvmlError("nvmlInit", LIBRARY_NOT_FOUND)
        self._attached = tuple(gpu for gpu in self.order if gpu not in self.gpus.absent)
        self._is_watching = False
        self._session += 1
        self.is_open = True

    def close(self) -> None:
        """Let go."""
        self.troubles.calls["close"] += 1
        self.is_open = False

    def driver_version(self) -> str:
        """By the profile."""
        self._enter("driver_version")
        return self._profile.driver_version

    def gpu_count(self) -> int:
        """GPUs that are there now, lost ones included; indices stay as they were at `open`."""
        self._enter("gpu_count")
        return len(set(self.order) - self.gpus.absent)

    def facts(self, gpu: int) -> GpuFacts:
        """Who it is."""
        return self.gpus.facts(self._gpu("facts", gpu))

    def batch(self, gpu: int, pairs: Sequence[tuple[int, int]]) -> FieldBatch:
        """Fields of a GPU. Good until `close`."""
        self.troubles.calls["batch"] += 1
        if not self.is_open:
            raise NvmlError("nvmlDeviceGetHandleByIndex", NOT_OPEN)
        kept, session = tuple(pairs), self._session
        plan = FieldPlan(self.gpus, self._attached[gpu] if 0 <= gpu < len(self._attached) else 0, kept)
        return _Batch(kept, lambda: self._read(gpu, plan, kept, session))

    def ask(self, gpu: int, question: DeviceQuestion) -> int:
        """MIG mode from Ampere on, bandwidth mode from Blackwell on, minor numbers always."""
        number = self._gpu("ask", gpu)
        if question is DeviceQuestion.MINOR_NUMBER:
            return number
        generation = self.gpus.model(number).generation
        has_it = generation.has_mig if question is DeviceQuestion.MIG_MODE else generation.has_registers
        if not has_it:
            raise NvmlError(question.value, NOT_SUPPORTED)
        return int(question is DeviceQuestion.MIG_MODE and self.gpus.is_partitioned(number))

    def ask_link(self, gpu: int, link: int, question: LinkQuestion) -> int:
        """State of any port; version and kind of far end of an active link; the error counters that the generation has."""
        number = self._gpu("ask_link", gpu)
        model = self.gpus.model(number)
        if link >= model.ports:
            raise NvmlError(f"NvLink {question.value}", INVALID_ARGUMENT)
        if question is LinkQuestion.STATE:
            return int(self.gpus.state(number, link) != INACTIVE)
        if question is LinkQuestion.VERSION:
            self._far_end(number, link)
            return model.generation.version
        if question is LinkQuestion.REMOTE_TYPE:
            return self._far_end(number, link).kind
        counted = self.gpus.counter(self.gpus.moment(number), link, question)
        if question not in model.generation.error_calls or counted is None:
            raise NvmlError(f"NvLink {question.value}", NOT_SUPPORTED)
        return counted

    def peer_pci(self, gpu: int, link: int) -> str:
        """The far end of an active link: a GPU, a switch of this node, or NO_PEER."""
        far_end = self._far_end(self._gpu("peer_pci", gpu), link)
        if far_end.kind == PEER_SWITCH:
            return self._profile.switches[far_end.number].pci or NO_PEER
        return self._profile.gpus[far_end.number].pci

    def port_counters(self, gpu: int, wanted: Sequence[tuple[int, int]]) -> Answers:
        """Registers of the ports, from Blackwell on."""
        number = self._gpu("port_counters", gpu)
        model = self.gpus.model(number)
        if not model.generation.has_registers:
            raise NvmlError("nvmlDeviceReadPRMCounters_v1", NOT_SUPPORTED)
        moment = self.gpus.moment(number)
        answers: list[int | Refused] = []
        for register, port in wanted:
            link = port if register == _TRANSMIT_WAIT else port - _SHIFTED_FROM
            counted = self.gpus.counter(moment, link, Register(register)) if 0 <= link < model.ports else None
            answers.append(Refused(INVALID_ARGUMENT) if counted is None else counted)
        return answers_of(answers)

    def fabric(self, gpu: int) -> FabricFacts:
        """From Hopper on."""
        return _known("nvmlDeviceGetGpuFabricInfoV", self.gpus.fabric.get(self._gpu("fabric", gpu)))

    def platform(self, gpu: int) -> PlatformFacts:
        """Only in a rack."""
        return _known("nvmlDeviceGetPlatformInfo", self.gpus.platform(self._gpu("platform", gpu)))

    def firmware(self, gpu: int) -> Sequence[tuple[str, str]]:
        """From Blackwell on."""
        has_it = self.gpus.model(self._gpu("firmware", gpu)).generation.has_registers
        return _known("nvmlDeviceGetNvLinkInfo", _FIRMWARE if has_it else None)

    def node_bandwidth_mode(self) -> int:
        """Full, on boards from Hopper on; the simulated reader is root."""
        self._enter("node_bandwidth_mode")
        modes = [gpu.model.generation.has_node_modes for gpu in self._profile.gpus]
        return _known("nvmlSystemGetNvlinkBwMode", 0 if any(modes) else None)

    def processes(self, gpu: int) -> Sequence[int]:
        """Those of `gpus.processes`."""
        return self.gpus.processes.get(self._gpu("processes", gpu), ())

    def occupancy(self, gpu: int) -> Occupancy:
        """As many processes as `gpus.processes` has; a GPU with one is busy."""
        number = self._gpu("occupancy", gpu)
        count = len(self.gpus.processes.get(number, ()))
        is_split = bool(self.gpus.mig_uuids(number))
        return Occupancy(count, count << 30, float(bool(count)), is_split, 0, slowdown=False, recovery_action=0)

    def mig_uuids(self, gpu: int) -> Sequence[str]:
        """Of a partitioned GPU."""
        return self.gpus.mig_uuids(self._gpu("mig_uuids", gpu))

    def watch_xids(self) -> None:
        """What happened before is not told."""
        self._enter("watch_xids")
        if not self._is_watching:
            self.gpus.take_xids()
        self._is_watching = True

    def xids(self) -> Sequence[tuple[int, int]]:
        """By index; of GPUs that the session has."""
        self._enter("xids")
        taken = self.gpus.take_xids() if self._is_watching else []
        return [(self._attached.index(gpu), xid) for gpu, xid in taken if gpu in self._attached]

    def _enter(self, call: str, index: int | None = None) -> None:
        self.troubles.announce(call, index)
        if not self.is_open:
            raise NvmlError(call, NOT_OPEN)

    def _gpu(self, call: str, index: int) -> int:
        """The number of the GPU with that index, for a call that it answers."""
        self._enter(call, index)
        if not 0 <= index < len(self._attached):
            raise NvmlError(call, INVALID_ARGUMENT)
        number = self._attached[index]
        if number in self.gpus.lost | self.gpus.absent:
            raise NvmlError(call, GPU_IS_LOST)
        self.troubles.check(call, number)
        return number

    def _read(self, index: int, plan: FieldPlan, pairs: Sequence[tuple[int, int]], session: int) -> Answers:
        gpu = self._gpu("read", index)
        failure = NvmlError("nvmlDeviceGetFieldValues", INVALID_ARGUMENT)
        if session != self._session:
            raise failure
        return self.troubles.spoilt(gpu, pairs, plan.answers(failure))

    def _far_end(self, gpu: int, link: int) -> FarEnd:
        if link >= self.gpus.model(gpu).ports:
            raise NvmlError("NvLink far end", INVALID_ARGUMENT)
        if self.gpus.state(gpu, link) == INACTIVE:
            raise NvmlError("NvLink far end", NOT_SUPPORTED)
        return self._profile.nvlinks[Place(gpu, link)]


def _known(call: str, answer: _T | None) -> _T:
    """The answer, if there is one. Raises NvmlError where the GPU has none."""
    if answer is None:
        raise NvmlError(call, NOT_SUPPORTED)
    return answer
