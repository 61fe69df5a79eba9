"""A node's health as a person reads it: a headline, what is not well with its reasons, counts, what is unknown and what could not be seen.

Pure: width and colour are told. Texts of hardware and files are shown escaped.
"""

import textwrap
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from exporter.config.duration import format_duration
from exporter.model.health import Unknown, Verdict
from exporter.model.node_health import STATUSES, UNKNOWN_WORD, NodeHealth, counts_of, gaps_of, status_of
from exporter.model.quoted import escaped

Paint = Callable[[str, str], str]
"""(status, text) → the text as that status looks."""

WIDTH_MIN = 40
INDENT = " " * 10
"""Below a link's status: as wide as the longest, and two."""
NAMED_MAX = 6
"""Links of one kind that are named; of more, their number."""
_COLOURS = {"ok": 32, "suspect": 33, "degraded": 35, "failed": 31, UNKNOWN_WORD: 36}
"""SGR numbers of eight-colour terminals."""
_UNKNOWN = {
    Unknown.NO_EXPECTATION: "nobody knows whether it should be up",
    Unknown.SATURATED: "its counters stand at their ceiling",
    Unknown.STALE: "it has not been seen for too long",
    Unknown.GRACE: "it is not up, and the node is still starting",
}


def plain(_status: str, text: str) -> str:
    """Without colour."""
    return text


def coloured(status: str, text: str) -> str:
    """For a terminal."""
    return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m"


def text_of(health: NodeHealth, width: int, paint: Paint) -> str:
    """Lines of at most `width` columns but for names that are longer."""
    width = max(width, WIDTH_MIN)
    bad = sorted((verdict for verdict in health.links if verdict.level), key=lambda verdict: (-(verdict.level or 0), str(verdict.link)))
    lines = [*_headline(health, bad, width, paint), *_circumstances(health, width)]
    if bad:
        lines += ["", *_table(bad, health.wall_s, width, paint)]
    lines += ["", *_wrapped(_summary(health), width, "  ")] if health.links else []
    lines += _unknown(health, width)
    for gap in gaps_of(health):
        lines += _wrapped(f"not seen: {escaped(gap)}", width, INDENT)
    return "\n".join(lines) + "\n"


def age_of(seconds: float) -> str:
    """A duration in its two largest units: `2h5m`, `3d4h`, `12s`."""
    whole_s = max(0, round(seconds))
    for unit_s, smaller_s in ((86_400, 3_600), (3_600, 60)):
        if whole_s >= unit_s:
            return format_duration(whole_s - whole_s % smaller_s)
    return format_duration(whole_s)


def _headline(health: NodeHealth, bad: list[Verdict], width: int, paint: Paint) -> Iterator[str]:
    total, unknown = len(health.links), sum(verdict.level is None for verdict in health.links)
    status = health.level.word if health.level is not None else UNKNOWN_WORD
    if bad:
        why = f" ({bad[0].active[0].why.value})" if bad[0].active else ""
        words = f"{escaped(str(bad[0].link))}{why}; {len(bad)} of {total} links {'is' if len(bad) == 1 else 'are'} not ok"
    elif not total:
        words = "no links" if health.has_hardware else "no supported hardware"
    elif unknown:
        words = f"{total - unknown} of {total} links are ok, of {unknown} nobody can say"
    else:
        words = f"all {total} links are ok" if total > 1 else "the one link is ok"
    first, *rest = _wrapped(f"{status}: {words}", width, "  ")
    yield first.replace(status, paint(status, status), 1)
    yield from rest


def _circumstances(health: NodeHealth, width: int) -> Iterator[str]:
    """Maintenance and grace."""
    maintenance = health.maintenance
    if maintenance.is_active:
        until = "" if maintenance.until_wall_s is None else f" until {_moment(maintenance.until_wall_s)}"
        yield from _wrapped(f"in maintenance{until}: {escaped(maintenance.reason) or 'no reason given'}", width, "  ")
    if health.grace:
        yield from _wrapped(f"starting: {escaped(health.grace)}; links that are not up do not count yet", width, "  ")


def _table(bad: list[Verdict], now_s: float, width: int, paint: Paint) -> Iterator[str]:
    """A line for each link that is not well, and below it its reasons."""
    names = max(len("LINK"), *(len(escaped(str(verdict.link))) for verdict in bad))
    yield f"{'STATUS':<10}{'LINK':<{names}}  SINCE"
    for verdict in bad:
        status = status_of(verdict)
        since = f"{_moment(verdict.since_wall_s)} ({age_of(now_s - verdict.since_wall_s)})"
        yield f"{paint(status, status)}{' ' * (10 - len(status))}{escaped(str(verdict.link)):<{names}}  {since}"
        for active in verdict.active:
            age = age_of(now_s - active.since_wall_s)
            level = "" if active.level is verdict.level else f"{active.level.word}, "
            yield from _wrapped(f"{active.why.value} ({level}{age}): {escaped(active.evidence)}", width, INDENT + "  ", INDENT)
        if not verdict.active:
            yield from _wrapped("nothing is wrong any more, but not for long enough", width, INDENT + "  ", INDENT)


def _summary(health: NodeHealth) -> str:
    """Counts by fabric, in one line."""
    counts = counts_of(health)
    return "; ".join(
        f"{fabric.value} {', '.join(f'{counts[fabric][status]} {status}' for status in reversed(STATUSES) if status in counts[fabric])}"
        for fabric in sorted(counts, key=lambda fabric: fabric.value)
    )


def _unknown(health: NodeHealth, width: int) -> Iterator[str]:
    """Which links nobody can judge, by the reason."""
    for unknown, words in _UNKNOWN.items():
        names = sorted(escaped(str(verdict.link)) for verdict in health.links if verdict.level is None and verdict.unknown is unknown)
        if names:
            more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
            yield from _wrapped(f"unknown: {', '.join(names[:NAMED_MAX])}{more}: {words}", width, INDENT)


def _wrapped(text: str, width: int, hanging: str, first: str = "") -> Iterable[str]:
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def _moment(wall_s: float) -> str:
    return datetime.fromtimestamp(wall_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
