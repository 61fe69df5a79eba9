"""Follows the rails of a node from window to window: what the burst sampler said of each last, and what each has carried since.

Knows where the numbers come from and when to compare; rails.py compares.
"""

from collections.abc import Mapping

from exporter.catalog.signals import BURST, BURST_BUSY, BURST_RESOLVED
from exporter.model.entity import Device, Link
from exporter.model.metric import Role
from exporter.model.snapshot import Number, Reading, SeriesKey, Snapshot
from exporter.model.thresholds import Thresholds
from exporter.signals.bursts import WINDOW_S
from exporter.signals.facts import RAILS
from exporter.signals.jobs import Jobs, group_of
from exporter.signals.load import usable_bytes_per_s
from exporter.signals.rails import Burst, Comparison, Rail, compare
from exporter.signals.rule import Outcome
from exporter.signals.tracked import Tracked

SOURCE = "bursts"
SLACK_S = 1.0
"""A window that is so little short is a whole one: passes do not begin at the same instant."""
SILENT_S = 60.0
"""What the sampler said longer ago says nothing of now."""


class RailGroups:
    """Of one node. `is_blind`: bursts are there that the sampler cannot see, as of the last window."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.is_blind = False
        self._thresholds = thresholds
        self._bursts: dict[Link, tuple[float, Mapping[str, Burst]]] = {}
        self._totals: dict[Link, Number] = {}
        self._slow: frozenset[Link] = frozenset()
        self._at_s: float | None = None
        self._shown: dict[str, Reading] = {}

    def take(self, snapshot: Snapshot) -> None:
        """What the burst sampler says of a device's ports."""
        for entity, values in snapshot.readings:
            if isinstance(entity, Link):
                self._bursts[entity] = snapshot.monotonic_s, _bursts_in(values)

    def compare(self, links: Mapping[Link, Tracked], jobs: Jobs, now_s: float) -> Mapping[Link, Outcome]:
        """What is found of each rail at the end of a window; nothing within one."""
        if self._at_s is not None and 0 <= now_s - self._at_s < WINDOW_S - SLACK_S:
            return {}
        is_first = self._at_s is None or now_s < self._at_s
        self._at_s = now_s
        totals = {link: total for link, tracked in links.items() if (total := _total(tracked)) is not None}
        before, self._totals = self._totals, totals
        groups: dict[str, dict[Link, Rail]] = {}
        for link, total in totals.items():
            tracked = links[link]
            group = group_of(tracked.place.group, tracked.place.gpu, jobs) if tracked.place.group == RAILS else ""
            expected = tracked.expected.get(Role.CAPACITY) or usable_bytes_per_s(tracked.latest)
            if group and expected and not is_first and before.get(link, total + 1) <= total:
                groups.setdefault(group, {})[link] = Rail(total - before[link], expected, self._burst(link, now_s))
        found = [compare(rails, self._slow, self._thresholds) for rails in groups.values()]
        return self._adopted(found)

    def readings(self) -> tuple[Reading, ...]:
        """What is shown of each rail's device."""
        return tuple(self._shown.values())

    def _burst(self, link: Link, now_s: float) -> Mapping[str, Burst]:
        at_s, bursts = self._bursts.get(link, (float("-inf"), {}))
        return bursts if now_s - at_s <= SILENT_S else {}

    def _adopted(self, found: list[Comparison]) -> Mapping[Link, Outcome]:
        outcomes = {link: outcome for one in found for link, outcome in one.outcomes.items()}
        self._slow = frozenset(link for link, outcome in outcomes.items() if outcome.findings)
        self.is_blind = any(one.is_blind for one in found)
        shown: dict[str, dict[SeriesKey, Number]] = {}
        for one in found:
            for link, values in one.shown.items():
                of_device = shown.setdefault(link.device, {})
                of_device |= {key: min(value, of_device.get(key, value)) for key, value in values.items()}
        self._shown = {device: Reading(Device(device), values) for device, values in shown.items() if values}
        return outcomes


def _total(tracked: Tracked) -> Number | None:
    """Bytes of both directions so far; None where one of them is not counted."""
    sent, received = tracked.latest.get(Role.TX_BYTES), tracked.latest.get(Role.RX_BYTES)
    return sent + received if sent is not None and received is not None else None


def _bursts_in(values: Mapping[SeriesKey, Number]) -> Mapping[str, Burst]:
    """By direction; one in which nothing was carried is missing."""
    return {
        direction: Burst(rate, values.get((BURST_BUSY.key, direction), 0.0), values.get((BURST_RESOLVED.key, direction), 0.0))
        for direction in ("transmit", "receive")
        if (rate := values.get((BURST.key, direction, "p95"))) is not None
    }
