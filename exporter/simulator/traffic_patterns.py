"""Kinds of traffic that a scenario may ask for by name, and what each takes. Values and pure functions.

`training` is that of traffic.py; the others are there so that a rule can be tried without its bursts.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from exporter.simulator.hcas import Use
from exporter.simulator.traffic import Bursts, Flow, training


class Pattern(NamedTuple):
    """`keys` are what it takes, in seconds or as a ratio, with their defaults."""

    help: str
    keys: Mapping[str, float]
    flows: Callable[[Mapping[str, float]], tuple[Flow, ...]]


_BOTH = ((Use.COMPUTE, True), (Use.COMPUTE, False), (Use.STORAGE, True), (Use.STORAGE, False))


def _training(values: Mapping[str, float]) -> tuple[Flow, ...]:
    return training(values["step"], values["communication"], values["checkpoint_every"], values["checkpoint"])


def _idle(_values: Mapping[str, float]) -> tuple[Flow, ...]:
    heartbeat = Bursts(60.0, 0.0, 0.05, 0.001)
    return tuple(Flow(f"idle {use.value} {'out' if out else 'in'}", use, heartbeat, out) for use, out in _BOTH)


def _mixed(_values: Mapping[str, float]) -> tuple[Flow, ...]:
    small, files = Bursts(2.0, 0.7, 0.3, 0.5), Bursts(10.0, 0.0, 6.0, 0.2)
    return tuple(
        Flow(f"mixed {use.value} {'out' if out else 'in'}", use, small if use is Use.COMPUTE else files, out) for use, out in _BOTH
    )


def _steady(values: Mapping[str, float]) -> tuple[Flow, ...]:
    without_end = Bursts(1.0, 0.0, 0.9, values["load"])
    return tuple(Flow(f"steady {use.value} {'out' if out else 'in'}", use, without_end, out) for use, out in _BOTH)


PATTERNS: Mapping[str, Pattern] = {
    "training": Pattern(
        "gradients on all rails at the end of each step, a checkpoint to storage now and then",
        {"step": 8.0, "communication": 1.2, "checkpoint_every": 1800.0, "checkpoint": 60.0}, _training),
    "idle": Pattern("a heartbeat a minute", {}, _idle),
    "mixed": Pattern("small jobs: short bursts often, files all the time", {}, _mixed),
    "steady": Pattern("nearly without a pause, at `load` of line rate", {"load": 0.6}, _steady),
    "none": Pattern("nothing at all", {}, lambda _values: ()),
}  # fmt: skip
"""By name."""
RATIOS = frozenset({"load"})
"""Keys of patterns that are ratios; all others are durations."""
