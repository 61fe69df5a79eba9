"""One error counter of a link in the four windows of an error budget, each divided by the time that was seen of it.

Knows windows and times; which counter, which rate and how many errors are too many is error_budget.py's.
"""

from typing import NamedTuple

from exporter.model.snapshot import Number
from exporter.signals.sliced_count import SlicedCount

WINDOWS_S = (300.0, 3600.0, 21_600.0, 259_200.0)
MINUTES, HOUR, QUARTER_DAY, DAYS = range(4)
"""Places in WINDOWS_S: 5 min and 1 h for what is bad now, 6 h and 3 d for what is bad for long (SRE workbook's multi-window budgets)."""
FLOORS_S = (60.0, 300.0, 3600.0, 21_600.0)
"""A window that is not full yet counts as at least so long: a minute, else the window before it. Ten errors in the first second of a
program's life are no rate [D]."""


class CountedErrors(NamedTuple):
    """`name` of the counter; `is_up` and `is_saturated` as of its last pass."""

    name: str
    is_symbols: bool
    is_up: bool
    is_saturated: bool
    windows: tuple[SlicedCount, ...]

    @property
    def is_clean(self) -> bool:
        """Nothing in any window: the longest has all there is."""
        return not self.windows[DAYS].slices

    def after(self, grown: Number | None, now_s: float, elapsed_s: float) -> "CountedErrors":
        """After a pass in which it grew by that much; None: nobody knows, so the windows stay. Itself if nothing changes."""
        windows = self.windows
        is_gap = elapsed_s > WINDOWS_S[MINUTES] or now_s < windows[MINUTES].since_s
        if grown is None and not is_gap:
            return self
        if not grown and self.is_clean and not is_gap:
            return self
        added = tuple([window.add(grown or 0, now_s, elapsed_s) for window in windows])
        return self if all(one is other for one, other in zip(added, windows, strict=True)) else self._replace(windows=added)

    def total(self, window: int, now_s: float) -> Number:
        """Errors within a window."""
        return self.windows[window].total(now_s)

    def ratio(self, window: int, bits_per_s: float, now_s: float) -> float:
        """Errors per bit within a window, by the time that was seen of it, at least its floor."""
        counted = self.windows[window]
        if not counted.slices:
            return 0.0
        return counted.total(now_s) / (bits_per_s * max(FLOORS_S[window], counted.covered_s(now_s)))

    def is_warm(self, now_s: float) -> bool:
        """Enough was seen to say that all is well: a minute."""
        return now_s - self.windows[MINUTES].since_s >= FLOORS_S[MINUTES]


def first_sight(name: str, now_s: float, *, is_symbols: bool, is_up: bool, is_saturated: bool) -> CountedErrors:
    """A counter seen for the first time: what it counted before is history."""
    return CountedErrors(name, is_symbols, is_up, is_saturated, tuple([SlicedCount(window_s, now_s) for window_s in WINDOWS_S]))
