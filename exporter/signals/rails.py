"""Rails of one job, compared by the shape of their bursts: who takes far longer for the same bytes holds up every collective.

Equal bytes, unequal speed: means cannot tell (simulated, one NIC of eight at half speed: 14.25 GB/s on each rail in the mean, 50.0 and
25.0 GB/s within bursts, busy for 0.38 and 0.67 of the time [M]). Guards: at least three rails, of one expected speed, that carry alike
(a storage NIC or a rail the job does not use is no sibling), enough traffic, bursts that the sampler can see, not many slow at once, and
three of five windows of 100 s. Knows bursts and links; knows no counter. Sources: research of the project, findings 1, 2 and 4.
"""

from collections.abc import Mapping
from statistics import median
from typing import NamedTuple

from exporter.catalog.signals import RAIL_BURST, RAIL_SHARE
from exporter.model.entity import Link
from exporter.model.health import Finding, Why
from exporter.model.snapshot import Number, SeriesKey
from exporter.model.thresholds import Thresholds
from exporter.signals.rule import Outcome
from exporter.signals.siblings import GROUP_MIN, LOW_MAX_RATIO, PART_RATIO

BUSY_MIN = 0.02
"""Rails that are busy for less of the time show too few samples of a burst [D]."""
ALIKE = 0.2
"""Rails whose bytes are within this share of the median carry the same; others serve something else [D]."""
RESOLVED_MIN = 0.1
"""Share of the median rail's busy samples that must lie within a burst. Bursts of one and a half samples show a whole one half of the time,
which is a fifth of the busy samples; shorter ones never do [M]."""
FULL_LOAD = 0.7
"""… unless samples are nearly full anyway. A rail that is busy all the time at a third of its rate may be bursts too short to see."""
USED_MIN = 2
"""Rails that must carry something before their shares say anything: a job of one rail uses one on purpose."""
BLIND = "bursts on the rails are too short for the burst sampler: a slow rail cannot be told; sample faster (sources.bursts.interval)"


class Burst(NamedTuple):
    """One direction of a rail over the last window: speed within bursts (p95 of busy samples, bytes per second), share of time busy, share
    of busy samples within a burst."""

    rate: float
    busy: float
    resolved: float


class Rail(NamedTuple):
    """`moved`: bytes since the last comparison, both directions; `expected`: bytes per second it should carry; `bursts` by direction."""

    moved: Number
    expected: Number
    bursts: Mapping[str, Burst]


class Comparison(NamedTuple):
    """`outcomes` of rails that were compared (those not there are silent: nothing is raised or cleared), `shown` of each rail, and whether
    bursts were there that could not be seen."""

    outcomes: Mapping[Link, Outcome] = {}
    shown: Mapping[Link, Mapping[SeriesKey, Number]] = {}
    is_blind: bool = False


def compare(rails: Mapping[Link, Rail], slow: frozenset[Link], thresholds: Thresholds) -> Comparison:
    """One window of the rails of one job. `slow` are those that were slow in the window before: they are until they are clear."""
    shown: dict[Link, dict[SeriesKey, Number]] = {link: {} for link in rails}
    for link, share in _shares(rails).items():
        shown[link][RAIL_SHARE.key] = share
    outcomes: dict[Link, Outcome] = {}
    is_blind = False
    for direction in ("transmit", "receive"):
        part, cannot_see = _comparable(rails, direction, thresholds)
        is_blind = is_blind or cannot_see
        middle = median([rails[link].bursts[direction].rate for link in part]) if part else 0.0
        ratios = {link: rails[link].bursts[direction].rate / middle for link in part}
        low = _low(ratios, slow, thresholds)
        for link, ratio in ratios.items():
            known = shown[link].get(RAIL_BURST.key)
            shown[link][RAIL_BURST.key] = ratio if known is None else min(known, ratio)
            if link in low:
                outcomes[link] = Outcome(findings=(_finding(rails, link, direction, part, middle),))
            else:
                outcomes.setdefault(link, Outcome())
    return Comparison(outcomes, shown, is_blind)


def _shares(rails: Mapping[Link, Rail]) -> Mapping[Link, float]:
    """Bytes of each as a share of an even part; nothing if fewer than two carry a tenth of all."""
    total = sum(rail.moved for rail in rails.values())
    if total <= 0 or sum(rail.moved > PART_RATIO * total for rail in rails.values()) < USED_MIN:
        return {}
    return {link: rail.moved * len(rails) / total for link, rail in rails.items()}


def _comparable(rails: Mapping[Link, Rail], direction: str, thresholds: Thresholds) -> tuple[list[Link], bool]:
    """Rails that can be compared in one direction, and whether they could not only because their bursts are too short."""
    usual = median([rail.moved for rail in rails.values()]) if rails else 0.0
    fastest = max([rail.expected for rail in rails.values()], default=0.0)
    part = [
        link
        for link, rail in rails.items()
        if direction in rail.bursts and rail.expected == fastest and abs(rail.moved - usual) <= ALIKE * usual
    ]
    bursts = [rails[link].bursts[direction] for link in part]
    if len(part) < GROUP_MIN or median([burst.busy for burst in bursts]) < BUSY_MIN:
        return [], False
    middle = median([burst.rate for burst in bursts])
    if middle < thresholds.sibling_traffic_bytes_per_s or middle <= 0:
        return [], False
    is_seen = median([burst.resolved for burst in bursts]) >= RESOLVED_MIN
    is_always_busy = median([burst.busy for burst in bursts]) > 1 - BUSY_MIN
    if not is_seen or (is_always_busy and max(burst.rate for burst in bursts) < FULL_LOAD * fastest):
        return [], True
    return part, False


def _low(ratios: Mapping[Link, float], slow: frozenset[Link], thresholds: Thresholds) -> frozenset[Link]:
    low = {
        link for link, ratio in ratios.items() if ratio < thresholds.rail_ratio or (link in slow and ratio < thresholds.rail_clear_ratio)
    }
    return frozenset(low) if len(low) <= max(1.0, LOW_MAX_RATIO * len(ratios)) else frozenset()


def _finding(rails: Mapping[Link, Rail], link: Link, direction: str, part: list[Link], middle: float) -> Finding:
    burst = rails[link].bursts[direction]
    busy = median([rails[other].bursts[direction].busy for other in part])
    evidence = (
        f"{direction}s {burst.rate / 1e9:.3g} GB/s within bursts while the median of {len(part)} rails is {middle / 1e9:.3g} GB/s; busy "
        f"{burst.busy:.0%} of the time instead of {busy:.0%}, for the same bytes"
    )
    return Finding(Why.SLOW_RAIL, holds=True, evidence=evidence)
