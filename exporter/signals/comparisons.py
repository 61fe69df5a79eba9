"""Links compared with others of their node: siblings by what they carry, rails by their bursts, both within one job.

Knows which comparisons there are and what each speaks of; each by itself is groups.py's and rail_groups.py's.
"""

from collections.abc import Collection, Iterator, Mapping

from exporter.model.entity import Link
from exporter.model.health import Why
from exporter.model.snapshot import Reading, Snapshot
from exporter.model.thresholds import Thresholds
from exporter.signals.groups import Groups
from exporter.signals.jobs import SOURCE as JOBS
from exporter.signals.jobs import Jobs
from exporter.signals.rail_groups import SOURCE as BURSTS
from exporter.signals.rail_groups import RailGroups
from exporter.signals.rule import Outcome
from exporter.signals.tracked import Tracked

SIBLINGS, RAILS_RULE = "siblings", "rails"
"""By these names they can be left out like rules."""


class Comparisons:
    """Of one node."""

    def __init__(self, thresholds: Thresholds, left_out: Collection[str]) -> None:
        self._left_out = left_out
        self._groups = Groups(thresholds)
        self._rails = RailGroups(thresholds)
        self._jobs = Jobs()

    def take(self, snapshot: Snapshot) -> None:
        """A pass, of which those of the burst sampler and of the jobs concern us."""
        if snapshot.feed.source == BURSTS:
            self._rails.take(snapshot)
        elif snapshot.feed.source == JOBS:
            self._jobs.take(snapshot)

    def compare(self, links: Mapping[Link, Tracked], now_s: float) -> Iterator[tuple[Link, Outcome, Why]]:
        """What is found of each link that was compared now, and of which reason it speaks."""
        if SIBLINGS not in self._left_out:
            for link, outcome in self._groups.compare(links, self._jobs, now_s).items():
                tracked = links[link]
                tracked.compared, tracked.compared_s, tracked.shown = outcome, now_s, None
                yield link, outcome, Why.SLOW_SIBLING
        if RAILS_RULE not in self._left_out:
            for link, outcome in self._rails.compare(links, self._jobs, now_s).items():
                yield link, outcome, Why.SLOW_RAIL

    def readings(self) -> tuple[Reading, ...]:
        """What is shown of devices: their rails."""
        return self._rails.readings()

    @property
    def is_blind(self) -> bool:
        """Whether rails have bursts that the burst sampler cannot see: then no slow rail can be told (rails.py)."""
        return self._rails.is_blind
