"""Health of one node as one value: the verdict of each link, what could not be seen, grace and maintenance. Pure.

What `check` and the control socket pass on. Knows no rule, no source by name, and not how it is printed.
"""

from collections.abc import Mapping
from typing import NamedTuple

from exporter.model.entity import Fabric
from exporter.model.health import Level, Verdict
from exporter.model.maintenance import Maintenance

UNKNOWN_WORD = "unknown"
STATUSES = (*(level.word for level in sorted(Level, reverse=True)), UNKNOWN_WORD)
"""Every status of a link in words, the gravest first."""


class SourceLook(NamedTuple):
    """How one source that sees links is doing: `up` and `devices` are None while it has not answered; `hung` names its devices that do not
    answer, `looked_for` is what it tells a person who wonders why it found nothing."""

    name: str
    up: bool | None
    devices: int | None
    hung: tuple[str, ...] = ()
    looked_for: str = ""


class NodeHealth(NamedTuple):
    """As of `wall_s` (Unix time; 0 if nobody has looked yet). `grace` says in words what is starting, "" if nothing is. `notes` are further
    reasons why the picture is not whole, a line each."""

    wall_s: float
    links: tuple[Verdict, ...]
    sources: tuple[SourceLook, ...]
    grace: str = ""
    maintenance: Maintenance = Maintenance()
    simulated: bool = False
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> Level | None:
        """The worst of any link; None if nothing is known of any."""
        return max((verdict.level for verdict in self.links if verdict.level is not None), default=None)

    @property
    def has_hardware(self) -> bool:
        """Whether there is anything to judge. A link that was there and is gone counts."""
        return bool(self.links) or any(look.devices for look in self.sources)


def status_of(verdict: Verdict) -> str:
    """The link's status in a word: `ok`, `suspect`, `degraded`, `failed` or `unknown`."""
    return verdict.level.word if verdict.level is not None else UNKNOWN_WORD


def counts_of(health: NodeHealth) -> Mapping[Fabric, Mapping[str, int]]:
    """Links by fabric and status; a status that no link of the fabric has is missing."""
    counts: dict[Fabric, dict[str, int]] = {}
    for verdict in health.links:
        of_fabric = counts.setdefault(verdict.link.fabric, {})
        of_fabric[status_of(verdict)] = of_fabric.get(status_of(verdict), 0) + 1
    return counts


def gaps_of(health: NodeHealth) -> tuple[str, ...]:
    """Why the picture is not whole, a line each; empty if it is: a source is down, a device hangs, nobody has looked yet."""
    gaps = list(health.notes)
    if health.wall_s == 0:
        gaps.append("nothing has been looked at yet")
    for look in health.sources:
        if look.hung:
            gaps.append(f"{look.name}: no answer from {', '.join(look.hung)}")
        elif look.up is None:
            gaps.append(f"{look.name}: no answer yet")
        elif not look.up:
            gaps.append(f"{look.name}: cannot be read")
    return tuple(gaps)
