"""Each link's Reading of health: what its rules and its verdict say. Kept while that is true; where only numbers change, only they are new.

Knows how a Reading is made and when it is out of date; what the numbers mean is the rules'.
"""

from collections.abc import Mapping

from exporter.model.snapshot import FixedValues, Number, Reading, SeriesKey
from exporter.signals.shown import health_values
from exporter.signals.tracked import Tracked

LAYOUTS_MAX = 4096


class ShownLinks:
    """Of one node. Readings of equal keys share their places, so that pages know their layout at a glance."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[SeriesKey, ...], Mapping[SeriesKey, int]] = {}

    def of(self, tracked: Tracked, now_s: float) -> Reading:
        """What is to be shown of a link now."""
        shown = tracked.shown
        if shown is None or now_s > tracked.shown_until_s:
            return self._made(tracked, now_s)
        return shown if not tracked.retold else _patched(tracked, shown) or self._made(tracked, now_s)

    def _made(self, tracked: Tracked, now_s: float) -> Reading:
        values = tracked.signals(now_s)
        values |= health_values(tracked.link, tracked.verdict)
        keys = tuple(values)
        places = self._layouts.get(keys)
        if places is None:
            if len(self._layouts) >= LAYOUTS_MAX:
                self._layouts.clear()
            places = self._layouts[keys] = {key: place for place, key in enumerate(keys)}
        tracked.shown = Reading(tracked.link, FixedValues(places, list(values.values())))
        return tracked.shown


def _patched(tracked: Tracked, shown: Reading) -> Reading | None:
    """The same with the numbers of rules that have spoken since; None if one of them was not shown, as it had been silent for too long."""
    link, values = shown
    places, numbers = values.places, list(values.numbers)  # type: ignore[attr-defined]  # FixedValues: `_made` made them
    outcomes: list[Mapping[SeriesKey, Number]] = [tracked.outcomes[at].signals for at in tracked.retold]
    for signals in outcomes:
        for key, number in signals.items():
            place = places.get(key)
            if place is None:
                return None
            numbers[place] = number
    tracked.shown = Reading(link, FixedValues(places, numbers))
    tracked.keep_shown()
    return tracked.shown
