"""A moment as people write it: RFC 3339, Unix seconds, or so long before now. Pure: now is a parameter."""

import re
from datetime import UTC, datetime

from exporter.model.quoted import shown

UNIT_S = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
MOMENT_MAX_S = 1e11
"""Unix time of the year 5138: what is later is no time."""
EXPECTED = "expected a time such as 2026-03-01T02:14:07Z, -2h or Unix seconds"
_AGO = re.compile("-(?=.)" + "".join(rf"(?:(?P<{unit}>[0-9]{{1,6}}){unit})?" for unit in UNIT_S))
_SECONDS = re.compile(r"[0-9]{1,11}(?:\.[0-9]{1,9})?")


def parse_moment(text: str, now_s: float) -> float:
    """Unix seconds. A time without a zone is refused: a recording may be read far from where it was made. Raises ValueError."""
    ago = _AGO.fullmatch(text)
    if ago:
        return now_s - sum(int(count) * UNIT_S[unit] for unit, count in ago.groupdict().items() if count)
    if text == "now":
        return now_s
    if _SECONDS.fullmatch(text):
        moment_s = float(text)
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{EXPECTED}, got {shown(text)}") from None
        if moment.tzinfo is None:
            raise ValueError(f"{shown(text)} names no time zone: write {text}Z for UTC, or an offset such as +01:00")
        moment_s = moment.timestamp()
    if not 0.0 <= moment_s <= MOMENT_MAX_S:
        raise ValueError(f"{EXPECTED}, got {shown(text)}")
    return moment_s


def format_moment(moment_s: float) -> str:
    """RFC 3339 in UTC, to the millisecond. What is no time of the years 1970 to 5138 is shown as its number."""
    if not 0.0 <= moment_s <= MOMENT_MAX_S:
        return f"{moment_s:g}"
    return datetime.fromtimestamp(moment_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
