"""What a node is used for through a day: training, serving, small jobs, idle nights, and gaps between jobs in which it is worked on. Pure.

A day is blocks of hours, one after the other; a seed makes each. Knows traffic; knows no fault, no link and no rule.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from exporter.simulator.hcas import Use
from exporter.simulator.scenario import Traffic
from exporter.simulator.traffic import Bursts, Flow, training
from exporter.simulator.traffic_patterns import PATTERNS

MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86_400.0
TRAINING, INFERENCE, MIXED, IDLE, GAP = "training", "inference", "mixed", "idle", "gap"
WORK = frozenset({TRAINING, INFERENCE, MIXED})
LENGTHS_S = {
    TRAINING: (HOUR_S, 9 * HOUR_S), INFERENCE: (HOUR_S, 6 * HOUR_S), MIXED: (0.5 * HOUR_S, 4 * HOUR_S), IDLE: (0.5 * HOUR_S, 3 * HOUR_S),
    GAP: (2 * MINUTE_S, 25 * MINUTE_S),
}  # fmt: skip
WEIGHTS = {TRAINING: 5.0, INFERENCE: 2.0, MIXED: 2.0, IDLE: 1.0}
NIGHT_S = (3 * HOUR_S, 7 * HOUR_S)
"""A quiet night ends then; every other one is."""
STEPS_S = (0.6, 1.5, 4.0, 8.0, 20.0, 45.0)
"""Steps of training jobs: of a small model, and of one that accumulates gradients for most of a minute."""
IDLE_FLOWS, MIXED_FLOWS = PATTERNS[IDLE].flows({}), PATTERNS[MIXED].flows({})


@dataclass(frozen=True, slots=True)
class Block:
    """The node is used for `kind` from one time to another, seconds since the day began; `traffic` are its parts, one after the other."""

    kind: str
    from_s: float
    to_s: float
    traffic: tuple[Traffic, ...]

    @property
    def is_work(self) -> bool:
        """Whether a job runs."""
        return self.kind in WORK


def blocks_of(random: Random) -> tuple[Block, ...]:
    """A whole day: blocks without a hole between them, a gap after every job."""
    found: list[Block] = []
    now_s = 0.0
    if random.random() < 0.5:
        now_s = random.uniform(*NIGHT_S)
        found.append(Block(IDLE, 0.0, now_s, tuple(_idle(random, 0.0, now_s))))
    while now_s < DAY_S:
        follows_work = bool(found) and found[-1].is_work
        kind = GAP if follows_work else random.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))[0]
        to_s = min(now_s + random.uniform(*LENGTHS_S[kind]), DAY_S)
        found.append(Block(kind, now_s, to_s, tuple(_TRAFFIC[kind](random, now_s, to_s))))
        now_s = to_s
    return tuple(found)


def quiet_spells(blocks: Sequence[Block], least_s: float) -> list[tuple[float, float]]:
    """From when to when no job ran for at least so long."""
    spells: list[tuple[float, float]] = []
    for block in blocks:
        if block.is_work:
            continue
        if spells and spells[-1][1] == block.from_s:
            spells[-1] = spells[-1][0], block.to_s
        else:
            spells.append((block.from_s, block.to_s))
    return [(from_s, to_s) for from_s, to_s in spells if to_s - from_s >= least_s]


def _training(random: Random, from_s: float, to_s: float) -> Iterator[Traffic]:
    """Steps and checkpoints. Either steps go on while a checkpoint is written, or all wait for it."""
    step_s = random.choice(STEPS_S)
    busy_s = step_s * random.uniform(0.08, 0.3)
    every_s, checkpoint_s = random.uniform(10, 60) * MINUTE_S, random.uniform(20, 120)
    steps = training(step_s, busy_s, every_s, checkpoint_s)
    if random.random() < 0.4:
        yield Traffic(from_s, to_s, steps)
        return
    steps = tuple(flow for flow in steps if flow.name != "checkpoint")
    writing = _steadily("checkpoint", Use.STORAGE, 0.7, transmits=True)
    while from_s < to_s:
        pause_s, next_s = min(from_s + every_s, to_s), min(from_s + every_s + checkpoint_s, to_s)
        yield Traffic(from_s, pause_s, steps)
        if pause_s < next_s:
            yield Traffic(pause_s, next_s, (*IDLE_FLOWS[:2], *writing))
        from_s = next_s


def _inference(random: Random, from_s: float, to_s: float) -> Iterator[Traffic]:
    """Weights are loaded, then requests come in short bursts all the time."""
    loaded_s = min(from_s + random.uniform(1, 6) * MINUTE_S, to_s)
    yield Traffic(from_s, loaded_s, (*IDLE_FLOWS[:2], *_steadily("weights", Use.STORAGE, 0.8, transmits=False)))
    period_s = random.uniform(0.2, 3.0)
    requests = Bursts(period_s, 0.0, period_s * random.uniform(0.1, 0.6), random.uniform(0.02, 0.4))
    flows = tuple(Flow(f"requests {'out' if out else 'in'}", Use.COMPUTE, requests, out) for out in (True, False))
    if loaded_s < to_s:
        yield Traffic(loaded_s, to_s, flows)


def _mixed(_random: Random, from_s: float, to_s: float) -> Iterator[Traffic]:
    yield Traffic(from_s, to_s, MIXED_FLOWS)


def _idle(random: Random, from_s: float, to_s: float) -> Iterator[Traffic]:
    """Heartbeats; in every other long spell files are copied to storage for a while."""
    copied_s = random.uniform(10, 50) * MINUTE_S
    begins_s = random.uniform(from_s, max(to_s - copied_s, from_s))
    if random.random() < 0.5 or not from_s < begins_s < begins_s + copied_s < to_s:
        yield Traffic(from_s, to_s, IDLE_FLOWS)
        return
    yield Traffic(from_s, begins_s, IDLE_FLOWS)
    copy = _steadily("copy", Use.STORAGE, random.uniform(0.1, 0.6), transmits=True)
    yield Traffic(begins_s, begins_s + copied_s, (*IDLE_FLOWS[:2], *copy))
    yield Traffic(begins_s + copied_s, to_s, IDLE_FLOWS)


def _gap(_random: Random, from_s: float, to_s: float) -> Iterator[Traffic]:
    yield Traffic(from_s, to_s, IDLE_FLOWS)


def _steadily(name: str, use: Use, load: float, *, transmits: bool) -> tuple[Flow, ...]:
    return (Flow(name, use, Bursts(1.0, 0.0, 0.9, load), transmits),)


_TRAFFIC = {TRAINING: _training, INFERENCE: _inference, MIXED: _mixed, IDLE: _idle, GAP: _gap}
