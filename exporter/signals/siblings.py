"""Links that should carry the same, compared: whoever carries far less than the others is suspect, and no more than that.

Links of one GPU to the same far end, or the rails of one node. Means hide a slow rail (a collective waits for it, so all rails carry the
same bytes: measured, 14.25 GB/s on each), so what is found here is a link that others had to make up for. The guards are measured too: of
eight healthy siblings with 5 % noise one is an outlier by its z in 14 of 100 looks, and 20 % off the median as well in 1 of 1,000; hence
both, a traffic floor, and time. A group holds the links of one job (jobs.py).
"""

from collections.abc import Collection, Mapping
from math import isfinite
from statistics import median
from typing import NamedTuple

from exporter.catalog.signals import SIBLING
from exporter.model.entity import Fabric, Link
from exporter.model.health import Finding, Why
from exporter.model.thresholds import Thresholds
from exporter.signals.rule import Outcome

GROUP_MIN = 3
"""Of two that differ either may be the odd one."""
WINDOW_S = 120.0
"""Traffic is averaged over so long: several training steps [D]."""
LOW_FOR_S = 300.0
"""So long a link must be far below its siblings before that is a finding [D]."""
OUTLIER_Z = 3.5
"""Distance from the median in units of the group's spread (Iglewicz and Hoaglin's modified z score)."""
SPREAD_OF_MAD = 1.4826
"""Median absolute deviation → standard deviation, for normal noise."""
SPREAD_MIN_RATIO = 0.01
"""A group whose spread is smaller is called even: else the least noise is an outlier [M]."""
PART_RATIO = 0.1
"""A rail that carries less than this share of the busiest takes no part: the job does not use it (one GPU of eight, NCCL_IB_HCA) [D]."""
LOW_MAX_RATIO = 0.25
"""If more than this share of a group is low (at least one may be), the node is used unevenly; no link is slow [D]."""

Rates = tuple[float, float]
"""Bytes per second: transmit, receive."""
DIRECTIONS = ("transmit", "receive")


class Mean(NamedTuple):
    """What is remembered of a link: its mean rates, over how long (at most WINDOW_S counts), and for how long it has been low."""

    transmit: float = 0.0
    receive: float = 0.0
    seen_s: float = 0.0
    low_s: float = 0.0


UNSEEN = Mean()


class _Place(NamedTuple):
    """One link among its siblings in the direction in which it stands worst."""

    ratio: float
    is_low: bool
    rate: float
    direction: str
    siblings: int


States = Mapping[Link, Mean]


def compare(states: States, rates: Mapping[Link, Rates], groups: Mapping[str, Collection[Link]], thresholds: Thresholds,
            elapsed_s: float) -> tuple[States, Mapping[Link, Outcome]]:  # fmt: skip
    """Next states, and an Outcome for each link that could be compared: its ratio, and SLOW_SIBLING while that is far below for long.

    Others are missing: silence, which neither raises nor clears. A link without a rate keeps what is remembered of it; one in no group is
    forgotten. Without measured time nothing happens.
    """
    if not 0.0 < elapsed_s < float("inf"):
        return states, {}
    after: dict[Link, Mean] = {}
    outcomes: dict[Link, Outcome] = {}
    for members in groups.values():
        means = {link: _mean(states.get(link, UNSEEN), rates.get(link), elapsed_s) for link in members}
        places = _places({link: mean for link, mean in means.items() if link in rates and mean.seen_s >= WINDOW_S}, thresholds)
        for link, mean in means.items():
            place = places.get(link)
            after[link] = mean if place is None else _counted(mean, place, thresholds, elapsed_s)
            if place is not None:
                outcomes[link] = _outcome(after[link], place)
    return after, outcomes


def _mean(before: Mean, now: Rates | None, elapsed_s: float) -> Mean:
    """A plain mean until the window is full, a fading one from then on. After a gap longer than the window it starts anew."""
    if now is None or not all(isfinite(rate) and rate >= 0 for rate in now):
        return before
    seen_s = 0.0 if elapsed_s > WINDOW_S else before.seen_s
    share = min(1.0, elapsed_s / min(seen_s + elapsed_s, WINDOW_S))
    transmit, receive = (old + (new - old) * share for old, new in zip(before[:2], now, strict=True))
    return Mean(transmit, receive, min(seen_s + elapsed_s, WINDOW_S), before.low_s)


def _places(means: Mapping[Link, Mean], thresholds: Thresholds) -> Mapping[Link, _Place]:
    """Where each link stands in the worse of the directions in which its group can be judged; the two are never mixed, for some
    collectives send more than they receive (SHARP)."""
    found: dict[Link, _Place] = {}
    for at, direction in enumerate(DIRECTIONS):
        for link, place in _stands({link: mean[at] for link, mean in means.items()}, direction, thresholds).items():
            known = found.get(link)
            if known is None or (place.is_low, -place.ratio) > (known.is_low, -known.ratio):
                found[link] = place
    return found


def _stands(rates: Mapping[Link, float], direction: str, thresholds: Thresholds) -> Mapping[Link, _Place]:
    """Where each stands in one direction; nothing if too few take part or they carry too little."""
    busiest = max(rates.values(), default=0.0)
    part = {link: rate for link, rate in rates.items() if link.fabric is Fabric.NVLINK or rate >= PART_RATIO * busiest}
    if len(part) < GROUP_MIN:
        return {}
    middle = median(part.values())
    if middle < thresholds.sibling_traffic_bytes_per_s or middle <= 0:
        return {}
    spread = SPREAD_OF_MAD * max(median([abs(rate - middle) for rate in part.values()]), SPREAD_MIN_RATIO * middle)
    low = {link for link, rate in part.items() if rate < thresholds.sibling_ratio * middle and rate - middle < -OUTLIER_Z * spread}
    if len(low) > max(1.0, LOW_MAX_RATIO * len(part)):
        low = set()
    return {link: _Place(rate / middle, link in low, rate, direction, len(part) - 1) for link, rate in part.items()}


def _counted(mean: Mean, place: _Place, thresholds: Thresholds, elapsed_s: float) -> Mean:
    """Low for longer, or low no more. Who was low for long is so until it stands halfway up to the others."""
    if place.is_low:
        return mean._replace(low_s=min(mean.low_s + elapsed_s, LOW_FOR_S))
    is_between = place.ratio < (1.0 + thresholds.sibling_ratio) / 2.0 and mean.low_s >= LOW_FOR_S
    return mean if is_between or not mean.low_s else mean._replace(low_s=0.0)


def _outcome(mean: Mean, place: _Place) -> Outcome:
    if mean.low_s < LOW_FOR_S:
        return Outcome({SIBLING.key: place.ratio})
    middle = f"{place.rate / place.ratio / 1e9:.3g} GB/s" if place.ratio else "far more"
    evidence = f"{place.direction}s {place.rate / 1e9:.3g} GB/s while the median of it and {place.siblings} siblings is {middle}"
    return Outcome({SIBLING.key: place.ratio}, (Finding(Why.SLOW_SIBLING, holds=True, evidence=evidence),))
