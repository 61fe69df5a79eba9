"""Xids that name a link: the driver itself says what is wrong with it."""

from typing import NamedTuple

from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State

FATAL = {
    "74": "NVLink error",
    "149": "NVLink 5 link event",
}
"""Xids after which a link is not to be trusted: 74 is written for fatal errors of Volta to Hopper, 149 when a Blackwell link goes down or
its bit error ratio is out of bounds (NVIDIA/open-gpu-kernel-modules#1150) [V]. Others of the list speak of units, not of the link [D]."""
REMEMBERED_S = 3600.0
"""So long after the last one the driver's word stands; then the link must prove itself by being well [D]."""


class _Seen(NamedTuple):
    last_s: float
    evidence: str


def _step(state: State, asked: Pass) -> tuple[State, Outcome]:
    """A finding while one came within the last hour. Those before the first pass are history."""
    seen: _Seen | None = state
    before, now = asked.before, asked.now
    if before is not None:
        earlier = dict(before.items(Role.XIDS))
        for key, count in now.items(Role.XIDS):
            xid = key[1] if isinstance(key, tuple) and len(key) > 1 else ""
            if xid in FATAL and count > earlier.get(key, 0):
                seen = _Seen(now.monotonic_s, f"Xid {xid} ({FATAL[xid]}) named this link")
    if seen is None or not 0 <= now.monotonic_s - seen.last_s < REMEMBERED_S:
        return None, NOTHING
    return seen, Outcome(findings=(Finding(Why.XID, holds=True, evidence=seen.evidence),))


RULE = Rule(name="xids", needs=frozenset({Role.XIDS}), step=_step, reasons=(Why.XID,), fabrics=frozenset({"nvlink"}))
RULES = (RULE,)
