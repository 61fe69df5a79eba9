"""Whether a PCIe link, a device's own or a bridge's above it, runs as fast and as wide as it should.

Lanes do not come and go with load: fewer than expected are a finding at once, and so is the speed of a NIC's link. A GPU that has nothing
to do slows its link down (1,415 changes on 35 devices within two minutes of a healthy box: local-inference-lab/rtx6kpro#88), so its
speed is judged only once it has worked for a while.
"""

from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.signals.downgrade import SPEED_UNTOLD, WHOLE, narrow, share, told
from exporter.signals.rule import Outcome, Pass, Rule, State

TRANSFERS_PER_GT = 1e9


def _step(state: State, asked: Pass) -> tuple[State, Outcome]:
    """The capacity signal is absent while an idle GPU hides what its link can do."""
    width = share(asked.now.value(Role.WIDTH), asked.expected.get(Role.WIDTH))
    speed = share(asked.now.value(Role.LANE_RATE), asked.expected.get(Role.LANE_RATE))
    if speed == width == 1.0:
        return state, WHOLE
    is_slow = speed is not None and speed < asked.thresholds.downgrade_ratio
    if speed is None or (is_slow and _is_idle_gpu(asked)):
        return state, told(None, (*narrow(asked, width), *SPEED_UNTOLD))
    findings = (*narrow(asked, width), *((_slow(asked),) if is_slow else ()))
    return state, told(speed * width if width is not None else None, findings)


def _is_idle_gpu(asked: Pass) -> bool:
    """Whether the link serves a GPU, directly or from above it, that has not worked for long enough, as far as anybody knows."""
    if not asked.place.gpu or asked.place.gpu != asked.link.device:
        return False
    return asked.busy_s is None or asked.busy_s < asked.thresholds.busy_s


def _slow(asked: Pass) -> Finding:
    now, expected = asked.now.value(Role.LANE_RATE), asked.expected[Role.LANE_RATE]
    busy = f" while its GPU has worked for {asked.busy_s:.0f} s" if asked.place.gpu == asked.link.device and asked.busy_s else ""
    return Finding(Why.SPEED_DOWNGRADE, holds=True, evidence=f"runs at {_gt(now)} GT/s instead of {_gt(expected)} GT/s{busy}")


def _gt(transfers_per_s: Number | None) -> str:
    return f"{(transfers_per_s or 0) / TRANSFERS_PER_GT:g}"


RULE = Rule(name="pcie_downgrade", needs=frozenset({Role.WIDTH}), step=_step, reasons=(Why.SPEED_DOWNGRADE, Why.WIDTH_DOWNGRADE),
            fabrics=frozenset({"pcie"}))  # fmt: skip
RULES = (RULE,)
