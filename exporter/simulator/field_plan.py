"""What a batch of NVML fields answers, worked out once for as long as nobody meddles with the GPUs: a pass then computes only what moves.

Knows which answers stand still; what each says is gpu_fields.py's and simulated_gpus.py's.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from exporter.simulator.gpu_fields import Refused, answers_of, fails_whole, field_answer, moving_counter
from exporter.simulator.nvlink_counters import COUNTERS, Counter, LinkMoment
from exporter.simulator.simulated_gpus import SimulatedGpus
from exporter.sources.nvml_session import Answers, NvmlError


class _Plan(NamedTuple):
    """Good for one `version` of the GPUs: answers that stand still, those that grow by themselves (position, link, what each says), and
    those that somebody meddled with (position, link, counter)."""

    version: int
    fails: bool
    still: Answers
    growing: tuple[tuple[int, int, Callable[[LinkMoment], int]], ...]
    meddled: tuple[tuple[int, int, Counter], ...]


class FieldPlan:
    """The answers of one GPU to these (field, scope) pairs. Read by one thread."""

    def __init__(self, gpus: SimulatedGpus, gpu: int, pairs: Sequence[tuple[int, int]]) -> None:
        self._gpus = gpus
        self._gpu = gpu
        self._pairs = pairs
        self._plan: _Plan | None = None

    def answers(self, failure: NvmlError) -> Answers:
        """What each says now. Raises `failure` if the call gets no answer at all."""
        plan = self._plan
        if plan is None or plan.version != self._gpus.version:
            plan = self._plan = self._made()
        if plan.fails:
            raise failure
        if not plan.growing and not plan.meddled:
            return plan.still
        gpus, gpu = self._gpus, self._gpu
        moment = gpus.moment(gpu)
        numbers = list(plan.still.numbers)
        seed, rate, elapsed_ns = gpus.seed, gpus.rate_bytes_per_s(gpu), moment.elapsed_ns
        for position, link, said in plan.growing:
            numbers[position] = said(LinkMoment(seed, gpu, link, elapsed_ns, rate, moment))
        for position, link, counter in plan.meddled:
            numbers[position] = gpus.counter(moment, link, counter) or 0
        return Answers(numbers, plan.still.refused)

    def _made(self) -> _Plan:
        gpus, gpu, version = self._gpus, self._gpu, self._gpus.version
        moment = gpus.moment(gpu)
        values: list[int | Refused] = []
        growing: list[tuple[int, int, Callable[[LinkMoment], int]]] = []
        meddled: list[tuple[int, int, Counter]] = []
        for position, (number, scope) in enumerate(self._pairs):
            values.append(field_answer(gpus, moment, number, scope))
            counter = moving_counter(gpus, gpu, number, scope)
            if counter is not None and gpus.is_meddled_with(gpu, scope, counter):
                meddled.append((position, scope, counter))
            elif counter is not None:
                growing.append((position, scope, COUNTERS[counter]))
        return _Plan(version, fails_whole(gpus, gpu, self._pairs), answers_of(values), tuple(growing), tuple(meddled))
