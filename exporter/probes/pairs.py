"""Bandwidths between all GPUs of a node: which GPU, or which path between two, is slower than the others. Pure.

log b_ij = g + src_i + dst_j + e_ij, by median polish, so that what is slow does not pull the model to itself. Both sides of a GPU low: the
GPU or its links; one side: what it sends or receives; only a pair off the model: that path (rare with NVSwitches, where no path belongs to
two GPUs). One sweep accuses somebody on every sixth healthy node at 3 % noise; so an accusation must be repeated (`confirmed`).
A node that is slow as a whole looks even here: its baseline tells.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from enum import Enum
from math import exp, isfinite, log, sqrt
from statistics import median
from typing import NamedTuple, TypeVar

from exporter.catalog.limits import PROBE_PAIR_GPUS_MIN, PROBE_PAIR_LOSS_MIN_RATIO, PROBE_PAIR_MADS, PROBE_SWEEPS, PROBE_SWEEPS_LOW
from exporter.probes.statistics import nearest_rank

Gpu = TypeVar("Gpu", bound=Hashable)

POLISHES = 30
"""Rounds of median polish, at most; three or four are usual."""
SETTLED = 1e-9
NOISE_OF_MEDIAN = 1.2533
"""Standard deviation of a median of n normal numbers is that of one of them by the root of n, times this."""
MAD_OF_QUARTILE = 0.6745 / 1.1503
"""Median and upper quartile of the distance from the mean, of normal noise, in standard deviations."""
LEAST_SHARE = 0.75
"""A sweep with less than this share of its pairs is not judged: rows without enough numbers have no median worth the name [D]."""


class Kind(Enum):
    """What is slow: a GPU in both directions, what it sends, what it receives, or the path from one to another."""

    __hash__ = object.__hash__

    GPU = "gpu"
    SOURCE = "source"
    DESTINATION = "destination"
    PAIR = "pair"

    @property
    def scope(self) -> str:
        """The `scope` label of `fabric_probe_suspect`: gpu or pair."""
        return "pair" if self is Kind.PAIR else "gpu"


class Suspect(NamedTuple):
    """Who is slow: one GPU, or for PAIR the sending and the receiving one."""

    kind: Kind
    gpus: tuple[Hashable, ...]


Losses = Mapping[Suspect, float]
"""Suspects of a sweep, each with the share of bandwidth that it lacks against the model, 0 to 1."""


def rounds(gpus: Sequence[Gpu]) -> tuple[tuple[tuple[Gpu, Gpu], ...], ...]:
    """All ordered pairs in rounds, in each of which a GPU is in one pair at most, so that no measurement disturbs another: the circle
    method, each round once in either direction. 2(n-1) rounds for an even number, 2n for an odd one, where one rests each time."""
    circle: list[Gpu | None] = [*gpus, None] if len(gpus) % 2 else [*gpus]
    found: list[tuple[tuple[Gpu, Gpu], ...]] = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        pairs = [
            (one, other)
            for one, other in zip(circle[:half], reversed(circle[half:]), strict=True)
            if one is not None and other is not None
        ]  # fmt: skip
        found += [tuple(pairs), tuple((other, one) for one, other in pairs)] if pairs else []
        circle[1:] = [circle[-1], *circle[1:-1]]
    return tuple(found)


def suspects(bandwidths: Mapping[tuple[Gpu, Gpu], float]) -> Losses:
    """Who is slow in one sweep; `bandwidths` in any unit, by sending and receiving GPU. Nobody with fewer than PROBE_PAIR_GPUS_MIN GPUs, or
    if too many pairs are missing or impossible (not above 0): then nothing can be told."""
    logs = {pair: log(value) for pair, value in bandwidths.items() if isfinite(value) and value > 0 and pair[0] != pair[1]}
    gpus = sorted({gpu for pair in logs for gpu in pair}, key=str)
    pairs = len(gpus) * (len(gpus) - 1)
    if len(gpus) < PROBE_PAIR_GPUS_MIN or len(logs) < LEAST_SHARE * pairs:
        return {}
    sources, destinations, rest = _polished(logs, gpus)
    limit, least = PROBE_PAIR_MADS * _deviation(rest.values(), len(gpus)), -log(1.0 - PROBE_PAIR_LOSS_MIN_RATIO)
    low_pair, low = -max(limit, least), -max(limit * NOISE_OF_MEDIAN / sqrt(len(gpus) - 1), least)
    found: dict[Suspect, float] = {}
    for gpu in gpus:
        sends, receives = sources[gpu], destinations[gpu]
        if sends < low and receives < low:
            found[Suspect(Kind.GPU, (gpu,))] = 1.0 - exp((sends + receives) / 2)
        elif sends < low:
            found[Suspect(Kind.SOURCE, (gpu,))] = 1.0 - exp(sends)
        elif receives < low:
            found[Suspect(Kind.DESTINATION, (gpu,))] = 1.0 - exp(receives)
    return found | {Suspect(Kind.PAIR, pair): 1.0 - exp(value) for pair, value in rest.items() if value < low_pair}


def confirmed(sweeps: Sequence[Losses]) -> Losses:
    """Who was accused in PROBE_SWEEPS_LOW of the last PROBE_SWEEPS sweeps, the latest last, with the median of what was lacking."""
    last = sweeps[-PROBE_SWEEPS:]
    accused = {suspect for sweep in last for suspect in sweep}
    losses = {suspect: [sweep[suspect] for sweep in last if suspect in sweep] for suspect in accused}
    return {suspect: median(lacking) for suspect, lacking in losses.items() if len(lacking) >= PROBE_SWEEPS_LOW}


def _deviation(rest: Collection[float], gpus: int) -> float:
    """The median absolute deviation of what the model leaves, told from its upper quartile: median polish makes up to half of the rest
    exactly 0 (with four GPUs), which says nothing of the noise. Made larger by what the model took up (2n-1 unknowns)."""
    freedom = max(1, len(rest) - 2 * gpus + 1)
    return nearest_rank(sorted(map(abs, rest)), 0.75) * MAD_OF_QUARTILE * sqrt(len(rest) / freedom)


def _polished(logs: Mapping[tuple[Gpu, Gpu], float], gpus: Collection[Gpu]
              ) -> tuple[Mapping[Gpu, float], Mapping[Gpu, float], Mapping[tuple[Gpu, Gpu], float]]:  # fmt: skip
    """What each GPU sends and receives more (less: below 0) than the usual one, and what the pairs differ from that."""
    sides = (dict.fromkeys(gpus, 0.0), dict.fromkeys(gpus, 0.0))
    rest = dict(logs)
    for _ in range(POLISHES):
        moved = 0.0
        for side, effects in enumerate(sides):
            for gpu in gpus:
                own = [value for pair, value in rest.items() if pair[side] == gpu]
                shift = median(own) if own else 0.0
                effects[gpu] += shift
                moved = max(moved, abs(shift))
                for pair in [pair for pair in rest if pair[side] == gpu]:
                    rest[pair] -= shift
        if moved <= SETTLED:
            break
    sources, destinations = ({gpu: value - median(effects.values()) for gpu, value in effects.items()} for effects in sides)
    return sources, destinations, rest
