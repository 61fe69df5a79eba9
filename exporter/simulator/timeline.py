"""The faults of a scenario as steps along time, done one after the other at their own times.

Knows when; what a step does is faults/'s. Whoever advances it with the same scenario, however often, comes to the same.
"""

from collections.abc import Iterator
from dataclasses import replace

from exporter.simulator.fault_kinds import KINDS
from exporter.simulator.faults import gpus, pci, ports, whole_node
from exporter.simulator.faults.script import Script, Step
from exporter.simulator.scenario import PlannedFault, Scenario
from exporter.simulator.stage import Stage

_MODULES = (ports, gpus, pci, whole_node)


class Timeline:
    """`head_start_s`: how old the node was when the scenario began."""

    def __init__(self, scenario: Scenario, stage: Stage, head_start_s: float) -> None:
        steps = [(step, fault.number) for fault in scenario.faults for step in steps_of(fault)]
        self._steps = [step for step, _ in sorted(steps, key=lambda pair: (pair[0].at_s, pair[1]))]
        self._stage = stage
        self._head_start_s = head_start_s
        self._done = 0

    @property
    def next_s(self) -> float | None:
        """When the next step is due, in seconds since the node started; None if all are done."""
        return self._steps[self._done].at_s + self._head_start_s if self._done < len(self._steps) else None

    def advance(self, elapsed_s: float) -> None:
        """Do what is due by then (seconds since the node started)."""
        due_s = self.next_s
        while due_s is not None and due_s <= elapsed_s:
            step = self._steps[self._done]
            self._done += 1
            self._stage.now_s = max(self._stage.now_s, due_s)
            step.act(self._stage)
            due_s = self.next_s
        self._stage.now_s = max(self._stage.now_s, elapsed_s)


def steps_of(fault: PlannedFault) -> list[Step]:
    """What a fault does and when; a kind that befalls several parts of the node does it to each."""
    if fault.kind == "flap":
        return [step for down in _flaps(fault) for step in steps_of(down)]
    return [step for script in _scripts(fault.kind) for step in script(fault)]


def _scripts(kind: str) -> list[Script]:
    found = [module.SCRIPTS[kind] for module in _MODULES if kind in module.SCRIPTS]
    if not found:
        raise KeyError(kind)
    return found


def _flaps(fault: PlannedFault) -> Iterator[PlannedFault]:
    """Each time the link is down."""
    period_s = fault.number_of("period")
    down_s = fault.number_of("down", period_s / 2)
    for number in range(int(fault.number_of("count"))):
        at_s = fault.at_s + number * period_s
        yield replace(fault, kind="down", at_s=at_s, until_s=at_s + down_s, values={})


def known_kinds() -> frozenset[str]:
    """Kinds that something is done for."""
    return frozenset(kind for kind in KINDS if kind == "flap" or any(kind in module.SCRIPTS for module in _MODULES))
