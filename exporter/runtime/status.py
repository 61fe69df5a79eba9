"""How the exporter itself is doing, as Readings of the internals rows. Pure."""

import platform
from collections.abc import Iterable
from dataclasses import dataclass

from exporter import __version__
from exporter.catalog import internals
from exporter.model.entity import NODE
from exporter.model.fault import Reason
from exporter.model.snapshot import Number, Reading, SeriesKey, SourceStatus


@dataclass(frozen=True, slots=True)
class Identity:
    """Facts of this process; None where a fact does not apply (a one-shot command keeps no state and reloads nothing).
    `reload_wall_s` is when the configuration in force was loaded, in Unix time."""

    simulated: bool
    state_writable: bool | None = None
    reload_ok: bool | None = None
    reload_wall_s: float | None = None
    revision: str = ""


def identity_reading(identity: Identity) -> Reading:
    """Build, simulation, state and reload rows."""
    build: SeriesKey = (internals.BUILD_INFO.key, __version__, identity.revision, platform.python_version())
    values: dict[SeriesKey, Number] = {build: 1, internals.SIMULATED.key: int(identity.simulated)}
    optional = (
        (internals.STATE_WRITABLE, identity.state_writable),
        (internals.RELOAD_OK, identity.reload_ok),
        (internals.RELOAD_TIME, identity.reload_wall_s),
    )
    values |= {row.key: value if isinstance(value, float) else int(value) for row, value in optional if value is not None}
    return Reading(NODE, values)


def status_readings(statuses: Iterable[SourceStatus], monotonic_s: float) -> tuple[Reading, ...]:
    """One Reading per source. Fault counters exist at 0 for every Reason, so that the first fault is an increase."""
    return tuple(Reading(NODE, _values(status, monotonic_s)) for status in statuses)


def _values(status: SourceStatus, monotonic_s: float) -> dict[SeriesKey, Number]:
    source = status.source
    values: dict[SeriesKey, Number] = {(internals.SOURCE_DEVICES_HUNG.key, source): len(status.hung)}
    optional = (
        (internals.SOURCE_UP, None if status.up is None else int(status.up)),
        (internals.SOURCE_DEVICES, status.devices),
        (internals.SOURCE_LAST_SUCCESS, status.last_success_wall_s),
        (internals.SOURCE_DURATION, status.duration_s),
        (internals.SAMPLE_AGE, None if status.oldest_sample_monotonic_s is None else monotonic_s - status.oldest_sample_monotonic_s),
        (internals.DUTY, status.duty_ratio),
    )
    values |= {(row.key, source): value for row, value in optional if value is not None}
    values |= {(internals.SOURCE_FAULTS.key, source, reason.value): status.faults.get(reason, 0) for reason in Reason}
    return values
