"""Watches for the signals of links that a scenario expects: tells when each is for the first time what it should be.

Knows expectations; knows no rule and not what a signal means.
"""

from collections.abc import Iterable, Iterator

from exporter.model.entity import Link
from exporter.model.snapshot import Reading, SeriesKey
from exporter.simulator.node_links import matching
from exporter.simulator.profiles import profile_named
from exporter.simulator.scenario import Scenario
from exporter.simulator.scenario_outcome import Sighting, onset_s


class SignalWatch:
    """Of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        profile = profile_named(scenario.node)
        self._scenario = scenario
        self._wanted: dict[Link, list[int]] = {}
        for number, expected in enumerate(scenario.expect):
            for link in matching(profile, expected.link) if expected.signal else ():
                self._wanted.setdefault(link, []).append(number)

    @property
    def is_over(self) -> bool:
        """Nothing is expected any more, or nothing was."""
        return not self._wanted

    def look(self, t_s: float, readings: Iterable[Reading]) -> Iterator[Sighting]:
        """What is seen for the first time, at that time since the scenario began."""
        for entity, values in readings:
            wanted = self._wanted.get(entity, ()) if isinstance(entity, Link) else ()
            for number in [number for number in wanted if self._is_time(number, str(entity), t_s)]:
                expected = self._scenario.expect[number]
                key: SeriesKey = expected.signal if len(expected.signal) > 1 else expected.signal[0]
                value = values.get(key)
                if value is not None and value >= expected.at_least:
                    yield self._seen(number, entity, t_s, float(value))

    def _seen(self, number: int, link: object, t_s: float, value: float) -> Sighting:
        rest = {known: [one for one in numbers if known != link or one != number] for known, numbers in self._wanted.items()}
        self._wanted = {known: numbers for known, numbers in rest.items() if numbers}
        return Sighting(t_s, number, str(link), value)

    def _is_time(self, number: int, link: str, t_s: float) -> bool:
        expected = self._scenario.expect[number]
        from_s = onset_s(self._scenario, expected, link)
        return from_s <= t_s <= from_s + expected.within_s
