"""How much of what a link can carry it carries, by direction. A load figure: it accuses nobody.

Knows roles, and what NVLink carries at each signalling rate; that rate is never a divisor.
"""

from collections.abc import Mapping

from exporter.catalog import CATALOGUE
from exporter.catalog.signals import UTILIZATION
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.observation import Observation, delta
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State

NVLINK_USABLE_BYTES_PER_S: Mapping[int, float] = {258: 25e9, 266: 25e9, 531: 50e9}
"""Tenths of GB/s that NVML calls the speed of a link → bytes per second and direction that it carries. 25,781 MB/s is V100 and A100,
26,562 MB/s H100 and H200, 53,125 MB/s Blackwell: 300, 600, 900 and 1800 GB/s over 6, 12, 18 and 18 links, both directions, by NVIDIA's data
sheets; NVML counts symbols on the wire (NVIDIA/k8s-test-infra, Azure/azhpc-diagnostics#73). Other rates are not known."""
SIGNALLING_UNIT = 1e8
SIGNALLING_MAX = 1e15
"""A rate above this is no rate."""

MEAN_MAX_S = 600.0
"""A mean over a longer time says nothing of now; the duty guard stretches intervals to 300 s [D]."""

_DIRECTIONS: tuple[tuple[SeriesKey, Role, Role], ...] = (
    ((UTILIZATION.key, "transmit"), Role.TX_BYTES_64, Role.TX_BYTES),
    ((UTILIZATION.key, "receive"), Role.RX_BYTES_64, Role.RX_BYTES),
)
_ROLE_OF_FILE = {row.raw.removeprefix("counters/"): row.role for row in CATALOGUE.values() if row.raw.startswith("counters/") and row.role}


def _step(state: State, asked: Pass) -> tuple[State, Outcome]:
    """Utilisation of each direction whose counter is in both passes. `state` is how many rates were dropped as implausible so far."""
    before, now = asked.before, asked.now
    if before is None:
        return state, NOTHING
    elapsed_s = now.monotonic_s - before.monotonic_s
    if not 0.0 < elapsed_s <= MEAN_MAX_S:
        return state, NOTHING
    capacity = usable_bytes_per_s(asked.latest)
    if capacity is None:
        return state, NOTHING
    plan, whole = now.plan, elapsed_s * capacity
    most = asked.thresholds.implausible_ratio * whole
    pinned = pinned_roles(now) if Role.SATURATED in plan else ()
    signals: dict[SeriesKey, Number] = {}
    dropped = 0
    for key, wide, plain in _DIRECTIONS:
        role = wide if wide in plan else plain
        moved = None if role in pinned else delta(before, now, role)
        if moved is None:
            continue
        if moved <= most:
            signals[key] = moved / whole
        else:
            dropped += 1
    return (state or 0) + dropped if dropped else state, Outcome(signals)


def usable_bytes_per_s(latest: Mapping[Role, Number]) -> float | None:
    """What the link can carry now in one direction, by the newest values of its roles; None if nobody can say."""
    capacity = latest.get(Role.CAPACITY) or latest.get(Role.SPEED)
    if capacity is None and Role.SIGNALLING_RATE in latest:
        rate = latest[Role.SIGNALLING_RATE]
        capacity = NVLINK_USABLE_BYTES_PER_S.get(round(rate / SIGNALLING_UNIT)) if 0 < rate < SIGNALLING_MAX else None
    return capacity if capacity is not None and 1.0 <= capacity < SIGNALLING_MAX else None


def pinned_roles(now: Observation) -> frozenset[Role]:
    """Roles of the counters that stand at their ceiling in this pass: they stopped counting, and their growth of 0 says nothing."""
    found = {_ROLE_OF_FILE.get(key[1]) for key, _ in now.items(Role.SATURATED) if isinstance(key, tuple) and len(key) > 1}
    return frozenset(role for role in found if role is not None)


RULE = Rule(name="load", needs=frozenset({Role.TX_BYTES}), step=_step)
RULES = (RULE,)
