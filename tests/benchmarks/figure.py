"""A Figure is one line of the table: what was measured beside what, and whether the target is reached. Knows no measurement."""

from collections.abc import Sequence
from dataclasses import dataclass

GATES = frozenset({"P1", "P6", "P7"})
"""Targets that must be reached; the others may be missed with a profile that shows why."""


@dataclass(frozen=True, slots=True)
class Figure:
    """`measured` and `limit` are in `unit` (× for ratios); passed if measured ≤ limit. A `limit` of None is for information.

    `base` and `ours` are what the ratio is made of, as a person reads them.
    """

    target: str
    what: str
    measured: float
    limit: float | None
    base: str
    ours: str
    unit: str = "×"

    @property
    def is_gate(self) -> bool:
        """Whether missing it fails the run."""
        return self.target in GATES and self.limit is not None

    @property
    def passed(self) -> bool:
        """Whether the target is reached; an informative figure always is."""
        return self.limit is None or self.measured <= self.limit

    @property
    def verdict(self) -> str:
        """The last column."""
        if self.limit is None:
            return "–"
        return ("pass" if self.passed else "MISS") + (" (gate)" if self.is_gate else "")


HEADS = ("", "what", "target", "measured", "base", "ours", "")


def cells(figure: Figure) -> tuple[str, ...]:
    """The figure as the table's columns."""
    limit = "–" if figure.limit is None else f"≤ {figure.limit:g} {figure.unit}".rstrip()
    return (
        figure.target,
        figure.what,
        limit,
        f"{figure.measured:.3g} {figure.unit}".rstrip(),
        figure.base,
        figure.ours,
        figure.verdict,
    )


def table(figures: Sequence[Figure]) -> str:
    """The table in Markdown, its columns aligned so that it is read as well on a terminal."""
    rows = [HEADS, *map(cells, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def ms(seconds: float) -> str:
    """A time as a cell shows it."""
    return f"{seconds * 1e3:.3g} ms"
