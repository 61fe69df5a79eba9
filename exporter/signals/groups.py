"""Which links are compared with each other, and how fast each has been since the last comparison. Knows no rule; siblings.py compares."""

from collections.abc import Mapping

from exporter.model.entity import Link
from exporter.model.metric import Role
from exporter.model.snapshot import Number
from exporter.model.thresholds import Thresholds
from exporter.signals import siblings
from exporter.signals.jobs import Jobs, group_of
from exporter.signals.rule import Outcome
from exporter.signals.tracked import Tracked

EVERY_S = 15.0
"""Seconds between comparisons: a normal interval, so that slow readers have brought something."""


class Groups:
    """Of one node."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._states: Mapping[Link, siblings.Mean] = {}
        self._totals: dict[Link, tuple[Number, Number]] = {}
        self._at_s: float | None = None

    def compare(self, links: Mapping[Link, Tracked], jobs: Jobs, now_s: float) -> Mapping[Link, Outcome]:
        """What siblings.py says of each link of a group; nothing between two times of comparison."""
        if self._at_s is not None and 0 <= now_s - self._at_s < EVERY_S:
            return {}
        elapsed_s = now_s - self._at_s if self._at_s is not None else 0.0
        totals: dict[Link, tuple[Number, Number]] = {}
        groups: dict[str, list[Link]] = {}
        for link, tracked in links.items():
            sent, received = tracked.latest.get(Role.TX_BYTES), tracked.latest.get(Role.RX_BYTES)
            group = group_of(tracked.place.group, tracked.place.gpu, jobs)
            if group and sent is not None and received is not None:
                totals[link] = sent, received
                groups.setdefault(group, []).append(link)
        before, self._totals, self._at_s = self._totals, totals, now_s
        if elapsed_s <= 0:
            return {}
        rates = {
            link: ((sent - before[link][0]) / elapsed_s, (received - before[link][1]) / elapsed_s)
            for link, (sent, received) in totals.items()
            if link in before and sent >= before[link][0] and received >= before[link][1]
        }
        self._states, outcomes = siblings.compare(self._states, rates, groups, self._thresholds, elapsed_s)
        return outcomes
