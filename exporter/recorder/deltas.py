"""Numbers of a pass as differences from the pass before: counters that stand still become runs of zeros, which compress to nothing.

Exact: whole numbers are subtracted, others written as they are. Pure.
"""

from collections.abc import Sequence
from typing import Any

from exporter.model.snapshot import Number

UNCHANGED = 0
"""Stands for a pass that brought what the one before brought."""

NUMBER_MAX = 1 << 80
"""Counters have 64 bits, scaled ones a few more. What is far larger would not fit a float."""


def deltas(before: Sequence[Number], now: Sequence[Number]) -> Any:
    """What `now` has that `before` had not, of equal length: UNCHANGED, or an item for each number: a whole number is added, anything else
    takes its place (in a list of one where it would be taken for a difference)."""
    if now == before and list(map(type, now)) == list(map(type, before)):
        return UNCHANGED
    return [b - a if a.__class__ is int and b.__class__ is int else _item(a, b) for a, b in zip(before, now, strict=True)]


def _item(before: Number, now: Number) -> Any:
    if before == now and before.__class__ is now.__class__ and (now or str(before) == str(now)):  # 0.0 is equal to -0.0
        return 0
    return now if now.__class__ is float else [now]


def applied(before: list[Number], told: Any) -> list[Number]:
    """The numbers that `deltas` was given. Raises ValueError or TypeError for what it never makes."""
    if told.__class__ is int:
        return before
    if len(told) != len(before):
        raise ValueError("a pass has another length than its layout")
    return [checked(a + d) if d.__class__ is int and a.__class__ is int else _number(a, d) for a, d in zip(before, told, strict=True)]


def _number(before: Number, told: Any) -> Number:
    if told.__class__ is int:
        return before
    return checked(told[0] if told.__class__ is list else told)


def checked(value: Any) -> Number:
    """The value, if it is a number that sources bring. Raises TypeError, ValueError."""
    if not isinstance(value, int | float):
        raise TypeError("expected a number")
    if isinstance(value, int) and abs(value) > NUMBER_MAX:
        raise ValueError("no counter is so large")
    return value
