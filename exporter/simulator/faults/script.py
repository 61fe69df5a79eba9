"""What a fault does and when, as steps along time. Knows no kind of fault.

Every step is done with `stage.now_s` at its own time, whenever somebody gets round to it.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from exporter.simulator.scenario import PlannedFault
from exporter.simulator.stage import Stage

Act: TypeAlias = Callable[[Stage, PlannedFault], None]


class Step(NamedTuple):
    """Something that is done at a time (seconds since the scenario began)."""

    at_s: float
    act: Callable[[Stage], None]


Script: TypeAlias = Callable[[PlannedFault], list[Step]]


def at_once(act: Act) -> Script:
    """Done when the fault comes, and that is all."""
    return lambda fault: [Step(fault.at_s, lambda stage: act(stage, fault))]


def lasting(begin: Act, end: Act) -> Script:
    """Begun when the fault comes, ended when it goes, if it does."""

    def script(fault: PlannedFault) -> list[Step]:
        steps = [Step(fault.at_s, lambda stage: begin(stage, fault))]
        if fault.until_s is not None:
            steps.append(Step(fault.until_s, lambda stage: end(stage, fault)))
        return steps

    return script
