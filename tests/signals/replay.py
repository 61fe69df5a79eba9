"""Plays Observations to one rule, as the engine would, and keeps what the rule said."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from exporter.model.entity import Fabric, Link
from exporter.model.health import Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.model.thresholds import Thresholds
from exporter.signals.observation import Observation
from exporter.signals.rule import Outcome, Rule
from tests.signals.passes import DEFAULTS, PORT, a_pass, read

ROCE = Link(Fabric.ROCE, "mlx5_2", "1")


class Replay:
    """One link and one rule. `state` may be replaced between passes, as a restart does."""

    def __init__(self, rule: Rule, *, latest: Mapping[Role, Number] = {}, tick_bytes: int | None = None, link: Link = ROCE,
                 thresholds: Thresholds = DEFAULTS) -> None:  # fmt: skip
        self.rule = rule
        self.state: Any = None
        self.before: Observation | None = None
        self.outcomes: list[Outcome] = []
        self._latest = latest
        self._tick_bytes = tick_bytes
        self._link = link
        self._thresholds = thresholds

    def play(self, passes: Iterable[Observation]) -> "Replay":
        """These passes of one feed, one after the other."""
        for now in passes:
            asked = a_pass(now, self.before, link=self._link, latest=self._latest, tick_bytes=self._tick_bytes, thresholds=self._thresholds)
            self.state, outcome = self.rule.step(self.state, asked)
            self.outcomes.append(outcome)
            self.before = now
        return self

    def again(self, passes: Iterable[Observation]) -> "Replay":
        """The same by a program that was started again: it has the state and no pass before."""
        self.before = None
        return self.play(passes)

    @property
    def signals(self) -> Mapping[SeriesKey, Number]:
        """Of the last pass."""
        return self.outcomes[-1].signals

    def holds(self, why: Why) -> list[bool | None]:
        """What each pass said of a reason: True, False (clear) or None (could not tell)."""
        return [next((one.holds for one in outcome.findings if one.why is why), False) for outcome in self.outcomes]

    def evidence(self, why: Why) -> str:
        """The last evidence of a reason."""
        return [one.evidence for outcome in self.outcomes for one in outcome.findings if one.why is why and one.holds][-1]


def folded(rule: Rule, sequence: Iterable[tuple[float, Mapping[SeriesKey, Number], Mapping[Role, Number]]], *, link: Link = PORT,
           through_file: bool = False) -> list[Outcome]:  # fmt: skip
    """What a rule says of passes, each some seconds after the one before, with what is read and what else is known of the link.
    `through_file`: as if its state were written to a file and read again after each."""
    state, before, outcomes, now_s = None, None, [], 1000.0
    for after_s, values, latest in sequence:
        now_s += after_s
        now = read(values, now_s)
        state, outcome = rule.step(state, a_pass(now, before, link=link, latest=latest))
        if through_file:
            state = json.loads(json.dumps(state))
        before = now
        outcomes.append(outcome)
    return outcomes


def times(count: int, every_s: float, start_s: float = 1000.0) -> Iterator[float]:
    """Times of that many passes."""
    return (start_s + at * every_s for at in range(count))
