"""Numbers as C prints them: a value and how far the real one may lie from it. So two printed numbers can be held against each other."""

import math
import re
from typing import NamedTuple

_NUMBER = re.compile(r"(\d{1,18})(?:\.(\d{1,9}))?(?:e([+-]\d{1,2}))?", re.ASCII)
_SLACK = 1e-9
"""Relative slack for our own arithmetic: products of doubles."""


class Printed(NamedTuple):
    """A number of a text. `error` is half of its last place; `decimals` is None for the exponent form."""

    value: float
    error: float
    decimals: int | None

    @property
    def range(self) -> "Range":
        """Where the real number lies."""
        return Range(self.value - self.error, self.value + self.error)


class Range(NamedTuple):
    """Numbers from low to high; high may be infinite."""

    low: float
    high: float

    def scaled(self, factor: float) -> "Range":
        """The range of its numbers times a factor that is not negative."""
        return Range(self.low * factor, self.high * factor if factor else 0.0)

    def meets(self, other: "Range") -> bool:
        """Whether a number can be in both."""
        slack = _SLACK * (1 + abs(other.low) + abs(self.low))
        return self.low <= other.high + slack and other.low <= self.high + slack

    def common(self, other: "Range") -> "Range":
        """What is in both; they must meet."""
        return Range(max(self.low, other.low), min(self.high, other.high))

    def inverse(self) -> "Range":
        """The range of 1 / number for numbers over 0: what is not over 0 has no bound."""
        return Range(1 / self.high if self.high > 0 else math.inf, 1 / self.low if self.low > 0 else math.inf)


def printed(text: str) -> Printed | None:
    """The number that a whole token is. None for anything else: signs, inf, nan, N/A, a number with a letter in it."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    whole, decimals, exponent = match[1], match[2] or "", int(match[3] or 0)
    if len(whole) > 1 and whole[0] == "0":
        return None  # C writes no leading zero: something was cut off or put in
    value = float(text)
    return Printed(value, 0.5 * 10.0 ** (exponent - len(decimals)), None if match[3] else len(decimals))


def relative_error(number: Printed) -> float | None:
    """By what share the real number may differ. None if it may be 0."""
    room = number.value - number.error
    return number.error / room if room > 0 else None
