"""What a PCIe link has been seen to do, and when that may be taken for all it can do. Pure: time and patience are parameters.

Some slots are wired narrower than either end says (both capabilities name 16 lanes, eight are connected), and only watching tells. A link
that is bad from its first day looks just the same; so what was seen lowers the expectation only after long without anything better.
"""

from dataclasses import dataclass

from exporter.model.link_capability import UNKNOWN, Capability, greatest


@dataclass(frozen=True, slots=True)
class LearnedLink:
    """The best that one function was seen at. `identity` is its vendor and device id: another card in the same slot starts anew.
    `since_wall_s` (Unix time) is when `best` last rose."""

    identity: str
    since_wall_s: float
    best: Capability


def learn(before: LearnedLink | None, identity: str, seen: Capability, wall_s: float) -> LearnedLink:
    """What is known after one more look; `before` itself if that adds nothing."""
    if before is None or before.identity != identity:
        return LearnedLink(identity, wall_s, seen)
    best = greatest((before.best, seen))
    return before if best == before.best else LearnedLink(identity, wall_s, best)


def believed(link: LearnedLink | None, identity: str, wall_s: float, patience_s: float) -> Capability:
    """The bound to set on the expectation: `best` once nothing better was seen for `patience_s`; sooner, or for another card, none."""
    if link is None or link.identity != identity or wall_s - link.since_wall_s < patience_s:
        return UNKNOWN
    return link.best
