"""Content negotiation: what a client's Accept and Accept-Encoding headers allow. Pure; bounded for any header text."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

_TEXT_RANGES = ("text/plain", "text/*", "*/*")
_OPENMETRICS_RANGES = ("application/openmetrics-text", "application/*", "*/*")
REMEMBERED = 16
"""Headers whose meaning is kept: a site has a handful of scrapers, and each says the same every time."""


@lru_cache(REMEMBERED)
def wants_openmetrics(accept: str) -> bool:
    """True only for a client that accepts OpenMetrics and nothing that our text format is: Prometheus itself accepts both."""
    ranges = dict(_weights(accept))
    return not _is_accepted(ranges, _TEXT_RANGES) and _is_accepted(ranges, _OPENMETRICS_RANGES)


@lru_cache(REMEMBERED)
def accepts_gzip(accept_encoding: str) -> bool:
    """True if gzip (or anything) is acceptable with a weight above 0."""
    weights = dict(_weights(accept_encoding))
    return weights.get("gzip", weights.get("*", 0)) > 0


def _is_accepted(weights: Mapping[str, float], ranges: Sequence[str]) -> bool:
    """The most specific range decides (RFC 9110 section 12.5.1)."""
    return next((weights[name] for name in ranges if name in weights), 0.0) > 0


def _weights(header: str) -> list[tuple[str, float]]:
    """(name, highest weight) for each element of a header; a weight that is no number counts as 1."""
    found: dict[str, float] = {}
    for element in header[:4096].split(","):
        name, *parameters = (part.strip().lower() for part in element.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 1.0
        if name:
            found[name] = max(found.get(name, 0.0), weight)
    return list(found.items())
