"""Plays Observations to one rule, as the engine would, and keeps what the rule said."""

from collections.abc import Iterable, Iterator, Mapping

from exporter.model.entity import Fabric, Link
from exporter.model.health import Why
from exporter.model.metric import Role
from exporter.model.snapshot import Number, SeriesKey
from exporter.model.thresholds import Thresholds
from exporter.signals.observation import Observation
from exporter.signals.rule import Outcome, Pass, Rule, State
from tests.signals.passes import DEFAULTS, PORT, a_pass, read

ROCE = Link(Fabric.ROCE, "mlx5_2", "1")


class Replay:
    """One link and one rule."""

    def __init__(self, rule: Rule, *, latest: Mapping[Role, Number] = {}, tick_bytes: int | None = None, link: Link = ROCE,
                 thresholds: Thresholds = DEFAULTS) -> None:  # fmt: skip
        self.rule = rule
        self.state: State = None
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
        """The same by a feed that begins: there is a state, and no pass before."""
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


def asked_twice(rule: Rule, state: State, asked: Pass) -> tuple[State, Outcome]:
    """What a rule says of a pass, once it has proved that the same state and pass give the same answer again, and that the state is left
    as it was."""
    kept = repr(state)
    first = repr(rule.step(state, asked))
    after, outcome = rule.step(state, asked)

    assert repr((after, outcome)) == first
    assert repr(state) == kept
    return after, outcome


def folded(rule: Rule, sequence: Iterable[tuple[float, Mapping[SeriesKey, Number], Mapping[Role, Number]]], *,
           link: Link = PORT) -> list[Outcome]:  # fmt: skip
    """What a rule says of passes, each some seconds after the one before, with what is read and what else is known of the link; each is
    asked twice."""
    state, before, outcomes, now_s = None, None, [], 1000.0
    for after_s, values, latest in sequence:
        now_s += after_s
        now = read(values, now_s)
        state, outcome = asked_twice(rule, state, a_pass(now, before, link=link, latest=latest))
        before = now
        outcomes.append(outcome)
    return outcomes


def times(count: int, every_s: float, start_s: float = 1000.0) -> Iterator[float]:
    """Times of that many passes."""
    return (start_s + at * every_s for at in range(count))
