"""How the exporter itself is doing, as Readings of the internals rows. Pure."""

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from exporter import __version__
from exporter.catalog import internals
from exporter.model.entity import NODE
from exporter.model.fault import Reason
from exporter.model.snapshot import FixedValues, Number, Reading, SeriesKey, SourceStatus


@dataclass(frozen=True, slots=True)
class Identity:
    """Facts of this process; None where a fact does not apply (a one-shot command keeps no state and reloads nothing).
    `reload_wall_s` is when the configuration in force was loaded, in Unix time."""

    simulated: bool
    state_writable: bool | None = None
    reload_ok: bool | None = None
    reload_wall_s: float | None = None
    revision: str = ""
    gpus_released: bool | None = None
    gpu_process_stuck: bool | None = None


def identity_reading(identity: Identity) -> Reading:
    """Build, simulation, state and reload rows."""
    build: SeriesKey = (internals.BUILD_INFO.key, __version__, identity.revision, platform.python_version())
    values: dict[SeriesKey, Number] = {build: 1, internals.SIMULATED.key: int(identity.simulated)}
    optional = (
        (internals.STATE_WRITABLE, identity.state_writable),
        (internals.RELOAD_OK, identity.reload_ok),
        (internals.RELOAD_TIME, identity.reload_wall_s),
        (internals.GPUS_RELEASED, identity.gpus_released),
        (internals.GPU_PROCESS_STUCK, identity.gpu_process_stuck),
    )
    values |= {row.key: value if isinstance(value, float) else int(value) for row, value in optional if value is not None}
    return Reading(NODE, values)


def status_readings(statuses: Iterable[SourceStatus], monotonic_s: float) -> tuple[Reading, ...]:
    """One Reading per source. Fault counters exist at 0 for every Reason, so that the first fault is an increase."""
    return tuple([Reading(NODE, _values(status, monotonic_s)) for status in statuses])


def _values(status: SourceStatus, monotonic_s: float) -> FixedValues:
    numbers: list[Number] = [len(status.hung)]
    oldest_s = status.oldest_sample_monotonic_s
    optional = (
        None if status.up is None else int(status.up),
        status.devices,
        status.last_success_wall_s,
        status.duration_s,
        None if oldest_s is None else monotonic_s - oldest_s,
        status.duty_ratio,
    )
    numbers += [value for value in optional if value is not None]
    numbers += [status.faults.get(reason, 0) for reason in Reason]
    return FixedValues(_places(status.source, tuple([value is not None for value in optional])), numbers)


@lru_cache(64)
def _places(source: str, known: tuple[bool, ...]) -> dict[SeriesKey, int]:
    """Where each number of a source's status stands, if these of the optional ones are known."""
    keys: list[SeriesKey] = [(internals.SOURCE_DEVICES_HUNG.key, source)]
    keys += [(row.key, source) for row, is_known in zip(_OPTIONAL, known, strict=True) if is_known]
    keys += [(internals.SOURCE_FAULTS.key, source, reason.value) for reason in Reason]
    return {key: place for place, key in enumerate(keys)}


_OPTIONAL = (internals.SOURCE_UP, internals.SOURCE_DEVICES, internals.SOURCE_LAST_SUCCESS, internals.SOURCE_DURATION,
             internals.SAMPLE_AGE, internals.DUTY)  # fmt: skip
