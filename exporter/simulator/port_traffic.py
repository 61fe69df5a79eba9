"""What one port carries while its link changes: nothing while it is down, the same bytes in longer bursts while it is slower than it was.

Totals never fall: each change begins where the one before ended. Knows no file and no fault's name.
"""

from dataclasses import fields, replace
from typing import NamedTuple

from exporter.simulator.hcas import Hca
from exporter.simulator.traffic import BURST_SPREAD, Bursts, Flow, PortTotals, PortTraffic

_LINE_USED_MAX = 0.97
"""Share of a line that a burst fills at most: headers, and the fabric's own packets."""
_NOTHING = PortTotals(*(0,) * len(fields(PortTotals)))


class Carriage(NamedTuple):
    """How a port carries its traffic: whether at all, the line's rate as a share of what the card can do, how many times longer a burst
    takes."""

    is_up: bool = True
    line_ratio: float = 1.0
    slowness: float = 1.0


AS_BUILT = Carriage()


class ChangingTraffic:
    """Totals of one port. Time is virtual, in seconds since the node started; it may be asked of the present only."""

    def __init__(self, hca: Hca, flows: tuple[Flow, ...], seed: int) -> None:
        self._hca = hca
        self._flows = flows
        self._seed = seed
        self._known = {AS_BUILT: PortTraffic(hca, flows, seed)}
        self._carriage = AS_BUILT
        self._kept: tuple[PortTotals, PortTotals] | None = None
        """Totals at the last change, and what the traffic since would have had by then."""

    def totals(self, elapsed_s: float) -> PortTotals:
        """After that time."""
        now = self._carried(elapsed_s)
        return now if self._kept is None else _sum(self._kept[0], now, self._kept[1])

    def turn(self, carriage: Carriage, elapsed_s: float) -> None:
        """From then on it carries so."""
        if carriage != self._carriage:
            totals = self.totals(elapsed_s)
            self._carriage = carriage
            self._kept = totals, self._carried(elapsed_s)

    def _carried(self, elapsed_s: float) -> PortTotals:
        carriage = self._carriage
        if not carriage.is_up:
            return _NOTHING
        known = self._known.get(carriage)
        if known is None:
            flows = tuple(stretched(flow, carriage) for flow in self._flows)
            known = self._known[carriage] = PortTraffic(self._hca, flows, self._seed)
        return known.totals(elapsed_s)


def stretched(flow: Flow, carriage: Carriage) -> Flow:
    """The same bytes at the rate that is left. A burst begins earlier if it would not end within its period; one that fills more than that
    is cut: the job falls behind."""
    bursts = flow.bursts
    load = min(bursts.load / carriage.slowness, _LINE_USED_MAX * carriage.line_ratio)
    busy_s = min(bursts.busy_s * bursts.load / load, bursts.period_s / BURST_SPREAD * 0.999)
    begin_s = max(0.0, min(bursts.begin_s, bursts.period_s - busy_s * BURST_SPREAD * 1.0001))
    return replace(flow, bursts=Bursts(bursts.period_s, begin_s, busy_s, load))


def _sum(kept: PortTotals, now: PortTotals, then: PortTotals) -> PortTotals:
    return PortTotals(*(
        getattr(kept, name) + getattr(now, name) - getattr(then, name) for name in PortTotals.__slots__
    ))  # fmt: skip
