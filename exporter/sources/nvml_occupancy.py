"""Who uses a GPU now, by the driver: what a probe must know before it touches one, and again while it runs.

Each answer stands by itself: what the driver does not say is None, never "nobody". Names and numbers: nvml.h (API 13).
"""

from collections.abc import Callable
from typing import Any, TypeVar

from exporter.catalog.nvlink_fields import RECOVERY_ACTION
from exporter.sources.nvml_calls import FIELD_VALUE, call, function, structure
from exporter.sources.nvml_fields import PynvmlBatch
from exporter.sources.nvml_session import FUNCTION_NOT_FOUND, NOT_SUPPORTED, WHOLE_GPU, NvmlError, Occupancy

HARDWARE_SLOWDOWN = 0x8 | 0x40 | 0x80
"""nvmlClocksEventReasonHwSlowdown, HwThermalSlowdown, HwPowerBrakeSlowdown."""
_NO_SUCH_CALL = frozenset({FUNCTION_NOT_FOUND, NOT_SUPPORTED})
_T = TypeVar("_T")


def occupancy_of(handle: Any) -> Occupancy:
    """Of the GPU with that handle. Never raises."""
    return Occupancy(
        _answer(lambda: _processes(handle)),
        _answer(lambda: int(_memory(handle).used)),
        _answer(lambda: call("nvmlDeviceGetUtilizationRates", handle).gpu / 100.0),
        _answer(lambda: _mig(handle)),
        _answer(lambda: int(call("nvmlDeviceGetComputeMode", handle))),
        _answer(lambda: bool(_events(handle) & HARDWARE_SLOWDOWN)),
        _answer(lambda: _recovery_action(handle)),
    )


def _answer(ask: Callable[[], _T]) -> _T | None:
    try:
        return ask()
    except NvmlError:
        return None


def _processes(handle: Any) -> int:
    """By the layouts that came with driver 510. A process that computes and draws is one."""
    found = {int(process.pid) for process in call("nvmlDeviceGetComputeRunningProcesses_v3", handle)}
    return len(found | {int(process.pid) for process in call("nvmlDeviceGetGraphicsRunningProcesses_v3", handle)})


def _memory(handle: Any) -> Any:
    """Version 2 tells apart what the driver keeps for itself; an older one counts it as used."""
    try:
        return call("nvmlDeviceGetMemoryInfo", handle, structure("nvmlMemory_v2"))
    except NvmlError as error:
        if error.code not in _NO_SUCH_CALL:
            raise
        return call("nvmlDeviceGetMemoryInfo", handle)


def _mig(handle: Any) -> bool:
    """A GPU that cannot be split is not."""
    try:
        return bool(call("nvmlDeviceGetMigMode", handle)[0])
    except NvmlError as error:
        if error.code != NOT_SUPPORTED:
            raise
        return False


def _events(handle: Any) -> int:
    """By its name since driver 535, else by the one before."""
    try:
        return int(call("nvmlDeviceGetCurrentClocksEventReasons", handle))
    except NvmlError as error:
        if error.code not in _NO_SUCH_CALL:
            raise
        return int(call("nvmlDeviceGetCurrentClocksThrottleReasons", handle))


def _recovery_action(handle: Any) -> int:
    """A driver that does not know the field knows of no action."""
    answers = PynvmlBatch(handle, ((RECOVERY_ACTION, WHOLE_GPU),), function("nvmlDeviceGetFieldValues"), FIELD_VALUE).read()
    return 0 if answers.refused else int(answers.numbers[0])
