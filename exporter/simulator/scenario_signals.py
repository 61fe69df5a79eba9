"""Watches for the signals of links that a scenario expects or forbids: tells when each is for the first time what it should be, or not be.

Knows expectations; knows no rule and not what a signal means.
"""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from exporter.model.entity import Link
from exporter.model.snapshot import Number, Reading, SeriesKey
from exporter.simulator.node_links import matching
from exporter.simulator.profiles import profile_named
from exporter.simulator.scenario import Scenario
from exporter.simulator.scenario_outcome import Sighting, Unwanted, onset_s


class SignalWatch:
    """Of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        profile = profile_named(scenario.node)
        self._scenario = scenario
        self._wanted: dict[Link, list[int]] = {}
        for number, expected in enumerate(scenario.expect):
            for link in matching(profile, expected.link) if expected.signal else ():
                self._wanted.setdefault(link, []).append(number)
        self._forbidden: dict[Link, list[tuple[str, ...]]] = {}
        for never in scenario.never:
            for link in matching(profile, never.link):
                self._forbidden.setdefault(link, []).append(never.signal)
        self._told: set[tuple[Link, tuple[str, ...]]] = set()

    @property
    def is_over(self) -> bool:
        """Nothing is expected any more, or nothing was; and nothing is forbidden."""
        return not self._wanted and not self._forbidden

    def look(self, t_s: float, readings: Iterable[Reading]) -> Iterator[Sighting | Unwanted]:
        """What is seen for the first time, at that time since the scenario began."""
        for entity, values in readings:
            if isinstance(entity, Link):
                yield from self._look_for(entity, values, t_s)
                yield from self._look_at(entity, values, t_s)

    def _look_for(self, link: Link, values: Mapping[SeriesKey, Number], t_s: float) -> Iterator[Sighting]:
        for number in [number for number in self._wanted.get(link, ()) if self._is_time(number, str(link), t_s)]:
            expected = self._scenario.expect[number]
            key: SeriesKey = expected.signal if len(expected.signal) > 1 else expected.signal[0]
            value = values.get(key)
            if value is not None and value >= expected.at_least:
                yield self._seen(number, link, t_s, float(value))

    def _look_at(self, link: Link, values: Mapping[SeriesKey, Number], t_s: float) -> Iterator[Unwanted]:
        """Each signal that was forbidden, once."""
        for pattern in self._forbidden.get(link, ()):
            for key in values:
                words = key if isinstance(key, tuple) else (key,)
                if words[0] == pattern[0] and (link, words) not in self._told and _are_meant(words[1:], pattern[1:]):
                    self._told.add((link, words))
                    yield Unwanted(t_s, str(link), " ".join(words))

    def _seen(self, number: int, link: object, t_s: float, value: float) -> Sighting:
        rest = {known: [one for one in numbers if known != link or one != number] for known, numbers in self._wanted.items()}
        self._wanted = {known: numbers for known, numbers in rest.items() if numbers}
        return Sighting(t_s, number, str(link), value)

    def _is_time(self, number: int, link: str, t_s: float) -> bool:
        expected = self._scenario.expect[number]
        from_s = onset_s(self._scenario, expected, link)
        return from_s <= t_s <= from_s + expected.within_s


def _are_meant(labels: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return len(labels) == len(patterns) and all(fnmatchcase(label, pattern) for label, pattern in zip(labels, patterns, strict=True))
