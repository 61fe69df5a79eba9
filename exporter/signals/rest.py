"""When a link need not be asked about again: its numbers stand still, and its rules remember nothing that time could change.

On a healthy node most passes bring what the one before brought: error counters, speeds, lanes, states. A rule without a state whose
findings are none says the same of the same numbers (rule.py), so its last word stays true until a number, the link's states as another
feed sees them, or what is expected of it changes. Worth half the cost of health on a whole node [M].
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from exporter.model.snapshot import FixedValues, Number, SeriesKey
from exporter.signals.load import MEAN_MAX_S
from exporter.signals.observation import Observation
from exporter.signals.tracked import Tracked


class FactRest(NamedTuple):
    """A pass whose facts said nothing bad: what was known of the link then (`Tracked.news`), and which rules that hear nothing else had a
    signal. They are not asked again before there is news; counters may move meanwhile."""

    news: int
    telling: tuple[int, ...]


def fact_rest_after(tracked: Tracked, factual: Sequence[int]) -> FactRest | None:
    """The rest of the rules that hear facts only, after a pass in which they were asked; None if they must be asked again."""
    telling = _telling(tracked, factual)
    return FactRest(tracked.news, telling) if telling is not None else None


class Rest(NamedTuple):
    """A pass that said nothing new: its values, what was known of the link then (`Tracked.news`), and which rules had a signal."""

    values: FixedValues
    news: int
    telling: tuple[int, ...]


def rest_after(tracked: Tracked, before: Observation | None, now: Observation, values: Mapping[SeriesKey, Number],
               rules: Sequence[int]) -> Rest | None:  # fmt: skip
    """The rest that a pass which was asked about begins; None if the next one must be asked about too."""
    if before is None or before.numbers != now.numbers or before.plan is not now.plan or not isinstance(values, FixedValues):
        return None
    telling = _telling(tracked, rules)
    return Rest(values, tracked.news, telling) if telling is not None else None


def is_resting(rest: Rest, tracked: Tracked, values: Mapping[SeriesKey, Number], elapsed_s: float) -> bool:
    """Whether a pass that brings these values, so long after the one before it, is as the one that began the rest."""
    known = rest.values
    return (
        (values is known or (isinstance(values, FixedValues) and values.places is known.places and values.numbers == known.numbers))
        and rest.news == tracked.news
        and 0.0 < elapsed_s <= MEAN_MAX_S
        and tracked.verdict.is_calm
    )


def _telling(tracked: Tracked, rules: Sequence[int]) -> tuple[int, ...] | None:
    """Which of these rules had a signal, if all of them remember nothing and found nothing; else None."""
    states, outcomes = tracked.states, tracked.outcomes
    for at in rules:
        if states[at] is not None or outcomes[at].findings or outcomes[at].unknown is not None:
            return None
    return tuple([at for at in rules if outcomes[at].signals])
