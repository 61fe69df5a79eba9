"""Errors that a PCIe function reports (AER): any that PCIe cannot correct, and corrected ones against what the link may have.

The specification lets one bit of 1e12 be wrong on each lane: at 32 GT/s and 16 lanes 31 errors a minute, at 2.5 GT/s and one lane one in
seven minutes. A fixed number of replays a minute made healthy nodes alarm for ever (NVIDIA/DCGM#184); DCGM has counted by that ratio, speed
and lanes since (GetExpectedPcieReplayRate in modules/health/DcgmHealthWatch.cpp), over one minute. Here a whole hour and the last five
minutes must both be above it, as in error_budget.py: the hour says that it matters, the minutes that it goes on. Errors are divided by what
the link can do, not by what it does now: an idle GPU slows its link down, and what was counted before was counted at full speed. The kernel
counts reports, of which one may stand for several errors: a bad link may look better than it is, never a good one worse.

Above 32 GT/s the specification mends bits (FEC) and sends again on purpose: there corrected errors are not judged.
"""

from collections.abc import Iterable
from typing import NamedTuple

from exporter.catalog.pcie import AER_KINDS, AER_OTHER
from exporter.model.health import Finding, Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.signals.growth import growths
from exporter.signals.rule import NOTHING, Outcome, Pass, Rule, State
from exporter.signals.sliced_count import SlicedCount

LOST_S, LONG_S, SHORT_S = 600.0, 3600.0, 300.0
"""For how long an error that PCIe cannot correct counts, as long as a recovery of NVLink; and both windows of the budget [D]."""
CORRECTABLE = "correctable"
OF_THE_LINK = AER_KINDS[CORRECTABLE]
"""Corrected errors that tell of a poor link. The others tell of software, as a request to nobody (advisory errors)."""
RATE_MAX, LANES_MAX = 32e9, 64
"""Transfers per second up to which a bit is sent as it is, and lanes; what is more is not judged, or no number of lanes."""
BITS_PER_GBIT = 1e9
GROWTH_MAX = 2**64
"""What is more is no growth of a kernel's counter."""


class Counted(NamedTuple):
    """`lost` errors and what the last one was; corrected ones of the link over both windows, and of which kind the last were."""

    lost: SlicedCount
    long: SlicedCount
    short: SlicedCount
    last: str = ""
    kind: str = ""


def _step(state: State, asked: Pass) -> tuple[State, Outcome]:
    """Nothing is remembered of a link that reports nothing; what its counters held at first sight is history."""
    grown = [(key, count) for key, count in growths(asked, Role.ERRORS) if 0 < count <= GROWTH_MAX]
    if state is None and not grown:
        return None, NOTHING
    now_s = asked.now.monotonic_s
    counted = _counted(state if state is not None else _since(now_s), grown, asked)
    if not (counted.lost.total(now_s) or counted.long.total(now_s)):
        return None, NOTHING
    findings = [finding for finding in (_lost(counted, now_s), _corrected(counted, asked)) if finding is not None]
    return counted, Outcome(findings=tuple(findings))


def _since(now_s: float) -> Counted:
    lost, long, short = (SlicedCount(window_s, now_s) for window_s in (LOST_S, LONG_S, SHORT_S))
    return Counted(lost, long, short)


def _counted(before: Counted, grown: Iterable[tuple[SeriesKey, Number]], asked: Pass) -> Counted:
    """With what this pass brings. One bad packet may be counted as several kinds: the most of one kind counts."""
    now_s, elapsed_s = asked.now.monotonic_s, asked.elapsed_s
    lost, mended, last, kind = 0.0, 0.0, before.last, before.kind
    for key, count in grown:
        severity, name = _labels(key)
        if severity != CORRECTABLE:
            lost, last = lost + count, f"{severity} {name}" if name != AER_OTHER else severity
        elif name in OF_THE_LINK and count > mended:
            mended, kind = count, name
    return Counted(before.lost.add(lost, now_s, elapsed_s), before.long.add(mended, now_s, elapsed_s),
                   before.short.add(mended, now_s, elapsed_s), last, kind)  # fmt: skip


def _labels(key: SeriesKey) -> tuple[str, str]:
    """Severity and kind; a key without them proves nothing."""
    return (key[1], key[2]) if isinstance(key, tuple) and len(key) > 2 else (CORRECTABLE, AER_OTHER)


def _lost(counted: Counted, now_s: float) -> Finding | None:
    errors = counted.lost.total(now_s)
    evidence = f"{errors:.0f} errors within {LOST_S / 60:g} min that PCIe cannot correct, the last of them {counted.last}"
    return Finding(Why.PCIE_LOST, holds=True, evidence=evidence) if errors else None


def _corrected(counted: Counted, asked: Pass) -> Finding | None:
    """Above the permitted share of bits in both windows; untold if nobody knows what the link can do. None where it is not, or cannot be,
    above."""
    now_s, limits = asked.now.monotonic_s, asked.thresholds
    errors, lately = counted.long.total(now_s), counted.short.total(now_s)
    if not lately or errors < limits.errors_min:
        return None
    rate, lanes = _most(asked, Role.LANE_RATE), _most(asked, Role.WIDTH)
    if rate is None or lanes is None or not 1 <= lanes <= LANES_MAX or rate < 1:
        return Finding(Why.PCIE_ERRORS, holds=None)
    bits_per_s = rate * lanes
    permitted_per_s = limits.pcie_bit_error_ratio * bits_per_s
    if rate > RATE_MAX or errors < permitted_per_s * LONG_S or lately < permitted_per_s * SHORT_S:
        return None
    ratio = errors / (bits_per_s * LONG_S)
    evidence = (f"{errors:.0f} corrected errors within 1 h, the last of them {counted.kind}: {ratio:.1e} per bit at "
                f"{bits_per_s / BITS_PER_GBIT:g} Gb/s; {limits.pcie_bit_error_ratio:.1e} is too much")  # fmt: skip
    return Finding(Why.PCIE_ERRORS, holds=True, evidence=evidence)


def _most(asked: Pass, role: Role) -> Number | None:
    """The most that is known of what the link can do: what it does, or should."""
    return max((value for value in (asked.now.value(role), asked.expected.get(role)) if value is not None and value > 0), default=None)


RULE = Rule(name="pcie_errors", needs=frozenset({Role.ERRORS}), step=_step, reasons=(Why.PCIE_LOST, Why.PCIE_ERRORS),
            fabrics=frozenset({"pcie"}))  # fmt: skip
