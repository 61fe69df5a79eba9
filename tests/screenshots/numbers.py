"""Numbers as Grafana writes them, and the colours it knows by name."""

from collections.abc import Mapping, Sequence
from typing import Any

COLORS = {"green": "#73bf69", "yellow": "#fade2a", "orange": "#ff9830", "red": "#f2495c", "blue": "#5794f2", "purple": "#b877d9",
          "text": "#d8d9da", "dark-orange": "#e0752d"}  # fmt: skip
PALETTE = ("#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0", "#508642", "#cca300")
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_SUFFIX = {"Bps": "B/s", "decbytes": "B", "short": "", "cps": "c/s", "si:T/s": "T/s"}


def color_of(name: str) -> str:
    """The colour of a name, or the colour itself."""
    return COLORS.get(name, name if name.startswith("#") else COLORS["text"])


def written(value: float, unit: str, now_s: float) -> str:
    """A value in its unit."""
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    if unit == "dateTimeFromNow":
        return f"{_scaled(max(now_s - value / 1000, 0.0), _TIMES)} ago"
    if unit == "s":
        return _scaled(value, _TIMES)
    if unit in _SUFFIX:
        return f"{_scaled(value, _PREFIXES)}{_SUFFIX[unit]}".strip()
    return f"{value:.2e}" if unit == "sci" else f"{value:.6g}"


def step_color(value: float, thresholds: Mapping[str, Any]) -> str:
    """The colour of the highest threshold that the value reaches."""
    found = "text"
    for step in thresholds.get("steps", ()):
        if step["value"] is None or value >= step["value"]:
            found = step["color"]
    return color_of(found)


def mapped(value: str, mappings: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Text and colour that value mappings give it."""
    for mapping in mappings:
        found = mapping.get("options", {}).get(value)
        if mapping["type"] == "value" and found:
            return str(found.get("text", value)), color_of(found.get("color", "text"))
    return None


def _scaled(value: float, scales: Sequence[tuple[float, str]]) -> str:
    scale, prefix = next(((scale, prefix) for scale, prefix in scales if abs(value) >= scale), scales[-1])
    if value == 0:
        return "0 " + ("s" if scales is _TIMES else "")
    return f"{value / scale:.3g} {prefix}"
