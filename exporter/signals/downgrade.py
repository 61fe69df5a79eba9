"""Whether a link that is up runs as fast and as wide as it should, and what share of that it has. Knows roles; what is expected is told.

A link that is down says nothing here: a port that is down prints a default rate, and what was raised before stays. Links of PCIe are
pcie_downgrade.py's: an idle GPU runs its own slowly on purpose.
"""

from exporter.catalog.signals import CAPACITY
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.quantity import BITS_PER_BYTE
from exporter.model.snapshot import Number
from exporter.signals.rule import Outcome, Pass, Rule, State

FULL_SPEED = 0
"""Value of POWER_STATE."""
NVLINK_ACTIVE = 1
BITS_PER_GBIT = 1e9
RATE_MAX = 1e15
"""Transfers or bytes per second; what is more is no rate."""

WHOLE = Outcome({CAPACITY.key: 1.0})
SPEED_UNTOLD = (Finding(Why.SPEED_DOWNGRADE, holds=None),)
WIDTH_UNTOLD = (Finding(Why.WIDTH_DOWNGRADE, holds=None),)
"""Without an expectation nothing is raised, and what was raised while there was one stays: forgetting is no repair."""


def _port(state: State, asked: Pass) -> tuple[State, Outcome]:
    """A port of an RDMA device: its lanes' speed and their number apart, or its data rate where it does not name lanes."""
    now, expected = asked.now, asked.expected
    speed = share(now.value(Role.LANE_RATE), expected.get(Role.LANE_RATE))
    width = share(now.value(Role.WIDTH), expected.get(Role.WIDTH))
    if speed == width == 1.0:
        return state, WHOLE
    whole = share(now.value(Role.CAPACITY), expected.get(Role.CAPACITY))
    if speed is None and width is None:
        return state, told(whole, (*narrow(asked, width), *_slow(asked, Role.CAPACITY, "can carry", whole)))
    findings = (*narrow(asked, width), *_slow(asked, Role.LANE_RATE, "lanes run at", speed))
    return state, told(speed * width if speed is not None and width is not None else whole, findings)


def _nvlink(state: State, asked: Pass) -> tuple[State, Outcome]:
    """An NVLink's signalling rate. While it saves power, or is not active, nobody can tell."""
    ratio = share(asked.now.value(Role.SIGNALLING_RATE), asked.expected.get(Role.SIGNALLING_RATE))
    power = asked.now.value(Role.POWER_STATE)
    if power is None:
        power = asked.latest.get(Role.POWER_STATE, FULL_SPEED)
    if power != FULL_SPEED or asked.latest.get(Role.STATE, NVLINK_ACTIVE) != NVLINK_ACTIVE:
        return state, told(None, SPEED_UNTOLD)
    return state, WHOLE if ratio == 1.0 else told(ratio, _slow(asked, Role.SIGNALLING_RATE, "signals at", ratio))


def _interface(state: State, asked: Pass) -> tuple[State, Outcome]:
    """A NIC without RDMA: its interface's speed."""
    ratio = share(asked.now.value(Role.SPEED), asked.expected.get(Role.SPEED))
    return state, WHOLE if ratio == 1.0 else told(ratio, _slow(asked, Role.SPEED, "runs at", ratio))


def share(present: Number | None, expected: Number | None) -> float | None:
    """Present as a share of expected; None where either is missing or no rate and no width."""
    if present is None or expected is None or not 1 <= expected <= RATE_MAX or not 0 <= present <= RATE_MAX:
        return None
    return present / expected


def told(ratio: float | None, findings: tuple[Finding, ...] = ()) -> Outcome:
    """The capacity signal, where it is known, with these findings."""
    return Outcome({CAPACITY.key: ratio} if ratio is not None else {}, findings)


def narrow(asked: Pass, ratio: float | None) -> tuple[Finding, ...]:
    """WIDTH_DOWNGRADE if there are fewer lanes than expected; untold without a ratio."""
    if ratio is None:
        return WIDTH_UNTOLD
    if ratio >= 1.0:
        return ()
    evidence = f"{asked.now.value(Role.WIDTH)} lanes instead of {asked.expected[Role.WIDTH]}"
    return (Finding(Why.WIDTH_DOWNGRADE, holds=True, evidence=evidence),)


def _slow(asked: Pass, role: Role, verb: str, ratio: float | None) -> tuple[Finding, ...]:
    """SPEED_DOWNGRADE if the role's share is below what rounding explains; untold without a share."""
    if ratio is None:
        return SPEED_UNTOLD
    if ratio >= asked.thresholds.downgrade_ratio:
        return ()
    evidence = f"{verb} {_gbit(asked.now.value(role))} Gb/s instead of {_gbit(asked.expected[role])} Gb/s"
    return (Finding(Why.SPEED_DOWNGRADE, holds=True, evidence=evidence),)


def _gbit(bytes_per_s: Number | None) -> str:
    return f"{(bytes_per_s or 0) * BITS_PER_BYTE / BITS_PER_GBIT:.4g}"


_BOTH = (Why.SPEED_DOWNGRADE, Why.WIDTH_DOWNGRADE)
PORTS = Rule(name="downgrade", needs=frozenset({Role.CAPACITY}), step=_port, reasons=_BOTH,
             fabrics=frozenset({"infiniband", "roce", "efa"}), hears=frozenset({Role.CAPACITY, Role.WIDTH, Role.LANE_RATE}))  # fmt: skip
NVLINKS = Rule(name="downgrade_nvlink", needs=frozenset({Role.SIGNALLING_RATE}), step=_nvlink, reasons=(Why.SPEED_DOWNGRADE,),
               fabrics=frozenset({"nvlink"}), hears=frozenset({Role.SIGNALLING_RATE, Role.POWER_STATE}))  # fmt: skip
INTERFACES = Rule(name="downgrade_ethernet", needs=frozenset({Role.SPEED}), step=_interface, reasons=(Why.SPEED_DOWNGRADE,),
                  fabrics=frozenset({"ethernet"}), hears=frozenset({Role.SPEED}))  # fmt: skip
RULES = (PORTS, NVLINKS, INTERFACES)
