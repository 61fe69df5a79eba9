"""What faults add to the counters of one port: ramps, jumps, resets and counters that stand at their ceiling. Pure bookkeeping.

Counters go by name; what each would say without a fault comes from the caller (`raw`), and so does the time. Knows no file.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Moment(NamedTuple):
    """When it is, in seconds since the node started, and how many packets the port has received by then."""

    elapsed_s: float
    packets: int


class Ramps(NamedTuple):
    """What lasts: growth a second and a received packet, and counters that stand still at a value, all by name."""

    per_second: Mapping[str, float] = {}
    per_packet: Mapping[str, float] = {}
    pinned: Mapping[str, int] = {}


class CounterBook:
    """Of one port. `names` are those that somebody ever meddled with."""

    def __init__(self) -> None:
        self._added: dict[str, int] = {}
        self._grown: dict[str, float] = {}
        self._ramps = Ramps()
        self._since = Moment(0.0, 0)

    @property
    def names(self) -> frozenset[str]:
        """Counters that may say something else than `raw`."""
        return frozenset(self._added) | frozenset(self._grown) | frozenset(self._ramps.pinned)

    def value(self, name: str, raw: int, now: Moment) -> int:
        """What the counter says; never negative."""
        pinned = self._ramps.pinned.get(name)
        return pinned if pinned is not None else max(0, raw + self._added.get(name, 0) + int(self._growth(name, now)))

    def turn(self, ramps: Ramps, raw: Mapping[str, int], now: Moment) -> None:
        """From now on these last. What was counted stays; a counter that is let off its ceiling starts anew."""
        freed = self._ramps.pinned.keys() - ramps.pinned.keys()
        self._settle(now)
        self._ramps = ramps
        self._grown |= {name: 0.0 for name in (*ramps.per_second, *ramps.per_packet) if name not in self._grown}
        for name in freed:
            self.put(name, 0, raw.get(name, 0), now)

    def put(self, name: str, value: int, raw: int, now: Moment) -> None:
        """Make it say this now and go on from there. A counter that stands still goes on doing so."""
        self._settle(now)
        self._grown[name] = 0.0
        self._added[name] = value - raw

    def add(self, name: str, count: int) -> None:
        """So many more at once."""
        self._added[name] = self._added.get(name, 0) + count

    def _growth(self, name: str, now: Moment) -> float:
        ramps, since = self._ramps, self._since
        return (self._grown.get(name, 0.0) + ramps.per_second.get(name, 0.0) * (now.elapsed_s - since.elapsed_s)
                + ramps.per_packet.get(name, 0.0) * (now.packets - since.packets))  # fmt: skip

    def _settle(self, now: Moment) -> None:
        self._grown = {name: self._growth(name, now) for name in self._grown}
        self._since = now
