"""What NVML's field calls say of a simulated GPU: which answer a field and scope get, with which nvmlReturn, and when a call fails whole.

Knows fields; whether the GPU is there and who asks is fake_nvml.py's.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from exporter.simulator.gpu_models import (
    BIT_ERROR_RATIOS,
    C2C_BANDWIDTH,
    C2C_COUNT,
    C2C_ERRORS,
    C2C_POWER,
    C2C_STATUS,
    DATA_RATE,
    LINK_COUNT,
    PEER_LINK,
    POWER_STATE,
    RATE,
    RAW_RATIOS,
    RECOVERY_ACTION,
    STATE,
    SWITCH_LINK_COUNT,
    THROUGHPUT,
    VERSION,
    GpuModel,
)
from exporter.simulator.nvlink_counters import COUNTERS, NO_ERRORS, QUIET, RAW_RATIO, Counter, counter_of
from exporter.simulator.nvlink_wiring import PEER_SWITCH, Place
from exporter.simulator.simulated_gpus import INACTIVE, SLEEP, GpuMoment, SimulatedGpus
from exporter.sources.nvml_session import INVALID_ARGUMENT, NOT_SUPPORTED, Answers

_C2C_MB_PER_S = 44_712
"""Of one link of a Grace Hopper, as `nvidia-smi c2c` shows it."""
_OF_C2C_LINK: Mapping[int, int] = {C2C_STATUS: 1, C2C_BANDWIDTH: _C2C_MB_PER_S, C2C_POWER: 0, **dict.fromkeys(C2C_ERRORS, 0)}
_ONLY_ACTIVE = frozenset({PEER_LINK, RATE, VERSION, POWER_STATE, DATA_RATE}) | BIT_ERROR_RATIOS | RAW_RATIOS
"""Fields that a link has no answer to while it is inactive."""


class Refused(NamedTuple):
    """No answer, with its nvmlReturn."""

    code: int


def answers_of(values: Sequence[int | Refused]) -> Answers:
    """As a session gives them."""
    refused = {at: value.code for at, value in enumerate(values) if isinstance(value, Refused)}
    return Answers([0 if isinstance(value, Refused) else value for value in values], refused)


_UNSUPPORTED, _INVALID = Refused(NOT_SUPPORTED), Refused(INVALID_ARGUMENT)


def fails_whole(gpus: SimulatedGpus, gpu: int, pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether one call for all of these gets no answer at all: an inactive link stands in it with its bytes or packets."""
    model = gpus.model(gpu)
    asked = THROUGHPUT & model.generation.link_fields
    return any(number in asked and link < model.ports and gpus.state(gpu, link) == INACTIVE for number, link in pairs)


def field_answer(gpus: SimulatedGpus, moment: GpuMoment, number: int, scope: int) -> int | Refused:
    """One value. A field that the generation lacks, or that does not exist, is not supported; a link beyond its ports is invalid."""
    gpu, model = moment.gpu, gpus.model(moment.gpu)
    if number in model.generation.link_fields:
        if scope >= model.ports:
            return _INVALID
        shown = gpus.shown(gpu, number, scope)
        return _of_link(gpus, moment, number, scope) if shown is None else shown
    if number in model.generation.gpu_fields:
        shown = gpus.shown(gpu, number, None)
        return _of_gpu(gpus, gpu, number) if shown is None else shown
    if model.c2c_links and number in _OF_C2C_LINK:
        shown = gpus.shown(gpu, number, scope)
        return _INVALID if scope >= model.c2c_links else _OF_C2C_LINK[number] if shown is None else shown
    return _UNSUPPORTED


def moving_counter(gpus: SimulatedGpus, gpu: int, number: int, link: int) -> Counter | None:
    """The counter behind an answer that may be another one each time; None for one that stands still while nobody meddles."""
    model, counter = gpus.model(gpu), counter_of(number)
    if number not in model.generation.link_fields or link >= model.ports or counter not in COUNTERS:
        return None
    if gpus.shown(gpu, number, link) is not None or (gpus.state(gpu, link) == INACTIVE and number in _ONLY_ACTIVE):
        return None
    return None if counter in QUIET and not gpus.is_meddled_with(gpu, link, counter) else counter


def _of_gpu(gpus: SimulatedGpus, gpu: int, number: int) -> int | Refused:
    model = gpus.model(gpu)
    wired = {place.link: end for place, end in gpus.profile.nvlinks.items() if place.gpu == gpu}
    to_switches = sum(1 for link, end in wired.items() if end.kind == PEER_SWITCH and gpus.state(gpu, link) != INACTIVE)
    answers = {LINK_COUNT: model.ports, SWITCH_LINK_COUNT: to_switches, RECOVERY_ACTION: 0, C2C_COUNT: model.c2c_links}
    return answers.get(number, _UNSUPPORTED)


def _of_link(gpus: SimulatedGpus, moment: GpuMoment, number: int, link: int) -> int | Refused:
    state = gpus.state(moment.gpu, link)
    if number == STATE:
        return state
    if state == INACTIVE and number in _ONLY_ACTIVE:
        return _UNSUPPORTED
    counted = gpus.counter(moment, link, counter_of(number))
    if counted is not None:
        return counted
    far_end = gpus.profile.nvlinks.get(Place(moment.gpu, link))
    if number == PEER_LINK:
        return _UNSUPPORTED if far_end is None else far_end.port
    return _constant(gpus.model(moment.gpu), number, is_asleep=state == SLEEP)


def _constant(model: GpuModel, number: int, *, is_asleep: bool) -> int | Refused:
    """What every active link of a product says."""
    if number in BIT_ERROR_RATIOS:
        return NO_ERRORS
    if number in RAW_RATIOS:
        return RAW_RATIO
    answers = {RATE: model.rate_mb_per_s, VERSION: model.generation.version, POWER_STATE: int(is_asleep), DATA_RATE: model.rate_mb_per_s}
    return answers.get(number, _UNSUPPORTED)
