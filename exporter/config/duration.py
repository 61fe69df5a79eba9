"""Durations as people write them: `5s`, `100ms`, `1m30s`, `7d`. Whole numbers, largest unit first, as Prometheus reads them."""

import re

from exporter.model.quoted import shown

MS_PER_UNIT = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
MS_PER_S = 1_000

_DURATION = re.compile("".join(rf"(?:(?P<{unit}>[0-9]{{1,9}}){unit})?" for unit in MS_PER_UNIT))


def parse_duration(text: str) -> float:
    """Seconds, a whole number of milliseconds. Raises ValueError for anything else: a bare number has no unit and is refused."""
    match = _DURATION.fullmatch(text)
    if not match or not text:
        raise ValueError(f"expected a duration such as 5s, got {shown(text)}")
    return sum(int(count) * MS_PER_UNIT[unit] for unit, count in match.groupdict().items() if count) / MS_PER_S


def format_duration(duration_s: float) -> str:
    """The shortest text that parse_duration reads back to the same number: 90 → `1m30s`, 0.1 → `100ms`. Weeks are written as days."""
    rest_ms = round(duration_s * MS_PER_S)
    text = ""
    for unit, unit_ms in MS_PER_UNIT.items():
        if unit == "w":
            continue
        count, rest_ms = divmod(rest_ms, unit_ms)
        text += f"{count}{unit}" if count else ""
    return text or "0s"
